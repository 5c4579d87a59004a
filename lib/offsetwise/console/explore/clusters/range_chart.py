"""Range bars: what both logs of each partition hold, from the log start over the last stable offset to the HW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.clusters.pairs import TopicPair
from offsetwise.console.explore.compare_charts import MAX_LANES
from offsetwise.console.widgets import escaping, table
from offsetwise.console.widgets.charts import SMALL_PX, axis_title, dress, hatched, lane_axis, note, solid
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import AnyPosition, PartitionState

Lane = tuple[TopicPair, int, PartitionState | None, PartitionState | None]
"""Topics, partition, and its log on old and new; None if the cluster has none, or was not read."""
LANES: Final[Columns[Lane]] = (
    Column("old topic", lambda lane: lane[0].old_name or ""),
    Column("new topic", lambda lane: lane[0].new_name or ""),
    table.partition(lambda lane: lane[1]),
    Column("old log start", lambda lane: None if lane[2] is None else lane[2].log_start),
    Column("old LSO", lambda lane: None if lane[2] is None else lane[2].lso),
    Column("old HW", lambda lane: None if lane[2] is None else lane[2].hw),
    Column("new log start", lambda lane: None if lane[3] is None else lane[3].log_start),
    Column("new LSO", lambda lane: None if lane[3] is None else lane[3].lso),
    Column("new HW", lambda lane: None if lane[3] is None else lane[3].hw),
    Column("remark", lambda lane: _remark(lane[0], lane[2], lane[3])),
)
_LANE_PX: Final = 44
_TOP_PX: Final = 40
_BOTTOM_PX: Final = 44
_OLD: Final = -0.19
_NEW: Final = 0.19
_AWAY: Final = 6
_BAR: Final = 0.3
_DIGIT_PX: Final = 7
_PHONE_PX: Final = 260
"""Width of a phone that is left for the bars and their numbers."""
_LEAST_ROOM: Final = 0.14
_MOST_ROOM: Final = 0.5
_THIN: Final = 0.004
"""Minimum width of a bar, as a share of the lane, so that a log that holds little stays visible."""


def lanes_of(pairs: Sequence[TopicPair]) -> tuple[Lane, ...]:
    return tuple((pair, number, old, new) for pair in pairs for number, old, new in partitions(pair))


def ranges(lanes: Sequence[Lane], colours: Palette, *, both_read: bool = True) -> go.Figure:
    """Draw at most `MAX_LANES` partitions. Each lane has its own scale, from the lowest to the highest offset.

    Offsets of different partitions are unrelated, and one scale for all would make most bars too small to see. The
    numbers are at the ends of the bars.
    """
    lanes = lanes[:MAX_LANES]
    figure = go.Figure()
    notes: list[dict[str, object]] = []
    for side, shift, marker in (("old", _OLD, solid(colours)), ("new", _NEW, hatched(colours))):
        bars = []
        for lane, (pair, number, old, new) in enumerate(lanes):
            log = old if side == "old" else new
            if log is None or log.log_start is None or log.hw is None:
                text = f"? {side}: not there" if log is None and both_read else f"? {side}: not read"
                notes.append(note(0.0, lane + shift, text, colours.unknown, away=_AWAY))
                continue
            low, high = _extent(old, new)
            start, end = _fraction(log.log_start, low, high), _fraction(log.hw, low, high)
            bars.append((lane, start, max(end - start, _THIN), _hover(pair.name, number, side, log)))
            first, last = wording.number(log.log_start), wording.number(log.hw)
            notes.append(note(start, lane + shift, first, colours.text, anchor="right", away=_AWAY))
            notes.append(note(max(end, start + _THIN), lane + shift, last, colours.text, away=_AWAY))
        figure.add_trace(_bars(side, shift, bars, marker))
    _stable(figure, lanes, colours)
    _dress(figure, lanes, colours, room=_room(max((len(str(note["text"])) for note in notes), default=0)))
    # All at once: adding one annotation copies and validates all existing ones.
    figure.layout.annotations = notes
    return figure


def _bars(side: str, shift: float, bars: Sequence[tuple[int, float, float, str]], marker: dict[str, object]) -> go.Bar:
    return go.Bar(
        name=f"{side} cluster",
        orientation="h",
        y=[lane + shift for lane, *_ in bars],
        base=[start for _, start, *_ in bars],
        x=[width for *_, width, _ in bars],
        width=_BAR,
        marker=marker,
        hovertext=[text for *_, text in bars],
        hoverinfo="text",
    )


def takeaway(lanes: Sequence[Lane]) -> str:
    both = [lane for lane in lanes if _known(lane[2]) and _known(lane[3])]
    same = sum(1 for *_, old, new in both if old and new and (old.log_start, old.hw) == (new.log_start, new.hw))
    text = (
        f"What both logs of {wording.many(len(lanes), 'partition')} hold: {same:,} begin and end at the same offsets "
        f"on both clusters, {len(both) - same:,} do not, {len(lanes) - len(both):,} are not known on both."
    )
    if not both:
        return text
    pair, number, old, new = both[0]
    assert old is not None  # noqa: S101 - known
    assert new is not None  # noqa: S101 - known
    return (
        f"{text} {escaping.plain(f'{pair.name}-{number}')}: old {wording.number(old.log_start)} to "
        f"{wording.number(old.hw)}, new {wording.number(new.log_start)} to {wording.number(new.hw)}."
    )


def _known(log: PartitionState | None) -> bool:
    return log is not None and log.log_start is not None and log.hw is not None


def _extent(old: PartitionState | None, new: PartitionState | None) -> tuple[AnyPosition, AnyPosition]:
    offsets = [at for log in (old, new) if log is not None for at in (log.log_start, log.hw) if at is not None]
    return min(offsets), max(offsets)


def _fraction(at: AnyPosition, low: AnyPosition, high: AnyPosition) -> float:
    if high == low:
        return 0.0
    part, whole = at - low, high - low
    if part is None or whole is None:  # positions without a distance have an order only
        return (0.5 if at > low else 0.0) + (0.5 if at >= high else 0.0)
    # Divided as integers: a float would lose the difference of offsets above 2^53.
    return part / whole


def _stable(figure: go.Figure, lanes: Sequence[Lane], colours: Palette) -> None:
    marks = [
        (lane, shift, pair.name, number, side, log, log.lso, _extent(old, new))
        for lane, (pair, number, old, new) in enumerate(lanes)
        for side, shift, log in (("old", _OLD, old), ("new", _NEW, new))
        if log is not None and log.lso is not None and log.hw is not None and log.lso < log.hw
    ]
    if marks:
        figure.add_trace(
            go.Scatter(
                name="last stable offset, below the HW",
                x=[_fraction(stable, *extent) for *_, stable, extent in marks],
                y=[lane + shift for lane, shift, *_ in marks],
                mode="markers",
                marker={"symbol": "line-ns", "size": 16, "line": {"width": 3, "color": colours.raw}},
                hovertext=[_hover(topic, number, side, log) for _, _, topic, number, side, log, *_ in marks],
                hoverinfo="text",
            )
        )


def _hover(topic: str, number: int, side: str, log: PartitionState) -> str:
    return (
        f"<b>{escaping.label(f'{topic}-{number}')}</b> on {side}<br>log start {wording.number(log.log_start)}"
        f"<br>last stable offset {wording.number(log.lso)}<br>HW {wording.number(log.hw)}"
    )


def _room(letters: int) -> float:
    """Return the room for a number on either side of the bars, in shares of the longest bar, for a phone's width."""
    needed = _AWAY + _DIGIT_PX * letters
    return min(_MOST_ROOM, max(_LEAST_ROOM, needed / max(1, _PHONE_PX - 2 * needed)))


def _dress(figure: go.Figure, lanes: Sequence[Lane], colours: Palette, *, room: float) -> None:
    figure.update_layout(
        barmode="overlay",
        height=_TOP_PX + _BOTTOM_PX + _LANE_PX * max(1, len(lanes)),
        margin={"l": 8, "r": 8, "t": _TOP_PX, "b": _BOTTOM_PX},
        **dress(colours),
    )
    figure.update_xaxes(
        range=[-room, 1 + room],
        tickvals=[0, 1],
        ticktext=["lowest", "highest"],  # longer labels are left out at the edge of a phone
        tickfont={"color": colours.muted, "size": SMALL_PX},
        title=axis_title("offset, each partition on its own scale", colours),
        gridcolor=colours.grid,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(**lane_axis([f"{pair.name}-{number}" for pair, number, *_ in lanes], colours))


def partitions(pair: TopicPair) -> list[tuple[int, PartitionState | None, PartitionState | None]]:
    sides = [
        {} if topic is None else {partition.partition: partition for partition in topic.partitions}
        for topic in (pair.old, pair.new)
    ]
    return [(number, sides[0].get(number), sides[1].get(number)) for number in sorted({*sides[0], *sides[1]})]


def _remark(pair: TopicPair, old: PartitionState | None, new: PartitionState | None) -> str:
    sentences = [
        f"{side}: {state.error}" for side, state in (("old", old), ("new", new)) if state is not None and state.error
    ]
    if pair.old is not None and old is None:
        sentences.append("! not on old")
    if pair.new is not None and new is None:
        sentences.append("! not on new")
    sentences += [
        f"▲ open transaction on {side}"
        for side, state in (("old", old), ("new", new))
        if state is not None and state.lso is not None and state.hw is not None and state.lso < state.hw
    ]
    return "; ".join(sentences)
