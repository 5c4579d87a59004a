"""How rows are named in lists and in the URL."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.console.widgets.selectors import row_names
from tests.console import builders

ROW = builders.partition()


def test_a_row_is_named_by_its_partition_whatever_its_source_is_called() -> None:
    row = replace(ROW, source="cbc357ccb763df2852fee8c4fc7d55f2")
    assert row_names((row,), among=(row,)) == ("orders-0",)


def test_where_there_are_several_sources_each_row_keeps_its_name_however_few_are_shown() -> None:
    other = replace(ROW, source="1")
    assert row_names((other,), among=(ROW, other)) == ("orders-0@1",)
