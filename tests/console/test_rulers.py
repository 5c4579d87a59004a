"""The two rulers of a partition: what stands where, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.console.explore import rulers
from offsetwise.console.widgets.palette import LIGHT
from offsetwise.model import Exactness, LogRange, PartitionComparison, RawReuse, RawVerdict
from offsetwise.plugins.kinesis.stream.spec import LATEST
from tests.console import builders
from tests.with_cases import with_cases

LARGEST = 2**63 - 1
OFFSETS = st.integers(0, 3_000) | st.integers(0, LARGEST)


def row(old: int, new: int, **more: Any) -> PartitionComparison:
    made = builders.partition(old=old, new=new)
    return replace(made, **more) if more else made


def test_1050_stands_above_950_and_the_records_between_are_a_stretch() -> None:
    shown = row(1050, 950, raw=RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=None))
    figure = rulers.rulers(shown, LIGHT)

    marks = [(trace.x[0], trace.y[0]) for trace in figure.data if trace.type == "scatter"]
    assert marks == [(0, 1), (0, 0), (100, 0)], "the same record on both rulers, and the old number on the new one"
    large = [(note.text, note.x, note.y > 0.5) for note in figure.layout.annotations if note.font.size == 18]
    assert large == [("<b>1,050</b>", 0, True), ("<b>950</b>", 0, False), ("<b>1,050</b>", 100, False)]
    (told,) = [note for note in figure.layout.annotations if note.text == "<b>100 records never read</b>"]
    assert (told.x, told.xanchor) == (0, "left"), "from the line on, over the stretch"
    stretch = figure.data[2]
    assert (stretch.base[0], stretch.x[0], stretch.y[0], stretch.marker.color) == (0, 100, 0, LIGHT.wrong)
    assert "offset **1,050** on the old cluster and **950** on the new one" in rulers.in_words(shown)


@given(old=OFFSETS, new=OFFSETS, data=st.data())
def test_what_is_drawn_is_true_for_any_two_numbers_and_logs(old: int, new: int, data: st.DataObject) -> None:
    if old == new:
        return
    starts = [data.draw(OFFSETS) for _ in range(2)]
    ends = [data.draw(st.integers(start, LARGEST)) for start in starts]
    logs = [LogRange(log_start=start, hw=end, lso=None) for start, end in zip(starts, ends, strict=True)]
    shown = replace(row(old, new), old=logs[0], new=logs[1])

    figure = rulers.rulers(shown, LIGHT)

    low, high = figure.layout.xaxis.range
    assert all(low <= note.x <= high for note in figure.layout.annotations)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    if len(bars) == 3:
        for bar, start, end, position in zip(bars, starts, ends, (old, new), strict=False):
            assert start - position <= bar.base[0] < bar.base[0] + bar.x[0] <= end - position
    for note in figure.layout.annotations:
        digits = note.text.replace(",", "")
        if note.font.size != 18 and digits.isdigit():
            position = old if note.y > 0.5 else new
            assert int(digits) - position == note.x, "a tick stands at its offset"


@with_cases(
    ("exactness", "words"),
    [
        (Exactness.EXACT, "and **950** on the new one"),
        (Exactness.BOUNDED, "and at least **950** on the new one"),
        (Exactness.CLAIMED, "as somebody claims and no record confirms"),
    ],
)
def test_what_is_not_proven_is_said(exactness: Exactness, words: str) -> None:
    assert words in rulers.in_words(row(1050, 950, exactness=exactness))


def test_the_worst_partition_is_drawn_and_none_where_no_number_differs() -> None:
    same, unknown, of_a_shard = row(5, 5), row(5, 5, new_offset=None), row(5, 5, new_offset=LATEST)
    assert rulers.worst([]) is None
    assert rulers.worst([same, unknown, of_a_shard]) is None
    wrong = row(1050, 950, raw=RawReuse(verdict=RawVerdict.LOSS, skip=100, replay=None))
    right = row(7, 6, raw=RawReuse(verdict=RawVerdict.UNKNOWN, skip=None, replay=None))
    assert rulers.worst([same, right, wrong]) is wrong
