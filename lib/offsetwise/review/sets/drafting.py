"""Submitting, resubmitting and withdrawing sets of plans, each inside one transaction, for all plans or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from offsetwise import files
from offsetwise.model import PlanOfSet, PlanSet, RefusedJob
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.sets.file import read_plan_set
from offsetwise.review import drafting
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import NotAllowed, SavedVersion
from offsetwise.review.drafting import DraftedVersion
from offsetwise.review.people import who
from offsetwise.review.sets.answers import (
    RefusedOf,
    SubmitSetAnswer,
    SubmittedSet,
    WithdrawnSet,
    WithdrawSetAnswer,
    refusal,
)
from offsetwise.review.sets.steps import Steps
from offsetwise.store.review_rows import PlanRow, SetMember, SetRow, State
from offsetwise.wording.irreversible import confirmation

NO_SET = NotAllowed(why="There is no such set of plans here.", fix="Choose one from the list.")
NO_PLAN_LEFT = NotAllowed(
    why="No plan of this set can be submitted any more.", fix="Draft the jobs again, on the Draft page."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedSet:
    document: PlanSet
    content: bytes
    """Every byte of that file."""
    plans: tuple[DraftedVersion, ...]
    """In the order of the set."""

    @property
    def digest(self) -> str:
        return digest_of(self.content)


def submit(steps: Steps, drafted: DraftedSet) -> SubmitSetAnswer:
    """Store every plan of a new set as a separate plan, and submit all of them together.

    Raises:
        OffsetwiseError: The file of the set contradicts itself.
    """
    document = read_plan_set(drafted.content, subject="the set of plans")
    members: list[SetMember] = []
    for entry, version in zip(document.plans, drafted.plans, strict=True):
        outcome = _store(steps, entry, version)
        if isinstance(outcome, RefusedOf):
            return outcome
        members.append(outcome)
    return _added(steps, document, drafted.content, members)


def _store(steps: Steps, entry: PlanOfSet, drafted: DraftedVersion) -> SetMember | RefusedOf:
    if drafted.digest != entry.digest:
        raise AssertionError("a plan that its set does not name")
    if confirmation(drafted.plan) is not None:
        why, fix = "What it does cannot be taken back, so it is decided about alone.", "Draft that job alone."
        return RefusedOf(job=entry.job, plan=None, why=why, fix=fix)
    steps.next()
    attempt = steps.attempt(Verb.SAVE, None, drafted.digest)
    saved = drafting.save(attempt, drafted)
    refused = refusal(entry.job, getattr(saved, "plan", None), saved)
    if refused is not None:
        return refused
    if not isinstance(saved, SavedVersion):
        raise AssertionError("a new plan that was there already")
    attempt.record(saved)
    return _submitted(steps, entry, saved.plan) or _member(steps, saved.plan)


def _submitted(steps: Steps, entry: PlanOfSet, plan: int) -> RefusedOf | None:
    steps.next()
    attempt = steps.attempt(Verb.SUBMIT, plan, entry.digest)
    submitted = drafting.submit(attempt, entry.digest)
    refused = refusal(entry.job, plan, submitted)
    if refused is None:
        attempt.record(submitted)
    return refused


def _row(steps: Steps, plan: int) -> PlanRow:
    row = steps.change.plan(plan)
    if row is None:
        raise AssertionError("a plan that was there is not")
    return row


def _member(steps: Steps, plan: int) -> SetMember:
    newest = steps.change.version(plan, _row(steps, plan).number)
    return SetMember(plan=plan, version=newest.id, number=newest.number, digest=newest.digest)


def _added(steps: Steps, document: PlanSet, content: bytes, members: Sequence[SetMember]) -> SubmitSetAnswer:
    """Store the set, unless it exists, and record its submission."""
    steps.next()
    digest = digest_of(content)
    attempt = steps.attempt(Verb.SUBMIT, None, digest)
    person = attempt.admitted()
    if isinstance(person, NotAllowed):
        return person
    there = steps.change.set_of(digest)
    number = (
        there.id
        if there is not None
        else steps.change.add_set(
            migration=document.migration,
            wave=document.wave,
            digest=digest,
            content=content,
            members=members,
            by=who(person),
            at_ms=attempt.now_ms,
        )
    )
    answer = SubmittedSet(number=number, digest=digest, plans=len(members), refused=len(document.refused))
    attempt.details.update(set=number, plans=answer.plans, refused=answer.refused)
    attempt.record(answer)
    return answer


def submit_again(steps: Steps, number: int) -> SubmitSetAnswer:
    """Submit the newest version of each plan of a set together, without those that were withdrawn or decided alone.

    Raises:
        OffsetwiseError: The stored file of the set cannot be read.
    """
    row = steps.change.plan_set(number)
    if row is None:
        return NO_SET
    document = read_plan_set(steps.change.set_content(number), subject=f"set {number}")
    entries, members, refused = [], [], [*document.refused]
    for entry, member in zip(document.plans, row.members, strict=True):
        newest = _member(steps, member.plan)
        state = _row(steps, member.plan).state
        if state in (State.DRAFT, State.SUBMITTED, State.APPROVED):
            failed = _submitted_again(steps, replace(entry, digest=newest.digest), newest, state)
            if failed is not None:
                return failed
        if _row(steps, member.plan).state is not State.SUBMITTED:
            problem, next_step = _why_left_out(member.plan, state)
            refused.append(RefusedJob(job=entry.job, error="PlanError", problem=problem, fix=next_step))
            continue
        entries.append(replace(entry, digest=newest.digest))
        members.append(newest)
    if not members:
        return NO_PLAN_LEFT
    again = replace(document, plans=tuple(entries), refused=tuple(refused))
    return _added(steps, again, files.dump(again).encode(), members)


def _why_left_out(plan: int, state: State) -> tuple[str, str]:
    next_step = "Open that plan on Review." if state is State.APPROVED else "Draft the job again."
    return f"Plan {plan} is {state}, so it is in this set no more.", next_step


def _submitted_again(steps: Steps, entry: PlanOfSet, newest: SetMember, state: State) -> RefusedOf | None:
    """Submit a plan unless it waits for decisions or is approved; return why that is not possible."""
    version = steps.change.version(newest.plan, newest.number)
    result = steps.attempt(Verb.SUBMIT, newest.plan, newest.digest).status(_row(steps, newest.plan), version)
    if state is not State.DRAFT and not result.expired:
        return None
    return _submitted(steps, entry, newest.plan)


def withdraw(steps: Steps, number: int) -> WithdrawSetAnswer:
    row = steps.change.plan_set(number)
    if row is None:
        return NO_SET
    document = read_plan_set(steps.change.set_content(number), subject=f"set {number}")
    count = 0
    for entry, member in zip(document.plans, row.members, strict=True):
        if not _row(steps, member.plan).state.open:
            continue
        steps.next()
        attempt = steps.attempt(Verb.WITHDRAW, member.plan, member.digest)
        answer = drafting.withdraw(attempt)
        refused = refusal(entry.job, member.plan, answer)
        if refused is not None:
            return refused
        attempt.record(answer)
        count += 1
    return _taken_back(steps, row, count)


def _taken_back(steps: Steps, row: SetRow, count: int) -> WithdrawSetAnswer:
    attempt = steps.attempt(Verb.WITHDRAW, None, row.digest)
    person = attempt.admitted()
    if isinstance(person, NotAllowed):
        return person
    if not count:
        return NotAllowed(why="No plan of this set is open any more.", fix="There is nothing left to withdraw.")
    steps.next()
    answer = WithdrawnSet(number=row.id, plans=count)
    attempt.details.update(set=row.id, plans=count)
    attempt.record(answer)
    return answer
