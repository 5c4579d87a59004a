"""The shards of a stream over its hash keys: those that were split or merged on top, what they became below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import plotly.graph_objects as go

from offsetwise import wording
from offsetwise.clusters.pairs import TopicPair
from offsetwise.console.widgets import escaping
from offsetwise.console.widgets.charts import SMALL_PX, axis_title, dress, hatched, lane_axis, note, solid
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import ShardRange, TopicState

Shard = tuple[str, str, int, ShardRange]
"""Cluster, stream, generation and the shard."""
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
_FRAME_PX: Final = 84
_BAR: Final = 0.62
_LABELLED: Final = 0.03
"""The least share of the hash keys that a number fits into."""


def shards_of(pairs: Sequence[TopicPair]) -> tuple[Shard, ...]:
    """Give every shard of the streams, once where both clusters are one."""
    found: list[Shard] = []
    for pair in pairs:
        one = pair.old is not None and pair.new is not None and pair.old.id is not None and pair.old.id == pair.new.id
        sides = (("both", pair.old),) if one else (("old", pair.old), ("new", pair.new))
        for side, topic in sides:
            if topic is not None:
                deep = _generations(topic)
                found += [(side, topic.name, deep[each.partition], each) for each in topic.shards]
    return tuple(found)


def tree(shards: Sequence[Shard], colours: Palette) -> go.Figure:
    """Draw at most `MAX_SHARDS`, a lane for each generation of each stream, from the first hash key to the last.

    A bar lies below the bars it was made of, since it has their hash keys. Closed shards are pale.
    """
    shards = shards[:MAX_SHARDS]
    names = list(
        dict.fromkeys((side, stream, generation) for side, stream, generation, _ in sorted(shards, key=_order))
    )
    lanes = {name: lane for lane, name in enumerate(names)}
    figure = go.Figure()
    for side, marker in (("both", solid(colours)), ("old", solid(colours)), ("new", hatched(colours))):
        for closed in (False, True):
            drawn = [one for one in shards if one[0] == side and one[3].closed is closed]
            if drawn:
                figure.add_trace(
                    go.Bar(
                        name=f"{'closed' if closed else 'open'} on {'the stream' if side == 'both' else side}",
                        orientation="h",
                        y=[lanes[one[:3]] for one in drawn],
                        base=[one[3].low / _KEYS for one in drawn],
                        x=[(one[3].high + 1 - one[3].low) / _KEYS for one in drawn],
                        width=_BAR,
                        marker={**marker, "line": {"width": 2, "color": colours.page}},
                        opacity=0.35 if closed else 1.0,
                        hovertext=[_hover(one) for one in drawn],
                        hoverinfo="text",
                    )
                )
    figure.update_layout(
        barmode="overlay",
        height=_FRAME_PX + _LANE_PX * max(1, len(names)),
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
    # All at once: adding one annotation copies and checks all that are there.
    figure.layout.annotations = [
        note((each.low + each.high) / 2 / _KEYS, lanes[side, stream, generation], str(each.partition), colours.text)
        | {"xanchor": "center", "xshift": 0, "bgcolor": colours.page}
        for side, stream, generation, each in shards
        if (each.high - each.low) / _KEYS >= _LABELLED
    ]
    return figure


def takeaway(shards: Sequence[Shard]) -> str:
    """Say in words what the chart shows."""
    told = []
    for side, stream in dict.fromkeys((one[0], one[1]) for one in shards):
        of = [each for *known, _, each in shards if known == [side, stream]]
        is_open = [each for each in of if not each.closed]
        where = "" if side == "both" else f" on {side}"
        told.append(
            f"Stream {escaping.plain(stream)}{where}: {wording.many(len(is_open), 'open shard')}, "
            f"{len(of) - len(is_open):,} closed."
        )
    return " ".join(told)


def _generations(topic: TopicState) -> Mapping[int, int]:
    """Say how many listed shards stand above each one, in a row; parents come before their children."""
    deep: dict[int, int] = {}
    for each in sorted(topic.shards, key=lambda shard: shard.partition):
        deep[each.partition] = max((deep[parent] + 1 for parent in each.parents if parent in deep), default=0)
    return deep


def _order(one: Shard) -> tuple[str, int, int]:
    side, stream, generation, _ = one
    return stream, ("both", "old", "new").index(side), generation


def _lane(side: str, stream: str, generation: int) -> str:
    named = stream if side == "both" else f"{stream} {side}"
    return named if generation == 0 else f"made of them, {generation}"


def _state(shard: ShardRange) -> str:
    return "closed" if shard.closed else "open"


def _hover(one: Shard) -> str:
    side, stream, _, each = one
    made = f"<br>made of {' and '.join(map(str, each.parents))}" if each.parents else ""
    where = "" if side == "both" else f" on {side}"
    return (
        f"<b>shard {each.partition}</b> of {escaping.label(stream)}{where}, {_state(each)}{made}"
        f"<br>hash keys {each.low}<br>to {each.high}"
    )
