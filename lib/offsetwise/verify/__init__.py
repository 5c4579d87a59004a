"""What stands at the targets of a receipt now: before the job starts what was approved, then where the job began.

A checkpoint tells where its job began: the file of the batch that was written, and the first batch after it. A group
tells only where it stands now. What cannot be seen is UNKNOWN, never taken as right.
"""

from __future__ import annotations

from collections.abc import Callable

from offsetwise.errors import OffsetwiseError
from offsetwise.model import (
    SAVEPOINT_KINDS,
    Plan,
    Receipt,
    ReceiptStep,
    StepState,
    TargetKind,
    Turnout,
    Verification,
    VerifiedPosition,
)
from offsetwise.verify import flink, group, spark, starting_offsets
from offsetwise.verify.eyes import Eyes, LiveEyes
from offsetwise.verify.seen import Seen, for_all

__all__ = ["Eyes", "LiveEyes", "decided", "exit_code_of", "verify", "watch"]


def verify(receipt: Receipt, eyes: Eyes, *, verified_at: str, checkpoint: str | None = None) -> Verification:
    """Hold what stands at every target against the plan of a receipt.

    Args:
        receipt: What was written.
        eyes: Reads everything anew.
        verified_at: When, ISO 8601, UTC.
        checkpoint: The checkpoint that the new job made, for a target that is no checkpoint itself (`startingOffsets`).
    """
    positions: list[VerifiedPosition] = []
    started = []
    for step in receipt.steps:
        seen = _look(receipt.plan, step, eyes, checkpoint)
        started.append(any(each.started for each in seen))
        positions += [
            VerifiedPosition(
                target=step.target,
                source=position.source,
                topic=position.new_topic,
                partition=position.partition,
                planned=position.new_offset,
                found=each.found,
                turnout=each.turnout,
                told=each.told,
            )
            for position, each in zip(receipt.plan.positions, seen, strict=True)
        ]
    return Verification(
        plan_digest=receipt.plan_digest,
        verified_at=verified_at,
        started=bool(started) and all(started),
        positions=tuple(positions),
    )


def watch(
    look: Callable[[], Verification], *, wait: Callable[[], None], told: Callable[[Verification], None]
) -> Verification:
    """Look again and again until the job has begun at every target, or began elsewhere.

    Args:
        look: Verifies once.
        wait: Waits between two looks; what it raises ends the watch.
        told: Hears every look.
    """
    while True:
        made = look()
        told(made)
        if decided(made):
            return made
        wait()


def decided(verification: Verification) -> bool:
    """Whether looking again can tell nothing new about where the job began."""
    turnouts = {each.turnout for each in verification.positions}
    return Turnout.DIFFERENT in turnouts or (verification.started and Turnout.UNKNOWN not in turnouts)


def exit_code_of(verification: Verification) -> int:
    """Give the exit code: 5 for anything DIFFERENT, else 1 for anything UNKNOWN.

    >>> exit_code_of(Verification(plan_digest="", verified_at="", started=False, positions=()))
    0
    """
    turnouts = {each.turnout for each in verification.positions}
    return 5 if Turnout.DIFFERENT in turnouts else 1 if Turnout.UNKNOWN in turnouts else 0


def _look(plan: Plan, step: ReceiptStep, eyes: Eyes, checkpoint: str | None) -> list[Seen]:
    if step.state is not StepState.DONE:
        return for_all(plan, Turnout.UNKNOWN, f"{step.target} was not written: {step.told}")
    try:
        if step.target.kind is TargetKind.CONSUMER_GROUP:
            return [*group.group(plan, step, eyes)]
        if step.target.kind is TargetKind.STARTING_OFFSETS:
            return starting_offsets.starting_offsets(plan, step, eyes, checkpoint)
        if step.target.kind in SAVEPOINT_KINDS:
            return flink.savepoint(plan, step, eyes, checkpoint)
        return spark.checkpoint(plan, step, eyes, step.place)
    except OffsetwiseError as error:
        return for_all(plan, Turnout.UNKNOWN, error.problem)
