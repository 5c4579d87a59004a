from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.engines.registry import keeper_of
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep
from offsetwise.plan.exports import against_gaps, starting_offsets
from offsetwise.plan.moving import starting_offsets_of
from offsetwise.plan.recorded import made_text
from offsetwise.plan.refusals import no_checkpoint
from offsetwise.plan.target import OutputTarget, TargetRole


class StartingOffsetsTarget(OutputTarget):
    name = "starting-offsets"
    shows_start = True
    label = "startingOffsets file"
    role = TargetRole.START

    def objections(self, comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
        form = starting_offsets_of(comparison.engine)
        if form is not None:
            yield from form.objections(comparison, job, sink_rewound=sink_rewound)
        else:
            message = f"A job of {keeper_of(comparison.engine).label} cannot be told to begin at offsets."
            yield no_checkpoint.problem(message)

    def unfit(self, plan: Plan) -> Iterator[Problem]:
        return against_gaps(plan)

    def disagreements(self, plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:
        yield from made_text(step, starting_offsets(plan))


TYPE: Final = StartingOffsetsTarget()
