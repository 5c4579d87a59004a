from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep, Snapshot, Target, TopicPartition
from offsetwise.plan.exports import planned_offsets
from offsetwise.plan.recorded import offsets_apart
from offsetwise.plan.refusals import sources
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plan.ways import Way

_NAME: Final = "consumer-group"


_GROUP: Final = Way(
    name="consumer-group",
    order=60,
    target=_NAME,
    title="group offsets",
    keeps=("the positions", "what the group had committed before, to put back"),
    gives_up=("metadata of commits and leader epochs, which mean nothing on another cluster",),
    needs=("the group has no members", "the mirror's group sync leaves the group out", "a start before offsets expire"),
)


class ConsumerGroupTarget(TargetType):
    name = _NAME
    label = "consumer group"
    where = Where.CLUSTER
    role = TargetRole.POSITIONS
    address = "group"
    ways = (_GROUP,)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        return sources(comparison)

    def addresses(self, comparison: Comparison, new: Snapshot | None) -> Sequence[str]:
        names = () if new is None else [group.name for group in new.groups]
        return sorted(names, key=lambda name: name != comparison.group)

    def example(self, comparison: Comparison, job: JobTraits) -> str:
        return comparison.group or job.commits_to or "GROUP"

    def namesake(self, comparison: Comparison) -> str | None:
        return comparison.group

    def groups(self, target: Target) -> tuple[str, ...]:
        return () if target.group is None else (target.group,)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        name = step.target.group or ""
        if step.place != name:
            yield f"its location is {step.place[:300]!r}, and the plan's group is {name!r}"
        if step.files:
            yield "it has files, which a group has none of"
        planned = planned_offsets(plan, name)
        reviewed = {
            TopicPartition(topic, partition): offset
            for group in plan.requirements.groups
            if group.group == name
            for topic, partition, offset in group.offsets
        }
        yield from offsets_apart(step, planned, reviewed)
        yield from (
            f"it says that {offset.topic_partition} was refused" for offset in step.offsets if offset.error is not None
        )


TYPE: Final = ConsumerGroupTarget()
