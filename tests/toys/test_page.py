"""The page of worked examples builds the files that the other tests here use."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "worked-examples.md"
FILE = re.compile(r"^`(tests/toys/[a-z_/]+\.py)`:\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_page_builds_the_finding_the_target_and_the_engine_of_these_tests(tmp_path: Path) -> None:
    for name, source in FILE.findall(PAGE.read_text(encoding="utf-8")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source, encoding="utf-8")

    toys = ROOT / "tests" / "toys"
    shown = [toys / "finding.py", *(toys / "target").glob("*.py"), *(toys / "engine").glob("*.py")]
    wanted = sorted(path.relative_to(ROOT) for path in shown if path.name != "__init__.py")
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.py")) == wanted
    for path in wanted:
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes(), path
