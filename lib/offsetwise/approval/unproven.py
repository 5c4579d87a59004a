"""The positions that a reviewer may accept as unproven, because retention deleted the records of their proof.

Only the loss of such a record can be accepted; not a record that exists and differs, nor a position that was never
proven.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from offsetwise.approval import strict
from offsetwise.approval.envelope import Verdict
from offsetwise.errors import PlanError, UsageError
from offsetwise.model import AcceptedUnproven, Plan, PlannedPosition, TopicPartition

_PLACE: Final = re.compile(r"([a-zA-Z0-9._-]{1,249}):([0-9]{1,9})")


def named(texts: Sequence[str], reasons: Sequence[str]) -> dict[TopicPartition, str]:
    """Parse `topic:partition`, each with its reason: one each in their order, or the same one for all.

    Raises:
        UsageError: A text has another form, is repeated, or has no reason.
    """
    if texts and len(reasons) == 1:
        reasons = (reasons[0],) * len(texts)
    if len(reasons) != len(texts):
        raise UsageError(
            f"sign: expected a --reason for each of {len(texts):,} --accept-unproven, or one for all; found "
            f"{len(reasons):,}. Nothing was signed.",
            fix="Say why each position may be applied unproven: --accept-unproven orders:0 --reason TEXT.",
        )
    results: dict[TopicPartition, str] = {}
    for text, reason in zip(texts, reasons, strict=True):
        match = _PLACE.fullmatch(text)
        at = None if match is None else TopicPartition(topic=match[1], partition=int(match[2]))
        if at is None or at in results:
            wrong = f"found {text[:100]!r}" if at is None else f"found {text} twice"
            raise UsageError(
                f"--accept-unproven: expected topic:partition, each once, {wrong}. Nothing was signed.",
                fix="Write for example --accept-unproven orders:0, with the topic's name on the old cluster.",
            )
        results[at] = reason
    return results


def accepted(reasons: Mapping[TopicPartition, str]) -> tuple[AcceptedUnproven, ...]:
    """Return the signed form of the accepted positions, sorted by name."""
    return tuple(
        AcceptedUnproven(topic=at.topic, partition=at.partition, reason=reason.strip())
        for at, reason in sorted(reasons.items())
    )


def acceptable(position: PlannedPosition) -> bool:
    """Return whether a position may be accepted as unproven: records prove it, which retention can delete."""
    proofs = (position.proof, position.end_proof)
    return position.override is None and any(proof is not None and proof.has_records for proof in proofs)


def why_not(plan: Plan, requested: Sequence[AcceptedUnproven]) -> str | None:
    """Return a sentence why these positions must not be accepted; None if they may."""
    positions: dict[TopicPartition, list[PlannedPosition]] = {}
    for position in plan.positions:
        positions.setdefault(position.topic_partition, []).append(position)
    visited = set()
    for unproven in requested:
        at = unproven.topic_partition
        planned_positions = positions.get(at)
        if at in visited:
            return f"{at} is accepted as unproven twice."
        if planned_positions is None:
            return f"{at} is accepted as unproven, and the plan has no position of that name on the old cluster."
        if not any(map(acceptable, planned_positions)):
            decided = any(planned_position.override is not None for planned_position in planned_positions)
            why = "a person decided it, which needs no proof" if decided else "no record of the plan proves it"
            return f"{at} is accepted as unproven, and {why}: there is nothing to accept."
        if not strict.is_reason(unproven.reason):
            return (
                f"{at} is accepted as unproven: expected a reason, {strict.A_REASON}, found {unproven.reason[:60]!a}."
            )
        visited.add(at)
    return None


def require_acceptable(plan: Plan, digest: str, verdict: Verdict, requested: Sequence[AcceptedUnproven]) -> None:
    """Raise before signing an acceptance that would be invalid.

    Raises:
        PlanError: A position must not be accepted, or is accepted in a rejection.
    """
    why = why_not(plan, requested)
    if requested and verdict is Verdict.REJECTED:
        why = "A rejection accepts nothing."
    if why is not None:
        raise PlanError(
            f"Plan {digest[:12]}: {why} Nothing was signed.",
            fix="Accept only positions whose proof the dry run of `apply` cannot make again, each with a reason: "
            "--accept-unproven topic:partition --reason TEXT.",
        )
