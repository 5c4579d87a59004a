"""The charts of the Checkpoint screen. Committed is solid, planned is hollow or hatched, in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.batches import BatchFact, BatchStanding, History
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.charts import SMALL_PX, axis_title, dress, lane_axis, round_ticks, solid
from offsetwise.console.widgets.palette import Palette

MAX_LANES: Final = 20
"""Partitions that the chart of a step can show and stay readable."""
_LANE_PX: Final = 40
_FRAME_PX: Final = 140
"""Height of the axis and of the legend, which has a row for each of up to four names on a phone."""
_BAR: Final = 0.38
"""Share of a lane that a bar takes: thin enough for the restart mark to stand out, even with one or two lanes."""
_BATCH_BAR: Final = 0.75


def offsets(facts: Sequence[BatchFact], colours: Palette, what: str, *, lanes: int) -> go.Figure:
    """Draw where each batch ends: a line, solid marks for committed batches, hollow ones for planned.

    Args:
        facts: The batches.
        colours: The theme's colours.
        what: What the offsets belong to.
        lanes: How many partitions are added up.
    """
    figure = go.Figure()
    figure.add_trace(
        go.Scatter(
            x=[fact.batch.id for fact in facts],
            y=[fact.end for fact in facts],
            mode="lines",
            line={"color": colours.old, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    for name, committed, symbol in (("committed", True, "circle"), ("planned", False, "circle-open")):
        marks = [fact for fact in facts if fact.batch.committed is committed and fact.end is not None]
        if marks:
            line = {"width": 2.5, "color": colours.old}
            figure.add_trace(
                go.Scatter(
                    name=name,
                    x=[fact.batch.id for fact in marks],
                    y=[fact.end for fact in marks],
                    mode="markers",
                    marker={"symbol": symbol, "size": 9, "color": colours.old, "line": line},
                    hovertext=[_ended(fact, what) for fact in marks],
                    hoverinfo="text",
                )
            )
    _dress(figure, colours, "end offset" if lanes == 1 else "end offsets, added up", height=320)
    return figure


def records(facts: Sequence[BatchFact], colours: Palette) -> go.Figure:
    figure = go.Figure()
    for name, committed in (("committed", True), ("planned", False)):
        bars = [fact for fact in facts if fact.batch.committed is committed and fact.read.at_all]
        if bars:
            figure.add_trace(
                go.Bar(
                    name=name,
                    x=[fact.batch.id for fact in bars],
                    y=[fact.read.records for fact in bars],
                    width=_BATCH_BAR,
                    marker=solid(colours) if committed else hatched(colours),
                    hovertext=[
                        f"<b>batch {wording.number(fact.batch.id)}</b>, {name}"
                        f"<br>{wording.many(fact.read.records, 'record')}"
                        for fact in bars
                    ],
                    hoverinfo="text",
                )
            )
    _dress(figure, colours, "records", height=260)
    figure.update_layout(barmode="overlay")
    return figure


def intervals(facts: Sequence[BatchFact], colours: Palette) -> go.Figure:
    figure = go.Figure()
    known = [fact for fact in facts if fact.interval_ms is not None]
    figure.add_trace(
        go.Bar(
            x=[fact.batch.id for fact in known],
            y=[(fact.interval_ms or 0) / 1000 for fact in known],
            width=_BATCH_BAR,
            marker={
                "color": [colours.wrong if (fact.interval_ms or 0) < 0 else colours.muted for fact in known],
                "line": {"width": 0},
            },
            hovertext=[
                f"<b>batch {wording.number(fact.batch.id)}</b><br>planned {wording.duration(fact.interval_ms)} after "
                f"batch {wording.number(fact.since)}"
                for fact in known
            ],
            hoverinfo="text",
            showlegend=False,
        )
    )
    _dress(figure, colours, "seconds since the batch before", height=260)
    return figure


def step(history: History, at: BatchStanding, indexes: Sequence[int], lanes: slice, colours: Palette) -> go.Figure:
    """Draw one step: per partition what is done, what a failure would read again, and what later batches read.

    Args:
        history: The batches.
        at: The state of `lanes` at the step.
        indexes: The lanes to draw, counted within `lanes`, top to bottom.
        lanes: A range of the history's lanes.
        colours: The theme's colours.
    """
    first = lanes.start or 0
    figure = go.Figure()
    drawn = [_drawn(history, at, index, first + index) for index in indexes]
    first_drawn = min((bar["low"] for bar in drawn), default=0)
    longest = max(max((bar["last"] for bar in drawn), default=1) - first_drawn, 1)
    apart = max(1, *round_ticks(longest)[1:2])
    ticks = list(range(-(-first_drawn // apart) * apart, first_drawn + longest + 1, apart))
    names = [str(history.lanes[first + index].topic_partition) for index in indexes]
    _segments(figure, "later batches", drawn, ("end", "last"), {"color": colours.grid, "line": {"width": 0}})
    _segments(figure, "read and committed", drawn, ("low", "start"), solid(colours))
    _segments(figure, "would be read again", drawn, ("start", "end"), hatched(colours))
    if any(bar["back"] for bar in drawn):
        regressions = {"color": colours.page, "line": {"width": 1, "color": colours.wrong}}
        pattern = {"shape": "\\", "fgcolor": colours.wrong, "bgcolor": colours.page, "size": 5, "solidity": 0.35}
        _segments(figure, "the plan goes back", drawn, ("planned", "start"), regressions | {"pattern": pattern})
    _marks(figure, drawn, colours, right=first_drawn + longest * 1.02)
    figure.update_layout(
        barmode="overlay",
        height=_FRAME_PX + _LANE_PX * max(1, len(drawn)),
        margin={"l": 8, "r": 8, "t": 44, "b": 44},
        **dress(colours),
    )
    figure.update_xaxes(
        range=[first_drawn, first_drawn + longest * 1.5],
        tickvals=ticks,
        ticktext=[f"{tick:,}" for tick in ticks],
        tickfont={"color": colours.muted, "size": SMALL_PX},
        title=axis_title("offset", colours),
        gridcolor=colours.grid,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(**lane_axis(names, colours))
    return figure


def _marks(figure: go.Figure, drawn: Sequence[dict[str, Any]], colours: Palette, *, right: float) -> None:
    figure.add_trace(
        go.Scatter(
            name="a restart reads on here",
            x=[bar["start"] for bar in drawn if bar["known"]],
            y=[index for index, bar in enumerate(drawn) if bar["known"]],
            mode="markers",
            marker={"symbol": "line-ns", "size": 26, "line": {"width": 3, "color": colours.next_record}},
            hovertext=[bar["said"] for bar in drawn if bar["known"]],
            hoverinfo="text",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[right] * len(drawn),
            y=list(range(len(drawn))),
            mode="text",
            text=[bar["label"] for bar in drawn],
            textposition="middle right",
            textfont={"size": SMALL_PX, "color": [colours.wrong if bar["back"] else colours.text for bar in drawn]},
            hoverinfo="skip",
            showlegend=False,
        )
    )


def hatched(colours: Palette) -> dict[str, Any]:
    return {
        "color": colours.page,
        "line": {"width": 1, "color": colours.old},
        "pattern": {"shape": "/", "fgcolor": colours.old, "bgcolor": colours.page, "size": 5, "solidity": 0.35},
    }


def _drawn(history: History, at: BatchStanding, index: int, lane: int) -> dict[str, Any]:
    known = history.known[:, lane]
    ends = history.ends[known, lane]
    low, last = (int(ends.min()), int(ends.max())) if len(ends) else (0, 0)
    start_known, end_known = bool(at.start_known[index]), bool(at.end_known[index])
    start = int(at.start[index]) if start_known else low
    end = int(at.end[index]) if end_known else start
    again = end - start if start_known and end_known else None
    return {
        "low": low,
        "start": start,
        "end": max(start, end),
        "planned": end,
        "last": last,
        "known": start_known,
        "back": start_known and end < start,
        "label": _label(start if start_known else None, end if end_known else None, again),
        "said": f"<b>{escaping.label(str(history.lanes[lane].topic_partition))}</b>"
        f"<br>a restart reads on at {wording.number(start if start_known else None)}",
    }


def _label(start: int | None, end: int | None, again: int | None) -> str:
    """Return the offset of a restart and, on a second line, what is read again: a single line is cut off on a phone."""
    if start is None:
        return "no position yet" if end is None else f"? → {wording.number(end)}, where it<br>began is not retained"
    if again is None:
        return f"<b>{wording.number(start)}</b>"
    if again == 0:
        return f"<b>{wording.number(start)}</b><br>nothing twice"
    moves = f"<b>{wording.number(start)}</b> → {wording.number(end)}"
    return f"{moves}<br>{'goes back' if again < 0 else f'{again:,} again'}"


def _segments(
    figure: go.Figure, name: str, drawn: Sequence[dict[str, Any]], between: tuple[str, str], marker: dict[str, Any]
) -> None:
    bars = [(index, bar[between[0]], bar[between[1]]) for index, bar in enumerate(drawn)]
    shown = [(index, low, high) for index, low, high in bars if high > low]
    figure.add_trace(
        go.Bar(
            name=name,
            orientation="h",
            y=[index for index, _, _ in shown],
            base=[low for _, low, _ in shown],
            x=[high - low for _, low, high in shown],
            width=_BAR,
            marker=marker,
            hovertext=[f"{name}: {high - low:,}" for _, low, high in shown],
            hoverinfo="text",
            showlegend=True,
        )
    )


def _ended(fact: BatchFact, what: str) -> str:
    state = "committed" if fact.batch.committed else "planned, not committed"
    records_ = wording.number(fact.read.records) if fact.read.at_all else "?"
    return (
        f"<b>batch {wording.number(fact.batch.id)}</b>, {state}<br>{escaping.label(what)} ends at "
        f"{wording.number(fact.end)}<br>{records_} records<br>planned {wording.clock(fact.batch.timestamp_ms)}"
    )


def _dress(figure: go.Figure, colours: Palette, title: str, *, height: int) -> None:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 40, "b": 44},
        **dress(colours),
    )
    ids = [number for trace in figure.data for number in (trace.x or ())]
    first, last = (min(ids), max(ids)) if ids else (0, 0)
    figure.update_xaxes(
        title=axis_title("batch", colours),
        tickformat=",d",
        dtick=1 if last - first < 12 else None,
        range=[first - 0.6, last + 0.6],
        tickfont={"color": colours.muted, "size": SMALL_PX},
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(
        title=axis_title(title, colours),
        tickformat=",",
        tickfont={"color": colours.muted, "size": SMALL_PX},
        gridcolor=colours.grid,
        zerolinecolor=colours.grid,
        automargin=True,
        fixedrange=True,
    )
