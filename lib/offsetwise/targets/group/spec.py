"""Committed offsets of a consumer group on the new cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep, TopicPartition
from offsetwise.plan.exports import planned_offsets
from offsetwise.plan.refusals import sources
from offsetwise.plan.target import Spec, Where
from offsetwise.plan.ways import Way

_NAME: Final = "consumer-group"


def _against(
    comparison: Comparison,
    job: JobTraits,  # noqa: ARG001 - as every rule of a target
    *,
    sink_rewound: bool,  # noqa: ARG001 - as above
) -> Iterator[Problem]:
    return sources(comparison)


def _recorded(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG001 - as every target's
    name = step.target.group or ""
    if step.place != name:
        yield f"its place is {step.place[:300]!r}, and the plan's group is {name!r}"
    if step.files:
        yield "it has files, which a group has none of"
    planned = planned_offsets(plan, name)
    reviewed = {
        TopicPartition(topic, partition): offset
        for each in plan.requirements.groups
        if each.group == name
        for topic, partition, offset in each.offsets
    }
    seen: set[TopicPartition] = set()
    for one in step.offsets:
        key = one.topic_partition
        if key in seen:
            yield f"it has {key} twice"
        seen.add(key)
        if one.offset != planned.get(key):
            yield f"it has {key} at {one.offset}, and the plan says {planned.get(key, 'nothing')}"
        if one.before != reviewed.get(key):
            before, was = (_committed(each) for each in (one.before, reviewed.get(key)))
            yield f"it says that {before} was committed for {key} before, and {was} was reviewed"
        if one.error is not None:
            yield f"it says that {key} was refused"
    if planned.keys() - seen:
        lacking = min(planned.keys() - seen)
        yield f"it lacks {lacking}, which the plan moves to {planned[lacking]}"


def _committed(offset: int | None) -> str:
    return "nothing" if offset is None else str(offset)


_GROUP: Final = Way(
    name="consumer-group",
    order=60,
    target=_NAME,
    title="group offsets",
    keeps=("the positions", "what the group had committed before, to put back"),
    gives_up=("metadata of commits and leader epochs, which mean nothing on another cluster",),
    needs=("the group has no members", "the mirror's group sync leaves the group out", "a start before offsets expire"),
)
SPEC: Final = Spec(
    name=_NAME,
    label="consumer group",
    where=Where.CLUSTER,
    ways=(_GROUP,),
    against=_against,
    recorded=_recorded,
    takes_group=True,
    beside=True,
)
