"""The tables of `docs/gates.md` that stand between marks, and the tests that the page names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
PAGE: Final = TESTS.parent / "docs" / "gates.md"
_NAMED: Final = re.compile(
    r"`(?P<file>[\w/]*\btest_\w+\.py)?(?:::)?(?P<name>(?:test_|Test)\w+(?:::test_\w+)?)?(?P<cut>…)?`"
)
_DEFINED: Final = re.compile(r"^(?P<inner> {4})?(?:def|class) (?P<name>(?:test_|Test)\w+)", re.MULTILINE)


def section(table: str) -> tuple[str, str, str]:
    """Return the page before a table, the table, and the page behind it. The marks are not the table's."""
    begin, end = f"<!-- {table}: begin -->\n", f"<!-- {table}: end -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    content, _, after = rest.partition(end)
    return before + begin, content, end + after


def cells(table: str) -> list[list[str]]:
    """Return the cells of a table, row by row, without its head."""
    _, content, _ = section(table)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in content.splitlines()[2:]]


def named(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what a text names as a test, and the tests that it names, each as `/tests/file.py::name`.

    A name is `file.py::name`, `file.py`, `name`, or how a name begins and an ellipsis.
    """
    for match in _NAMED.finditer(text):
        file, name, cut = match["file"] or "", match["name"] or "", match["cut"]
        if file or name:
            files = [path for path in _tests() if path.endswith(f"/{file}" if file else "")]
            tests = [(path, test) for path in files for test in _tests()[path]]
            meant = [test for test in tests if not name or _is(test[1], name) or (cut and test[1].startswith(name))]
            yield match[0], ["::".join(test) for test in meant]


def _is(test: str, name: str) -> bool:
    return test == name or test.endswith(f"::{name}")


@cache
def _tests() -> dict[str, list[str]]:
    """Return the names of all tests and classes of tests, by the paths of their files."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        names: list[str] = []
        outer = ""
        for match in _DEFINED.finditer(path.read_text(encoding="utf-8")):
            outer = outer if match["inner"] else match["name"]
            names.append(f"{outer}::{match['name']}" if match["inner"] else outer)
        found[f"/{path.relative_to(TESTS.parent)}"] = names
    return found
