"""What is derived from held samples, computed once: a rerun of the page only looks it up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise import wording
from offsetwise.console.desk import Held
from offsetwise.console.lag import figures, frames
from offsetwise.console.palette import Palette
from offsetwise.console.table import dressed, layout, printed
from offsetwise.lag.amounts import Total, drift, lag
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import Cluster, LagPartition, LagSample

Shown = Held[LagView | None]
Partition = Held[PartitionView | None]
Rows = tuple[LagPartition, ...]


def rows(held: Shown, view: LagView, topics: tuple[str, ...], *, worst_first: bool) -> Rows:
    """Give the partitions of these topics, or of all; the worst first or in log order."""
    return _rows(held.id, topics, worst_first, view.newest.sample)


def totals_chart(held: Shown, view: LagView, colours: Palette) -> Any:
    """Give the chart of the totals over time."""
    return _totals_chart(held.id, colours, view)


def totals_table(held: Shown, view: LagView) -> pd.DataFrame:
    """Give the numbers behind it."""
    return _totals_table(held.id, view)


def partition_table(held: Shown, view: LagView, page: Rows, colours: Palette) -> Styler:
    """Give the coloured table of these partitions."""
    return _partition_table(held.id, tuple(row.key for row in page), colours, view.newest.sample, page)


def partition_layout(
    held: Shown, view: LagView, page: Rows, widths: Mapping[str, int]
) -> dict[str, tuple[int | None, Literal["right"] | None]]:
    """Give width and alignment of the columns of that table."""
    return _partition_layout(held.id, tuple(row.key for row in page), view.newest.sample, page, widths)


def topics(held: Shown, view: LagView) -> tuple[str, ...]:
    """Give the topics of the newest sample, by name."""
    return _topics(held.id, view.newest.sample)


def history_table(held: Partition, view: PartitionView, group: int | None) -> pd.DataFrame:
    """Give the numbers behind the charts of one partition."""
    return _history_table(held.id, group, view)


def lag_chart(held: Partition, view: PartitionView, colours: Palette) -> Any:
    """Give the chart of one partition's lag over time."""
    return _lag_chart(held.id, colours, view)


def drift_chart(held: Partition, view: PartitionView, group: str, colours: Palette) -> Any:
    """Give the chart of how far a group's commit lies from the position over time."""
    return _drift_chart(held.id, group, colours, view)


@st.cache_resource(max_entries=32, show_spinner=False)
def _rows(held_id: int, topics: tuple[str, ...], worst_first: bool, _sample: LagSample) -> Rows:  # noqa: ARG001 - the key
    kept = [row for row in _sample.partitions if not topics or row.topic in topics]
    if worst_first:
        kept.sort(key=lambda row: _urgency(row, _sample))
    return tuple(kept)


def _urgency(row: LagPartition, sample: LagSample) -> tuple[int, int]:
    """Order partitions: past an end first, then unknown, then by what is left."""
    amounts = [lag(row, side, sample.isolation_level) for side in Cluster]
    known = [each for each in amounts if each is not None]
    if any(each < 0 for each in known):
        return 0, min(known)
    if len(known) < len(amounts):
        return 1, -max(known, default=0)
    return 2, -max(known)


@st.cache_resource(max_entries=32, show_spinner=False)
def _totals_chart(held_id: int, colours: Palette, _view: LagView) -> Any:  # noqa: ARG001 - the key
    lines = [
        figures.Line(
            name=f"lag on {side}",
            old=side is Cluster.OLD,
            points=tuple(
                figures.Point(
                    at_ms=point.head.taken_at_ms,
                    value=point.totals.lag(side).net,
                    said=figures.hover(f"lag on {side}", point.head.taken_at_ms, _said(point.totals.lag(side))),
                    after_gap=point.after_gap,
                )
                for point in _view.points
            ),
        )
        for side in Cluster
    ]
    return figures.over_time(lines, colours, "records left, all partitions")


def _said(of: Total) -> str:
    if not of.known:
        return "unknown"
    past = f", {of.past:,} past the end" if of.past else ""
    unknown = f", unknown in {wording.many(of.unknown, 'partition')}" if of.unknown else ""
    return f"{of.left:,} left{past}{unknown}"


@st.cache_resource(max_entries=32, show_spinner=False)
def _totals_table(held_id: int, _view: LagView) -> pd.DataFrame:  # noqa: ARG001 - the key
    return frames.totals_table(_view.points)


@st.cache_resource(max_entries=32, show_spinner=False)
def _partition_table(
    held_id: int,  # noqa: ARG001 - the key, with the rows
    keys: tuple[tuple[str, str, int], ...],  # noqa: ARG001 - as above
    colours: Palette,
    _sample: LagSample,
    _page: Rows,
) -> Styler:
    styled = printed(frames.partition_table(_sample, _page))
    for side in Cluster:
        amounts = [lag(row, side, _sample.isolation_level) for row in _page]
        css = [
            f"color: {colours.wrong}; font-weight: 600" if amount is not None and amount < 0 else ""
            for amount in amounts
        ]
        styled = dressed(styled, f"lag {side}", css)
    return styled


@st.cache_resource(max_entries=32, show_spinner=False)
def _lag_chart(held_id: int, colours: Palette, _view: PartitionView) -> Any:  # noqa: ARG001 - the key
    lines = []
    for side in Cluster:
        name = f"lag on {side}"
        points = []
        for each in _view.history:
            row = next(iter(each.sample.partitions), None)
            value = None if row is None else lag(row, side, each.sample.isolation_level)
            said = figures.hover(name, each.sample.taken_at_ms, wording.lag(value))
            points.append(
                figures.Point(at_ms=each.sample.taken_at_ms, value=value, said=said, after_gap=each.after_gap)
            )
        lines.append(figures.Line(name=name, old=side is Cluster.OLD, points=tuple(points)))
    return figures.over_time(lines, colours, "records left", height=280)


@st.cache_resource(max_entries=64, show_spinner=False)
def _drift_chart(held_id: int, group: str, colours: Palette, _view: PartitionView) -> Any:  # noqa: ARG001 - the key
    points = []
    for each in _view.history:
        row = next(iter(each.sample.partitions), None)
        known = row is not None and group in each.sample.groups
        value = drift(row, each.sample.groups.index(group)) if row is not None and known else None
        said = figures.hover("drift", each.sample.taken_at_ms, f"{wording.signed(value)} records")
        points.append(figures.Point(at_ms=each.sample.taken_at_ms, value=value, said=said, after_gap=each.after_gap))
    lines = [figures.Line(name="group ahead of the position", old=True, points=tuple(points))]
    return figures.over_time(lines, colours, "records", below="below: the group is behind", height=240)


@st.cache_resource(max_entries=32, show_spinner=False)
def _partition_layout(
    held_id: int,  # noqa: ARG001 - the key, with the rows
    keys: tuple[tuple[str, str, int], ...],  # noqa: ARG001 - as above
    _sample: LagSample,
    _page: Rows,
    _widths: Mapping[str, int],
) -> dict[str, tuple[int | None, Literal["right"] | None]]:
    return layout(frames.partition_table(_sample, _page), _widths)


@st.cache_resource(max_entries=32, show_spinner=False)
def _topics(held_id: int, _sample: LagSample) -> tuple[str, ...]:  # noqa: ARG001 - the key
    return tuple(sorted({row.topic for row in _sample.partitions}))


@st.cache_resource(max_entries=64, show_spinner=False)
def _history_table(held_id: int, group: int | None, _view: PartitionView) -> pd.DataFrame:  # noqa: ARG001 - the key
    return frames.history_table(_view, group)
