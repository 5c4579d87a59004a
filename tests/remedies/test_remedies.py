"""Every remedy is followed, and whatever states a new one needs a walk that follows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from itertools import groupby
from pathlib import Path

import pytest

from tests.remedies.sites import matching, sites
from tests.remedies.walk import WALKS, Scene, Walk, take
from tests.with_cases import with_cases

FOLDER = Path(__file__).parent

for module in sorted(FOLDER.glob("walks_*.py")):
    import_module(f"tests.remedies.{module.stem}")


def marks(row: Walk) -> Sequence[pytest.MarkDecorator]:
    """Return the marks of a walk; what keeps the lab, Spark or the console from starting moves nobody's job."""
    if not row.proof:
        return ()
    starts = row.scope.startswith(("lab/", "pipeline/", "console/", "bundled."))
    return (pytest.mark.proof, pytest.mark.gates) if starts else (pytest.mark.proof,)


def kind(row: Walk) -> tuple[str, Sequence[pytest.MarkDecorator]]:
    """Return what walks have in common that are one test: the room that states their remedies, and their marks."""
    return re.split(r"[/.]", row.scope)[0], marks(row)


def follow(row: Walk, scene: Scene) -> None:
    """Follow a remedy literally: it ends somewhere better."""
    texts = {site.words for site in matching(row.scope, row.words)}
    assert len(texts) == 1, f"{row.words!r} names no remedy of {row.scope}, or several: {texts}"

    take(row.scene(scene), row.scope, row.words)


def following(rows: Sequence[Walk]) -> Callable[..., None]:
    """Return a test that follows the remedies of these walks."""

    @with_cases("row", [pytest.param(row, id=f"{row.scope}:{row.name}") for row in rows])
    def test(row: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
        follow(row, Scene(tmp_path, monkeypatch, request))

    return test


for (room, marked), of_room in groupby(sorted(WALKS, key=lambda row: (kind(row)[0], len(marks(row)))), key=kind):
    name = "_".join(["test_a_remedy_of", room, *(mark.name for mark in marked), "ends_somewhere_better"])
    globals()[name] = reduce(lambda test, mark: mark(test), marked, following(list(of_room)))


def test_every_remedy_is_followed_by_a_walk() -> None:
    walked = {site for row in WALKS for site in matching(row.scope, row.words)}

    assert [f"{site.scope}: {site.words}" for site in sites() if site not in walked] == []
