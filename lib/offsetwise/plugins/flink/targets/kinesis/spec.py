from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from offsetwise.findings import Stage, finding
from offsetwise.lookalikes import invisible
from offsetwise.model import (
    Comparison,
    NewSavepoint,
    Plan,
    PlannedPosition,
    Problem,
    Severity,
    ShardRange,
    Start,
    TopicPartition,
)
from offsetwise.plan.refusals import place_not_held, shards_unknown
from offsetwise.plan.target import has_opaque_positions
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.kinesis.splits import NEW_SPLIT_VERSION, SplitFields
from offsetwise.plugins.kinesis.stream.findings import aggregated
from offsetwise.plugins.kinesis.stream.spec import SPEC, TRIM_HORIZON, Place, ShardPlace, shard_id, stream_name
from offsetwise.plugins.kinesis.targets.spec import against_other_shards, is_to_another_stream, left_in_shards
from offsetwise.wording import many, number

STREAM: Final = SPEC.name
_ARN: Final = re.compile(r"arn:[a-z0-9-]{1,32}:[a-z]+:[a-z0-9-]{1,32}:[0-9]{12}:stream/[A-Za-z0-9_.-]{1,128}")
_MOST: Final = 32_768
"""Flink's own limit of parallelism."""
_LONGEST_UID: Final = 255
_SPLIT: Final = "a split of KinesisStreamsSource"
_SAVEPOINT: Final = "a savepoint of Flink"


def splits_of(plan: Plan, arn: str) -> tuple[SplitFields, ...]:
    """Return the splits of a plan, finished ones included, the highest shard first, as in Flink's enumerator.

    Positions that `against_splits` reports are left out.
    """
    ranges = ranges_of(plan)
    splits = []
    for planned in sorted(plan.positions, key=lambda planned_position: planned_position.partition, reverse=True):
        shard, position = ranges.get(planned.new_topic_partition), place_of(planned)
        if shard is not None and position is not None:
            splits.append(
                SplitFields(
                    version=NEW_SPLIT_VERSION,
                    arn=arn,
                    shard=shard_id(planned.partition),
                    position=TRIM_HORIZON if position.place is Place.SHARD_END else position,
                    parents=tuple(map(shard_id, shard.parents)),
                    low=shard.low,
                    high=shard.high,
                    finished=position.place is Place.SHARD_END,
                )
            )
    return tuple(splits)


def against_splits(plan: Plan) -> Iterator[Problem]:
    """Report which positions cannot be splits of one source, and which shards would never be read."""
    yield from against_places(plan)
    ranges = ranges_of(plan)
    unresolved = sorted(position.partition for position in plan.positions if position.new_topic_partition not in ranges)
    if unresolved:
        yield from shards_unknown(
            f"The hash keys of {shard_id(unresolved[0])} are not known"
            + (f", nor those of {many(len(unresolved) - 1, 'more shard')}" if len(unresolved) > 1 else "")
            + ": neither the stream nor the checkpoint told them."
        )
    yield from _against_left(plan)


def against_edit(plan: Plan) -> Iterator[Problem]:
    """Report which positions no Flink source can express, and which shards would never be read."""
    if not has_opaque_positions(plan):
        return
    for position in plan.positions:
        if begin_of(position) is None:
            yield from place_not_held(position.new_topic_partition, position.new_offset, _SAVEPOINT, _why(position))
    yield from _against_left(plan)


def against_legacy(comparison: Comparison) -> Iterator[Problem]:
    """Report if the legacy consumer, which has an element for each shard, would need other shards on another stream."""
    rows = comparison.partitions
    if not is_to_another_stream(rows) or left_in_shards(rows).keys() == {row.partition for row in rows}:
        return
    details = None if comparison.checkpoint is None else comparison.checkpoint.details
    if isinstance(details, FlinkDetails) and is_legacy(details):
        yield from against_other_shards(rows, "a savepoint of the legacy consumer")


def is_legacy(details: FlinkDetails) -> bool:
    return any(state.name == LEGACY_STATE for operator in details.operators for state in operator.states)


def _against_left(plan: Plan) -> Iterator[Problem]:
    ranges, planned = ranges_of(plan), {position.new_topic_partition for position in plan.positions}
    last = max((position.partition for position in plan.positions), default=-1)
    missing = sorted(
        key for key, shard in ranges.items() if not shard.closed and key not in planned and key.partition <= last
    )
    if missing:
        yield from shards_unknown(
            f"{shard_id(missing[0].partition)} of {missing[0].topic!r} is open, and the plan has no position for it: a "
            "source that has seen a later shard would never read it."
        )


def against_places(plan: Plan) -> Iterator[Problem]:
    for reported in plan.findings:
        if reported.code == aggregated.code:
            yield aggregated.problem(
                f"{reported.message} KinesisStreamsSource takes an aggregate for one record.", fix=reported.remedy
            )
    for position in plan.positions:
        if place_of(position) is None:
            yield from place_not_held(position.new_topic_partition, position.new_offset, _SPLIT, _why(position))


def arn_of(plan: Plan, stream: str) -> str | None:
    """Return the ARN of a stream, from the stream itself or as stated by a person; None if neither has it."""
    ids = (topic.id for topic in plan.requirements.new.topics if topic.name == stream)
    said = "" if plan.savepoint is None else plan.savepoint.stream_arn
    arn = (next(ids, None) or said).partition("@")[0]
    return arn if arn.startswith("arn:") and stream_name(arn) == stream else None


def place_of(position: PlannedPosition) -> ShardPlace | None:
    """Return the position as a split expresses it; None if it cannot."""
    new_position = begin_of(position)
    return None if new_position is None or new_position.sub is not None else new_position


def begin_of(position: PlannedPosition) -> ShardPlace | None:
    """Return where a Flink source begins; only the legacy consumer supports positions inside aggregates."""
    new_position = position.new_offset
    if not isinstance(new_position, ShardPlace):
        return None
    if position.start is Start.EARLIEST:
        return TRIM_HORIZON
    match new_position:
        case ShardPlace(place=Place.TRIM_HORIZON | Place.SHARD_END | Place.AFTER):
            return new_position
        case ShardPlace(place=Place.AT_TIMESTAMP, at_ms=int()):
            return new_position
    return None


def _why(position: PlannedPosition) -> str:
    match position.new_offset:
        case ShardPlace(place=Place.AFTER):
            return "it has no position inside an aggregate"
        case ShardPlace(place=Place.AT):
            return "it is after a record, never at one"
        case ShardPlace():
            return "that names no record and no time"
    return "it is not a position of a shard"


def ranges_of(plan: Plan) -> dict[TopicPartition, ShardRange]:
    return {
        TopicPartition(topic.name, shard.partition): shard
        for topic in plan.requirements.new.topics
        for shard in topic.shards
    }


@finding(
    code="NEW_SAVEPOINT",
    severity=Severity.BLOCKS,
    title="What a savepoint is to be made for is missing, or cannot be",
    remedy="Say it as in the job's code: --set uid=UID --set stream_arn=ARN --set parallelism=N --set "
    "max_parallelism=N.",
    rank=360,
    stage=Stage.PLAN,
)
def new_savepoint(request: NewSavepoint, streams: tuple[str, ...]) -> Iterator[str]:
    uid, arn = request.uid or "", request.stream_arn
    if not uid.strip() or len(uid) > _LONGEST_UID or invisible(uid):
        yield f"Expected the source's uid, up to {_LONGEST_UID} characters that can be seen, found {uid[:80]!a}."
    elif "/" in uid or "\\" in uid:
        yield f"Expected the source's uid as the job's code sets it, found {uid[:80]!r}, which is a path."
    name = stream_name(arn) if _ARN.fullmatch(arn) else None
    if name is None:
        yield f"Expected the ARN of a stream, arn:aws:kinesis:REGION:ACCOUNT:stream/NAME, found {arn[:200]!r}."
    elif streams != (name,):
        yield f"The ARN is of stream {name!r}, and the positions are of {', '.join(map(repr, streams)) or 'none'}."
    if not 1 <= (request.parallelism or 0) <= (request.max_parallelism or 0) <= _MOST:
        yield (
            f"Expected a parallelism up to the maximum parallelism, and that up to {_MOST:,}, found "
            f"{number(request.parallelism)} and {number(request.max_parallelism)}."
        )
