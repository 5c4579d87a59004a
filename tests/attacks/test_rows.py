"""Every row of the report has one test, and the page says what the tests say."""

from __future__ import annotations

from tests.attacks.rows import IDS, page_with, rows, table
from tests.gates_page import PAGE


def test_every_row_of_the_report_has_exactly_one_test() -> None:
    found = sorted(row.id for _, row in rows())

    assert found == sorted(IDS)


def test_the_page_shows_the_table_of_the_tests() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_with(table()), "run `python -m tests.attacks.rows`"
