from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.findings import Stage, finding
from offsetwise.model import Checkpoint, Comparison, Problem, Severity, Target
from offsetwise.plan.request import unfit
from offsetwise.plan.settings import MarkSettings
from offsetwise.plan.target import TargetRole, target_type
from offsetwise.plan.ways import Way
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.flink.engine.engine import FLINK
from offsetwise.plugins.flink.engine.source import READER_STATE
from offsetwise.plugins.flink.targets.spec import (
    STOP,
    SavepointCopyTarget,
    start_from_copy,
    whose_group,
)
from offsetwise.ports.stream import has_offsets

_NAME: Final = "flink-savepoint-without-sources"
_OWN: Final = frozenset({READER_STATE, "coordinator"})
"""States of a KafkaSource."""


@finding(
    code="SOURCE_KEEPS_MORE",
    severity=Severity.BLOCKS,
    title="A source's operator keeps more than positions",
    remedy="Edit the savepoint instead, which keeps it: --target flink-savepoint.",
    rank=335,
    stage=Stage.PLAN,
)
def source_keeps_more(checkpoint: Checkpoint) -> Iterator[str]:
    """Other state in the operator of a source would be lost with its positions.

    The legacy consumer begins at the earliest record if it is restored without state of its own.
    """
    if not isinstance(checkpoint.details, FlinkDetails):
        return
    ids = {source.id for source in checkpoint.sources if has_offsets(source.kind)}
    for operator in checkpoint.details.operators:
        more = {state.name for state in operator.states} - _OWN
        if more and not ids.isdisjoint((operator.uid, operator.id)):
            name = operator.uid or operator.name or operator.id
            yield f"{min(more)} is in operator {name!r}: that is more than a KafkaSource keeps."


_WAY: Final = Way(
    name="source-state-dropped",
    engine=FLINK.name,
    order=90,
    target=_NAME,
    also_writes="consumer-group",
    title="drop the source's state, in a copy of the savepoint",
    keeps=("the state of all other operators", "the positions, in the group", "the job's uids: SQL too"),
    gives_up=("the state of the source",),
    needs=(
        "the group's offsets on the new cluster, or a file that says where to begin, in the same plan",
        "a source that starts there: `scan.startup.mode` in SQL, its starting offsets in code",
        "a group without members, and a start before its offsets expire",
    ),
    questions=whose_group,
    stop=STOP,
    start_of=start_from_copy,
)


class SavepointWithoutSourcesTarget(SavepointCopyTarget):
    name = _NAME
    label = "Flink savepoint, its sources' state dropped in a copy"
    parameters = MarkSettings
    ways = (_WAY,)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        yield from super().objections(comparison, job, sink_rewound=sink_rewound)
        if comparison.checkpoint is not None:
            yield from source_keeps_more(comparison.checkpoint)

    def combination(self, targets: Sequence[Target]) -> Iterator[PlanError]:
        """Yield an error unless the same plan writes the positions to another target."""
        if {target_type(target.kind).role for target in targets}.isdisjoint({TargetRole.START, TargetRole.POSITIONS}):
            yield unfit(
                "a file for the positions beside a savepoint that keeps none",
                "no other target",
                fix="Add --target consumer-group:GROUP, or --target starting-offsets.",
            )


TYPE: Final = SavepointWithoutSourcesTarget()
