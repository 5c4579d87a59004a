"""What a small target, engine and stream take is what the page on adding one says."""

from __future__ import annotations

import re
from pathlib import Path

from tests.with_cases import with_cases

PAGE = Path(__file__).parents[2] / "docs" / "how-to-add.md"


@with_cases("kind", ["target", "engine", "stream"])
def test_a_toy_takes_as_many_files_as_the_page_says(kind: str) -> None:
    ((count, named),) = re.findall(
        rf"^\| an? {kind} \| (\d+): (.*?) in a", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )

    files = sorted(path.name for path in (Path(__file__).parent / kind).glob("*.py") if path.name != "__init__.py")
    assert files == sorted(re.findall(r"`([a-z_]+\.py)`", named))
    assert len(files) == int(count)
