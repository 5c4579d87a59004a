"""Verify the targets of a receipt: what was approved before the job starts, then where the job began.

A checkpoint shows where its job began: by the file of the written batch, and the first batch after it. A group shows
only its current position. What cannot be read is UNKNOWN, never correct.
"""

from __future__ import annotations

from collections.abc import Callable

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.job import ask_job
from offsetwise.apply.verification.seen import Seen, for_all
from offsetwise.apply.writers import writer_module
from offsetwise.errors import OffsetwiseError
from offsetwise.model import (
    JobOrigin,
    Plan,
    PlannedPosition,
    PlannedTransaction,
    Receipt,
    ReceiptStep,
    StepState,
    Target,
    Turnout,
    Verification,
    VerifiedJob,
    VerifiedPosition,
    VerifiedTransaction,
)
from offsetwise.plan.repair.draft import as_moving_plan
from offsetwise.plan.target import TargetRole, target_type

__all__ = ["decided", "verify", "watch"]


def verify(
    receipt: Receipt, readers: Readers, *, verified_at: str, checkpoint: str | None = None, job: str | None = None
) -> Verification:
    """Compare the state of every target with the plan of a receipt.

    Args:
        receipt: What was written.
        readers: Read the current state.
        verified_at: When, ISO 8601, UTC.
        checkpoint: The checkpoint of the new job, for a target that is no checkpoint itself (`startingOffsets`).
        job: The address of the running job, to ask what it began from; None to ask none.

    Raises:
        UsageError: The address is invalid, or no target of the receipt has jobs that can be asked.
        SecretError: A secret for signing on to the job cannot be resolved.
    """
    observed = None if job is None else ask_job(receipt, job, readers)
    plan = as_moving_plan(receipt.plan)
    positions: list[VerifiedPosition] = []
    transactions: list[VerifiedTransaction] = []
    started = []
    for step in receipt.steps:
        observations = _observe(plan, step, readers, checkpoint)
        if target_type(step.target.kind).role is TargetRole.TRANSACTIONS:
            pairs = zip(receipt.plan.transactions, observations, strict=True)
            transactions += [_verified_transaction(step.target, planned, observation) for planned, observation in pairs]
            continue
        started.append(any(observation.started for observation in observations) or _began_from(observed, step))
        positions += [
            _verified_position(step.target, position, observation)
            for position, observation in zip(plan.positions, observations, strict=True)
        ]
    return Verification(
        plan_digest=receipt.plan_digest,
        verified_at=verified_at,
        started=bool(started) and all(started),
        positions=tuple(positions),
        transactions=tuple(transactions),
        job=observed,
    )


def _began_from(job: VerifiedJob | None, step: ReceiptStep) -> bool:
    return job is not None and job.origin is JobOrigin.RESTORED_FROM_PLAN and job.target == step.target


def _verified_transaction(target: Target, planned: PlannedTransaction, observed: Seen) -> VerifiedTransaction:
    return VerifiedTransaction(
        target=target,
        transactional_id=planned.transactional_id,
        producer_id=planned.producer_id,
        epoch=planned.epoch,
        decision=planned.decision,
        turnout=observed.turnout,
        told=observed.told,
    )


def _verified_position(target: Target, planned: PlannedPosition, observed: Seen) -> VerifiedPosition:
    return VerifiedPosition(
        target=target,
        source=planned.source,
        topic=planned.new_topic,
        partition=planned.partition,
        planned=planned.new_offset,
        found=observed.found,
        turnout=observed.turnout,
        told=observed.told,
    )


def watch(
    observe: Callable[[], Verification], *, wait: Callable[[], None], report: Callable[[Verification], None]
) -> Verification:
    """Verify repeatedly until the job has begun at every target, or elsewhere.

    Args:
        observe: Verifies once.
        wait: Waits between two verifications; an exception of it ends the watch.
        report: Called with each verification.
    """
    while True:
        verification = observe()
        report(verification)
        if decided(verification):
            return verification
        wait()


def decided(verification: Verification) -> bool:
    """Whether another verification cannot change the answer where the job began."""
    started = verification.started or not verification.positions
    return verification.is_different or (started and not verification.is_unknown)


def _observe(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    if step.state is not StepState.DONE:
        return _all_unknown(plan, step, f"{step.target} was not written: {step.told}")
    try:
        return writer_module(step.target.kind).verify(plan, step, readers, checkpoint)
    except OffsetwiseError as error:
        return _all_unknown(plan, step, error.problem)


def _all_unknown(plan: Plan, step: ReceiptStep, reason: str) -> list[Seen]:
    if target_type(step.target.kind).role is TargetRole.TRANSACTIONS:
        return [Seen(found=None, turnout=Turnout.UNKNOWN, told=reason) for _ in plan.transactions]
    return for_all(plan, Turnout.UNKNOWN, reason)
