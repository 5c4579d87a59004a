from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, Problem
from offsetwise.plan.refusals import instead_of_copy, no_checkpoint, no_state_to_copy, sources
from offsetwise.plugins.spark.engine.engine import SPARK
from offsetwise.plugins.spark.targets.sink import batch_ids

if TYPE_CHECKING:
    from offsetwise.apply.verification.job import JobModule

_CHECKPOINT: Final = "checkpoint of Spark"


def job_module() -> JobModule:
    from offsetwise.plugins.spark.targets import job  # noqa: PLC0415 - it contacts a job, and a plan is drafted without

    return job


def against_checkpoint(
    comparison: Comparison,
    job: JobTraits,  # noqa: ARG001 - as every rule of a target
    *,
    sink_rewound: bool,  # noqa: ARG001 - as above
) -> Iterator[Problem]:
    yield from no_checkpoint(comparison)
    stateless = [] if comparison.checkpoint is None else list(no_state_to_copy(comparison.checkpoint, _CHECKPOINT))
    yield from stateless
    if comparison.checkpoint is not None and comparison.checkpoint.engine != SPARK.name and not stateless:
        message = f"The checkpoint is one of {comparison.checkpoint.engine}, not of Spark."
        fix = instead_of_copy(comparison.checkpoint, "Write to flink-savepoint, or to a consumer group.")
        yield no_checkpoint.problem(message, fix=fix)


def against_several(comparison: Comparison, job: JobTraits) -> Iterator[Problem]:
    yield from against_checkpoint(comparison, job, sink_rewound=False)
    count = len({row.source for row in comparison.partitions})
    if comparison.checkpoint is not None and count != 1:
        message = f"The job has {count} Kafka sources, and a fresh checkpoint can be given the positions of one."
        yield sources.problem(message)


def against_anew(comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
    if comparison.checkpoint is None or comparison.checkpoint.engine == SPARK.name:
        yield from batch_ids(job, sink_rewound=sink_rewound, what="A fresh checkpoint begins at batch 0 again")
