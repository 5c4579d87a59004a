"""Compare receipts and journals with their plan.

Anybody with write access to their folder can edit both, and `apply`, `rollback` and `verify` depend on them. So nothing
in them is trusted by itself: targets, positions, offsets and before-images must equal those of the plan, digests of
originals those that were reviewed, and every other path must have the form that writers use. The plan in a receipt is
trusted only if it has the digest of the plan that was applied.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from offsetwise import files
from offsetwise.errors import FileError
from offsetwise.model import Plan, Receipt, ReceiptStep
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.recorded import URI
from offsetwise.plan.target import target_type
from offsetwise.wording import many

_CHANGED: Final = "Somebody has changed this file. Nothing was written and nothing was removed."


def changed(problem: str) -> FileError:
    return FileError(
        f"{problem} {_CHANGED}",
        fix="Restore it from a copy, and find out who changed it. Without a copy, compare what is at the targets with "
        "the plan by hand.",
    )


def plan_of(receipt: Receipt, plan_bytes: bytes | None, *, subject: str) -> tuple[bytes, Plan]:
    """Return the bytes and the content of the plan of a receipt.

    Args:
        receipt: The receipt.
        plan_bytes: The plan's file; if None, the plan in the receipt as `files.dump` writes it.
        subject: The name of the receipt in errors, usually its path.

    Raises:
        FileError: The plan does not have the digest that the receipt names.
        PlanError: The plan contradicts itself.
    """
    data = files.dump(receipt.plan).encode() if plan_bytes is None else plan_bytes
    digest = digest_of(data)
    if digest != receipt.plan_digest:
        noun = "the plan in it" if plan_bytes is None else "the plan that was given"
        raise FileError(
            f"{subject}: expected {noun} to be the one that it names, {receipt.plan_digest[:12]}, found {digest[:12]}. "
            "Somebody has changed this file, or the plan was approved in another form than the tool writes. "
            "Nothing was written and nothing was removed.",
            fix="Give the plan's file exactly as it was approved, with --plan.",
        )
    plan = read_plan(data, subject=subject)
    if plan != receipt.plan:
        raise changed(f"{subject}: expected the plan that was given, found another one in it.")
    return data, plan


def require_agreeing(
    subject: str, plan: Plan, digest: str, steps: Sequence[ReceiptStep], *, locations: Sequence[str | None] = ()
) -> None:
    """Raise unless the steps of a receipt are those of its plan.

    Args:
        subject: The name of the receipt in errors, usually its path.
        plan: The plan.
        digest: The plan's digest, hex.
        steps: The steps of the receipt.
        locations: The location of each target, None if unknown; empty if all are unknown.

    Raises:
        FileError: A step disagrees with the plan.
        OffsetwiseError: The plan could not have been written.
    """
    if len(steps) != len(plan.targets):
        raise changed(
            f"{subject}: expected {many(len(plan.targets), 'target')} as the plan has, found "
            f"{many(len(steps), 'target')}."
        )
    for number, step in enumerate(steps):
        require_step(subject, plan, digest, number, step, location=locations[number] if locations else None)


def require_step(
    subject: str,
    plan: Plan,
    digest: str,
    number: int,
    step: ReceiptStep,
    *,
    location: str | None = None,
    notes: Mapping[str, str] | None = None,
    begun: bool = False,
) -> None:
    """Raise if a step of a receipt or journal disagrees with the plan.

    Args:
        subject: The name of the file in errors, usually its path.
        plan: The plan.
        digest: The plan's digest, hex.
        number: The index of the step.
        step: What was written, or was about to be.
        location: The location of the target; None if unknown.
        notes: The notes of the step's writer in a journal; None for a receipt.
        begun: Whether the step began according to the journal: then its writer has noted what it needs to continue.

    Raises:
        FileError: The step disagrees with the plan.
        OffsetwiseError: The plan could not have been written.
    """
    wrong = next(_disagreements(plan, digest, number, step, location), None)
    if wrong is None and notes is not None:
        wrong = next(target_type(step.target.kind).unfit_notes(digest, step, notes, begun=begun), None)
    if wrong is not None:
        raise FileError(
            f"{subject}: expected step {number + 1} as `offsetwise apply` records it for this plan, but {wrong}. "
            f"{_CHANGED}",
            fix="Give the same --output and checkpoint as at first. If you did, restore the file from a copy, and find "
            "out who changed it; without a copy, compare what is at the target with the plan by hand.",
        )


def _disagreements(plan: Plan, digest: str, number: int, step: ReceiptStep, location: str | None) -> Iterator[str]:
    if number >= len(plan.targets):
        yield f"the plan has {many(len(plan.targets), 'target')}"
        return
    target = plan.targets[number]
    if step.target != target:
        yield f"its target is {step.target}, and the plan's is {target}"
        return
    kind = target_type(target.kind)
    if kind.where.has_files:
        yield from _of_place(step.place, location)
    yield from kind.disagreements(plan, digest, step)


def _of_place(recorded: str, location: str | None) -> Iterator[str]:
    if not URI.match(recorded) and not (
        os.path.isabs(recorded) and os.path.normpath(recorded) == recorded and "\0" not in recorded
    ):
        yield f"its location {recorded[:300]!r} is not a whole path"
    if location is not None and recorded != location:
        yield f"its location is {recorded[:300]!r}, expected {location!r}"
