"""What a copy of a checkpoint is called: before it is made, and in the receipt."""

from __future__ import annotations

from offsetwise.apply.fitting import requirement
from offsetwise.apply.rewrite import Rewrite
from offsetwise.apply.writing import Preview
from offsetwise.model import Plan, ReceiptStep, StepState, Target


def preview_copy(plan: Plan, target: Target, place: str, made: Rewrite) -> Preview:
    """Say what making a copy would do."""
    return Preview(
        target=target,
        place=place,
        told=f"A copy of {requirement(plan).uri} would be made at {place}, {made.told}.",
        files=made.changes(),
    )


def step_of_copy(plan: Plan, target: Target, place: str, made: Rewrite) -> ReceiptStep:
    """Give the step of a copy as it will be when it is done."""
    return ReceiptStep(
        target=target,
        place=place,
        state=StepState.DONE,
        told=f"A copy of {requirement(plan).uri} stands at {place}, {made.told}.",
        files=made.written(),
    )
