"""Positions found on another stream, in plans for targets that store positions of shards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from offsetwise.model import PartitionComparison, PlannedPosition, Problem, SourcePosition
from offsetwise.plan.refusals import place_not_held
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, ShardPlace, in_several

Row = PlannedPosition | PartitionComparison


def is_to_another_stream(positions: Iterable[Row]) -> bool:
    return any(in_several(position.old_offset) for position in positions)


def left_in_shards(positions: Iterable[Row]) -> dict[int, ShardPlace]:
    """Return the job's positions in the shards of its own stream, without those it has read to their end."""
    return {
        number: shard_position
        for position in positions
        if isinstance(position.old_offset, ShardPlace)
        for number, shard_position in position.old_offset.of
        if shard_position != SHARD_END
    }


def stands_elsewhere(planned: Sequence[PlannedPosition], positions: Mapping[int, SourcePosition]) -> str:
    """Describe which shard has moved since a plan for another stream was drafted; empty if none has.

    Args:
        planned: The positions of one source.
        positions: The current positions of the source, by shard.
    """
    remaining = left_in_shards(planned)
    for number in sorted(positions.keys() | remaining.keys()):
        at = positions[number].offset if number in positions else None
        reviewed = remaining.get(number)
        if at != reviewed and (at, reviewed) not in ((SHARD_END, None), (None, TRIM_HORIZON)):
            return f"shard {number} at {reviewed} as in the plan, found {at}"
    return ""


def has_other_shards(positions: Sequence[Row]) -> bool:
    return not left_in_shards(positions).keys() <= {position.partition for position in positions}


def against_other_shards(positions: Sequence[Row], holder: str) -> Iterator[Problem]:
    """Report that a copy cannot replace positions shard by shard if the shards differ."""
    for position in positions:
        if position.new_offset is not None:
            why = "its shards are those of the stream that it is of"
            yield from place_not_held(position.new_topic_partition, position.new_offset, holder, why)
            return
