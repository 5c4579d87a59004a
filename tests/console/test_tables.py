"""Tables and downloads: exact, neutralised, and unknown where nothing is known."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pandas as pd
import pytest
from pandas.io.formats.style import Styler
from streamlit.elements import arrow
from streamlit.elements.lib.pandas_styler_utils import marshall_styler
from streamlit.proto.ArrowData_pb2 import ArrowData
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.console import exports, frames, table
from offsetwise.console.choosing import WORST_FIRST, Filters
from offsetwise.console.partitions import _WIDTHS
from offsetwise.fleet import severity_of
from offsetwise.model import Comparison, Severity
from offsetwise.wording import verdicts
from tests.console import builders

BEYOND_FLOAT = 9_007_199_254_740_993
"""2^53 + 1: the first integer that a float cannot hold."""


def test_offsets_beyond_2_53_stay_exact_beside_unknown_ones() -> None:
    rows = (builders.partition(old=BEYOND_FLOAT, new=BEYOND_FLOAT - 100), builders.partition(number=1, new=None))
    made = frames.partition_table(rows)
    assert made["old offset"].tolist() == [BEYOND_FLOAT, 1050]
    assert made["new offset"].dtype == pd.Int64Dtype()
    assert made["new offset"][0] == BEYOND_FLOAT - 100
    assert made["new offset"][1] is pd.NA


def test_integers_are_printed_with_separators_and_every_digit() -> None:
    shown = table.printed(frames.partition_table((builders.partition(old=BEYOND_FLOAT),)))
    assert "9,007,199,254,740,993" in shown.to_html()


def test_a_column_is_wide_enough_for_its_longest_number() -> None:
    made = frames.partition_table((builders.partition(old=BEYOND_FLOAT), builders.partition(number=1)))
    widths = table.layout(made, {"old offset": 80, "new offset": 80})
    assert widths["old offset"] == (20 + 8 * 21, "right")
    assert widths["new offset"] == (80, "right")


def test_a_number_the_browser_cannot_hold_goes_there_as_text() -> None:
    shown = table.printed(frames.partition_table((builders.partition(old=BEYOND_FLOAT), builders.partition(old=None))))
    column = vars(shown)["data"]["old offset"]
    assert column.tolist()[0] == "9,007,199,254,740,993"
    assert column.isna().tolist() == [False, True]


def test_a_table_that_is_kept_goes_to_the_browser_as_any_other() -> None:
    rows = (builders.partition(old=BEYOND_FLOAT, new=None), builders.partition(number=1), builders.partition(old=None))
    shown = frames.partition_table(rows)

    def sent(styled: Styler) -> ArrowData:
        made = ArrowData()
        marshall_styler(made, styled.set_uuid("one"), "")
        return made

    def styled() -> Styler:
        return table.printed(shown).apply(lambda column: ["color: #a00" for _ in column], subset=["exactness"])

    assert sent(table.fixed(styled())) == sent(styled())
    assert "1,050" in str(sent(styled()).styler.display_values)


def test_a_table_that_is_kept_is_made_for_the_browser_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counted(proto: ArrowData, styled: Styler, uuid: str) -> None:
        made.append(styled)
        marshall_styler(proto, styled, uuid)

    def script(shown: object) -> None:
        from offsetwise.console import table  # noqa: PLC0415 - Streamlit runs this text alone

        assert isinstance(shown, table.Prepared)
        table.draw(shown)

    monkeypatch.setattr(arrow, "marshall_styler", counted)
    kept = table.prepared(frames.partition_table(builders.reference_rows()))
    page = AppTest.from_function(script, args=(kept,)).run()
    first = page.dataframe[0].value
    page.run()
    assert page.dataframe[0].value.equals(first)
    assert made == [kept.styled]


def test_1050_and_950_stand_on_one_row_with_their_cost() -> None:
    row = frames.partition_table(builders.reference_rows()).iloc[0]
    assert (row["old offset"], row["new offset"], row["shift"], row["if unedited"]) == (1050, 950, -100, "! skips 100")


def test_every_column_of_compare_stands_inside_a_window_of_1400_pixels() -> None:
    sidebar, padding, boxes = 250, 2 * 80, 33
    assert sum(_WIDTHS.values()) <= 1400 - sidebar - padding - boxes


def test_findings_are_counted_on_screen_and_named_in_downloads() -> None:
    row = builders.partition(findings=("FOREIGN_AHEAD", "LOSS_INSIDE_LOG", "GAP"))
    assert verdicts.findings(map(severity_of, row.findings)) == "! 1  ▲ 1  i 1"
    assert "FOREIGN_AHEAD, LOSS_INSIDE_LOG, GAP" in exports.csv([row]).decode()


def test_an_unknown_place_has_no_number_anywhere() -> None:
    rows = frames.partition_table(builders.reference_rows())
    unknown = rows[rows["topic"] == "audit"].iloc[0]
    assert all(unknown[name] is pd.NA for name in ("new offset", "shift", "lag new", "replay", "skip"))
    assert (unknown["exactness"], unknown["if unedited"], unknown["ahead"]) == (
        "? unknown",
        "? unknown",
        "? not read",
    )


def test_a_csv_holds_plain_digits_and_no_formula() -> None:
    read = list(csv.DictReader(io.StringIO(exports.csv(builders.hostile_rows()).decode())))
    assert [row["old offset"] for row in read] == ["1050"] * 4
    assert not any(cell.startswith(("=", "+", "-c", "@")) for row in read for cell in row.values())
    assert [row["topic"] for row in read][1] == "'=cmd()"


def test_the_json_of_everything_is_the_comparison_file() -> None:
    shown = builders.comparison()
    assert exports.json(shown, shown.partitions) == files.dump(shown).encode()


def test_the_json_of_a_selection_is_counted_anew_and_can_be_read_back() -> None:
    shown = builders.comparison()
    made = exports.json(shown, shown.partitions[:2])
    read = files.load(made, "comparison", subject="download")
    assert isinstance(read, Comparison)
    assert (read.summary.partitions, read.summary.raw_skip, read.summary.raw_wrong) == (2, 200, 2)
    assert {finding.topic for finding in read.findings} == {"orders"}
    assert json.loads(made)["partitions"][0]["old_offset"] == "1050"


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (Filters(topics=("payments",)), ["payments-0"]),
        (Filters(unedited=("other records",)), ["clicks-0"]),
        (Filters(exactness=("bounded",)), ["beats-0"]),
        (Filters(findings=("FOREIGN_AHEAD", "NEW_PARTITION")), ["orders-1", "orders-3"]),
        (Filters(topics=("no such topic",)), []),
    ],
    ids=["topic", "if unedited", "exactness", "finding", "nothing"],
)
def test_filters_keep_what_they_name(filters: Filters, names: list[str]) -> None:
    assert [f"{row.topic}-{row.partition}" for row in filters.apply(builders.reference_rows())] == names


def test_worst_first_begins_with_the_dearest_proven_loss_and_ends_with_what_is_right() -> None:
    rows = Filters(order=WORST_FIRST).apply(builders.reference_rows())
    assert (rows[0].topic, rows[0].partition) == ("orders", 0)
    assert rows[-1].raw.verdict == "SAME"


def test_findings_of_a_row_are_its_own_and_its_topics() -> None:
    shown = builders.comparison()
    assert [finding.code for finding in frames.findings_of(shown, shown.partitions[1])] == [
        "LOSS_INSIDE_LOG",
        "FOREIGN_AHEAD",
    ]


def test_findings_about_the_whole_migration_come_once_and_blocking_ones_first() -> None:
    shown = builders.comparison()
    of_all = tuple(
        replace(shown.findings[0], topic=None, partition=None, code=severity.name, severity=severity)
        for severity in reversed(Severity)
    )
    shown = replace(shown, findings=(*shown.findings, *of_all))
    assert [finding.code for finding in frames.findings_of_all(shown)] == ["BLOCKS", "WARNS", "INFORMS"]
    assert not set(of_all) & set(frames.findings_of(shown, shown.partitions[0]))
