"""Charts: what is drawn, where, and what is said about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from offsetwise.console.explore import compare_charts, compare_map, lag_charts
from offsetwise.console.widgets.charts import scaled
from offsetwise.console.widgets.palette import DARK, LIGHT, Palette
from tests.console import builders
from tests.with_cases import with_cases


def traces(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def test_both_logs_are_drawn_from_the_next_record_to_read() -> None:
    made = traces(compare_charts.lanes(builders.reference_rows()[:1], LIGHT))
    for name in ("old cluster", "new cluster"):
        bar = made[name]
        assert bar.base[0] == scaled(-950)
        assert bar.base[0] + bar.x[0] == pytest.approx(scaled(150))


def test_the_old_number_lands_a_hundred_records_behind_its_place() -> None:
    figure = compare_charts.lanes(builders.reference_rows()[:1], LIGHT)
    assert traces(figure)["old number goes wrong"].x[0] == scaled(100)
    assert "<b>1,050</b>" in [note.text for note in figure.layout.annotations]


def test_a_number_that_is_right_is_never_marked_as_wrong() -> None:
    made = traces(compare_charts.lanes(builders.reference_rows()[2:3], LIGHT))
    assert "old number goes wrong" not in made
    assert made["old number is right"].x[0] == 0


def test_an_unknown_place_is_drawn_as_unknown_and_not_as_zero() -> None:
    figure = compare_charts.lanes(builders.reference_rows()[5:6], LIGHT)
    made = traces(figure)
    assert len(made["new cluster"].y) == 0
    assert len(made["lag on new"].y) == 0
    assert "? no position known on new" in [note.text for note in figure.layout.annotations]
    assert made["lag on new, in numbers"].text == (" ?",)


def test_a_bounded_place_shows_its_bounds() -> None:
    made = traces(compare_charts.lanes(builders.reference_rows()[4:5], LIGHT))
    assert made["position lies in here"].x[:2] == (0.0, scaled(60))


def test_a_position_past_the_end_shows_a_negative_lag_and_says_so() -> None:
    row = builders.partition(old=1300, new=1200, old_log=(0, 1200), new_log=(0, 1100))
    figure = compare_charts.lanes((row,), LIGHT)
    assert traces(figure)["lag on old"].x[0] == scaled(-100)
    assert traces(figure)["lag on old, in numbers"].text == (" 100 past the end",)


@with_cases("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_old_is_solid_and_new_is_hatched(colours: Palette) -> None:
    made = traces(compare_charts.lanes(builders.reference_rows(), colours))
    assert (made["old cluster"].marker.color, made["old cluster"].marker.pattern.shape) == (colours.old, None)
    assert (made["new cluster"].marker.pattern.fgcolor, made["new cluster"].marker.pattern.shape) == (colours.new, "/")


def test_hover_text_keeps_every_digit() -> None:
    row = builders.partition(old=9_007_199_254_740_993, new=9_007_199_254_740_893, old_log=(0, 9_007_199_254_740_999))
    assert "9,007,199,254,740,993" in traces(compare_charts.lanes((row,), LIGHT))["old cluster"].hovertext[0]


def test_a_hostile_name_is_text_in_every_label() -> None:
    figure = compare_charts.lanes(builders.hostile_rows(), LIGHT)
    assert "<img" not in str(figure.layout.yaxis.ticktext)
    assert not any("<img" in text for trace in figure.data for text in (trace.hovertext or ()))


def test_more_partitions_than_are_readable_are_cut() -> None:
    assert len(compare_charts.lanes(builders.many_rows(100), LIGHT).layout.yaxis.ticktext) == compare_charts.MAX_LANES


def test_nothing_to_draw_is_an_empty_chart() -> None:
    assert compare_charts.lanes((), LIGHT).layout.height > 0


def test_the_heat_map_is_centred_at_the_right_place() -> None:
    blank, known = compare_map.heat_map(builders.many_rows(1_000), LIGHT).data
    assert (known.zmid, known.zmin) == (0, -known.zmax)
    assert len(known.y) == 4
    drawn = sum(int(np.count_nonzero(~np.isnan(layer.z))) for layer in (blank, known))
    assert drawn == 1_000


def test_the_heat_map_shows_the_worst_topics_of_many() -> None:
    rows = builders.many_rows(10_000, per_topic=20)
    _, known = compare_map.heat_map(rows, LIGHT).data
    assert list(known.y) == compare_map.worst_topics(rows)[: compare_map.MAX_TOPICS]


def test_every_chart_says_its_point_in_words() -> None:
    rows = builders.reference_rows()
    assert "orders-0: 1,050 on old is 950 on new" in compare_charts.logs_in_words(rows)
    assert "unknown in 3" in compare_charts.lags_in_words(rows)
    assert compare_map.heat_in_words(rows).startswith("The old number goes wrong in 5 of 8 partitions of 5 topics")
    assert "No old number is known to be wrong" in compare_charts.logs_in_words(rows[2:3])


@with_cases("span_ms", [0, 30_000, 59_999])
def test_first_and_last_sample_of_a_short_recording_stand_apart_from_the_frame(span_ms: int) -> None:
    points = tuple(lag_charts.Point(at_ms=at_ms, value=at_ms, said="") for at_ms in {0, span_ms})
    figure = lag_charts.over_time([lag_charts.Line(name="lag", points=points, old=True)], LIGHT, "records")
    (trace,) = figure.data
    begin, end = (pd.Timestamp(each) for each in figure.layout.xaxis.range)
    of_width = 0.03  # 9 pixels, the width of a mark, of the 300 that a phone has
    assert min(map(pd.Timestamp, trace.x)) - begin >= of_width * (end - begin)
    assert end - max(map(pd.Timestamp, trace.x)) >= of_width * (end - begin)


def test_a_point_at_the_frame_of_the_lag_is_drawn_whole() -> None:
    points = tuple(lag_charts.Point(at_ms=at_ms, value=0, said="") for at_ms in (0, 120_000))
    figure = lag_charts.over_time([lag_charts.Line(name="lag", points=points, old=True)], LIGHT, "records")
    assert [trace.cliponaxis for trace in figure.data] == [False]
