"""The heat map of a comparison: where the old numbers of many partitions would land, topic by topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from offsetwise import wording
from offsetwise.console.explore.compare_charts import distance
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.charts import (
    SMALL_PX,
    axis_title,
    named_rows,
    page_style,
    scaled,
    shortened,
    ticks_between,
)
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import PartitionComparison, RawVerdict
from offsetwise.wording import verdicts

MAX_TOPICS: Final = 40
"""Topics that one map can show and stay readable."""
TopicRanks = tuple[str, list[int]]
"""A topic, and the rank of each of its partitions."""
TOPICS: Final[Columns[TopicRanks]] = (
    Column("topic", lambda of: of[0]),
    Column("partitions", lambda of: len(of[1])),
    Column("would go wrong", lambda of: of[1].count(0)),
    Column("not known", lambda of: of[1].count(1)),
)
"""The numbers behind the map of topics."""


def heat_map(rows: Sequence[PartitionComparison], colours: Palette) -> go.Figure:
    """Draw where the old number lands on the new log, topic × partition, worst topics first.

    Zero is the right position; grey means unknown. At most `MAX_TOPICS` topics.
    """
    topics = worst_topics(rows)[:MAX_TOPICS]
    lane = {topic: index for index, topic in enumerate(topics)}
    shown = [row for row in rows if row.topic in lane]
    numbers = sorted({row.partition for row in shown})
    column = {number: index for index, number in enumerate(numbers)}
    known, blank, hover = _cells(shown, lane, column)
    reach = float(np.nanmax(np.abs(known), initial=0.0)) or 1.0
    labels = [escaping.label(topic) for topic in topics]
    common = {"x": [str(number) for number in numbers], "y": labels, "xgap": 1 if len(numbers) < 120 else 0, "ygap": 2}
    one_colour = [[0, colours.blank], [1, colours.blank]]
    figure = go.Figure()
    figure.add_trace(go.Heatmap(**common, z=blank, colorscale=one_colour, showscale=False, hoverinfo="skip"))
    figure.add_trace(
        go.Heatmap(
            **common,
            z=known,
            zmid=0,
            zmin=-reach,
            zmax=reach,
            colorscale=[[0, colours.before], [0.5, colours.middle], [1, colours.after]],
            text=hover,
            hovertemplate="%{y} · %{text}<extra></extra>",
            colorbar=_scale(reach, colours),
        )
    )
    _dress(figure, len(topics), numbers, colours)
    return figure


def _dress(figure: go.Figure, topics: int, numbers: Sequence[int], colours: Palette) -> None:
    figure.update_layout(
        height=min(900, 130 + 24 * topics),
        margin={"l": 12, "r": 12, "t": 16, "b": 48},
        **page_style(colours),
    )
    figure.update_xaxes(
        title=axis_title("partition", colours),
        type="category",
        tickvals=[str(number) for number in numbers[:: _tick_step(len(numbers))]],
        showgrid=False,
        tickfont={"color": colours.muted},
    )
    figure.update_yaxes(type="category", autorange="reversed", **named_rows(colours))


def _scale(reach: float, colours: Palette) -> dict[str, object]:
    ticks = [tick for tick in ticks_between(-reach, reach, at_most=9) if abs(tick) < 10**12]
    return {
        "title": axis_title("old number lands<br>(records)", colours),
        "tickvals": [scaled(tick) for tick in ticks],
        "ticktext": ["right position" if tick == 0 else shortened(tick) for tick in ticks],
        "tickfont": {"size": SMALL_PX, "color": colours.muted},
        "outlinewidth": 0,
        "thickness": 12,
    }


def _cells(
    shown: Sequence[PartitionComparison], lane: Mapping[str, int], column: Mapping[int, int]
) -> tuple[NDArray[np.float32], NDArray[np.float32], list[list[str]]]:
    """Return the distances, the mask of unknown cells and the hover texts, each by lane, then by column."""
    known = np.full((len(lane), len(column)), np.nan, dtype=np.float32)
    blank = known.copy()
    hover = [[""] * len(column) for _ in lane]
    for row in shown:
        y, x, away = lane[row.topic], column[row.partition], distance(row)
        if away is None or row.raw.verdict is RawVerdict.CONFUSION:
            blank[y, x] = 1.0
        else:
            known[y, x] = scaled(away)
        hover[y][x] = (
            f"{row.partition}: {wording.number(row.old_offset)} → {wording.number(row.new_offset)}, {verdicts.raw(row)}"
        )
    return known, blank, hover


def _tick_step(columns: int) -> int:
    return next((step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000) if columns / step <= 12), 5_000)


def worst_topics(rows: Sequence[PartitionComparison]) -> list[str]:
    wrong: dict[str, int] = {}
    for row in rows:
        wrong[row.topic] = wrong.get(row.topic, 0) + (verdicts.rank(row) == 0)
    return sorted(wrong, key=lambda topic: (-wrong[topic], topic))


def topics(rows: Sequence[PartitionComparison]) -> tuple[TopicRanks, ...]:
    ranks: dict[str, list[int]] = {}
    for row in rows:
        ranks.setdefault(row.topic, []).append(verdicts.rank(row))
    return tuple((topic, ranks[topic]) for topic in worst_topics(rows))


def heat_in_words(rows: Sequence[PartitionComparison]) -> str:
    wrong = sum(1 for row in rows if verdicts.rank(row) == 0)
    topics = worst_topics(rows)
    worst = f", most of them in {escaping.plain(topics[0])}" if wrong else ""
    of = f"{wording.many(len(rows), 'partition')} of {wording.many(len(topics), 'topic')}"
    return f"The old number goes wrong in {wrong:,} of {of}{worst}."
