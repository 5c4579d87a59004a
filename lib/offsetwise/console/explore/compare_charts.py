"""The chart of a comparison: each partition's two logs, aligned, and its lags.

Both logs of a partition are drawn relative to the next record to read (0), so that a number that is right on one
cluster and wrong on the other is visible. The scale is signed and logarithmic: ten records and ten million fit on one
axis. Exact numbers are strings in labels and hover text, because a chart's floats lose large offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from offsetwise import wording
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.charts import (
    SMALL_PX,
    axis_title,
    dress,
    hatched,
    lane_axis,
    note,
    scaled,
    shortened,
    solid,
    ticks_between,
)
from offsetwise.console.widgets.palette import Palette
from offsetwise.model import AnyPosition, Exactness, LogRange, PartitionComparison, RawVerdict
from offsetwise.wording import verdicts

MAX_LANES: Final = 30
"""Partitions that one chart can show and stay readable."""
_LANE_PX: Final = 40
_TOP_PX: Final = 64
_BOTTOM_PX: Final = 58
_OLD_LANE: Final = -0.17
_NEW_LANE: Final = 0.17
_BAR: Final = 0.26
_LOGS: Final = 1
_LAGS: Final = 2


def distance(row: PartitionComparison) -> int | None:
    """Return the difference between the old number and the correct new offset; None if either is not known.

    Positive: the old number would skip records. Negative: it would read records again.
    """
    return None if row.old_offset is None or row.new_offset is None else row.old_offset - row.new_offset


def lanes(rows: Sequence[PartitionComparison], colours: Palette, *, lag: bool = True) -> go.Figure:
    """Draw one lane per partition, at most `MAX_LANES`: its logs relative to the next record to read, and its lags.

    Args:
        rows: The partitions, top to bottom.
        colours: The theme's colours.
        lag: Whether to draw the lags next to the logs.
    """
    rows = rows[:MAX_LANES]
    figure = make_subplots(
        rows=1,
        cols=2 if lag else 1,
        shared_yaxes=True,
        column_widths=[0.7, 0.3] if lag else [1.0],
        horizontal_spacing=0.03,
    )
    _logs(figure, rows, colours)
    _bounds(figure, rows, colours)
    _next_record(figure, len(rows), colours)
    _old_numbers(figure, rows, colours)
    if lag:
        _lag_bars(figure, rows, colours)
    _dress(figure, rows, colours, lag=lag)
    # All at once: adding one annotation copies and validates all existing ones.
    figure.layout.annotations = _notes(rows, colours)
    return figure


def _logs(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette) -> None:
    for side, shift, marker in (("old", _OLD_LANE, solid(colours)), ("new", _NEW_LANE, hatched(colours))):
        logs = [
            (lane, row, log, position, span)
            for lane, row in enumerate(rows)
            for log, position in ((row.old, row.old_offset) if side == "old" else (row.new, row.new_offset),)
            if (span := _span(log, position))
        ]
        figure.add_trace(
            go.Bar(
                name=f"{side} cluster",
                orientation="h",
                y=[lane + shift for lane, *_ in logs],
                base=[low for *_, (low, _) in logs],
                x=[high - low for *_, (low, high) in logs],
                width=_BAR,
                marker=marker,
                hovertext=[
                    f"<b>{escaping.label(str(row.topic_partition))}</b> on {side}"
                    f"<br>holds {wording.number(log.log_start)} … {wording.number(log.hw)}"
                    f"<br>next record to read: {wording.number(position)}"
                    for _, row, log, position, _ in logs
                ],
                hoverinfo="text",
            ),
            row=1,
            col=_LOGS,
        )


def _bounds(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette) -> None:
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for lane, row in enumerate(rows):
        high = row.bounds[1]
        if row.exactness is not Exactness.BOUNDED or row.new_offset is None or high is None:
            continue
        width = high - row.new_offset
        if width is None:
            continue
        said = (
            f"<b>{escaping.label(str(row.topic_partition))}</b><br>proven to lie between "
            f"{wording.number(row.bounds[0])} and {wording.number(high)}"
        )
        xs += [0.0, scaled(width), None]
        ys += [lane + _NEW_LANE, lane + _NEW_LANE, None]
        texts += [said, said, ""]
    if xs:
        figure.add_trace(
            go.Scatter(
                name="position lies in here",
                x=xs,
                y=ys,
                mode="lines",
                line={"color": colours.bound, "width": 4},
                hovertext=texts,
                hoverinfo="text",
            ),
            row=1,
            col=_LOGS,
        )


def _next_record(figure: go.Figure, lanes: int, colours: Palette) -> None:
    figure.add_trace(
        go.Scatter(
            name="next record to read",
            x=[0, 0],
            y=[-0.5, lanes - 0.5],
            mode="lines",
            line={"color": colours.next_record, "width": 2.5},
            hoverinfo="skip",
        ),
        row=1,
        col=_LOGS,
    )


def _old_numbers(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette) -> None:
    placed = [(lane, row, away) for lane, row in enumerate(rows) if (away := distance(row)) is not None]
    for name, same, symbol, colour in (
        ("old number goes wrong", False, "x", colours.raw),
        ("old number is right", True, "circle", colours.next_record),
    ):
        marks = [mark for mark in placed if (mark[1].raw.verdict is RawVerdict.SAME) is same]
        if not marks:
            continue
        figure.add_trace(
            go.Scatter(
                name=name,
                x=[scaled(away) for _, _, away in marks],
                y=[lane + _NEW_LANE for lane, _, _ in marks],
                mode="markers",
                marker={"symbol": symbol, "size": 11, "color": colour, "line": {"width": 1.5, "color": colours.page}},
                hovertext=[
                    f"<b>{escaping.label(str(row.topic_partition))}</b><br>old number "
                    f"{wording.number(row.old_offset)} on new: {verdicts.raw(row).word}"
                    f"<br>right position: {wording.number(row.new_offset)}"
                    for _, row, _ in marks
                ],
                hoverinfo="text",
            ),
            row=1,
            col=_LOGS,
        )


def _lag_bars(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette) -> None:
    for side, shift, marker in (("old", _OLD_LANE, solid(colours)), ("new", _NEW_LANE, hatched(colours))):
        lags = [(lane, row, row.lag_old if side == "old" else row.lag_new) for lane, row in enumerate(rows)]
        known = [(lane, row, value) for lane, row, value in lags if value is not None]
        figure.add_trace(
            go.Bar(
                name=f"lag on {side}",
                showlegend=False,
                orientation="h",
                y=[lane + shift for lane, _, _ in known],
                x=[scaled(value) for _, _, value in known],
                width=_BAR,
                marker=marker,
                hovertext=[
                    f"<b>{escaping.label(str(row.topic_partition))}</b><br>lag on {side}: {wording.lag(value)}"
                    for _, row, value in known
                ],
                hoverinfo="text",
            ),
            row=1,
            col=_LAGS,
        )
        figure.add_trace(
            go.Scatter(
                name=f"lag on {side}, in numbers",
                showlegend=False,
                x=[scaled(max(value or 0, 0)) for _, _, value in lags],
                y=[lane + shift for lane, _, _ in lags],
                mode="text",
                text=[f" {wording.lag(value)}" for _, _, value in lags],
                textposition="middle right",
                textfont={"size": SMALL_PX, "color": [_lag_colour(value, colours) for _, _, value in lags]},
                hoverinfo="skip",
            ),
            row=1,
            col=_LAGS,
        )


def _dress(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette, *, lag: bool) -> None:
    ends = [0.0, *(scaled(distance(row) or 0) for row in rows)]
    for row in rows:
        ends += _span(row.old, row.old_offset) or ()
        ends += _span(row.new, row.new_offset) or ()
    figure.update_layout(
        barmode="overlay",
        height=_TOP_PX + _BOTTOM_PX + _LANE_PX * max(1, len(rows)),
        margin={"l": 8, "r": 8, "t": _TOP_PX, "b": _BOTTOM_PX},
        **dress(colours),
    )
    low, high = min(ends), max(ends)
    room = max(0.5, (high - low) * 0.05)
    _axis(figure, colours, _LOGS, low - room, high + 2 * room, "records from the next record to read", zero="next")
    if lag:
        lags = [0.0, *(scaled(v) for row in rows for v in (row.lag_old, row.lag_new) if v is not None)]
        _axis(figure, colours, _LAGS, min(lags), max(1.0, *lags) * 1.45, "lag: records left to read", zero="0")
    figure.update_yaxes(**lane_axis([str(row.topic_partition) for row in rows], colours))


def _axis(figure: go.Figure, colours: Palette, col: int, low: float, high: float, title: str, *, zero: str) -> None:  # noqa: PLR0917 - drawn twice
    ticks = ticks_between(low, high, at_most=4 if col == _LAGS else 8)
    figure.update_xaxes(
        row=1,
        col=col,
        range=[low, high],
        tickvals=[scaled(tick) for tick in ticks],
        ticktext=[zero if tick == 0 else shortened(tick, sign=col == _LOGS) for tick in ticks],
        tickangle=0,
        tickfont={"color": colours.muted, "size": SMALL_PX},
        title=axis_title(title, colours),
        gridcolor=colours.grid,
        zeroline=False,
        fixedrange=True,
    )


def _span(log: LogRange, position: AnyPosition | None) -> tuple[float, float] | None:
    if position is None or log.log_start is None or log.hw is None:
        return None
    start, end = log.log_start - position, log.hw - position
    return None if start is None or end is None else (scaled(start), scaled(end))


def _lag_colour(lag: int | None, colours: Palette) -> str:
    return colours.unknown if lag is None else colours.wrong if lag < 0 else colours.text


def _notes(rows: Sequence[PartitionComparison], colours: Palette) -> list[dict[str, object]]:
    unresolved = [
        note(0, lane + _NEW_LANE, "? no position known on new", colours.unknown)
        for lane, row in enumerate(rows)
        if row.new_offset is None
    ]
    new = [
        note(0, lane + _OLD_LANE, "no position yet: new partition" if row.is_new else "no offset", colours.unknown)
        for lane, row in enumerate(rows)
        if row.old_offset is None
    ]
    landings = []
    for lane, row in enumerate(rows):
        away = distance(row)
        if away is not None:
            colour = colours.right if row.raw.verdict is RawVerdict.SAME else colours.wrong
            text = f"<b>{wording.number(row.old_offset)}</b>"
            landings.append(
                note(scaled(away), lane + _NEW_LANE, text, colour) | {"bgcolor": colours.page, "borderpad": 1}
            )
    return [*unresolved, *new, *landings]


def logs_in_words(rows: Sequence[PartitionComparison]) -> str:
    wrong = [row for row in rows if verdicts.rank(row) == 0]
    if not wrong:
        return (
            f"Both logs of {wording.many(len(rows), 'partition')} aligned at the next record to read. "
            "No old number is known to be wrong."
        )
    row = wrong[0]
    example = (
        f"{escaping.plain(str(row.topic_partition))}: {wording.number(row.old_offset)} on old is "
        f"{wording.number(row.new_offset)} on new; the old number there: {verdicts.raw(row).word}"
    )
    return (
        f"Both logs of {wording.many(len(rows), 'partition')} aligned at the next record to read. "
        f"In {len(wrong):,} the old number goes wrong on the new log. {example}."
    )


def lags_in_words(rows: Sequence[PartitionComparison]) -> str:
    both = [row for row in rows if row.lag_old is not None and row.lag_new is not None]
    same = sum(1 for row in both if row.lag_old == row.lag_new)
    return (
        f"Records left to read on old beside new: equal in {same:,} of {wording.many(len(rows), 'partition')}, "
        f"different in {len(both) - same:,}, unknown in {len(rows) - len(both):,}."
    )
