"""Every remedy is followed, and whatever states a new one needs a walk that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest

from tests.remedies.sites import matching, sites
from tests.remedies.walk import WALKS, Scene, Walk, take

FOLDER = Path(__file__).parent

for module in sorted(FOLDER.glob("walks_*.py")):
    import_module(f"tests.remedies.{module.stem}")


def marks(row: Walk) -> Sequence[pytest.MarkDecorator]:
    """Return the marks of a walk; what goes wrong with real clusters of the lab itself moves nobody's job."""
    if not row.proof:
        return ()
    return (pytest.mark.proof, pytest.mark.gates) if row.scope.startswith("lab/") else (pytest.mark.proof,)


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=f"{row.scope}:{row.name}", marks=marks(row)) for row in WALKS],
)
def test_a_remedy_followed_literally_ends_somewhere_better(
    row: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    texts = {site.words for site in matching(row.scope, row.words)}
    assert len(texts) == 1, f"{row.words!r} names no remedy of {row.scope}, or several: {texts}"

    take(row.scene(Scene(tmp_path, monkeypatch, request)), row.scope, row.words)


def test_every_remedy_is_followed_by_a_walk() -> None:
    walked = {site for row in WALKS for site in matching(row.scope, row.words)}

    assert [f"{site.scope}: {site.words}" for site in sites() if site not in walked] == []
