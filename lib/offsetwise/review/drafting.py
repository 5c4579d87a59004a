"""Saving, submitting and withdrawing plans, each inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise import files
from offsetwise.model import Comparison, Plan, Snapshot
from offsetwise.review.allowing import Verb, why_not_own
from offsetwise.review.answers import (
    AlreadyOpen,
    Done,
    NotAllowed,
    OtherAnswer,
    SaveAnswer,
    SavedVersion,
    Stale,
    SubmitAnswer,
    Submitted,
    Unchanged,
)
from offsetwise.review.attempt import Attempt, decided
from offsetwise.review.bundle import Bundle
from offsetwise.review.people import Person, recorded, who
from offsetwise.review.risk import VersionFacts, facts_of
from offsetwise.store.review_rows import EditorRow, PlanRow, State, VersionRow, Who
from offsetwise.store.reviews import Change

_TOLD: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedVersion:
    plan: Plan
    content: bytes
    digest: str
    base: str | None
    """The digest of the version that was edited."""
    comparison: Comparison | None

    @property
    def moves(self) -> str:
        """The moved checkpoint, or the group on the old cluster. Each has at most one open plan."""
        return self.plan.moves


def save(attempt: Attempt, drafted: DraftedVersion) -> SaveAnswer:
    change, person, digest = attempt.change, attempt.admitted(), drafted.digest
    if isinstance(person, NotAllowed):
        return person
    facts = facts_of(drafted.plan, digest)
    if attempt.is_demo and not facts.sample:
        return NotAllowed(
            why="The demonstration takes plans of the bundled sample only, and this one is of other clusters.",
            fix="Sign in and draft it for your own migration.",
        )
    there = change.version_of(digest)
    if there is not None:
        if attempt.plan is not None and (there.plan, there.number) == (attempt.plan.id, attempt.plan.number):
            return Unchanged(plan=there.plan, number=there.number, digest=digest)
        return NotAllowed(
            why=f"Exactly this was saved before, as version {there.number} of plan {there.plan}.",
            fix="Open that plan, or draft a new one.",
        )
    refused = _why_not_new(attempt, drafted) if attempt.plan is None else _why_not_edit(attempt, attempt.plan, drafted)
    if refused is None:
        refused = _wrong_names(attempt, drafted.plan, person)
    return _saved(attempt, person, drafted, facts) if refused is None else refused


def _saved(attempt: Attempt, person: Person, drafted: DraftedVersion, facts: VersionFacts) -> SavedVersion:
    change, digest = attempt.change, drafted.digest
    dropped = 0
    if attempt.plan is None:
        plan, number = change.add_plan(migration=drafted.plan.migration, moves=drafted.moves, at_ms=attempt.now_ms), 1
    else:
        plan, number = attempt.plan.id, attempt.plan.number + 1
        newest = change.version(plan, attempt.plan.number)
        dropped = len(attempt.status(attempt.plan, newest).counted)
    version = change.add_version(
        plan, number, digest=digest, content=drafted.content, facts=facts.dump(), by=who(person), at_ms=attempt.now_ms
    )
    change.add_editor(plan, number, who(person))
    _add_files(change, version, {} if drafted.comparison is None else _files_of(drafted.comparison))
    change.move(plan, State.DRAFT, number=number, at_ms=attempt.now_ms)
    attempt.plan = change.plan(plan)
    attempt.details.update(dropped_approvals=dropped, facts=facts.dump()[:_TOLD])
    return SavedVersion(plan=plan, number=number, digest=digest, dropped=dropped)


def _why_not_new(attempt: Attempt, drafted: DraftedVersion) -> NotAllowed | AlreadyOpen | None:
    other = attempt.change.open_plan(drafted.moves)
    if other is not None:
        return _already_open(other)
    if drafted.base is not None:
        return NotAllowed(why="A new plan has no earlier version.", fix="Open the plan that was edited.")
    return None


def _why_not_edit(attempt: Attempt, row: PlanRow, drafted: DraftedVersion) -> NotAllowed | Stale | AlreadyOpen | None:
    base, moves = drafted.base, drafted.moves
    newest = attempt.change.version(row.id, row.number)
    if row.state in (State.WITHDRAWN, State.APPLIED):
        return NotAllowed(why=f"Plan {row.id} is {row.state}, and is not changed any more.", fix="Draft a new plan.")
    if base != newest.digest:
        shown = None if base is None else attempt.change.version_of(base)
        if shown is None or shown.plan != row.id:
            return NotAllowed(
                why="It is not said which version was edited, or that was none of this plan.",
                fix="Open the plan, and edit its newest version.",
            )
        return Stale(digest=newest.digest, difference=attempt.plans.difference(attempt.change, shown, newest))
    migration = drafted.plan.migration
    if (row.migration, row.moves) != (migration, moves):
        return NotAllowed(
            why=f"Plan {row.id} moves {row.moves} of {row.migration!r}, and this version moves {moves} of "
            f"{migration!r}.",
            fix="Draft a new plan for that.",
        )
    if not row.state.open:
        other = attempt.change.open_plan(moves)
        if other is not None:
            return _already_open(other)
    return None


def _wrong_names(attempt: Attempt, parsed: Plan, person: Person) -> NotAllowed | None:
    """Refuse a plan that does not record everybody who worked on it: `apply` knows them only from there."""
    own = recorded(person)
    earlier: tuple[str, ...] = ()
    if attempt.plan is not None:
        earlier = VersionFacts.load(attempt.change.version(attempt.plan.id, attempt.plan.number).facts).names
    author = earlier[0] if earlier else own
    needed = {*earlier[1:], own} - {author}
    missing = sorted(needed - set(parsed.editors))
    if parsed.author != author or missing:
        result = f"{parsed.author!r} with the editors {', '.join(map(repr, parsed.editors)) or 'nobody'}"
        return NotAllowed(
            why=f"It has to record its author {author!r}"
            + (f" and the editors {', '.join(map(repr, missing))}" if missing else "")
            + f", found {result}.",
            fix="Draft it again here, where the names are filled in.",
        )
    offsets = {position.override.by for position in parsed.positions if position.override is not None}
    ends = {transaction.by for transaction in parsed.transactions if transaction.by is not None}
    for what, by in (("An offset", offsets), ("The end of a transaction", ends)):
        strangers = by - {author, *needed}
        if strangers:
            return NotAllowed(
                why=f"{what} in it was decided by {min(strangers)!r}, who is not recorded as author or editor.",
                fix="Decide under your own name.",
            )
    return None


def submit(attempt: Attempt, digest: str) -> SubmitAnswer:
    change, opened = attempt.change, _opened_own(attempt)
    if isinstance(opened, NotAllowed):
        return opened
    person, row, newest = opened
    if digest != newest.digest:
        return attempt.stale(row, newest, digest)
    result = attempt.status(row, newest)
    if row.state is not State.DRAFT and not result.expired:
        return decided(row, result)
    number = 1 if result.submission is None else result.submission.round + 1
    expires_at_ms = attempt.now_ms + attempt.rules.decisions.open_hours * 3_600_000
    change.add_submission(newest.id, number, by=who(person), at_ms=attempt.now_ms, expires_at_ms=expires_at_ms)
    change.move(row.id, State.SUBMITTED, number=row.number, at_ms=attempt.now_ms)
    return Submitted(plan=row.id, digest=digest, expires_at_ms=expires_at_ms)


def withdraw(attempt: Attempt) -> OtherAnswer:
    change, opened = attempt.change, _opened_own(attempt)
    if isinstance(opened, NotAllowed):
        return opened
    _, row, newest = opened
    if row.state in (State.WITHDRAWN, State.APPLIED):
        return decided(row, attempt.status(row, newest))
    change.move(row.id, State.WITHDRAWN, number=row.number, at_ms=attempt.now_ms)
    return Done(plan=row.id, state=State.WITHDRAWN)


def _opened_own(attempt: Attempt) -> tuple[Person, PlanRow, VersionRow] | NotAllowed:
    opened = attempt.opened()
    if isinstance(opened, NotAllowed):
        return opened
    person, row, _ = opened
    return why_not_own(person, attempt.verb, attempt.rules, attempt.change.editors(row.id), ()) or opened


def receive(attempt: Attempt, bundle: Bundle) -> SaveAnswer:
    change, person = attempt.change, attempt.admitted()
    if isinstance(person, NotAllowed):
        return person
    drafted = DraftedVersion(
        plan=bundle.plan, content=bundle.content, digest=bundle.plan_digest, base=None, comparison=bundle.observed
    )
    attempt.details.update(bundle=bundle.digest)
    there = change.version_of(drafted.digest)
    attempt.plan = change.open_plan(drafted.moves) if there is None else change.plan(there.plan)
    if there is not None and not _is_submitted_again(attempt, there, bundle):
        return Unchanged(plan=there.plan, number=there.number, digest=drafted.digest)
    if there is None and attempt.plan is not None and not _replaces(attempt, attempt.plan, bundle):
        return _already_open(attempt.plan)
    if attempt.now_ms >= bundle.expires_at_ms:
        return NotAllowed(
            why="Its submission has ended at the console that it comes from.",
            fix="Ask its author to submit it again, and for a new bundle.",
        )
    return _received(attempt, bundle, drafted, there)


def _is_submitted_again(attempt: Attempt, there: VersionRow, bundle: Bundle) -> bool:
    """Whether a bundle has a later submission of a version that was received before and has expired here."""
    row = attempt.plan
    if row is None or there.number != row.number or not row.state.open:
        return False
    return attempt.status(row, there).expired and _is_later(attempt, row, bundle)


def _replaces(attempt: Attempt, row: PlanRow, bundle: Bundle) -> bool:
    """Whether a bundle has a later version of an open plan that was received before."""
    return row.migration == bundle.plan.migration and _is_later(attempt, row, bundle)


def _is_later(attempt: Attempt, row: PlanRow, bundle: Bundle) -> bool:
    """Whether the newest version of a plan was received, and was submitted before that of a bundle."""
    newest = attempt.change.version(row.id, row.number)
    submission = attempt.status(row, newest).submission
    received = attempt.change.added_by(newest.id) == Verb.RECEIVE_BUNDLE.value
    return received and submission is not None and bundle.submitted_at_ms > submission.at_ms


def _received(attempt: Attempt, bundle: Bundle, drafted: DraftedVersion, there: VersionRow | None) -> SavedVersion:
    """Store a version of a bundle and its submission, or the submission alone if the version is there."""
    change, by, row = attempt.change, bundle.submitted_by, attempt.plan
    dropped, number, rounds = 0, 1, 0
    if row is None:
        plan = change.add_plan(migration=bundle.plan.migration, moves=drafted.moves, at_ms=attempt.now_ms)
    else:
        status = attempt.status(row, change.version(row.id, row.number))
        plan, dropped = row.id, len(status.counted)
        number = row.number if there is not None else row.number + 1
        rounds = status.submission.round if there is not None and status.submission is not None else 0
    if there is None:
        facts = facts_of(bundle.plan, drafted.digest).dump()
        version = change.add_version(
            plan, number, digest=drafted.digest, content=drafted.content, facts=facts, by=by, at_ms=attempt.now_ms
        )
        _add_files(change, version, bundle.files)
    else:
        version = there.id
    _add_people(change, plan, number, bundle)
    ends = min(bundle.expires_at_ms, attempt.now_ms + attempt.rules.decisions.open_hours * 3_600_000)
    change.add_submission(version, rounds + 1, by=by, at_ms=bundle.submitted_at_ms, expires_at_ms=ends)
    change.move(plan, State.SUBMITTED, number=number, at_ms=attempt.now_ms)
    attempt.plan = change.plan(plan)
    if row is not None:
        attempt.details.update(dropped_approvals=dropped)
    return SavedVersion(plan=plan, number=number, digest=drafted.digest, dropped=dropped)


def _add_people(change: Change, plan: int, number: int, bundle: Bundle) -> None:
    """Bar the people of a bundle from deciding, and add those of its remarks that are not there yet."""
    for editor in bundle.editors:
        change.add_editor(plan, editor.since_number, _named(editor))
    change.add_editor(plan, 1, bundle.submitted_by)
    known = {(remark.by.issuer, remark.by.subject, remark.at_ms, remark.body) for remark in change.comments(plan)}
    for remark in bundle.comments:
        if (remark.by.issuer, remark.by.subject, remark.at_ms, remark.body) not in known:
            change.add_comment(plan, number, by=remark.by, at_ms=remark.at_ms, body=remark.body)


def _named(editor: EditorRow) -> Who:
    return Who(issuer=editor.issuer, subject=editor.subject, name=editor.subject, address=editor.address)


def _files_of(comparison: Comparison) -> dict[str, bytes]:
    old, new = comparison.snapshots
    parts: dict[str, Comparison | Snapshot] = {"comparison": comparison, "old": old, "new": new}
    return {kind: files.dump(part).encode() for kind, part in parts.items()}


def _add_files(change: Change, version: int, evidence: Mapping[str, bytes]) -> None:
    for kind, content in evidence.items():
        change.add_file(version, kind, content)


def _already_open(other: PlanRow) -> AlreadyOpen:
    return AlreadyOpen(
        plan=other.id,
        message=f"Plan {other.id} for {other.moves} is {other.state}. There is one open plan at a time: edit that "
        "one, or have it withdrawn.",
    )
