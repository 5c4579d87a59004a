from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.model import NewSavepoint, Plan, Problem, ReceiptStep
from offsetwise.plan.recorded import wrong_new_files
from offsetwise.plan.refusals import sources
from offsetwise.plan.settings import Recorded
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plan.ways import Way
from offsetwise.plugins.flink.targets.kinesis.settings import SavepointSettings, stated
from offsetwise.plugins.flink.targets.kinesis.spec import against_splits, new_savepoint
from offsetwise.plugins.flink.targets.operator import FLINK_OPERATOR
from offsetwise.plugins.flink.targets.spec import job_module
from offsetwise.plugins.kinesis.stream.spec import SPEC as STREAM

_NAME: Final = "flink-savepoint-from-positions"


_WAY: Final = Way(
    name="savepoint-from-positions",
    order=110,
    target=_NAME,
    title="make a Flink savepoint of positions alone",
    keeps=("the positions, number by number", "what they were read from"),
    gives_up=("all state but the positions: every other operator of the job starts empty",),
    needs=(
        "a Flink job whose KinesisStreamsSource has a uid",
        "the keys uid, stream_arn, parallelism and max_parallelism of --set as in the job's code",
        "a job of that maximum parallelism",
    ),
    options=" --set uid=UID --set stream_arn=ARN --set parallelism=N --set max_parallelism=N",
    elsewhere="This page does not ask which source of which job it is for",
    start=("flink run -s DIR JOB",),
)


class SavepointFromPositionsTarget(OutputTarget):
    """A Flink savepoint built from positions of any engine: one Kinesis source and nothing else."""

    name = _NAME
    label = "Flink savepoint, made of positions alone"
    role = TargetRole.START
    patches = (FLINK_OPERATOR,)
    job = staticmethod(job_module)
    streams = frozenset({STREAM.name})
    parameters = SavepointSettings
    ways = (_WAY,)

    def stated(self, created: NewSavepoint | None) -> Recorded:
        return stated(created)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        yield from wrong_new_files(step, {"_metadata": None})

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        if plan.savepoint is None:
            yield new_savepoint.problem("Of which source the savepoint is to be is not said.")
            return
        yield from new_savepoint(plan.savepoint, tuple(sorted({position.new_topic for position in plan.positions})))
        read = {position.source for position in plan.positions}
        if len(read) > 1:
            yield sources.problem(f"It holds one source, and the positions are of {len(read):,}.")
        yield from against_splits(plan)


TYPE: Final = SavepointFromPositionsTarget()
