"""The leases of an application of the KCL, in its table on DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from offsetwise.model import AnyPosition, Plan, PlannedPosition, Problem, ReceiptStep, Start
from offsetwise.plan.refusals import place_not_held, sources
from offsetwise.plan.ways import Way
from offsetwise.streams.kinesis.findings import table_shared
from offsetwise.streams.kinesis.spec import SPEC as STREAM
from offsetwise.streams.kinesis.spec import (
    TRIM_HORIZON,
    Evidence,
    Place,
    ShardPlace,
    evidence_of,
    moment,
    sequence_number,
    shard_id,
)
from offsetwise.targets.kinesis.spec import is_to_another_stream
from offsetwise.targets.spec import Spec, Where

_NAME: Final = "kcl-leases"
NAME_ANOTHER: Final = (
    "Name the application that reads the stream of the plan, or one whose table has no leases yet: --target "
    "kcl-leases:APPLICATION."
)


def place_of(one: PlannedPosition) -> ShardPlace | None:
    """Give what a lease would hold of a position; None where it cannot hold it."""
    place = one.new_offset
    if not isinstance(place, ShardPlace):
        return None
    if one.start is Start.EARLIEST:
        return TRIM_HORIZON
    if place.place is Place.AFTER:
        # The last user record of an aggregate that is processed whole; number 0 is also what a plain record has.
        last = place.sub if place.sub is not None else (one.aggregate or 1) - 1
        return replace(place, sub=last or None)
    return place if place.place in (Place.TRIM_HORIZON, Place.SHARD_END) else None


def is_reviewed(plan: Plan, table: str) -> bool:
    """Say whether the table's leases are the positions that were reviewed: of the application, and of the stream."""
    required = plan.requirements.checkpoint
    return required is not None and required.job_id == table and not is_to_another_stream(plan.positions)


def of_another_stream(plan: Plan, leases: Mapping[str, AnyPosition]) -> str:
    """Return which lease is of another stream than the plan's, by when its shard was made; empty where none is.

    Shards of all streams have the same ids, and a table does not say of which stream its leases are: only the numbers
    do. Those of an unknown layout say nothing.

    Args:
        plan: The plan.
        leases: The positions in a table, by lease key.
    """
    firsts = {
        shard_id(shard.partition): evidence_of(number)
        for topic in plan.requirements.new.topics
        for shard in topic.shards
        if (number := None if shard.first is None else sequence_number(shard.first)) is not None
    }
    for one in plan.positions:
        key = shard_id(one.partition)
        planned, lease = _evidence(one.new_offset) or firsts.get(key), _evidence(leases.get(key))
        if planned is not None and lease is not None and planned.born_s != lease.born_s:
            return (
                f"its lease of {key} is at {leases[key]}, in a shard made at {moment(lease.born_s)}, and the shard of "
                f"the plan was made at {moment(planned.born_s)}: the table is of another stream's application"
            )
    return ""


def _evidence(position: AnyPosition | None) -> Evidence | None:
    number = position.sequence if isinstance(position, ShardPlace) else None
    return None if number is None else evidence_of(number)


def _of_other_tables(plan: Plan) -> Iterator[Problem]:
    for before in plan.requirements.tables:
        leases = dict(before.leases)
        if why := of_another_stream(plan, leases):
            yield table_shared.problem(f"Table {before.table}: {why}.", NAME_ANOTHER)
            continue
        planned = {shard_id(one.partition): place_of(one) for one in plan.positions}
        other = next((key for key, place in planned.items() if leases.get(key, place) != place), None)
        if other is not None and is_to_another_stream(plan.positions):
            yield table_shared.problem(
                f"Table {before.table}: the plan is for another stream than the one that the job reads, and there is a "
                f"lease of {other} already, at {leases[other]}.",
                NAME_ANOTHER,
            )


def _unfit(plan: Plan) -> Iterator[Problem]:
    yield from _of_other_tables(plan)
    for one in plan.positions:
        if place_of(one) is None:
            why = "it is after a record, at the oldest one or at the end of the shard"
            yield from place_not_held(one.new_topic_partition, one.new_offset, "a lease", why)
    if len({(one.source, one.new_topic) for one in plan.positions}) > 1:
        yield sources.problem("A table holds the leases of one stream, and the positions are of several.")


def _recorded(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG001 - as every target's
    name = step.target.group or ""
    if step.place.partition("?")[0] != f"dynamodb://{name}":
        yield f"its place is {step.place[:300]!r}, and the plan's table is {name!r}"
    if step.files or step.offsets:
        yield "it has files or committed offsets, which a table has none of"
    planned = {shard_id(one.partition): (place_of(one), one.old_offset) for one in plan.positions}
    reviewed = is_reviewed(plan, name)
    seen = [one.key for one in step.leases]
    if len(set(seen)) != len(seen) or not planned.keys() >= set(seen):
        yield "its leases are not the plan's"
        return
    for one in step.leases:
        place, old = planned[one.key]
        if one.position != place:
            yield f"it has {one.key} at {one.position}, and the plan says {place}"
        if reviewed and one.before_position not in (None, old):
            yield f"it says that {one.key} was at {one.before_position} before, and {old} was reviewed"


WAY: Final = Way(
    name="kcl-leases",
    order=100,
    target=_NAME,
    title="write the leases of an application",
    keeps=("the positions, number by number", "every row as it was, in the receipt, to put back"),
    gives_up=("who held the leases, and checkpoints that were prepared",),
    needs=(
        "every worker of the application is stopped",
        "the rights dynamodb:Scan, UpdateItem and PutItem on the table; DeleteItem to take new leases back",
    ),
    elsewhere="This page does not know which tables there are",
)
SPEC: Final = Spec(
    name=_NAME,
    label="leases of the application",
    where=Where.CLUSTER,
    ways=(WAY,),
    recorded=_recorded,
    takes_group=True,
    names_table=True,
    beside=True,
    any_stream=True,
    of_stream=STREAM.name,
    unfit=_unfit,
)
