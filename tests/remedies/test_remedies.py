"""Every remedy is followed, and whatever states a new one needs a walk that follows it."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from tests.remedies.sites import matching, sites
from tests.remedies.walk import WALKS, Scene, Walk, take

FOLDER = Path(__file__).parent
NOT_WALKED = FOLDER / "not_walked.txt"
"""How many remedies of each function nobody has followed yet. It only gets shorter."""

for module in sorted(FOLDER.glob("walks_*.py")):
    import_module(f"tests.remedies.{module.stem}")


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=f"{row.scope}:{row.name}", marks=[pytest.mark.proof] if row.proof else []) for row in WALKS],
)
def test_a_remedy_followed_literally_ends_somewhere_better(
    row: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    texts = {site.words for site in matching(row.scope, row.words)}
    assert len(texts) == 1, f"{row.words!r} names no remedy of {row.scope}, or several: {texts}"

    take(row.scene(Scene(tmp_path, monkeypatch, request)), row.scope, row.words)


def test_a_remedy_that_nobody_has_followed_is_listed_and_no_other() -> None:
    walked = {site for row in WALKS for site in matching(row.scope, row.words)}
    found = Counter(site.scope for site in sites() if site not in walked)
    lines = NOT_WALKED.read_text(encoding="utf-8").splitlines()

    assert sorted(f"{count} {scope}" for scope, count in found.items()) == lines
