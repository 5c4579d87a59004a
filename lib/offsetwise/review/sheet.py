from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from offsetwise.approval import Verdict
from offsetwise.model import Plan
from offsetwise.review.access import Access
from offsetwise.review.overrides import Overridden
from offsetwise.review.risk import VersionFacts
from offsetwise.store.review_reader import StoreLook
from offsetwise.store.review_rows import (
    CommentRow,
    DecisionRow,
    EditorRow,
    PlanRow,
    ReceiptRow,
    State,
    SubmissionRow,
    VersionRow,
    Who,
)


class SheetMark(StrEnum):
    DRAFT = "DRAFT"
    """Nobody may apply it."""
    APPROVED = "APPROVED"
    APPLIED = "APPLIED"
    """It was applied, and must not be applied again."""
    WITHDRAWN = "WITHDRAWN"
    """For an approval: its signer is no longer a reviewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    row: PlanRow
    plan: Plan
    """The newest version, parsed."""
    version: VersionRow
    facts: VersionFacts
    versions: tuple[VersionRow, ...]
    """All versions, ascending."""
    editors: tuple[EditorRow, ...]
    """Everybody who wrote, edited or submitted any version; the author first."""
    status: VersionStanding
    decisions: tuple[DecisionRow, ...]
    """Decisions about all versions, ascending."""
    comments: tuple[CommentRow, ...]
    receipts: tuple[ReceiptRow, ...]
    overridden: tuple[Overridden, ...] = ()
    """The checks that its approvals override."""

    @property
    def digest(self) -> str:
        return self.version.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStanding:
    state: State
    submission: SubmissionRow | None
    """The last submission of the newest version; None if it was never submitted."""
    counted: tuple[DecisionRow, ...]
    """Unexpired approvals of that submission by current reviewers; for an applied plan, all."""
    withdrawn: tuple[DecisionRow, ...] = ()
    """Approvals of that submission, expired or not, by people who are no longer reviewers."""
    required: int
    expired: bool
    """Whether its submission or approvals have expired, so that it must be submitted again."""

    @property
    def why_expired(self) -> str:
        if self.withdrawn:
            return f"an approval was withdrawn: {self.withdrawn[0].by.name} is no longer a reviewer"
        return "its approvals have expired"

    @property
    def approved(self) -> bool:
        """Whether enough people approve exactly this version now."""
        return self.state is State.APPROVED and not self.expired

    @property
    def mark(self) -> SheetMark:
        if self.state is State.APPLIED:
            return SheetMark.APPLIED
        return SheetMark.APPROVED if self.approved else SheetMark.DRAFT


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    plan: int
    migration: str
    moves: str
    digest: str
    by: Who
    """Who submitted it, or saved its newest version."""
    since_ms: int
    why: str
    """What it waits for, as a clause."""
    of_set: int | None = None
    """The set to decide about as a whole; `plan` is then its first one. None for a single plan."""
    plans: int = 1
    """How many plans wait together."""


def status_of(reader: StoreLook, row: PlanRow, version: VersionRow, *, rules: Access, now: datetime) -> VersionStanding:
    return standings(reader, {row.id: (row, version)}, rules=rules, now=now)[row.id]


def standings(
    reader: StoreLook, newest: Mapping[int, tuple[PlanRow, VersionRow]], *, rules: Access, now: datetime
) -> dict[int, VersionStanding]:
    """Return the state of the newest version of each plan, by the current rules.

    Args:
        reader: Reads the store.
        newest: Each plan with its newest version, by the number of the plan.
        rules: The access file.
        now: With its time zone.
    """
    submissions = reader.submissions_of([version.id for _, version in newest.values()])
    decisions = reader.decisions_of([*newest])
    return {
        plan: _status_of(row, submissions.get(version.id), decisions[plan], rules, now)
        for plan, (row, version) in newest.items()
    }


def _status_of(
    row: PlanRow, submission: SubmissionRow | None, decisions: Sequence[DecisionRow], rules: Access, now: datetime
) -> VersionStanding:
    required = rules.decisions.required
    now_ms = int(now.timestamp() * 1000)
    here = [] if submission is None else [d for d in decisions if d.submission == submission.id]
    approvals = tuple(d for d in here if d.verdict == Verdict.APPROVED)
    withdrawn = tuple(d for d in approvals if rules.withdrew(d.by))
    lapsed = any(now_ms >= d.expires_at_ms for d in approvals)
    counted = approvals
    if row.state is not State.APPLIED:
        counted = tuple(d for d in approvals if now_ms < d.expires_at_ms and d not in withdrawn)
    expired = False
    if row.state is State.SUBMITTED:
        expired = submission is None or now_ms >= submission.expires_at_ms or lapsed
    elif row.state is State.APPROVED:
        expired = len(counted) < required
    return VersionStanding(
        state=row.state,
        submission=submission,
        counted=counted,
        withdrawn=withdrawn,
        required=required,
        expired=expired,
    )
