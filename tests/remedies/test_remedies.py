"""Every remedy is followed, and every place that states one has a walk that follows it."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from tests.remedies.sites import matching, sites
from tests.remedies.walk import WALKS, Scene, Walk, take

FOLDER = Path(__file__).parent
OPEN = FOLDER / "not_walked.txt"
"""How many remedies of a function nobody has followed yet. It only gets shorter."""

for module in sorted(FOLDER.glob("walks_*.py")):
    import_module(f"tests.remedies.{module.stem}")


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row.scope}:{row.name}") for row in WALKS])
def test_a_remedy_followed_literally_ends_somewhere_better(
    row: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {site.words for site in matching(row.scope, row.words)}
    assert len(texts) == 1, f"{row.words!r} names no remedy of {row.scope}, or several: {texts}"

    take(row.scene(Scene(tmp_path, monkeypatch)), row.scope, row.words)


def test_every_remedy_has_a_walk() -> None:
    walked = {site for row in WALKS for site in matching(row.scope, row.words)}
    missing = Counter(site.scope for site in sites() if site not in walked)
    listed = {scope: int(count) for count, scope in (line.split(" ", 1) for line in OPEN.read_text().splitlines())}

    assert missing == listed, "give the new remedies a walk, or take the walked ones out of the list: " + str(
        {
            scope: (missing[scope], listed.get(scope, 0))
            for scope in missing.keys() | listed.keys()
            if missing[scope] != listed.get(scope, 0)
        }
    )
