"""The shards of a stream over its hash keys: parents on top, the children of splits and merges below them.

The job's position can be written into each shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.charts import SMALL_PX, axis_title, dress, hatched, lane_axis, note, solid
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import AnyPosition, Behind, PartitionComparison, ShardRange, TopicState
from offsetwise.position import in_partitions
from offsetwise.wording.time_lag import lag_text, short

Shard = tuple[str, str, int, ShardRange]
"""Cluster, stream, generation and the shard."""
MarkKey = tuple[str, str, int]
"""`old` or `new`, stream and shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    position: AnyPosition
    lag: Behind | None

    @property
    def late(self) -> str:
        return "not asked" if self.lag is None else lag_text(self.lag)

    @property
    def text(self) -> str:
        return f"{wording.brief(self.position)} · {short(self.lag)}"


_NO_MARKS: Final[Mapping[MarkKey, Mark]] = {}
_SIGNS: Final = {"old": "●", "new": "◆"}
_LETTERS: Final = 54
"""Letters that fit between the first hash key and the last, in a window of 800 pixels."""
SHARDS: Final[Columns[Shard]] = (
    Column("cluster", lambda row: row[0], 70),
    Column("stream", lambda row: row[1], 150),
    Column("shard", lambda row: row[3].partition, 60),
    Column("state", lambda row: _state(row[3]), 70),
    Column("made of", lambda row: ", ".join(map(str, row[3].parents)), 80, "The shards that were split or merged."),
    Column("first hash key", lambda row: str(row[3].low), 330),
    Column("last hash key", lambda row: str(row[3].high), 330),
    Column("first sequence number", lambda row: row[3].first or "?", 480),
)
MAX_SHARDS: Final = 200
"""Shards that one chart can show and stay readable."""
_KEYS: Final = 2**128
_LANE_PX: Final = 46
_MARKED_LANE_PX: Final = 84
"""Height of a bar with three lines of text below it."""
_FRAME_PX: Final = 84
_BAR: Final = 0.3
"""Share of a lane that a bar takes; its text is below it."""
_BAR_UP: Final = 0.28
_TEXT_DOWN: Final = 0.16
_LABELLED: Final = 0.03
"""The smallest share of the hash keys that has room for a number."""


def shards_of(streams: Iterable[tuple[TopicState | None, TopicState | None]]) -> tuple[Shard, ...]:
    results: list[Shard] = []
    for old, new in streams:
        is_one = old is not None and new is not None and old.id is not None and old.id == new.id
        sides = (("both", old),) if is_one else (("old", old), ("new", new))
        for side, topic in sides:
            if topic is not None:
                deep = _generations(topic)
                results += [(side, topic.name, deep[shard.partition], shard) for shard in topic.shards]
    return tuple(results)


def marks_of(rows: Sequence[PartitionComparison]) -> Mapping[MarkKey, Mark]:
    results: dict[MarkKey, Mark] = {}
    for row in rows:
        parts = () if row.old_offset is None else in_partitions(row.topic_partition, row.old_offset)
        of_parts = {behind_part.partition: behind_part.behind for behind_part in row.behind_parts}
        for at, part in parts:
            late = row.behind_old if len(parts) == 1 else of_parts.get(at.partition)
            results["old", *at] = Mark(position=part, lag=late)
        if row.new_offset is not None:
            results["new", row.new_topic, row.partition] = Mark(position=row.new_offset, lag=row.behind_new)
    return results


def tree(shards: Sequence[Shard], colours: Palette, marks: Mapping[MarkKey, Mark] = _NO_MARKS) -> go.Figure:
    """Draw at most `MAX_SHARDS`, a lane for each generation of each stream, from the first hash key to the last.

    A bar is below those of its parents, since it has their hash keys. Closed shards are pale. Text that fits is written
    at the bar; the rest is in the hover text.

    Args:
        shards: The shards to draw.
        colours: The theme's colours.
        marks: The job's positions in them.
    """
    shards = shards[:MAX_SHARDS]
    names = [*dict.fromkeys(shard[:3] for shard in sorted(shards, key=_order))]
    lanes = {name: lane for lane, name in enumerate(names)}
    figure = go.Figure([*_bars(shards, lanes, marks, colours)])
    figure.update_layout(
        barmode="overlay",
        height=_FRAME_PX + (_MARKED_LANE_PX if marks else _LANE_PX) * max(1, len(names)),
        margin={"l": 8, "r": 56, "t": 40, "b": 44},
        **dress(colours),
    )
    figure.update_xaxes(
        range=[-0.01, 1.01],
        tickvals=[0, 1],
        ticktext=["first hash key", "last hash key"],
        tickfont={"color": colours.muted, "size": SMALL_PX},
        title=axis_title("hash keys of 128 bits", colours),
        gridcolor=colours.grid,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(**lane_axis([_lane(*name) for name in names], colours))
    # All at once: adding one annotation copies and validates all existing ones.
    figure.layout.annotations = [
        note((shard[3].low + shard[3].high) / 2 / _KEYS, lanes[shard[:3]] + _TEXT_DOWN, text, colours.text)
        | {"xanchor": "center", "xshift": 0}
        for shard in shards
        if (text := _label(shard, _marks(shard, marks)))
    ]
    return figure


def _bars(
    shards: Sequence[Shard],
    lanes: Mapping[tuple[str, str, int], int],
    marks: Mapping[MarkKey, Mark],
    colours: Palette,
) -> Iterator[go.Bar]:
    for side, marker in (("both", solid(colours)), ("old", solid(colours)), ("new", hatched(colours))):
        for closed in (False, True):
            drawn = [shard for shard in shards if shard[0] == side and shard[3].closed is closed]
            if drawn:
                yield go.Bar(
                    name=f"{'closed' if closed else 'open'} on {'the stream' if side == 'both' else side}",
                    orientation="h",
                    y=[lanes[bar[:3]] - _BAR_UP for bar in drawn],
                    base=[bar[3].low / _KEYS for bar in drawn],
                    x=[(bar[3].high + 1 - bar[3].low) / _KEYS for bar in drawn],
                    width=_BAR,
                    marker={**marker, "line": {"width": 2, "color": colours.page}},
                    opacity=0.35 if closed else 1.0,
                    hovertext=[_hover(bar, _marks(bar, marks)) for bar in drawn],
                    hoverinfo="text",
                )


def _marks(drawn_shard: Shard, marks: Mapping[MarkKey, Mark]) -> tuple[tuple[str, Mark], ...]:
    side, stream, _, shard = drawn_shard
    sides = ("old", "new") if side == "both" else (side,)
    results = [
        (side_of_mark, marks[side_of_mark, stream, shard.partition])
        for side_of_mark in sides
        if (side_of_mark, stream, shard.partition) in marks
    ]
    if len(results) == 2 and results[0][1] == results[1][1]:
        return ((_SIGNS["old"] + _SIGNS["new"], results[0][1]),)
    return tuple((_SIGNS[side_of_mark], mark) for side_of_mark, mark in results)


def _label(shard: Shard, marks: Sequence[tuple[str, Mark]]) -> str:
    share = (shard[3].high + 1 - shard[3].low) / _KEYS
    if share < _LABELLED:
        return ""
    number = f"<b>{shard[3].partition}</b>"
    head = " ".join([number, *(signs for signs, _ in marks)])
    texts = [[head], [number]]
    if len(marks) == 1:
        ((_, mark),) = marks
        position, late = wording.brief(mark.position), short(mark.lag)
        texts = [[head, position, late], [head, position, late.partition(",")[0]], [head, position], *texts]
    elif marks:
        texts = [[number, *(f"{signs} {mark.text}" for signs, mark in marks)], *texts]
    fits = (lines for lines in texts if all(len(line.replace(number, "12")) <= share * _LETTERS for line in lines))
    return "<br>".join(next(fits, [number]))


def takeaway(shards: Sequence[Shard], marks: Mapping[MarkKey, Mark] = _NO_MARKS) -> str:
    sentences = [
        f"Shard {shard[3].partition}: {signs} {mark.text}."
        for shard in shards[:MAX_SHARDS]
        for signs, mark in _marks(shard, marks)
    ]
    for side, stream in dict.fromkeys((shard[0], shard[1]) for shard in shards):
        of = [shard_range for *known, _, shard_range in shards if known == [side, stream]]
        is_open = [shard_range for shard_range in of if not shard_range.closed]
        where = "" if side == "both" else f" on {side}"
        sentences.append(
            f"Stream {escaping.plain(stream)}{where}: {wording.many(len(is_open), 'open shard')}, "
            f"{len(of) - len(is_open):,} closed."
        )
    return " ".join(sentences)


def _generations(topic: TopicState) -> Mapping[int, int]:
    """Return how many generations of listed parents each shard has; parents are visited before their children."""
    deep: dict[int, int] = {}
    for shard_range in sorted(topic.shards, key=lambda shard: shard.partition):
        deep[shard_range.partition] = max(
            (deep[parent] + 1 for parent in shard_range.parents if parent in deep), default=0
        )
    return deep


def _order(shard: Shard) -> tuple[str, int, int]:
    side, stream, generation, _ = shard
    return stream, ("both", "old", "new").index(side), generation


def _lane(side: str, stream: str, generation: int) -> str:
    named = stream if side == "both" else f"{stream} {side}"
    if generation == 0:
        return named
    return "after resharding" if generation == 1 else f"after {generation:,} reshardings"


def _state(shard: ShardRange) -> str:
    return "closed" if shard.closed else "open"


def _hover(shard: Shard, marks: Sequence[tuple[str, Mark]]) -> str:
    side, stream, _, shard_range = shard
    at = "".join(f"<br>{signs} {mark.position}<br>behind: {mark.late}" for signs, mark in marks)
    text = f"<br>made of {' and '.join(map(str, shard_range.parents))}" if shard_range.parents else ""
    where = "" if side == "both" else f" on {side}"
    return (
        f"<b>shard {shard_range.partition}</b> of {escaping.label(stream)}{where}, {_state(shard_range)}{text}"
        f"<br>hash keys {shard_range.low}<br>to {shard_range.high}{at}"
    )
