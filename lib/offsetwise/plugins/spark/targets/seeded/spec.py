"""A fresh Spark checkpoint that contains initial offsets only."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.errors import PlanError
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep
from offsetwise.plan.exports import against_gaps, starting_offsets
from offsetwise.plan.recorded import wrong_new_files
from offsetwise.plan.refusals import sources
from offsetwise.plan.target import OutputTarget, TargetRole
from offsetwise.plan.ways import Way
from offsetwise.plugins.spark.engine.engine import SPARK
from offsetwise.plugins.spark.targets.operator import SPARK_OPERATOR
from offsetwise.plugins.spark.targets.spec import against_anew, against_several, job_module
from offsetwise.ports.stream import has_offsets
from offsetwise.wording import many

_NAME: Final = "seeded-checkpoint"


def seeded_offsets(plan: Plan) -> tuple[str, bytes]:
    """Return the file of initial offsets in the checkpoint: its relative path, and its bytes.

    Raises:
        PlanError: The plan has several sources, or not every partition of a topic.
    """
    sources = sorted({position.source for position in plan.positions})
    if len(sources) != 1:
        raise PlanError(
            f"A seeded checkpoint: expected a plan for one Kafka source, found {len(sources):,}. Nothing was written.",
            fix="Copy the checkpoint: --target spark-checkpoint.",
        )
    # A group's positions belong to no source of Spark, which numbers its only source 0.
    source = "0" if plan.requirements.checkpoint is None else sources[0]
    return f"sources/{source}/0", b"\0v1\n" + starting_offsets(plan).encode()


_WAY: Final = Way(
    name="fresh-seeded",
    engine=SPARK.name,
    order=40,
    target=_NAME,
    title="ignore the old state, seeded checkpoint",
    keeps=("the positions", "the job as it is: no option changes"),
    gives_up=("the state", "the query id and batch ids: a sink that remembers ids ignores the first batches"),
    needs=("an empty folder under a write root", "one Kafka source and no other"),
)


class SeededCheckpointTarget(OutputTarget):
    name = _NAME
    shows_start = True
    label = "fresh checkpoint, seeded"
    role = TargetRole.START
    patches = (SPARK_OPERATOR,)
    job = staticmethod(job_module)
    ways = (_WAY,)

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        yield from against_several(comparison, job)
        checkpoint_sources = () if comparison.checkpoint is None else comparison.checkpoint.sources
        others = sum(not has_offsets(source.kind) for source in checkpoint_sources)
        if others:
            yield sources.problem(f"The job has {many(others, 'other source')}, whose positions would be lost.")
        yield from against_anew(comparison, job, sink_rewound=sink_rewound)

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        return against_gaps(plan)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        path, data = seeded_offsets(plan)
        yield from wrong_new_files(step, {"metadata": None, path: sha256(data).hexdigest()})


TYPE: Final = SeededCheckpointTarget()
