"""The leases of an application of the KCL, in its table on DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offsetwise.model import Plan, PlannedPosition, Problem, ReceiptStep, Start
from offsetwise.plan.refusals import place_not_held, sources
from offsetwise.plan.ways import Way
from offsetwise.streams.kinesis.spec import SPEC as STREAM
from offsetwise.streams.kinesis.spec import TRIM_HORIZON, Place, ShardPlace, shard_id
from offsetwise.targets.kinesis.spec import is_to_another_stream
from offsetwise.targets.spec import Spec, Where

_NAME: Final = "kcl-leases"


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


def _unfit(plan: Plan) -> Iterator[Problem]:
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


_WAY: Final = Way(
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
    ways=(_WAY,),
    recorded=_recorded,
    takes_group=True,
    names_table=True,
    beside=True,
    any_stream=True,
    of_stream=STREAM.name,
    unfit=_unfit,
)
