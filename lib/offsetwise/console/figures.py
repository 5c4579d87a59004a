"""Charts of a comparison, as pure functions of its rows.

Both logs of a partition are drawn from the next record to read (0), so that a number that is right on one cluster
and wrong on the other is seen, not computed. The scale is signed and logarithmic: ten records and ten million fit
on one axis. Exact numbers stand in the hover text, as strings, because a chart's floats lose large offsets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from offsetwise.console import verdicts, wording
from offsetwise.console.palette import Palette
from offsetwise.model import Exactness, LogRange, PartitionComparison, RawVerdict

MAX_LANES: Final = 30
"""Partitions that one chart can show and stay readable."""

LANE_PX: Final = 38
_TOP_PX: Final = 44
_BOTTOM_PX: Final = 62
_OLD_LANE: Final = -0.18
_NEW_LANE: Final = 0.18
_BAR: Final = 0.27
_FONT_PX: Final = 13


def scaled(records: int) -> float:
    """Place a signed number of records on the signed logarithmic axis.

    >>> scaled(0), scaled(9), scaled(-99)
    (0.0, 1.0, -2.0)
    """
    return math.copysign(math.log10(1 + abs(records)), records) if records else 0.0


def distance(row: PartitionComparison) -> int | None:
    """Give how far behind the right place the old number lies on the new log; None where either is not known.

    Positive: it would step over records. Negative: it would read records again.
    """
    return None if row.old_offset is None or row.new_offset is None else row.old_offset - row.new_offset


def aligned_logs(rows: Sequence[PartitionComparison], colours: Palette) -> go.Figure:
    """Draw both logs of each partition from the next record to read, at most `MAX_LANES` of them."""
    rows = rows[:MAX_LANES]
    figure = go.Figure()
    old = [(lane, row) for lane, row in enumerate(rows) if _span(row.old, row.old_offset)]
    new = [(lane, row) for lane, row in enumerate(rows) if _span(row.new, row.new_offset)]
    _bars(
        figure,
        name="old log",
        lanes=[lane + _OLD_LANE for lane, _ in old],
        spans=[_span(row.old, row.old_offset) for _, row in old],
        hover=[_held("old", row, row.old, row.old_offset) for _, row in old],
        marker={"color": colours.old, "line": {"width": 0}},
    )
    _bars(
        figure,
        name="new log",
        lanes=[lane + _NEW_LANE for lane, _ in new],
        spans=[_span(row.new, row.new_offset) for _, row in new],
        hover=[_held("new", row, row.new, row.new_offset) for _, row in new],
        marker=_hatched(colours),
    )
    _bounds(figure, rows, colours)
    figure.add_trace(
        go.Scatter(
            name="next record to read",
            x=[0, 0],
            y=[-0.5, len(rows) - 0.5],
            mode="lines",
            line={"color": colours.next_record, "width": 2.5},
            hoverinfo="skip",
        )
    )
    _raw_marks(figure, rows, colours)
    for lane, row in enumerate(rows):
        if row.new_offset is None:
            _note(figure, lane + _NEW_LANE, "? no place known on new", colours.unknown)
        elif row.old_offset is None:
            _note(figure, lane + _OLD_LANE, "no position yet: new partition", colours.unknown)
    ends = [0.0]
    for _, row in old:
        ends += _span(row.old, row.old_offset) or []
    for _, row in new:
        ends += _span(row.new, row.new_offset) or []
    ends += [scaled(distance(row) or 0) for row in rows]
    _dress(
        figure,
        rows,
        colours,
        low=min(ends),
        high=max(ends),
        title="records from the next record to read · signed log scale",
    )
    return figure


def lags(rows: Sequence[PartitionComparison], colours: Palette) -> go.Figure:
    """Draw the lag on the old cluster beside the lag on the new one, signed, at most `MAX_LANES` partitions."""
    rows = rows[:MAX_LANES]
    figure = go.Figure()
    for name, lane_shift, values, marker in (
        ("lag on old", _OLD_LANE, [row.lag_old for row in rows], {"color": colours.old}),
        (
            "lag on new",
            _NEW_LANE,
            [row.lag_new for row in rows],
            _hatched(colours),
        ),
    ):
        known = [(lane, value) for lane, value in enumerate(values) if value is not None]
        figure.add_trace(
            go.Bar(
                name=name,
                orientation="h",
                y=[lane + lane_shift for lane, _ in known],
                x=[scaled(value) for _, value in known],
                width=_BAR,
                marker=marker,
                text=[wording.lag(value) for _, value in known],
                textposition="outside",
                cliponaxis=False,
                textfont={"color": [colours.wrong if value < 0 else colours.text for _, value in known], "size": 12},
                hovertext=[
                    f"{wording.label(str(partition_name(rows[lane])))}<br>{name}: {wording.lag(value)}"
                    for lane, value in known
                ],
                hoverinfo="text",
            )
        )
        for lane, value in enumerate(values):
            if value is None:
                _note(figure, lane + lane_shift, "?", colours.unknown)
    ends = [0.0] + [scaled(value) for row in rows for value in (row.lag_old, row.lag_new) if value is not None]
    _dress(
        figure,
        rows,
        colours,
        low=min(ends),
        high=max(ends) * 1.28 + 0.2,
        title="records left · signed log scale",
        zero="0",
    )
    return figure


def partition_name(row: PartitionComparison) -> str:
    """Name a partition as Kafka's tools do. Not escaped."""
    return f"{row.topic}-{row.partition}"


def _span(log: LogRange, position: int | None) -> list[float] | None:
    if position is None or log.log_start is None or log.hw is None:
        return None
    return [scaled(log.log_start - position), scaled(log.hw - position)]


def _held(side: str, row: PartitionComparison, log: LogRange, position: int | None) -> str:
    return (
        f"<b>{wording.label(partition_name(row))}</b> on {side}"
        f"<br>holds {wording.number(log.log_start)} … {wording.number(log.hw)}"
        f"<br>next record to read: {wording.number(position)}"
    )


def _bars(
    figure: go.Figure,
    *,
    name: str,
    lanes: list[float],
    spans: list[list[float] | None],
    hover: list[str],
    marker: dict[str, object],
) -> None:
    known = [span for span in spans if span]
    figure.add_trace(
        go.Bar(
            name=name,
            orientation="h",
            y=lanes,
            base=[low for low, _ in known],
            x=[high - low for low, high in known],
            width=_BAR,
            marker=marker,
            hovertext=hover,
            hoverinfo="text",
        )
    )


def _hatched(colours: Palette) -> dict[str, object]:
    return {
        "color": colours.page,
        "line": {"width": 1, "color": colours.new},
        "pattern": {"shape": "/", "fgcolor": colours.new, "bgcolor": colours.page, "size": 5, "solidity": 0.35},
    }


def _bounds(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette) -> None:
    lanes = [
        (lane, row, row.bounds[1] - row.new_offset)
        for lane, row in enumerate(rows)
        if row.exactness is Exactness.BOUNDED and row.new_offset is not None and row.bounds[1] is not None
    ]
    if not lanes:
        return
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for lane, row, width in lanes:
        xs += [0.0, scaled(width), None]
        ys += [lane + _NEW_LANE, lane + _NEW_LANE, None]
        said = f"<b>{wording.label(partition_name(row))}</b><br>proven to lie between {wording.number(row.bounds[0])} and {wording.number(row.bounds[1])}"
        texts += [said, said, ""]
    figure.add_trace(
        go.Scatter(
            name="place bounded",
            x=xs,
            y=ys,
            mode="lines+markers",
            line={"color": colours.bound, "width": 5},
            marker={"symbol": "line-ns", "size": 12, "line": {"width": 3, "color": colours.bound}},
            hovertext=texts,
            hoverinfo="text",
        )
    )


def _raw_marks(figure: go.Figure, rows: Sequence[PartitionComparison], colours: Palette) -> None:
    wrong = [
        (lane, row)
        for lane, row in enumerate(rows)
        if distance(row) is not None and row.raw.verdict is not RawVerdict.SAME
    ]
    right = [
        (lane, row) for lane, row in enumerate(rows) if distance(row) is not None and row.raw.verdict is RawVerdict.SAME
    ]
    for name, marks, symbol, colour in (
        ("old number on new", wrong, "x", colours.raw),
        ("old number, right", right, "circle", colours.next_record),
    ):
        if not marks:
            continue
        figure.add_trace(
            go.Scatter(
                name=name,
                x=[scaled(distance(row) or 0) for _, row in marks],
                y=[lane + _NEW_LANE for lane, _ in marks],
                mode="markers",
                marker={"symbol": symbol, "size": 11, "color": colour, "line": {"width": 1.5, "color": colours.page}},
                hovertext=[
                    f"<b>{wording.label(partition_name(row))}</b><br>old number {wording.number(row.old_offset)} on new: "
                    f"{verdicts.raw(row).word}<br>right place: {wording.number(row.new_offset)}"
                    for _, row in marks
                ],
                hoverinfo="text",
            )
        )
        for lane, row in marks:
            figure.add_annotation(
                x=scaled(distance(row) or 0),
                y=lane + _NEW_LANE,
                text=f"<b>{wording.number(row.old_offset)}</b>",
                showarrow=False,
                xanchor="left",
                xshift=9,
                font={"size": 12, "color": colours.wrong if symbol == "x" else colours.right},
                bgcolor=colours.page,
                borderpad=1,
            )


def _note(figure: go.Figure, y: float, text: str, colour: str) -> None:
    figure.add_annotation(
        x=0, y=y, text=text, showarrow=False, xanchor="left", xshift=8, font={"size": 12, "color": colour}
    )


def _dress(
    figure: go.Figure,
    rows: Sequence[PartitionComparison],
    colours: Palette,
    *,
    low: float,
    high: float,
    title: str,
    zero: str = "next",
) -> None:
    room = max(0.6, (high - low) * 0.06)
    ticks = ticks_between(low, high)
    figure.update_layout(
        barmode="overlay",
        height=_TOP_PX + _BOTTOM_PX + LANE_PX * max(1, len(rows)),
        margin={"l": 8, "r": 8, "t": _TOP_PX, "b": _BOTTOM_PX},
        plot_bgcolor=colours.page,
        paper_bgcolor=colours.page,
        font={"size": _FONT_PX, "color": colours.text},
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "font": {"color": colours.text, "size": 12},
        },
        hoverlabel={"align": "left"},
    )
    figure.update_xaxes(
        range=[low - (room if low < 0 else 0.05 * (high - low)), high + room],
        tickvals=[scaled(tick) for tick in ticks],
        ticktext=[zero if tick == 0 else _short(tick) for tick in ticks],
        title={"text": title, "font": {"color": colours.muted, "size": 12}},
        tickfont={"color": colours.muted, "size": 12},
        gridcolor=colours.grid,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=[wording.label(_clipped(partition_name(row))) for row in rows],
        tickfont={"color": colours.text, "size": _FONT_PX},
        showgrid=False,
        zeroline=False,
        automargin=True,
        fixedrange=True,
    )


def _clipped(name: str, limit: int = 28) -> str:
    return name if len(name) <= limit else f"{name[: limit - 12]}…{name[-11:]}"


def ticks_between(low: float, high: float) -> list[int]:
    """Give powers of ten, and 0, between two places of the axis; fewer of them where it is long."""
    below = [-(10**power) for power in range(1, math.ceil(-low) + 1) if power <= -low + 0.05] if low < 0 else []
    above = [10**power for power in range(1, math.ceil(high) + 1) if power <= high + 0.05] if high > 0 else []
    step = 1 + max(len(below), len(above)) // 6
    return [*reversed(below[step - 1 :: step]), 0, *above[step - 1 :: step]]


def _short(records: int) -> str:
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if abs(records) >= size:
            return f"{records // size if records > 0 else -(-records // size):+,} {unit}".replace("-", "−")
    return wording.signed(records).replace("-", "−")
