"""Marks the test of an attack with its row, and makes the table of `docs/gates.md` from these marks.

`python -m tests.attacks.rows` writes the table again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

import pytest

from tests.gates_page import PAGE, section

_COUNTS: Final = {"A": 27, "B": 19, "C": 10, "D": 19, "E": 11}
IDS: Final = tuple(f"{family}{number}" for family, count in _COUNTS.items() for number in range(1, count + 1))
"""Every row there is."""

T = TypeVar("T", bound=Callable[..., object])


class Verdict(StrEnum):
    """How an attack ended."""

    HELD = "held"
    WEAK = "weak"
    BROKEN = "**broken**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One attack, or one family of them run over many payloads."""

    id: str
    told: str
    """What is done, in one line of Markdown."""
    before: Verdict
    """On commit 1061f4c."""
    now: Verdict
    without: str
    """What was taken out of the code to see the test fail."""
    left: str
    """What is still possible; empty where nothing is."""
    test: str


def attack(
    id_: str, told: str, *, before: Verdict, without: str, now: Verdict = Verdict.HELD, left: str = ""
) -> Callable[[T], T]:
    """Mark a test, or a class of tests, as that of one row. Each row has exactly one."""

    def marked(test: T) -> T:
        row = Row(id=id_, told=told, before=before, now=now, without=without, left=left, test=test.__name__)
        pytest.mark.attack(row)(test)
        return test

    return marked


def rows() -> Iterator[tuple[str, Row]]:
    """Yield the row of every marked test with its file's name, in the order of the files."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for value in vars(module).values():
            marks = getattr(value, "pytestmark", [])
            for mark in marks if isinstance(marks, list) else []:
                if mark.name == "attack" and getattr(value, "__module__", None) == module.__name__:
                    yield path.name, mark.args[0]


def table() -> str:
    """Return the table, in the order of the report."""
    known = sorted(rows(), key=lambda each: IDS.index(each[1].id))
    lines = ["| row | attack | before | now | fails without | test |", "|---|---|---|---|---|---|"]
    for file, row in known:
        now = f"{row.now}: {row.left}" if row.left else str(row.now)
        cells = (row.id, row.told, str(row.before), now, row.without, f"`{file}::{row.test}`")
        lines.append(f"| {' | '.join(_escaped(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")


def page_with(table_: str) -> str:
    """Return the page with this table in the place of its own."""
    before, _, after = section("attacks")
    return f"{before}{table_}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(table()), encoding="utf-8")
