from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings.target_position import no_position
from offsetwise.model import Checkpoint, Comparison, Plan, Problem
from offsetwise.plan.refusals import subscription
from offsetwise.plan.settings import MarkSettings
from offsetwise.plan.target import OFFSETS
from offsetwise.plan.ways import PRODUCERS_FIRST, Way, not_renamed
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.flink.engine.engine import FLINK
from offsetwise.plugins.flink.engine.source import INITIALIZER, LEGACY_STATE
from offsetwise.plugins.flink.job_keys import FlinkJob
from offsetwise.plugins.flink.targets.kinesis.spec import STREAM, against_edit, against_legacy
from offsetwise.plugins.flink.targets.spec import (
    KEEP_NAME,
    STOP,
    WRITE_ELSEWHERE,
    SavepointCopyTarget,
    start_from_copy,
)

_NAME: Final = "flink-savepoint"


def _other_names(comparison: Comparison, job: JobTraits) -> Iterator[str]:  # noqa: ARG001 - as every question
    if job.part(FlinkJob).subscription_changeable is None:
        yield "Can the job read topics of other names? (`subscription_changeable`)"


def _other_name_of_legacy(comparison: Comparison, legacy: Collection[str]) -> Iterator[Problem]:
    renamed = next((row for row in comparison.partitions if row.source in legacy and row.new_topic != row.topic), None)
    if renamed is not None:
        yield subscription.problem(
            f"{renamed.topic} is called {renamed.new_topic} on the new cluster, and the legacy consumer keeps names in "
            "Kryo with a hash, which is not edited.",
            fix=KEEP_NAME,
        )


def _without_offset(checkpoint: Checkpoint, legacy: Collection[str]) -> Iterator[Problem]:
    """Report partitions of which a coordinator has only the name, so that a copy cannot express where they begin."""
    for source in checkpoint.sources:
        named = [at for at in source.undecided if at.starts_at == INITIALIZER]
        if named and source.id not in legacy:
            yield no_position.problem(
                f"{named[0].topic_partition} is named in the savepoint and no reader has taken it: the state keeps no "
                "offset for it that a copy could hold.",
                fix=WRITE_ELSEWHERE,
            )


def _left_behind(comparison: Comparison, job: JobTraits) -> Iterator[str]:  # noqa: ARG001 - as above
    if job.part(FlinkJob).needs_retained_data is None:
        yield "Do records that lie on the old cluster only still matter? (`needs_retained_data`)"


_EDIT: Final = Way(
    name="savepoint-edit",
    engine=FLINK.name,
    order=10,
    target=_NAME,
    title="edit the savepoint, in a copy",
    keeps=("the state of all operators", "the job as it is: SQL too, with or without uids", "the old savepoint"),
    gives_up=("nothing, where every position is proven",),
    needs=(
        "the job is stopped with a savepoint in the canonical format",
        "an empty folder under a write root",
        "for the first start the initializer `committedOffsets(NONE)`, in SQL the mode `group-offsets` with "
        "`auto.offset.reset` none, so that a position that retention has deleted stops the job: with connectors up to "
        "5.0.0 other initializers reset it, whatever the property says; later ones that have FLINK-39888 do as the "
        "job's own `auto.offset.reset` says",
    ),
    stop=STOP,
    start_of=start_from_copy,
)
_RENAME: Final = replace(
    _EDIT,
    name="topic-rename",
    order=70,
    title="rename the topic, in a copy of the savepoint",
    keeps=("the state of all operators", "the positions, under the new names"),
    gives_up=("nothing; without the edit the old topic's positions, as the source's initializer decides then",),
    needs=("the job's subscription can be changed", "`topics` in the migration file says what they are called"),
    objections=not_renamed,
    questions=_other_names,
)
_PRODUCERS_FIRST: Final = replace(
    PRODUCERS_FIRST,
    engine=FLINK.name,
    target=_NAME,
    title="producers first, then the job, from earliest",
    questions=_left_behind,
    stop=STOP,
    start_of=start_from_copy,
)


class SavepointTarget(SavepointCopyTarget):
    name = _NAME
    label = "Flink savepoint, edited in a copy"
    streams = frozenset({OFFSETS, STREAM})
    moves_one_of_several = True
    parameters = MarkSettings
    ways = (_EDIT, _RENAME, _PRODUCERS_FIRST)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        yield from super().objections(comparison, job, sink_rewound=sink_rewound)
        checkpoint = comparison.checkpoint
        if checkpoint is not None and isinstance(checkpoint.details, FlinkDetails):
            legacy = {
                operator.uid or operator.id
                for operator in checkpoint.details.operators
                for state in operator.states
                if state.name == LEGACY_STATE
            }
            yield from _without_offset(checkpoint, legacy)
            yield from _other_name_of_legacy(comparison, legacy)
        yield from against_legacy(comparison)

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        return against_edit(plan)


TYPE: Final = SavepointTarget()
