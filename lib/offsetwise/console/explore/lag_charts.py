"""The charts of the Lag screen: old and new over time. Lines break where a sample is missing or lacks a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.console.explore.lag_tables import Partition, Shown
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.charts import SMALL_PX, axis_title, page_style
from offsetwise.console.widgets.palette import Palette
from offsetwise.lag.amounts import Total, behind_ms, drift, in_time, lag, totals
from offsetwise.lag.view import LagView, PartitionView
from offsetwise.model import Cluster
from offsetwise.wording.time_lag import lag_text

_MARKS: Final = 60
"""With more points than this, marks would hide the line; only the first and every n-th have one."""
_LEAST_MS: Final = 60_000
"""The shortest time range that is drawn, without the room on either side."""
_ROOM_MS: Final = 3_000
"""Room between the frame and the first or last point of such a range, so that marks are not cut, even on a phone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value at one moment; None if it is not known."""

    at_ms: int
    value: int | None
    said: str
    """Hover text, names escaped."""
    after_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    name: str
    points: tuple[Point, ...]
    old: bool
    """Solid circles if true, else open diamonds on a dashed line."""


def over_time(
    lines: Sequence[Line], colours: Palette, title: str, *, below: str = "below: past the end", height: int = 320
) -> go.Figure:
    """Draw lines over time (UTC). If values are below 0, the zero line is drawn and labelled.

    Args:
        lines: The lines to draw.
        colours: The theme's colours.
        title: Title of the y axis.
        below: Label for values below 0.
        height: In pixels.
    """
    figure = go.Figure()
    for line in lines:
        xs, ys, said = _broken(line.points)
        if all(value is None for value in ys):
            continue  # the legend would name a line that is not visible
        figure.add_trace(
            go.Scatter(
                name=line.name,
                x=xs,
                y=ys,
                mode="lines+markers",
                connectgaps=False,
                cliponaxis=False,  # a mark at 0, or at the frame, is not cut
                line={
                    "color": colours.old if line.old else colours.new,
                    "width": 2,
                    "dash": "solid" if line.old else "dot",
                },
                marker=_marker(line, colours),
                hovertext=said,
                hoverinfo="text",
            )
        )
    _dress(figure, colours, title, height)
    _widened(figure, lines)
    figure.update_layout(shapes=[*_zero(lines, colours, below), *_gaps(lines, colours)])
    return figure


def _widened(figure: go.Figure, lines: Sequence[Line]) -> None:
    """Show a minute around the first samples: Plotly would divide the time of a single one into microseconds."""
    moments = [point.at_ms for line in lines for point in line.points]
    if moments and max(moments) - min(moments) < _LEAST_MS:
        middle = (min(moments) + max(moments)) // 2
        half = _LEAST_MS // 2 + _ROOM_MS
        figure.update_xaxes(range=[_time(middle - half), _time(middle + half)])


def _broken(points: Sequence[Point]) -> tuple[list[Any], list[int | None], list[str]]:
    """Insert an empty point where a sample is missing, so that no line crosses the gap."""
    xs: list[Any] = []
    ys: list[int | None] = []
    said: list[str] = []
    for index, point in enumerate(points):
        if point.after_gap and index:
            xs.append(_time((points[index - 1].at_ms + point.at_ms) // 2))
            ys.append(None)
            said.append("")
        xs.append(_time(point.at_ms))
        ys.append(point.value)
        said.append(point.said)
    return xs, ys, said


def _marker(line: Line, colours: Palette) -> dict[str, Any]:
    step = max(1, len(line.points) // _MARKS)
    size = 7 if line.old else 9
    results: dict[str, Any] = {"size": size, "maxdisplayed": 0 if step == 1 else _MARKS}
    if line.old:
        return results | {"symbol": "circle", "color": colours.old}
    return results | {
        "symbol": "diamond-x-open" if step == 1 else "diamond-open",
        "color": colours.new,
        "line": {"width": 1.5, "color": colours.new},
    }


def _zero(lines: Sequence[Line], colours: Palette, below: str) -> list[dict[str, Any]]:
    if not any(point.value is not None and point.value < 0 for line in lines for point in line.points):
        return []
    return [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "yref": "y",
            "y0": 0,
            "y1": 0,
            "line": {"color": colours.wrong, "width": 1.5, "dash": "dash"},
            # In the legend: next to the line, values would overlap the label, or the chart would end above it.
            "name": below,
            "showlegend": True,
        }
    ]


def _gaps(lines: Sequence[Line], colours: Palette) -> list[dict[str, Any]]:
    points = lines[0].points if lines else ()
    spans = [(points[index - 1].at_ms, point.at_ms) for index, point in enumerate(points) if point.after_gap and index]
    return [
        {
            "type": "rect",
            "xref": "x",
            "x0": _time(begin),
            "x1": _time(end),
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "fillcolor": colours.grid,
            "opacity": 0.5,
            "line": {"width": 0},
            "layer": "below",
            "label": {
                "text": "no sample",
                "font": {"color": colours.muted, "size": SMALL_PX},
                "textposition": "top center",
            },
        }
        for begin, end in spans[:50]
    ]


def _dress(figure: go.Figure, colours: Palette, title: str, height: int) -> None:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 40, "b": 8},
        **page_style(colours),
        hoverlabel={"bgcolor": colours.page, "bordercolor": colours.muted, "font": {"color": colours.text}},
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "itemclick": False,
            "itemdoubleclick": False,
        },
        showlegend=True,
        hovermode="closest",
    )
    figure.update_xaxes(
        type="date",
        ticks="outside",
        ticklen=8,
        tickcolor=colours.page,
        title=axis_title("UTC", colours),
        tickfont={"color": colours.muted, "size": SMALL_PX},
        gridcolor=colours.grid,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )
    figure.update_yaxes(
        title=axis_title(title, colours),
        tickfont={"color": colours.muted, "size": SMALL_PX},
        tickformat=",d",
        gridcolor=colours.grid,
        zeroline=False,
        rangemode="tozero",
        fixedrange=True,
        automargin=True,
    )


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def hover(name: str, at_ms: int, said: str) -> str:
    return f"<b>{escaping.label(name)}</b><br>{wording.clock(at_ms, milliseconds=True)}<br>{escaping.label(said)}"


@cached(32)
def totals_chart(answer: Shown, view: LagView, colours: Palette) -> Any:  # noqa: ARG001 - the key
    """Return the chart of the totals over time; if lags are times, the chart of the partition furthest behind."""
    if any(point.furthest for point in view.points):
        return over_time(_furthest(view), colours, "seconds behind, the one furthest behind")
    by_claim = view.points[-1].totals.new != totals(view.newest.sample).new
    on_new = "lag on new, by the mirror's claim" if by_claim else "lag on new"
    names = {Cluster.OLD: "lag on old", Cluster.NEW: on_new}
    lines = [
        Line(
            name=names[side],
            old=side is Cluster.OLD,
            points=tuple(
                Point(
                    at_ms=point.head.taken_at_ms,
                    value=point.totals.lag(side).net,
                    said=hover(names[side], point.head.taken_at_ms, _said(point.totals.lag(side))),
                    after_gap=point.after_gap,
                )
                for point in view.points
            ),
        )
        for side in Cluster
    ]
    return over_time(lines, colours, "records left, all partitions")


def _furthest(view: LagView) -> list[Line]:
    lines = []
    for side in Cluster:
        name, points = f"behind on {side}", []
        for point in view.points:
            worst = point.furthest.get(side)
            value = None if worst is None else worst.ms // 1000
            said = hover(name, point.head.taken_at_ms, wording.duration(None if worst is None else worst.ms))
            points.append(Point(at_ms=point.head.taken_at_ms, value=value, said=said, after_gap=point.after_gap))
        lines.append(Line(name=name, old=side is Cluster.OLD, points=tuple(points)))
    return lines


@cached(32)
def lag_chart(answer: Partition, view: PartitionView, colours: Palette) -> Any:  # noqa: ARG001 - the key
    lines = []
    timed = any(in_time(sample.sample) for sample in view.history)
    for side in Cluster:
        name = f"{'behind' if timed else 'lag'} on {side}"
        points = []
        for stored_sample in view.history:
            row = next(iter(stored_sample.sample.partitions), None)
            if timed:
                late = None if row is None else behind_ms(row, side)
                value = None if late is None else late // 1000
                message = lag_text(None if row is None else row.time_lag_on(side))
            else:
                value = None if row is None else lag(row, side, stored_sample.sample.isolation_level)
                message = wording.lag(value)
            said = hover(name, stored_sample.sample.taken_at_ms, message)
            points.append(
                Point(at_ms=stored_sample.sample.taken_at_ms, value=value, said=said, after_gap=stored_sample.after_gap)
            )
        lines.append(Line(name=name, old=side is Cluster.OLD, points=tuple(points)))
    return over_time(lines, colours, "seconds behind" if timed else "records left", height=280)


@cached(64)
def drift_chart(answer: Partition, view: PartitionView, group: str, colours: Palette) -> Any:  # noqa: ARG001 - the key
    points = []
    for sample in view.history:
        row = next(iter(sample.sample.partitions), None)
        known = row is not None and group in sample.sample.groups
        value = drift(row, sample.sample.groups.index(group)) if row is not None and known else None
        said = hover("drift", sample.sample.taken_at_ms, f"{wording.signed(value)} records")
        points.append(Point(at_ms=sample.sample.taken_at_ms, value=value, said=said, after_gap=sample.after_gap))
    lines = [Line(name="group ahead of the position", old=True, points=tuple(points))]
    return over_time(lines, colours, "records", below="below: the group is behind", height=240)


def _said(of: Total) -> str:
    if not of.known:
        return "unknown"
    past = f", {of.past:,} past the end" if of.past else ""
    uncounted = f", unknown in {wording.many(of.unknown, 'partition')}" if of.unknown else ""
    return f"{of.left:,} left{past}{uncounted}"
