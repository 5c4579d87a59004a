"""The state of a plan in words. Markdown if the docstring says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from offsetwise.console import answers
from offsetwise.console.plan.panel.naming import job_name
from offsetwise.console.widgets.escaping import markdown
from offsetwise.model import MAX_TIME_MS, Plan, Target
from offsetwise.plan.target import target_type
from offsetwise.review.board import Board
from offsetwise.review.demo import demo_people
from offsetwise.review.people import DEMO_ISSUER, Person, identity_of
from offsetwise.review.sets.sheet import SetStanding, SetState
from offsetwise.review.sheet import Sheet, VersionStanding
from offsetwise.store.review_rows import EditorRow, State, Who
from offsetwise.wording import duration, many
from offsetwise.wording.verdicts import Tone, Verdict

STATES: Final = {
    State.DRAFT: Verdict(icon="✎", word="draft", tone=Tone.UNKNOWN),
    State.SUBMITTED: Verdict(icon="◇", word="submitted", tone=Tone.CAREFUL),
    State.APPROVED: Verdict(icon="✓", word="approved", tone=Tone.RIGHT),
    State.REJECTED: Verdict(icon="✗", word="rejected", tone=Tone.WRONG),
    State.WITHDRAWN: Verdict(icon="–", word="withdrawn", tone=Tone.UNKNOWN),
    State.APPLIED: Verdict(icon="✓", word="applied", tone=Tone.RIGHT),
}

_SET_STATES: Final = {
    **{SetState(state.value): verdict for state, verdict in STATES.items() if state is not State.DRAFT},
    SetState.CHANGED: Verdict(icon="▲", word="changed", tone=Tone.CAREFUL),
}
_NAMED: Final = 2
"""Up to this many reviewers are named as those a plan waits for; with more, it waits for any of them."""


def at(at_ms: int) -> str:
    """Format a time; one out of a calendar's range, in milliseconds.

    >>> at(1_772_366_400_000), at(2**62)
    ('2026-03-01 12:00:00', '4611686018427387904 ms')
    """
    if not 0 <= at_ms <= MAX_TIME_MS:
        return f"{at_ms} ms"
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def ago(at_ms: int, now: datetime) -> str:
    """Describe how long ago something was, or how long it still lasts.

    >>> now = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
    >>> ago(1_772_363_940_000, now), ago(1_772_370_000_000, now)
    ('41 min ago', 'in 1 h')
    """
    elapsed_ms = int(now.timestamp() * 1000) - at_ms
    return f"{duration(elapsed_ms)} ago" if elapsed_ms >= 0 else f"in {duration(-elapsed_ms)}"


def named(who: Who) -> str:
    """Name a person together with the identity: anybody may choose the name."""
    if who.name == who.subject or who.issuer == DEMO_ISSUER:
        return identity_of(who)
    return f"{who.name} ({identity_of(who)})"


def target(destination: Target) -> str:
    return target_type(destination.kind).named(destination)


def caption(sheet: Sheet, now: datetime) -> str:
    """Describe what is shown, by whom and from when. Markdown."""
    first = sheet.versions[0]
    parts = [
        f"**{markdown(job_name(sheet.row, answers.current().offered))}** of {markdown(sheet.row.migration)}",
        markdown(", ".join(map(target, sheet.plan.targets))),
        f"drafted by **{markdown(first.by.name)}**, {many(len(sheet.versions), 'version')}, "
        f"{markdown(ago(sheet.version.at_ms, now))}",
        f"digest `{sheet.digest[:8]}…`",
        markdown(until(sheet.status, now)),
    ]
    return " · ".join(part for part in parts if part)


def until(status: VersionStanding, now: datetime) -> str:
    """Describe until when it can be decided or applied; empty if neither applies."""
    if status.state is State.SUBMITTED and status.submission is not None:
        if status.expired:
            return "its submission or an approval has expired"
        return f"can be decided until {at(status.submission.expires_at_ms)} UTC"
    if status.state is State.APPROVED:
        if status.expired or not status.counted:
            return status.why_expired
        first = min(row.expires_at_ms for row in status.counted)
        return f"approved until {at(first)} UTC, {ago(first, now)}"
    return ""


def shown_state(status: VersionStanding) -> Verdict:
    state = STATES[status.state]
    return replace(state, word=f"{state.word}, expired", tone=Tone.CAREFUL) if status.expired else state


def set_state(status: SetStanding) -> Verdict:
    state = _SET_STATES[status.state]
    if status.state is SetState.APPROVED and status.applied:
        state = replace(state, word=f"{state.word}, {status.applied:,} applied")
    return replace(state, word=f"{state.word}, expired", tone=Tone.CAREFUL) if status.expired else state


def waits(board: Board, sheet: Sheet) -> str:
    """Return whom a plan waits for, as a clause; empty if nobody."""
    result = sheet.status
    author = first_name(sheet.versions[-1].by.name)
    if result.expired or result.state in (State.DRAFT, State.REJECTED):
        return f"waits for {author}"
    if result.state is not State.SUBMITTED:
        return ""
    excluded = {(row.issuer, row.subject) for row in sheet.editors}
    done = {(row.by.issuer, row.by.subject) for row in result.counted}
    reviewers = board.reviewers()
    remaining = None if reviewers is None else [reviewer for reviewer in reviewers if reviewer not in excluded | done]
    if not remaining or len(remaining) > _NAMED:
        return "waits for a reviewer"
    return f"waits for {' or '.join(_name_of(sheet, *reviewer) for reviewer in remaining)}"


def first_name(name: str) -> str:
    """Return the short name of a person: in the demonstration, the role follows a comma.

    >>> first_name("Rita, who reviews"), first_name("rita@example.org")
    ('Rita', 'rita@example.org')
    """
    return name.partition(",")[0]


def _name_of(sheet: Sheet, issuer: str, subject: str) -> str:
    known: list[Who | Person] = [
        *(comment.by for comment in sheet.comments),
        *(decision.by for decision in sheet.decisions),
    ]
    known += demo_people(datetime.now(UTC)).values()
    names = (person.name for person in known if (person.issuer, person.subject) == (issuer, subject))
    return first_name(next(names, subject))


def votes(status: VersionStanding) -> str:
    """Describe the number of approvals.

    >>> votes(VersionStanding(state=State.SUBMITTED, submission=None, counted=(), required=2, expired=False))
    '0 of 2 approvals'
    """
    return f"{len(status.counted):,} of {many(status.required, 'approval')}"


def closed(sheet: Sheet) -> tuple[str, str] | None:
    """Explain why nobody can decide about a plan now, and what would change that; None if they can."""
    status = sheet.status
    author = sheet.versions[-1].by.name
    match status.state:
        case State.DRAFT:
            return "this version was not submitted", f"Ask {author} to submit it."
        case State.SUBMITTED if status.expired:
            return "its submission, or an approval of it, has expired", f"Ask {author} to submit it again."
        case State.SUBMITTED:
            return None
        case State.APPROVED if status.expired:
            return f"it was approved, and {status.why_expired}", f"Ask {author} to submit it again."
        case State.APPROVED:
            return "it is approved already", "Export it, then apply it on the command line."
        case State.REJECTED:
            return "it was rejected", f"Ask {author} to revise it, or to withdraw it."
        case State.WITHDRAWN:
            return "it was withdrawn", "Draft a new plan."
        case _:
            return "it was applied", "Verify what came of it on the command line."


def why_typed(plan: Plan, unsafe: int) -> str:
    if unsafe:
        return f"{unsafe:,} of {many(len(plan.positions), 'partition')} {'is' if unsafe == 1 else 'are'} unsafe"
    return "It cannot be taken back" if plan.transactions else "A check of the plan as a whole did not pass"


def people(sheet: Sheet) -> tuple[str, ...]:
    """Return everybody who may not decide because they edited the plan, the author first."""
    return tuple(
        editor(sheet, row) if row.issuer == DEMO_ISSUER else f"{row.subject} of {row.issuer}" for row in sheet.editors
    )


def editor(sheet: Sheet, row: EditorRow) -> str:
    submitted = () if sheet.status.submission is None else (sheet.status.submission.by,)
    people = (*(version.by for version in sheet.versions), *submitted)
    own = (row.issuer, row.subject)
    return next((named(who) for who in people if (who.issuer, who.subject) == own), f"{row.subject} of {row.issuer}")
