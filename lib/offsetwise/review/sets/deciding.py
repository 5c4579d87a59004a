"""One decision about all plans of a set: signed once, and stored with each plan. Inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from offsetwise.approval import Verdict
from offsetwise.errors import OffsetwiseError
from offsetwise.plan.drift import Drift
from offsetwise.plan.sets.file import read_plan_set
from offsetwise.review import deciding, remarks
from offsetwise.review.allowing import Verb, why_not_own
from offsetwise.review.answers import Approved, NotAllowed
from offsetwise.review.attempt import Attempt
from offsetwise.review.deciding import Matter, ReviewDecision, SignedDecision
from offsetwise.review.people import may_be_one, who
from offsetwise.review.risk import VersionFacts
from offsetwise.review.sets.answers import DecidedSet, DecideSetAnswer, RefusedOf, refusal
from offsetwise.review.sets.drafting import NO_SET
from offsetwise.review.sets.sheet import SetState, confirmation, standing_of
from offsetwise.review.sets.steps import Steps
from offsetwise.review.sheet import standings
from offsetwise.store.review_rows import SetMember, SetRow, State


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDecision:
    digest: str
    verdict: Verdict
    typed: str | None
    remark: str
    """Stored with every plan; empty for none."""
    in_spite_of: Mapping[str, str] = field(default_factory=dict)
    """The reason for each unmet check, by its name, for all plans that do not meet it."""
    drifts: Mapping[int, tuple[Drift, ...]] = field(default_factory=dict)
    """Changes on the clusters since the plans were drafted, by their numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    attempt: Attempt
    matter: Matter


def decide(steps: Steps, number: int, requested: SetDecision) -> DecideSetAnswer:
    """Sign one decision about exactly the plans of a set, and store it with each one that still waits."""
    row = steps.change.plan_set(number)
    if row is None:
        return NO_SET
    verb = Verb.APPROVE if requested.verdict is Verdict.APPROVED else Verb.REJECT
    whole = steps.attempt(verb, None, row.digest)
    person = whole.admitted()
    if isinstance(person, NotAllowed):
        return person
    closed = _why_not_now(steps, row, requested)
    if closed is not None:
        return closed
    document = read_plan_set(steps.change.set_content(number), subject=f"set {number}")
    jobs = [entry.job for entry in document.plans]
    parts = _parts(steps, verb, requested, jobs, row.members)
    if not isinstance(parts, list):
        return parts
    untyped = _why_not_typed(row, requested, parts)
    if untyped is not None:
        return untyped
    try:
        digests = tuple(member.digest for member in row.members)
        signed = deciding.sign(whole, row.digest, requested.verdict, plans=digests)
    except OffsetwiseError as error:
        return NotAllowed(why=error.problem, fix=error.fix)
    counted = [_store(steps, part, signed, requested.remark) for part in parts]
    steps.next()
    answer = DecidedSet(
        number=number,
        digest=row.digest,
        verdict=requested.verdict,
        envelope=signed.envelope,
        plans=len(parts),
        counted=min(counted),
        required=steps.rules.decisions.required,
    )
    whole.details.update(set=number, plans=len(parts), verdict=requested.verdict)
    whole.record(answer)
    return answer


def _why_not_now(steps: Steps, row: SetRow, requested: SetDecision) -> NotAllowed | None:
    if requested.digest != row.digest:
        return NotAllowed(
            why=f"{requested.digest[:12]!a} is not the digest of set {row.id}.", fix="Open the set again."
        )
    if requested.remark and len(requested.remark) > remarks.MAX_COMMENT:
        return NotAllowed(
            why=f"A remark has up to {remarks.MAX_COMMENT:,} characters, and this one has {len(requested.remark):,}.",
            fix="Say it in fewer words.",
        )
    newest = steps.change.newest_of([member.plan for member in row.members])
    status = standing_of(row, newest, standings(steps.change, newest, rules=steps.rules, now=steps.now))
    if status.state is SetState.CHANGED:
        plans = ", ".join(map(str, status.changed[:5]))
        return NotAllowed(
            why=f"The set was changed since it was submitted: plan {plans} was edited, withdrawn or decided alone.",
            fix="Ask its author to submit the set again.",
        )
    if status.state is not SetState.SUBMITTED:
        return NotAllowed(why=f"Set {row.id} is {status.state} already.", fix="Nothing is left to decide about it.")
    if status.alone and requested.verdict is Verdict.REJECTED:
        return NotAllowed(
            why=f"{status.alone:,} of its plans are approved alone, so the set as a whole is not rejected.",
            fix="Reject the others one by one.",
        )
    return None


def _parts(
    steps: Steps, verb: Verb, requested: SetDecision, jobs: Sequence[str], members: Sequence[SetMember]
) -> list[_Part] | NotAllowed | RefusedOf:
    """Return the plans that wait for this decision, or the first objection to deciding so. Writes nothing.

    A plan that was approved alone, by this person or by enough others, needs no other approval.
    """
    parts = []
    for job, member in zip(jobs, members, strict=True):
        attempt = steps.attempt(verb, member.plan, member.digest)
        if requested.verdict is Verdict.APPROVED and _has_approved(attempt):
            objection = _why_barred(attempt)
            if objection is not None:
                return RefusedOf(job=job, plan=member.plan, why=objection.why, fix=objection.fix)
            continue
        decision = ReviewDecision(
            digest=member.digest,
            verdict=requested.verdict,
            typed=None,
            drifts=requested.drifts.get(member.plan, ()),
            in_spite_of=requested.in_spite_of,
        )
        matter = deciding.decidable(attempt, decision, confirmed=True)
        if not isinstance(matter, Matter):
            refused = refusal(job, member.plan, matter)
            if refused is None:
                raise AssertionError("a decision before anybody signed")
            return refused
        parts.append(_Part(attempt=attempt, matter=matter))
    if not parts:
        return NotAllowed(
            why="You have approved every plan of this set already.", fix="Another person has to approve too."
        )
    return parts


def _why_barred(attempt: Attempt) -> NotAllowed | None:
    """Return why somebody may not decide about a plan, or a set with it, even if it waits for no decision."""
    opened = attempt.opened()
    if isinstance(opened, NotAllowed):
        return opened
    person, row, newest = opened
    editors = attempt.change.editors(row.id)
    return why_not_own(person, attempt.verb, attempt.rules, editors, VersionFacts.load(newest.facts).names)


def _has_approved(attempt: Attempt) -> bool:
    row, person = attempt.plan, attempt.person
    if row is None or person is None:
        return False
    if row.state in (State.APPROVED, State.APPLIED):
        return True
    counted = attempt.status(row, attempt.change.version(row.id, row.number)).counted
    return any(may_be_one(decision.by, who(person)) for decision in counted)


def _why_not_typed(row: SetRow, requested: SetDecision, parts: Sequence[_Part]) -> NotAllowed | None:
    if requested.verdict is not Verdict.APPROVED:
        return None
    facts = [(VersionFacts.load(part.matter.newest.facts), part) for part in parts]
    if not any(fact.confirm is not None or _unmet(fact, part) for fact, part in facts):
        return None
    expected = confirmation(row)
    if requested.typed == expected:
        return None
    return NotAllowed(
        why=f"A plan of this set has unsafe rows or open checks: expected {expected!r} to be typed, found "
        f"{(requested.typed or '')[:80]!a}.",
        fix=f"Look at the rows marked unsafe and the open checks, then type {expected}.",
    )


def _unmet(facts: VersionFacts, part: _Part) -> bool:
    attempt = part.attempt
    return bool(facts.not_met(lambda: attempt.plans.get(attempt.change, part.matter.newest)))


def _store(steps: Steps, part: _Part, signed: SignedDecision, remark: str) -> int:
    about = signed.said.about(part.matter.newest.digest)
    if about is None:
        raise AssertionError("a plan that is not in what was signed")
    steps.next()
    attempt = part.attempt
    answer = deciding.keep(
        attempt, part.matter, SignedDecision(by=signed.by, said=about, envelope=signed.envelope, key=signed.key)
    )
    if remark.strip():
        row = part.matter.row
        steps.change.add_comment(row.id, row.number, by=signed.by, at_ms=attempt.now_ms, body=remark)
    attempt.record(answer)
    return answer.counted if isinstance(answer, Approved) else 0
