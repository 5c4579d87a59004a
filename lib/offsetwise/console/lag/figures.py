"""The charts of the Lag screen: old beside new over time. Lines break where a sample is missing or lacks a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.console import escaping
from offsetwise.console.figures import SMALL_PX, axis_title, page_style
from offsetwise.console.palette import Palette

_MARKS: Final = 60
"""With more points than this, marks would hide the line; the first and every n-th keep theirs."""

_LEAST_MS: Final = 60_000
"""The shortest stretch of time that is drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value at one moment; None where it is not known."""

    at_ms: int
    value: int | None
    said: str
    """Hover text, names escaped."""
    after_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a chart."""

    name: str
    points: tuple[Point, ...]
    old: bool
    """Solid circles if so, else open diamonds on a dashed line."""


def over_time(
    lines: Sequence[Line], colours: Palette, title: str, *, below: str = "below: past the end", height: int = 320
) -> go.Figure:
    """Draw lines over time (UTC). Where values lie below 0, that line is drawn and says what it means.

    Args:
        lines: What to draw.
        colours: The theme's colours.
        title: Of the y axis.
        below: What lies below 0.
        height: In pixels.
    """
    figure = go.Figure()
    for line in lines:
        xs, ys, said = _broken(line.points)
        figure.add_trace(
            go.Scatter(
                name=line.name,
                x=xs,
                y=ys,
                mode="lines+markers",
                connectgaps=False,
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
    """Show a minute around the first samples: Plotly would divide the moment of a single one into microseconds."""
    moments = [point.at_ms for line in lines for point in line.points]
    if moments and max(moments) - min(moments) < _LEAST_MS:
        middle = (min(moments) + max(moments)) // 2
        figure.update_xaxes(range=[_time(middle - _LEAST_MS // 2), _time(middle + _LEAST_MS // 2)])


def _broken(points: Sequence[Point]) -> tuple[list[Any], list[int | None], list[str]]:
    """Put an empty point where a sample is missing, so that no line crosses the gap."""
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
    made: dict[str, Any] = {"size": size, "maxdisplayed": 0 if step == 1 else _MARKS}
    if line.old:
        return made | {"symbol": "circle", "color": colours.old}
    return made | {
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
            # In the legend: beside the line, values would run through the words, or the chart end above them.
            "name": below,
            "showlegend": True,
        }
    ]


def _gaps(lines: Sequence[Line], colours: Palette) -> list[dict[str, Any]]:
    """Shade the stretches without a sample."""
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
    """Give hover text: the moment, the line's name, the value in words."""
    return f"<b>{escaping.label(name)}</b><br>{wording.moment(at_ms)}<br>{escaping.label(said)}"
