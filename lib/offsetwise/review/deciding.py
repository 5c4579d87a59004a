"""Decisions: an approval or rejection is signed here or imported, and stored with its envelope.

Inside one transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from offsetwise.approval import ApprovalFile, Statement, Verdict, believed, policy_for, vouch
from offsetwise.approval.unproven import require_acceptable
from offsetwise.config import ApprovalSettings
from offsetwise.errors import FileError, OffsetwiseError, PlanError, UsageError
from offsetwise.model import AcceptedUnproven
from offsetwise.plan.drift import Drift
from offsetwise.plan.refusals import require_proofs
from offsetwise.review import overrides
from offsetwise.review.allowing import barred_from_deciding, no_person, why_not_own
from offsetwise.review.answers import AlreadyDecided, Approved, DecideAnswer, NotAllowed, Rejected, Stale
from offsetwise.review.attempt import Attempt, content_of, decided
from offsetwise.review.people import Person, may_be_one, who
from offsetwise.review.risk import VersionFacts
from offsetwise.review.sheet import VersionStanding
from offsetwise.store.review_rows import PlanRow, State, VersionRow, Who

_TOLD: Final = 1_000
"""The maximum length of the accepted positions in the audit log, in characters; the envelope has all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    digest: str
    verdict: Verdict
    typed: str | None
    drifts: tuple[Drift, ...]
    accepted_unproven: tuple[AcceptedUnproven, ...] = ()
    """Positions that may be applied although the records that prove them are gone."""
    in_spite_of: Mapping[str, str] = field(default_factory=dict)
    """The reason for each unmet check, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    row: PlanRow
    newest: VersionRow
    status: VersionStanding


def decide(attempt: Attempt, requested: ReviewDecision) -> DecideAnswer:
    matter = decidable(attempt, requested)
    if not isinstance(matter, Matter):
        return matter
    try:
        signed = sign(attempt, requested.digest, requested.verdict, accepted_unproven=requested.accepted_unproven)
    except (FileError, PlanError, UsageError) as error:
        return NotAllowed(why=error.problem, fix=error.fix)
    return keep(attempt, matter, signed)


def decidable(attempt: Attempt, requested: ReviewDecision, *, confirmed: bool = False) -> Matter | DecideAnswer:
    """Return the version to decide about, or why this person may not decide so about it now. Writes nothing.

    Args:
        attempt: The attempt of the person, about the plan.
        requested: The requested decision.
        confirmed: Whether the confirmation was typed once for several plans.
    """
    opened = attempt.opened()
    if isinstance(opened, NotAllowed):
        return opened
    person, row, newest = opened
    facts = VersionFacts.load(newest.facts)
    refused = why_not_own(person, attempt.verb, attempt.rules, attempt.change.editors(row.id), facts.names)
    if refused is not None:
        return refused
    matter = Matter(row=row, newest=newest, status=attempt.status(row, newest))
    closed = _why_not_now(attempt, matter, requested.digest, who(person))
    if closed is not None:
        return closed
    approves = requested.verdict is Verdict.APPROVED
    objection = _why_not_approved(requested, newest, facts, confirmed=confirmed) if approves else None
    if objection is not None:
        return objection
    try:
        content_of(attempt.change, newest)
        unreasoned = _not_reasoned(attempt, requested, newest, facts) if approves else None
    except (FileError, PlanError, UsageError) as error:
        return NotAllowed(why=error.problem, fix=error.fix)
    return matter if unreasoned is None else unreasoned


def sign(
    attempt: Attempt,
    digest: str,
    verdict: Verdict,
    *,
    plans: tuple[str, ...] = (),
    accepted_unproven: tuple[AcceptedUnproven, ...] = (),
) -> SignedDecision:
    """Sign a decision with the console's key, for the signed-in person; see `vouch`.

    Raises:
        OffsetwiseError: There is no key, or it may not sign this.
    """
    person, key = attempt.admitted(), attempt.key()
    if isinstance(person, NotAllowed):
        raise AssertionError("a decision of somebody who may not decide")
    data, said = vouch(
        digest,
        key,
        issuer=person.issuer,
        subject=person.subject,
        now=attempt.now,
        expires_in=timedelta(hours=attempt.rules.decisions.valid_hours),
        verdict=verdict,
        accepted_unproven=accepted_unproven,
        plans=plans,
    )
    return SignedDecision(by=who(person), said=said, envelope=data, key=key.public.id)


def _why_not_approved(
    requested: ReviewDecision, newest: VersionRow, facts: VersionFacts, *, confirmed: bool
) -> Stale | NotAllowed | None:
    if requested.drifts:
        return Stale(digest=newest.digest, difference=None, drifts=requested.drifts)
    if not confirmed and facts.confirm is not None and requested.typed != facts.confirm:
        return NotAllowed(
            why="Something in this plan is unsafe, skips records or cannot be taken back: expected "
            f"{facts.confirm!r} to be typed, found {(requested.typed or '')[:80]!a}.",
            fix=f"Look at the rows marked unsafe and the transactions that end, then type {facts.confirm}.",
        )
    return None


def _not_reasoned(
    attempt: Attempt, requested: ReviewDecision, newest: VersionRow, facts: VersionFacts
) -> NotAllowed | None:
    """Return why unmet or unproven conditions prevent an approval; record those that the person overrides.

    Raises:
        PlanError: A position has no proof, or one must not be accepted as unproven.
    """
    not_met = facts.not_met(lambda: attempt.plans.get(attempt.change, newest))
    unreasoned = overrides.why_not(not_met, requested.in_spite_of)
    if unreasoned is not None:
        return unreasoned
    if not_met:
        attempt.details[overrides.DETAIL] = overrides.recorded(not_met, requested.in_spite_of)
    if requested.accepted_unproven or not facts.has_proofs:
        plan = attempt.plans.get(attempt.change, newest)
        require_proofs(plan, newest.digest)
        require_acceptable(plan, newest.digest, requested.verdict, requested.accepted_unproven)
    return None


def import_envelope(attempt: Attempt, file: ApprovalFile) -> DecideAnswer:
    change, opened = attempt.change, attempt.opened()
    if isinstance(opened, NotAllowed):
        return opened
    _, row, newest = opened
    try:
        policy = policy_for(ApprovalSettings(trusted_keys=attempt.rules.decisions.trusted_keys or None))
        key, said = believed(content_of(change, newest), attempt.plans.get(change, newest), file, policy, attempt.now)
    except OffsetwiseError as error:
        return NotAllowed(why=error.problem, fix=error.fix)
    if attempt.rules.is_service(Person(issuer=said.issuer, subject=said.subject, name=said.subject)):
        return no_person(said.issuer, said.subject)
    signer = Who(issuer=said.issuer, subject=said.subject, name=said.subject)
    names = VersionFacts.load(newest.facts).names
    refusal = barred_from_deciding(signer, attempt.rules, change.editors(row.id), names)
    if refusal is not None:
        return refusal
    if change.nonce_used(row.id, said.nonce):
        return AlreadyDecided(state=row.state, message=f"This very envelope of {said.subject} is kept already.")
    matter = Matter(row=row, newest=newest, status=attempt.status(row, newest))
    closed = _why_not_now(attempt, matter, said.plan_digest, signer)
    if closed is not None:
        return closed
    return keep(attempt, matter, SignedDecision(by=signer, said=said, envelope=file.content, key=key.id))


def _why_not_now(
    attempt: Attempt, matter: Matter, digest: str, somebody: Who
) -> NotAllowed | Stale | AlreadyDecided | None:
    row, newest, result = matter.row, matter.newest, matter.status
    if digest != newest.digest:
        return attempt.stale(row, newest, digest)
    if row.state is State.DRAFT:
        return NotAllowed(
            why="This version was not submitted, so there is nothing to decide yet.",
            fix="Ask its author to submit it.",
        )
    if result.expired:
        return NotAllowed(
            why="Its submission, or an approval of it, has expired.",
            fix="Ask its author to look at it again and submit it again.",
        )
    if row.state is not State.SUBMITTED:
        return decided(row, result)
    for decision_row in result.counted:
        if (decision_row.by.issuer, decision_row.by.subject) == (somebody.issuer, somebody.subject):
            return decided(row, result)
        if may_be_one(decision_row.by, somebody):
            return NotAllowed(
                why=f"{somebody.subject} of {somebody.issuer} is, or may be, {decision_row.by.subject} of "
                f"{decision_row.by.issuer}, whose approval is counted already.",
                fix="Let another person decide.",
            )
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedDecision:
    by: Who
    said: Statement
    envelope: bytes
    key: str


def keep(attempt: Attempt, matter: Matter, signed: SignedDecision) -> Approved | Rejected:
    row, result, said, envelope = matter.row, matter.status, signed.said, signed.envelope
    if result.submission is None:
        raise AssertionError("decided about what was not submitted")
    attempt.change.add_decision(
        row.id,
        result.submission.id,
        digest=said.plan_digest,
        by=signed.by,
        verdict=said.verdict.value,
        at_ms=int(said.approved_at.timestamp() * 1000),
        expires_at_ms=int(said.expires_at.timestamp() * 1000),
        nonce=said.nonce,
        envelope=envelope,
        separation=attempt.rules.separation_of_duties,
    )
    attempt.details.update(
        approver_issuer=said.issuer,
        approver_subject=said.subject,
        verdict=said.verdict,
        key=signed.key,
        envelope_sha256=hashlib.sha256(envelope).hexdigest(),
    )
    if said.accepted_unproven:
        reasons = "; ".join(f"{unproven.topic_partition}: {unproven.reason}" for unproven in said.accepted_unproven)
        attempt.details.update(accepted_unproven=reasons[:_TOLD])
    if said.verdict is Verdict.REJECTED:
        attempt.change.move(row.id, State.REJECTED, number=row.number, at_ms=attempt.now_ms)
        return Rejected(plan=row.id, digest=said.plan_digest, envelope=envelope)
    counted, required = len(result.counted) + 1, attempt.rules.decisions.required
    state = State.APPROVED if counted >= required else State.SUBMITTED
    attempt.change.move(row.id, state, number=row.number, at_ms=attempt.now_ms)
    return Approved(plan=row.id, digest=said.plan_digest, envelope=envelope, counted=counted, required=required)
