"""Plans on one stream of Kinesis, drafted by hand from recorded checkpoints: every position stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from offsetwise.comparison.subjects import positions_of
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import (
    Checkpoint,
    CheckpointRequirement,
    LogRange,
    Method,
    NewSavepoint,
    Plan,
    PlannedPosition,
    RawReuse,
    RawVerdict,
    RestartPoint,
    ShardRange,
    SourcePosition,
    Start,
    Target,
    TopicRequirement,
)
from offsetwise.plugins.kinesis.stream.spec import LATEST, TRIM_HORIZON, ShardPlace, after, in_shards
from offsetwise.position import Position
from tests.plans import plan_of, planned

ARN: Final = "arn:aws:kinesis:us-east-1:000000000000:stream/"
CHAIN: Final = "kcl/2.7.2-three-shards-for-savepoint.json"
ASKED: Final = NewSavepoint(uid="kinesis-src", stream_arn=f"{ARN}chain", parallelism=1, max_parallelism=128)
LOG: Final = LogRange(log_start=TRIM_HORIZON, lso=LATEST, hw=LATEST)


def shard_plan(
    checkpoint: str | Path,
    *targets: Target,
    stream: str | None = None,
    move: Callable[[SourcePosition], Position | None] = lambda at: None,  # noqa: ARG005 - it moves nothing
    ranges: Mapping[int, ShardRange] | None = None,
    **changes: Any,
) -> Plan:
    """Draft a plan.

    Args:
        checkpoint: Where the positions are from.
        targets: What is written.
        stream: The stream's name where the checkpoint names none.
        move: Gives another position for one; None where it stays.
        ranges: What is known of the shards beside what the checkpoint says.
        changes: What is otherwise in the plan.
    """
    read = read_checkpoint(str(checkpoint))
    positions = [
        _planned(source.id, at, move(at), read) for source in read.sources for at in positions_of(source, stream)
    ]
    known = {each.partition: each for source in read.sources for each in source.ranges} | dict(ranges or {})
    made = plan_of(*positions, targets=targets, **changes)
    (name,) = {one.new_topic for one in positions}
    topic = TopicRequirement(
        name=name,
        id=f"{ARN}{name}@1795335840",
        partitions=len(positions),
        shards=tuple(known[number] for number in sorted(known)),
    )
    wanted = made.requirements
    required = CheckpointRequirement.of(read)
    return replace(
        made,
        requirements=replace(
            wanted,
            old=replace(wanted.old, topics=(topic,)),
            new=replace(wanted.new, topics=(topic,)),
            checkpoint=required,
        ),
    )


def _planned(source: str, at: SourcePosition, moved: Position | None, read: Checkpoint) -> PlannedPosition:
    new, end = at.offset if moved is None else moved, at.planned_offset
    restart = [RestartPoint(batch=read.details.progress.committed, old=at.offset, new=new)]
    if end is not None:
        restart.append(RestartPoint(batch=read.details.progress.again, old=end, new=end))
    made = planned(at.topic, at.partition, *restart, source=source)
    return replace(made, method=Method.PRESERVED, old=LOG, new=LOG, raw=RawReuse(verdict=RawVerdict.SAME))


def with_child(plan: Plan, shard: int) -> Plan:
    """Add a shard that the checkpoint does not name: it begins at its oldest record."""
    first = plan.positions[0]
    child = replace(
        first,
        partition=shard,
        old_offset=None,
        new_offset=TRIM_HORIZON,
        start=Start.EARLIEST,
        method=Method.EARLIEST,
        restart=(),
    )
    return replace(plan, positions=(*plan.positions, child))


def on_another(plan: Plan, *shards: ShardRange) -> Plan:
    """Lead to another stream, which has these shards: of each record 1000, and its number."""
    first, new = plan.positions[0], plan.requirements.new
    left = {one.partition: one.old_offset for one in plan.positions if isinstance(one.old_offset, ShardPlace)}
    positions = []
    for shard in shards:
        old, place = in_shards(left), after(1000 + shard.partition)
        positions.append(
            replace(
                first,
                partition=shard.partition,
                old_offset=old,
                new_topic="other",
                new_offset=place,
                restart=(replace(first.restart[0], old=old, new=place),),
            )
        )
    topics = tuple(replace(each, name="other", id=f"{ARN}other@1795335999", shards=shards) for each in new.topics)
    return replace(
        plan, positions=tuple(positions), requirements=replace(plan.requirements, new=replace(new, topics=topics))
    )


def halves(*, first: int = 0) -> tuple[ShardRange, ShardRange]:
    """Return two shards that divide all hash keys."""
    return (
        ShardRange(partition=first, low=0, high=2**127 - 1),
        ShardRange(partition=first + 1, low=2**127, high=2**128 - 1),
    )


def back(one: SourcePosition) -> Position:
    """Go back to an earlier record."""
    return after(int(str(one.offset)[4:]) - 16)
