from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from offsetwise.findings.target_position import pending_batch_differs
from offsetwise.model import Plan, PlannedPosition, Problem, Start
from offsetwise.plan.refusals import place_not_held
from offsetwise.plan.target import has_opaque_positions
from offsetwise.plugins.kinesis.stream.findings import closed_shard_unread, parent_unread
from offsetwise.plugins.kinesis.stream.spec import (
    SHARD_END,
    SPEC,
    TRIM_HORIZON,
    Place,
    ShardPlace,
    at,
    in_several,
    shard_id,
)
from offsetwise.plugins.kinesis.targets.spec import (
    against_other_shards,
    has_other_shards,
    is_to_another_stream,
    left_in_shards,
)

STREAM: Final = SPEC.name
_ENDS: Final = re.compile(r"(?P<folder>sources/(?P<source>[^/]+)/shard-(?:source|commit)/[0-9]+)/[^/]+")
"""A file with the end of a batch in one shard."""
_HOLDER: Final = "a checkpoint of Spark"
_COMMIT_FIRST: Final = "Let the pending batch commit first: start the job, and stop it after the batch."
_NEVER_READ: Final = "the awslabs connector takes a closed shard of its checkpoint for finished, from 2.0 on"
_READ_IT: Final = (
    "Let another job read the shard to its end first, or the connector before 2.0; or begin a query anew at a starting "
    "position: --target starting-position."
)


def against_shards(plan: Plan) -> Iterator[Problem]:
    if not has_opaque_positions(plan):
        return
    aggregates, elsewhere = keeps_sub(plan), is_to_another_stream(plan.positions)
    if elsewhere and has_other_shards(plan.positions):
        yield from against_other_shards(plan.positions, _HOLDER)
    for planned_position in plan.positions:
        new_position = place_of(planned_position)
        if new_position is None:
            why = "it names no record and no time"
            yield from place_not_held(planned_position.new_topic_partition, planned_position.new_offset, _HOLDER, why)
        elif new_position.sub is not None and not aggregates:
            again = at(new_position.sequence or 0)
            why = f"the qubole connector keeps no position inside an aggregate; {again} reads all of it again"
            yield from place_not_held(planned_position.new_topic_partition, new_position, _HOLDER, why)
        elif new_position == SHARD_END != planned_position.old_offset and not elsewhere:
            yield from place_not_held(
                planned_position.new_topic_partition, new_position, _HOLDER, "its shard was not read to the end"
            )
    if aggregates:
        yield from _closed(plan)
    required = plan.requirements.checkpoint
    if required is not None and required.last_planned_batch != required.last_committed_batch:
        added = [shard_id(position.partition) for position in plan.positions if position.old_offset is None]
        if elsewhere and any(path.endswith(f"/{required.last_planned_batch}") for path in ends_of(plan).values()):
            yield pending_batch_differs.problem(
                f"Batch {required.last_planned_batch} is pending, and its end has no known position on another stream.",
                fix=_COMMIT_FIRST,
            )
        elif added:
            yield pending_batch_differs.problem(
                f"Batch {required.last_planned_batch} is pending, and was planned without {added[0]}.",
                fix=_COMMIT_FIRST,
            )


def _closed(plan: Plan) -> Iterator[Problem]:
    for finding in plan.findings:
        if finding.code == closed_shard_unread.code:
            yield parent_unread.problem(f"{finding.message} They would never be read: {_NEVER_READ}.", fix=_READ_IT)
    closed = {
        (topic.name, shard.partition)
        for topic in plan.requirements.new.topics
        for shard in topic.shards
        if shard.closed
    }
    for position in plan.positions:
        if position.new_topic_partition in closed and _goes_elsewhere(position):
            closed_shard = (
                f"{shard_id(position.partition)} is closed, and would not be read from {position.new_offset:,}"
            )
            message = f"{closed_shard}: {_NEVER_READ}."
            yield parent_unread.problem(message, fix=_READ_IT)


def _goes_elsewhere(position: PlannedPosition) -> bool:
    return isinstance(position.new_offset, ShardPlace) and SHARD_END != place_of(position) != position.old_offset


def entry_of(shard_position: ShardPlace) -> dict[str, str]:
    kind, position = shard_position.place.value, ""
    match shard_position:
        case ShardPlace(place=Place.AFTER, sequence=int(number)):
            kind, position = "AFTER_SEQUENCE_NUMBER", str(number)
        case ShardPlace(place=Place.AT, sequence=int(number)):
            kind, position = "AT_SEQUENCE_NUMBER", str(number)
        case ShardPlace(place=Place.AT_TIMESTAMP, at_ms=int(at_ms)):
            position = str(at_ms)
    return {
        "iteratorType": kind,
        "iteratorPosition": position,
        "subSequenceNumber": "-1" if shard_position.sub is None else str(shard_position.sub),
        "isLast": "true" if shard_position.sub is None else "false",
    }


def place_of(position: PlannedPosition) -> ShardPlace | None:
    """Return where a shard begins; None if the connectors cannot express it."""
    new_position = position.new_offset
    if not isinstance(new_position, ShardPlace):
        return None
    if position.start is Start.EARLIEST:
        return TRIM_HORIZON
    if new_position.place is Place.LATEST or (new_position.place is Place.AT_TIMESTAMP and new_position.at_ms is None):
        return None
    return new_position


def ends_of(plan: Plan) -> dict[str, str]:
    """Return the folder of the newest batch's ends by source, for sources that keep them in the checkpoint."""
    required = plan.requirements.checkpoint
    matches = (_ENDS.fullmatch(path) for path, _ in (() if required is None else required.files))
    return {match["source"]: match["folder"] for match in matches if match is not None}


def added_ends(plan: Plan) -> dict[tuple[str, int], str]:
    folders, remaining = ends_of(plan), left_in_shards(plan.positions)
    return {
        (position.source, position.partition): f"{folders[position.source]}/{shard_id(position.partition)}"
        for position in plan.positions
        if position.source in folders
        and (position.old_offset is None or (in_several(position.old_offset) and position.partition not in remaining))
    }


def keeps_sub(plan: Plan) -> bool:
    """Return whether the connector keeps positions inside aggregates: the one whose ends are in `shard-source`."""
    return any("/shard-source/" in folder for folder in ends_of(plan).values())
