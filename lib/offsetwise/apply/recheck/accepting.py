"""Positions whose proof is gone, and that as many people as have to approve a plan accepted as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from offsetwise.apply.recheck.proofs import RecheckResult
from offsetwise.errors import NotApprovedError
from offsetwise.model import Approver, Outcome, TopicPartition
from offsetwise.wording import many

_NAMED: Final = 5
"""Positions that a refusal names."""


def accepted(
    results: Sequence[RecheckResult], approvers: Sequence[Approver], required: int
) -> tuple[RecheckResult, ...]:
    """Let pass what cannot be proven any more where enough approvers signed that it may be applied so.

    What differs from what was reviewed, or cannot be read for another reason, stays as it is.

    Args:
        results: What was found.
        approvers: Those whose approvals count, each another person.
        required: How many people have to approve the plan, and so accept such a position.
    """
    return tuple(_judged(result, approvers, required) for result in results)


def require_needed(digest: str, results: Sequence[RecheckResult], approvers: Sequence[Approver]) -> None:
    """Refuse an approval that accepts a position as unproven whose proof was made again.

    Else to accept every position, just in case, would become a habit, and no proof would be asked for any more.

    Args:
        digest: The plan's.
        results: What was found, with the proof of every position made again.
        approvers: Those whose approvals count.

    Raises:
        NotApprovedError: There is such an approval.
    """
    accepted_now = {result.unproven for result in results}
    for approver in approvers:
        proven = [at for unproven in approver.accepted_unproven if (at := unproven.topic_partition) not in accepted_now]
        if proven:
            names = ", ".join(map(str, proven[:_NAMED])) + (" …" if len(proven) > _NAMED else "")
            raise NotApprovedError(
                f"Plan {digest[:12]}: {approver.subject} accepted {many(len(proven), 'position')} as unproven, and the "
                f"proof was made again: {names}. Nothing was written.",
                fix=f"Let {approver.subject} sign the plan again, and accept only what the dry run cannot prove.",
            )


def _judged(result: RecheckResult, approvers: Sequence[Approver], required: int) -> RecheckResult:
    if result.unproven is None or result.outcome is not Outcome.UNKNOWN:
        return result
    said = [f"{subject} accepted it as unproven: {reason}" for subject, reason in _reasons(result.unproven, approvers)]
    message = " ".join(
        (result.told, *(sentence if sentence.endswith((".", "!", "?")) else f"{sentence}." for sentence in said))
    )
    if len(said) >= required:
        return replace(result, outcome=Outcome.PASSED, told=message)
    if said:
        message += f" {many(required, 'person has', 'people have')} to."
    return replace(result, told=message)


def _reasons(at: TopicPartition, approvers: Sequence[Approver]) -> Iterator[tuple[str, str]]:
    for approver in approvers:
        for unproven in approver.accepted_unproven:
            if unproven.topic_partition == at:
                yield approver.subject, unproven.reason
