"""A file that says where a job without positions of its own begins: Spark's `startingOffsets`, or Flink's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.engines.registry import keeper_of
from offsetwise.model import Comparison, Plan, Problem, ReceiptStep
from offsetwise.plan.exports import starting_offsets
from offsetwise.plan.moving import moving_of
from offsetwise.plan.recorded import made_text
from offsetwise.plan.refusals import no_checkpoint
from offsetwise.plan.target import Spec, Where


def _against(comparison: Comparison, job: JobTraits, *, sink_rewound: bool) -> Iterator[Problem]:
    form = moving_of(comparison.engine).starting_offsets
    if form is not None:
        yield from form.against(comparison, job, sink_rewound=sink_rewound)
    else:
        told = f"A job of {keeper_of(comparison.engine).label} cannot be told to begin at offsets."
        yield no_checkpoint.problem(told)


def _recorded(plan: Plan, digest: str, step: ReceiptStep) -> Iterator[str]:  # noqa: ARG001 - as every target's
    yield from made_text(step, starting_offsets(plan))


SPEC: Final = Spec(
    name="starting-offsets",
    label="startingOffsets file",
    where=Where.OUTPUT,
    ways=(),
    against=_against,
    recorded=_recorded,
    fresh=True,
    beside=True,
)
