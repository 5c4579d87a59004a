from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from offsetwise.config import JobTraits
from offsetwise.findings import Stage, finding
from offsetwise.findings.migration import MOVE_THE_OTHERS
from offsetwise.model import Checkpoint, Comparison, Plan, Problem, ReceiptStep, Severity
from offsetwise.plan.recorded import edited
from offsetwise.plan.refusals import instead_of_copy, no_checkpoint, no_state_to_copy, sources
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plugins.flink.engine.details import FlinkDetails, flink_details
from offsetwise.plugins.flink.engine.engine import FLINK
from offsetwise.plugins.flink.engine.findings import checkpoint_unaligned
from offsetwise.plugins.flink.job_keys import FlinkJob
from offsetwise.plugins.flink.targets.operator import FLINK_OPERATOR
from offsetwise.ports.stream import is_of_several_clusters

if TYPE_CHECKING:
    from offsetwise.apply.verification.job import JobModule

_STOP: Final = "flink stop --type canonical --savepointPath SAVEPOINTS JOB_ID"
STOP: Final = (_STOP,)
START_ANEW: Final = ("flink run JOB",)
START_FROM_COPY: Final = ("flink run -s DIR JOB",)
_START_FROM_COPY_IN_SQL: Final = (
    "SET 'execution.state-recovery.path' = 'DIR';  -- then the job's INSERT, in the same session",
)
KEEP_NAME: Final = (
    "Mirror the topic under its old name; or begin the job anew at the positions, without its state: --target "
    "starting-offsets."
)
WRITE_ELSEWHERE: Final = (
    "Write the positions elsewhere: --target flink-savepoint-without-sources and --target consumer-group:GROUP."
)
_ELSEWHERE: Final = frozenset({"absolute", "segment"})
_FROM_POSITIONS: Final = (
    "For KinesisStreamsSource write to flink-savepoint-from-positions. The legacy FlinkKinesisConsumer begins at no "
    "positions but those of its own savepoint: write to at-timestamp, one time for all shards, with `tolerates_replay: "
    "true` stated for the job; or move its job to the new source."
)


def start_from_copy(job: JobTraits) -> tuple[str, ...]:
    return _START_FROM_COPY_IN_SQL if job.part(FlinkJob).sql else START_FROM_COPY


def job_module() -> JobModule:
    from offsetwise.plugins.flink.targets import job  # noqa: PLC0415 - it contacts a job, and a plan is drafted without

    return job


def against_savepoint(
    comparison: Comparison,
    job: JobTraits,  # noqa: ARG001 - as every rule of a target
    *,
    sink_rewound: bool,  # noqa: ARG001 - as above
) -> Iterator[Problem]:
    yield from no_checkpoint(comparison)
    checkpoint = comparison.checkpoint
    if checkpoint is None:
        return
    for problem in no_state_to_copy(checkpoint, "savepoint of Flink"):
        has_offsets = any(source.positions for source in checkpoint.sources)
        yield problem if has_offsets else no_state_to_copy.problem(problem.message, fix=_FROM_POSITIONS)
        return
    for problem in no_savepoint(checkpoint):
        yield no_savepoint.problem(problem.message, fix=instead_of_copy(checkpoint, problem.fix))
    if not isinstance(checkpoint.details, FlinkDetails):
        return
    if not checkpoint.details.saved.aligned:
        message = "It is unaligned: records in flight are in its state, read before its offsets."
        yield checkpoint_unaligned.problem(message)
    yield from state_elsewhere(checkpoint)
    yield from several_clusters(checkpoint)


class SavepointCopyTarget(OutputTarget):
    role = TargetRole.STATE
    patches = (FLINK_OPERATOR,)

    job = staticmethod(job_module)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        yield from against_savepoint(comparison, job, sink_rewound=sink_rewound)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        return edited(plan, digest, step)


def several_clusters(checkpoint: Checkpoint) -> Iterator[Problem]:
    for source in checkpoint.sources:
        if is_of_several_clusters(source.kind):
            yield sources.problem(
                f"The DynamicKafkaSource {source.id!r} keeps positions on several clusters, and none of "
                "them is stated to be the old one, or it does not read the one that is.",
                fix=MOVE_THE_OTHERS,
            )


@finding(
    code="NO_SAVEPOINT",
    severity=Severity.BLOCKS,
    title="There is no Flink savepoint to write from",
    remedy="Write to spark-checkpoint, or to a consumer group.",
    rank=320,
    stage=Stage.PLAN,
)
def no_savepoint(checkpoint: Checkpoint) -> Iterator[str]:
    if checkpoint.engine != FLINK.name:
        yield f"The checkpoint is one of {checkpoint.engine}, not of Flink."


@finding(
    code="STATE_ELSEWHERE",
    severity=Severity.BLOCKS,
    title="State lies outside the checkpoint's folder",
    remedy=f"Take a savepoint: {_STOP}",
    rank=330,
    stage=Stage.PLAN,
)
def state_elsewhere(checkpoint: Checkpoint) -> Iterator[str]:
    outside = [
        f"{state.name} of operator {operator.uid or operator.name or operator.id}"
        for operator in flink_details(checkpoint).operators
        for state in operator.states
        if _ELSEWHERE.intersection(state.places)
    ]
    if outside:
        yield f"State lies outside of its folder, for example {outside[0]}, and a copy would share it with the job."


def whose_group(comparison: Comparison, job: JobTraits) -> Iterator[str]:  # noqa: ARG001 - as every question
    if job.commits_to is None:
        yield "Which group does the job commit to, and can its source start from the group's offsets? (`commits_to`)"
