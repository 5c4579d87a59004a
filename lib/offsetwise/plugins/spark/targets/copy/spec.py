from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings import Stage, finding
from offsetwise.model import Cluster, Comparison, Plan, Problem, ReceiptStep, Severity
from offsetwise.plan.recorded import edited
from offsetwise.plan.target import OFFSETS, OutputTarget, TargetRole
from offsetwise.plan.ways import PRODUCERS_FIRST, Way, not_renamed
from offsetwise.plugins.spark.engine.engine import SPARK
from offsetwise.plugins.spark.targets.copy.repairs import SparkRepairSettings
from offsetwise.plugins.spark.targets.kinesis.spec import STREAM, added_ends, against_shards
from offsetwise.plugins.spark.targets.operator import SPARK_OPERATOR
from offsetwise.plugins.spark.targets.spec import against_checkpoint, job_module

_NAME: Final = "spark-checkpoint"


@finding(
    code="NO_BATCH",
    severity=Severity.BLOCKS,
    title="No earlier batch is retained",
    remedy="Edit a copy of the checkpoint: it goes on from the last committed batch.",
    rank=260,
    stage=Stage.PLAN,
)
def no_batch(comparison: Comparison, job: JobTraits) -> Iterator[str]:  # noqa: ARG001 - as every rule of a way
    checkpoint = comparison.checkpoint
    if checkpoint is None:
        return
    last = checkpoint.details.progress.committed
    if not any(batch.committed and last is not None and batch.id < last for batch in checkpoint.details.batches):
        yield "No earlier committed batch is retained."


@finding(
    code="NOT_MOVED",
    severity=Severity.BLOCKS,
    title="There is nothing to go back from",
    remedy="Go back only once the job has run on the new cluster: from its checkpoint there.",
    rank=310,
    stage=Stage.PLAN,
)
def not_moved(comparison: Comparison, job: JobTraits) -> Iterator[str]:  # noqa: ARG001 - as above
    if comparison.belongs_to.cluster is not Cluster.NEW:
        yield "The checkpoint is the old cluster's: there is nothing to go back from."


_COPY: Final = Way(
    name="checkpoint-copy",
    engine=SPARK.name,
    order=10,
    target=_NAME,
    title="state-preserving edit, in a copy",
    keeps=("the state", "the query id and batch ids, so the sink stays exactly-once", "the old folder, to go back to"),
    gives_up=("room for a second copy of the state, where it cannot be linked",),
    needs=(
        "the query is stopped",
        "an empty folder under a write root",
        "proven positions, of a pending batch both ends",
    ),
)
_REWIND: Final = Way(
    name="rewind",
    engine=SPARK.name,
    order=50,
    target=_NAME,
    title="rewind to an earlier batch, in a copy",
    keeps=("the state as it was after that batch", "the query id"),
    gives_up=("later batches: their records are read again, under batch ids that the sink has seen",),
    needs=("that batch and its state are retained", "a sink taken back to it, or one that drops repeated records"),
    options=" --set rewind_to=BATCH",
    rewinds=True,
    elsewhere="It begins at the positions after an earlier batch, and this comparison is of the last one",
    objections=no_batch,
)
_RENAME: Final = Way(
    name="topic-rename",
    engine=SPARK.name,
    order=70,
    target=_NAME,
    title="topic rename",
    keeps=("the state", "the query id and batch ids"),
    gives_up=("nothing; the names of topics in the checkpoint change",),
    needs=("the job subscribes to the new names", "`topics` in the migration file says what they are called"),
    objections=not_renamed,
)
_FAILBACK: Final = Way(
    name="failback",
    engine=SPARK.name,
    order=90,
    target=_NAME,
    title="failback",
    keeps=("the state", "the query id; batch ids go on above what the sink has"),
    gives_up=("records that only the new cluster has and the job has not read, unless they are mirrored back",),
    needs=(
        "a migration file with source and target swapped, and `belongs_to: old` for the checkpoint",
        "the new job's checkpoint, stopped after a commit",
        "a copy on the old cluster of the last record that the job read of each partition",
    ),
    migration_file="swapped.yaml",
    elsewhere="It is drafted from a migration file with old and new swapped",
    objections=not_moved,
)


class SparkCopyTarget(OutputTarget):
    name = _NAME
    shows_start = True
    label = "Spark checkpoint, edited in a copy"
    role = TargetRole.STATE
    patches = (SPARK_OPERATOR,)
    job = staticmethod(job_module)
    streams = frozenset({OFFSETS, STREAM})
    parameters = SparkRepairSettings
    ways = (_COPY, _REWIND, _RENAME, replace(PRODUCERS_FIRST, engine=SPARK.name, target=_NAME), _FAILBACK)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        return against_checkpoint(comparison, job, sink_rewound=sink_rewound)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        results = () if plan.repair is None else plan.repair.made
        yield from edited(plan, digest, step, new=(*added_ends(plan).values(), *results))

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        return against_shards(plan)


TYPE: Final = SparkCopyTarget()
