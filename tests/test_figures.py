"""A full run of the gates leaves its figures on the page, and nothing else changes there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.figures import BEGIN, END, write_figures
from tests.with_cases import with_cases

GATES = Path(__file__).parent.parent / "docs" / "gates.md"


def test_only_what_stands_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")

    for _ in range(2):
        write_figures(page, ["3,000 kills", "0 partial"], where="a machine")

    assert page.read_text() == f"above\n{BEGIN}\na machine:\n\n- 3,000 kills\n- 0 partial\n{END}\nbelow\n"


@with_cases("text", ["nothing", f"{BEGIN}", f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"])
def test_a_page_without_its_marks_is_left_alone(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)

    with pytest.raises(ValueError, match="once each"):
        write_figures(page, ["a figure"], where="a machine")
    assert page.read_text() == text


def test_the_page_of_the_gates_has_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "gates.md"
    page.write_text(GATES.read_text(encoding="utf-8"), encoding="utf-8")

    write_figures(page, ["a figure"], where="a machine")
    assert "- a figure" in page.read_text(encoding="utf-8")
