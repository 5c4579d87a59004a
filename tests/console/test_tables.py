"""Tables and downloads: exact, neutralised, and unknown where nothing is known."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.io.formats.style import Styler
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.elements import arrow
from streamlit.elements.lib.pandas_styler_utils import marshall_styler
from streamlit.proto.ArrowData_pb2 import ArrowData
from streamlit.testing.v1 import AppTest

from offsetwise import files
from offsetwise.console.explore import compare_table
from offsetwise.console.explore.compare_table import PARTITIONS, PartitionFilters
from offsetwise.console.operate import fleet_table
from offsetwise.console.widgets import downloads, evidence, table
from offsetwise.console.widgets.cached import cached, told_apart_by
from offsetwise.console.widgets.palette import LIGHT
from offsetwise.console.widgets.selectors import WORST_FIRST
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Comparison, Severity
from offsetwise.wording.verdicts import Tone, Verdict
from tests.console import builders
from tests.with_cases import with_cases

BEYOND_FLOAT = 9_007_199_254_740_993
"""2^53 + 1: the first integer that a float cannot hold."""


def test_offsets_beyond_2_53_stay_exact_beside_unknown_ones() -> None:
    rows = (builders.partition(old=BEYOND_FLOAT, new=BEYOND_FLOAT - 100), builders.partition(number=1, new=None))
    made = table.frame(PARTITIONS, rows)
    assert made["old offset"].tolist() == [BEYOND_FLOAT, 1050]
    assert made["new offset"].dtype == pd.Int64Dtype()
    assert made["new offset"][0] == BEYOND_FLOAT - 100
    assert made["new offset"][1] is pd.NA


def sent(styled: Styler) -> ArrowData:
    """Return what the browser gets of a styled table."""
    made = ArrowData()
    marshall_styler(made, styled.set_uuid("one"), "")
    return made


def displayed(styled: Styler) -> pd.DataFrame:
    """Return what stands in the cells of a table."""
    return convert_arrow_bytes_to_pandas_df(sent(styled).styler.display_values)


def test_integers_are_printed_with_separators_and_every_digit() -> None:
    shown = table.styled(table.frame(PARTITIONS, (builders.partition(old=BEYOND_FLOAT),)), {}, {})
    assert "9,007,199,254,740,993" in displayed(shown)["old offset"].tolist()


def test_a_column_is_wide_enough_for_its_longest_number() -> None:
    made = table.prepared(PARTITIONS, (builders.partition(old=BEYOND_FLOAT), builders.partition(number=1))).columns
    assert (made["old offset"]["width"], made["old offset"]["alignment"]) == (20 + 8 * 21, "right")
    assert (made["new offset"]["width"], made["new offset"]["alignment"]) == (82, "right")


def test_a_column_is_wide_enough_for_what_its_longest_number_is_printed_as() -> None:
    ages: Columns[int] = (Column("age", lambda row: row, 74, printed=fleet_table.age),)
    for age_ms in (8_000, 1_117 * 86_400_000 + 19 * 3_600_000):
        width = table.prepared(ages, (age_ms, 0), LIGHT).columns["age"]["width"]
        assert width >= 20 + 7 * len(fleet_table.age(age_ms))


def test_a_number_the_browser_cannot_hold_goes_there_as_text() -> None:
    made = table.frame(PARTITIONS, (builders.partition(old=BEYOND_FLOAT), builders.partition(old=None)))
    column = vars(table.styled(made, {}, {}))["data"]["old offset"]
    assert column.tolist()[0] == "9,007,199,254,740,993"
    assert column.isna().tolist() == [False, True]


def of_pandas(
    made: pd.DataFrame, css: Mapping[str, Sequence[str]], prints: Mapping[str, Callable[[int], str]]
) -> Styler:
    """Return what pandas makes of a table: the same texts and colours, cell by cell."""
    numbers = [str(name) for name in made if str(made[name].dtype) == "Int64"]
    how: dict[Any, Any] = {name: partial(told, prints.get(name, "{:,}".format)) for name in numbers}
    text = [name for name in numbers if any(abs(value) > BEYOND_FLOAT - 1 for value in made[name].dropna())]
    exact = made.assign(**{name: made[name].map(how.pop(name), na_action="ignore").astype(object) for name in text})
    styled = exact.style.format(how, subset=pd.Index(list(how)), na_rep="?").format(subset=pd.Index(text), na_rep="?")
    for column, cells in css.items():
        styled = styled.apply(lambda _, cells=cells: cells, subset=[column])
    return styled


def told(how: Callable[[int], str], value: object) -> str:
    """Print an integer of pandas'."""
    return how(int(str(value)))


def test_a_table_goes_to_the_browser_as_pandas_would_send_it() -> None:
    rows = (builders.partition(old=BEYOND_FLOAT, new=None), builders.partition(number=1), builders.partition(old=None))
    shown, css = table.frame(PARTITIONS, rows), {"exactness": ["color: #a00"] * len(rows)}

    assert sent(table.styled(shown, css, {})) == sent(of_pandas(shown, css, {}))
    assert "1,050" in str(sent(of_pandas(shown, css, {})).styler.display_values)


_NUMBERS = st.none() | st.integers(-10_000, 10**15) | st.integers(BEYOND_FLOAT - 2, BEYOND_FLOAT + 2)
_CSS = st.sampled_from(["", "color: #a00", "color: #a00; font-weight: 600"])


@given(st.lists(st.tuples(_NUMBERS, _CSS), max_size=6))
def test_whatever_is_in_a_table_the_browser_gets_what_pandas_would_send_it(
    cells: list[tuple[int | None, str]],
) -> None:
    numbers, tones = [number for number, _ in cells], [css for _, css in cells]
    said = pd.Series([f"= {number}" for number in numbers], dtype=object)
    made = pd.DataFrame({"offset": table.integers(numbers), "said": said, "age": table.integers(numbers)})
    css, prints = {"offset": tones, "said": tones}, {"age": fleet_table.age}

    assert sent(table.styled(made, css, prints)) == sent(of_pandas(made, css, prints))


def test_a_table_that_is_kept_is_made_for_the_browser_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counted(proto: ArrowData, styled: Styler, uuid: str) -> None:
        made.append(styled)
        marshall_styler(proto, styled, uuid)

    def script(shown: object) -> None:
        from offsetwise.console.widgets import table  # noqa: PLC0415 - Streamlit runs this text alone

        assert isinstance(shown, table.Prepared)
        table.draw(shown)

    monkeypatch.setattr(arrow, "marshall_styler", counted)
    kept = table.prepared(PARTITIONS, builders.reference_rows())
    page = AppTest.from_function(script, args=(kept,)).run()
    first = page.dataframe[0].value
    page.run()
    assert page.dataframe[0].value.equals(first)
    assert made == [kept.styled]


def test_one_description_gives_screen_file_and_colour() -> None:
    columns: table.Columns[int] = (
        Column("n", lambda row: row, 40, "A number.", lambda row: Tone.CAREFUL if row else None),
        Column("verdict", lambda _: Verdict(icon="+", word="new", tone=Tone.WRONG)),
        Column("from outside", lambda _: "=cmd()"),
        Column("empty", lambda _: None),
        Column("says nothing", lambda _: "", when=lambda rows: any(rows) and len(rows) > 2),
        Column("named", lambda row: f"number {row}", only="file"),
    )
    made = table.prepared(columns, (0, 1), LIGHT)
    assert list(made.columns) == ["n", "verdict", "from outside", "empty"]
    assert (made.columns["n"]["help"], made.columns["n"]["alignment"]) == ("A number.", "right")
    assert table.frame(columns, (0, 1)).iloc[0].tolist() == [0, "+ new", "'=cmd()", pd.NA]
    assert isinstance(made.styled, Styler)
    styles = sent(made.styled).styler.styles
    assert styles.count(f"color: {LIGHT.careful}") == 1
    assert f"color: {LIGHT.wrong}; font-weight: 600" in styles
    written = downloads.csv(table.frame(columns, (0,), file=True)).decode()
    assert written == "n,verdict,from outside,empty,says nothing,named\n0,'+ new,'=cmd(),,,number 0\n"


def test_what_is_told_apart_by_its_key_is_made_once_and_again_for_another_key() -> None:
    @told_apart_by(lambda cup: cup.label)
    @dataclass(frozen=True)
    class Cup:
        label: str
        content: list[int]

    calls: list[str] = []

    @cached(4)
    def made(cup: Cup, row: tuple[Cup, ...]) -> int:
        calls.append(cup.label)
        return len(row)

    for label in ("a", "a", "b"):
        assert made(Cup(label, [len(calls)]), (Cup(label, [1]), Cup(label, [2]))) == 2
    assert calls == ["a", "b"]


def test_1050_and_950_stand_on_one_row_with_their_cost() -> None:
    row = table.frame(PARTITIONS, builders.reference_rows()).iloc[0]
    assert (row["old offset"], row["new offset"], row["shift"], row["if unedited"]) == (1050, 950, -100, "! skips 100")


def test_every_column_of_compare_stands_inside_a_window_of_1400_pixels() -> None:
    sidebar, padding, boxes = 250, 2 * 80, 33
    shown = [column for column in PARTITIONS if column.only != "file" and column.when is None]
    assert sum(column.width or 0 for column in shown) <= 1400 - sidebar - padding - boxes


@with_cases(
    ("name", "heading"),
    [("p", "partition"), ("ahead", "records ahead"), ("old offset", "old offset")],
)
def test_headings_are_in_full_words_on_screen_and_files_keep_their_names(name: str, heading: str) -> None:
    rows = builders.comparison().partitions
    assert table.prepared(PARTITIONS, rows, LIGHT).columns[name]["label"] == heading
    assert name in compare_table.csv(rows).decode().splitlines()[0].split(",")


def test_findings_are_counted_on_screen_and_named_in_downloads() -> None:
    row = builders.partition(findings=("FOREIGN_AHEAD", "LOSS_INSIDE_LOG", "GAP"))
    assert table.frame(PARTITIONS, [row])["findings"][0] == "! 1  ▲ 1  i 1"
    assert "FOREIGN_AHEAD, LOSS_INSIDE_LOG, GAP" in compare_table.csv([row]).decode()


def test_an_unknown_place_has_no_number_anywhere() -> None:
    rows = table.frame(PARTITIONS, builders.reference_rows())
    unknown = rows[rows["topic"] == "audit"].iloc[0]
    assert all(unknown[name] is pd.NA for name in ("new offset", "shift", "lag new", "replay", "skip"))
    assert (unknown["exactness"], unknown["if unedited"], unknown["ahead"]) == (
        "? unknown",
        "? unknown",
        "? not read",
    )


def test_a_csv_holds_plain_digits_and_no_formula() -> None:
    read = list(csv.DictReader(io.StringIO(compare_table.csv(builders.hostile_rows()).decode())))
    assert [row["old offset"] for row in read] == ["1050"] * 4
    assert not any(cell.startswith(("=", "+", "-c", "@")) for row in read for cell in row.values())
    assert [row["topic"] for row in read][1] == "'=cmd()"


def test_the_json_of_everything_is_the_comparison_file() -> None:
    shown = builders.comparison()
    assert compare_table.json(shown, shown.partitions) == files.dump(shown).encode()


def test_the_json_of_a_selection_is_counted_anew_and_can_be_read_back() -> None:
    shown = builders.comparison()
    made = compare_table.json(shown, shown.partitions[:2])
    read = files.load(made, "comparison", subject="download")
    assert isinstance(read, Comparison)
    assert (read.summary.partitions, read.summary.raw_skip, read.summary.raw_wrong) == (2, 200, 2)
    assert {finding.topic for finding in read.findings} == {"orders"}
    assert json.loads(made)["partitions"][0]["old_offset"] == "1050"


@with_cases(
    ("filters", "names"),
    [
        (PartitionFilters(topics=("payments",)), ["payments-0"]),
        (PartitionFilters(unedited=("other records",)), ["clicks-0"]),
        (PartitionFilters(exactness=("bounded",)), ["beats-0"]),
        (PartitionFilters(findings=("FOREIGN_AHEAD", "NEW_PARTITION")), ["orders-1", "orders-3"]),
        (PartitionFilters(topics=("no such topic",)), []),
    ],
    ids=["topic", "if unedited", "exactness", "finding", "nothing"],
)
def test_filters_keep_what_they_name(filters: PartitionFilters, names: list[str]) -> None:
    assert [str(row.topic_partition) for row in filters.apply(builders.reference_rows())] == names


def test_worst_first_begins_with_the_dearest_proven_loss_and_ends_with_what_is_right() -> None:
    rows = PartitionFilters(order=WORST_FIRST).apply(builders.reference_rows())
    assert rows[0].topic_partition == ("orders", 0)
    assert rows[-1].raw.verdict == "SAME"


def test_findings_of_a_row_are_its_own_and_its_topics() -> None:
    shown = builders.comparison()
    assert [finding.code for finding in evidence.findings_of(shown, shown.partitions[1])] == [
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
    assert [finding.code for finding in evidence.findings_of_all(shown)] == ["BLOCKS", "WARNS", "INFORMS"]
    assert not set(of_all) & set(evidence.findings_of(shown, shown.partitions[0]))
