from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep
from offsetwise.plan.recorded import edited_in_place, notes_of_originals
from offsetwise.plan.target import TargetRole, TargetType, Where
from offsetwise.plan.ways import Way
from offsetwise.plugins.spark.engine.engine import SPARK
from offsetwise.plugins.spark.engine.later_batches import BATCH
from offsetwise.plugins.spark.targets.operator import SPARK_OPERATOR
from offsetwise.plugins.spark.targets.spec import against_checkpoint, job_module

_NAME: Final = "spark-checkpoint-in-place"
_GUARD: Final = re.compile(rf"offsets/(?:{BATCH.pattern})")
_WAY: Final = Way(
    name="checkpoint-in-place",
    engine=SPARK.name,
    order=20,
    target=_NAME,
    title="state-preserving edit, in place",
    keeps=("the state", "the query id and batch ids, so the sink stays exactly-once", "the originals of edited files"),
    gives_up=("the untouched old folder: going back means putting the kept originals back",),
    needs=("the query is stopped", "the folder under a write root", "proven positions, of a pending batch both ends"),
)


class SparkInPlaceTarget(TargetType):
    name = _NAME
    shows_start = True
    label = "Spark checkpoint, edited in place"
    where = Where.CHECKPOINT
    role = TargetRole.STATE
    patches = (SPARK_OPERATOR,)
    job = staticmethod(job_module)
    ways = (_WAY,)
    notes = frozenset({"keep", "guard", "staged", "swapping"})

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        return against_checkpoint(comparison, job, sink_rewound=sink_rewound)

    def unfit_notes(self, digest: str, step: ReceiptStep, notes: Mapping[str, str], *, begun: bool) -> Iterator[str]:
        yield from super().unfit_notes(digest, step, notes, begun=begun)
        yield from notes_of_originals(digest, step, notes, begun=begun)
        guard = notes.get("guard")
        if guard is not None and not _GUARD.fullmatch(guard):
            yield f"its guard {guard[:300]!r} is no batch"

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        return edited_in_place(plan, digest, step)


TYPE: Final = SparkInPlaceTarget()
