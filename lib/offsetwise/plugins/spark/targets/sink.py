"""Sinks that remember the batch ids of a query, and the effect if the ids begin again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings.case import MigrationCase
from offsetwise.findings.register import Stage, finding
from offsetwise.model import Problem, Severity

BATCH_ID_SINKS: Final = frozenset({"file", "parquet", "json", "csv", "orc", "delta", "iceberg", "hudi", "foreachbatch"})
"""Sinks that ignore a batch id they have recorded, or that users make so."""
_STATE_SINK: Final = "State `sink` of the checkpoint's job in the migration file."
_REWOUND: Final = "Take the sink back too and state it (--sink-rewound), or edit a copy of the checkpoint."


@finding(
    code="SINK_BATCH_IDS",
    severity=Severity.WARNS,
    title="The sink remembers batch ids",
    remedy="Keep this checkpoint's batch ids (edit a copy); a fresh checkpoint would have its first batches ignored.",
    rank=170,
    stage=Stage.MIGRATION,
    engine="spark",
)
def sink_batch_ids(case: MigrationCase) -> Iterator[str]:
    if case.checkpoint is None or case.job.sink is None or case.job.sink.casefold() not in BATCH_ID_SINKS:
        return
    committed = case.checkpoint.details.progress.committed
    if committed is not None:
        yield (
            f"The {case.job.sink} sink may have recorded batches up to {committed}: a fresh checkpoint begins at 0 "
            "again, and the sink may ignore ids it has recorded."
        )


def batch_ids(job: JobTraits, *, sink_rewound: bool, what: str) -> Iterator[Problem]:
    """Yield the effect on a sink that remembers batch ids if they begin again.

    Args:
        job: The job's stated traits.
        sink_rewound: Whether the sink is rewound with the job.
        what: Why they begin again, as the beginning of a sentence.
    """
    if sink_rewound:
        return
    if job.sink is None:
        message = (
            f"{what}, and it is not stated which sink the job has: one that remembers batch ids would ignore them."
        )
        yield sink_batch_ids.problem(message, fix=_STATE_SINK)
    elif job.sink.casefold() in BATCH_ID_SINKS:
        message = f"{what}, and the {job.sink} sink ignores batch ids it has recorded: records would be missing there."
        yield sink_batch_ids.problem(message, fix=_REWOUND)
