"""Approvals in spite of unmet checks: each needs a reason, which the audit log stores with the approval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.approval import strict
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import NotAllowed
from offsetwise.store.audit import AuditFilter
from offsetwise.store.review_reader import StoreLook

DETAIL: Final = "in_spite_of"
"""The key in an approval's row of the audit log: a line for each overridden check, with its name and the reason."""
_MOST: Final = 1_000
"""How many approvals of one plan are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overridden:
    issuer: str | None
    subject: str | None
    digest: str | None
    """The digest of the approved version."""
    lines: tuple[str, ...]
    """Each check with the reason, such as "job stopped: it was killed"."""


def why_not(unmet: Sequence[str], reasons: Mapping[str, str]) -> NotAllowed | None:
    """Return why a plan with these unmet checks cannot be approved with these reasons; None if it can.

    Args:
        unmet: The names of the unmet checks.
        reasons: By the name of the check.
    """
    for name in unmet:
        given = reasons.get(name, "").strip()
        if not given:
            return NotAllowed(
                why=f"The check {name!r} is not met, and no reason was written to approve in spite of it.",
                fix=f"Write the reason under 'Approve in spite of: {name}', then approve; or reject the plan.",
            )
        if not strict.is_reason(given):
            return NotAllowed(
                why=f"The reason to approve in spite of {name!r}: expected {strict.A_REASON}, found {given[:60]!a}.",
                fix="Write the reason in one line, then approve.",
            )
    return None


def recorded(unmet: Sequence[str], reasons: Mapping[str, str]) -> str:
    """Return the text for the audit log: a line for each overridden check.

    >>> recorded(("job stopped",), {"job stopped": " it was killed ", "other": "not asked for"})
    'job stopped: it was killed'
    """
    return "\n".join(f"{name}: {reasons[name].strip()}" for name in unmet)


def of_plan(reader: StoreLook, plan: int) -> Iterator[Overridden]:
    """Yield the checks that approvals of a plan override, the newest approval first."""
    audit_filter = AuditFilter(plan=plan, action=Verb.APPROVE.value, result="done")
    for row in reader.audit(audit_filter, most=_MOST):
        detail = row.record.details.get(DETAIL)
        if isinstance(detail, str):
            record = row.record
            yield Overridden(
                issuer=record.issuer, subject=record.subject, digest=record.digest, lines=tuple(detail.splitlines())
            )
