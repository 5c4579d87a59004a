"""Two aligned rulers of one partition: the next record's offset on both clusters, and the cost of the old number.

The same record is at the same position on both rulers, and the scale is linear, so that the records between both
numbers are visible as a range. Exact offsets are strings in labels: a chart's floats lose large ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.console.explore.compare_charts import distance
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.charts import FONT_PX, SMALL_PX, hatched, page_style, round_ticks, solid
from offsetwise.console.widgets.palette import Palette
from offsetwise.model import Exactness, LogRange, PartitionComparison, RawReuse, RawVerdict
from offsetwise.position import offset_or_none
from offsetwise.wording import verdicts

HEIGHT_PX: Final = 200
_BESIDE_PX: Final = 10
_OLD_Y: Final = 1.0
_NEW_Y: Final = 0.0
_BAR: Final = 0.34
_NEAR: Final = 0.07
"""Distance below which a tick would overlap the label of a marked number, as a share of the width."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The range drawn of both logs, in records relative to the next record to read."""

    low: int
    high: int

    def clip(self, log: LogRange, position: int) -> tuple[int, int] | None:
        """Return the part of a log within the window; None if there is none, or the log is not known."""
        start, end = offset_or_none(log.log_start), offset_or_none(log.hw)
        if start is None or end is None:
            return None
        low, high = max(self.low, start - position), min(self.high, end - position)
        return (low, high) if low < high else None


def worst(rows: Sequence[PartitionComparison]) -> PartitionComparison | None:
    """Return the most urgent partition whose two numbers differ; None if there is none."""
    drawn = [row for row in rows if distance(row) and offset_or_none(row.new_offset) is not None]
    return min(drawn, key=verdicts.urgency, default=None)


def in_words(row: PartitionComparison) -> str:
    """Describe what the two rulers of a partition show, in Markdown."""
    name = escaping.markdown(str(row.topic_partition))
    old, new = wording.number(row.old_offset), f"**{wording.number(row.new_offset)}**"
    if row.exactness is Exactness.BOUNDED:
        new = f"at least {new}"
    elif not row.exactness.proven:
        new = f"{new}, as somebody claims and no record confirms,"
    return (
        f"**{name}**: the next record to read has offset **{old}** on the old cluster and {new} on the new one. "
        f"What {old} would do there: {escaping.markdown(verdicts.consequence(row))}"
    )


def rulers(row: PartitionComparison, colours: Palette) -> go.Figure:
    """Draw the two rulers of a partition whose two offsets are known and differ."""
    old, new = offset_or_none(row.old_offset) or 0, offset_or_none(row.new_offset) or 0
    away = old - new
    margin = max(abs(away) // 2, 1)
    window = _Window(min(0, away) - margin, max(0, away) + margin)
    figure = go.Figure()
    for log, position, y, marker, side in (
        (row.old, old, _OLD_Y, solid(colours), "old"),
        (row.new, new, _NEW_Y, hatched(colours), "new"),
    ):
        clipped = window.clip(log, position)
        if clipped is not None:
            hover = f"{side} cluster holds {wording.number(log.log_start)} … {wording.number(log.hw)}"
            figure.add_trace(_bar(clipped, y, marker, hover))
    unedited = verdicts.raw(row)
    tone, cost = colours.tone(unedited.tone), _cost(row.raw) or unedited.word
    figure.add_trace(_bar((min(0, away), max(0, away)), _NEW_Y, {"color": tone, "opacity": 0.85}, cost))
    figure.add_traces([*_marks(away, colours)])
    figure.update_layout(
        barmode="overlay",
        showlegend=False,
        height=HEIGHT_PX,
        margin={"l": 8, "r": 24, "t": 8, "b": 8},
        shapes=[_same_record(colours)],
        annotations=[*_labels(old, new, cost, tone, colours), *_ticks(window, old, new, colours)],
        **page_style(colours),
    )
    _axes(figure, window, colours)
    return figure


def _marks(away: int, colours: Palette) -> Iterator[go.Scatter]:
    for x, y, colour, symbol in (
        (0, _OLD_Y, colours.next_record, "circle"),
        (0, _NEW_Y, colours.next_record, "circle"),
        (away, _NEW_Y, colours.raw, "x"),
    ):
        line = {"width": 1.5, "color": colours.page}
        mark = {"symbol": symbol, "size": 13, "color": colour, "line": line}
        yield go.Scatter(x=[x], y=[y], mode="markers", marker=mark, hoverinfo="skip")


def _axes(figure: go.Figure, window: _Window, colours: Palette) -> None:
    width = window.high - window.low
    figure.update_xaxes(range=[window.low - width * 0.01, window.high + width * 0.01], visible=False, fixedrange=True)
    figure.update_yaxes(
        range=[-0.75, 1.75],
        tickvals=[_OLD_Y, _NEW_Y],
        ticktext=["old cluster", "new cluster"],
        tickfont={"color": colours.text, "size": FONT_PX},
        ticklabelstandoff=6,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
        automargin=True,
    )


def _bar(span: tuple[int, int], y: float, marker: dict[str, object], hover: str) -> go.Bar:
    low, high = span
    return go.Bar(
        orientation="h", base=[low], x=[high - low], y=[y], width=_BAR, marker=marker, hovertext=hover, hoverinfo="text"
    )


def _same_record(colours: Palette) -> dict[str, object]:
    line = {"color": colours.next_record, "width": 2.5}
    return {"type": "line", "x0": 0, "x1": 0, "y0": _NEW_Y, "y1": _OLD_Y, "line": line}


def _labels(old: int, new: int, cost: str, tone: str, colours: Palette) -> Iterator[dict[str, object]]:
    away = old - new
    yield _text(0, _OLD_Y, f"<b>{old:,}</b>", colours.next_record, above=True, size=18)
    yield _text(0, _NEW_Y, f"<b>{new:,}</b>", colours.next_record, above=False, size=18)
    yield _text(away, _NEW_Y, f"<b>{old:,}</b>", colours.raw, above=False, size=18)
    # Next to the line, on the side of the old number: on a phone the text is longer than the range it labels.
    side = {"xanchor": "left", "xshift": _BESIDE_PX} if away > 0 else {"xanchor": "right", "xshift": -_BESIDE_PX}
    yield _text(0, (_OLD_Y + _NEW_Y) / 2, f"<b>{cost}</b>", tone) | side


def _cost(unedited: RawReuse) -> str:
    match unedited.verdict:
        case RawVerdict.LOSS if unedited.skip is not None:
            return f"{wording.many(unedited.skip, 'record')} never read"
        case RawVerdict.REPLAY if unedited.replay is not None:
            return f"{wording.many(unedited.replay, 'record')} read twice"
        case _:
            return ""


def _ticks(window: _Window, old: int, new: int, colours: Palette) -> Iterator[dict[str, object]]:
    width = window.high - window.low
    step = next((tick for tick in round_ticks(width) if tick > 0), 1)
    for position, y, marked in ((old, _OLD_Y, (0,)), (new, _NEW_Y, (0, old - new))):
        first = -(-(position + window.low) // step) * step
        for offset in range(max(0, first), position + window.high + 1, step):
            x = offset - position
            if all(abs(x - mark) > width * _NEAR for mark in marked):
                yield _text(x, y, f"{offset:,}", colours.muted, above=y == _OLD_Y)


def _text(
    x: float, y: float, text: str, colour: str, *, above: bool | None = None, size: int = SMALL_PX
) -> dict[str, object]:
    shift = {True: _BAR * 0.5, False: -_BAR * 0.5, None: 0.0}[above]
    return {
        "x": x,
        "y": y + shift,
        "text": text,
        "showarrow": False,
        "yanchor": {True: "bottom", False: "top", None: "middle"}[above],
        "font": {"size": size, "color": colour},
    }
