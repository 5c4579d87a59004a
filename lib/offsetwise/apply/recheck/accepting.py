"""Positions whose proof is gone, and that enough approvers have accepted as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from offsetwise.apply.recheck.proofs import RecheckResult
from offsetwise.errors import NotApprovedError
from offsetwise.model import Approver, Outcome, TopicPartition
from offsetwise.wording import many

_NAMED: Final = 5
"""How many positions an error lists."""


def accepted(
    results: Sequence[RecheckResult], approvers: Sequence[Approver], required: int
) -> tuple[RecheckResult, ...]:
    """Mark results as passed if enough approvers accepted the position as unproven.

    Results that fail for another reason are not changed.

    Args:
        results: The results of the recheck.
        approvers: The valid approvers, each another person.
        required: The number of approvals that the plan needs, and so the number of people who must accept.
    """
    return tuple(_judged(result, approvers, required) for result in results)


def require_needed(digest: str, results: Sequence[RecheckResult], approvers: Sequence[Approver]) -> None:
    """Raise if an approval accepts a position as unproven whose proof was repeated.

    Otherwise people would accept every position just in case, and proofs would lose their value.

    Args:
        digest: The plan's digest, hex.
        results: The results of the recheck, with the proof of every position.
        approvers: The valid approvers.

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
