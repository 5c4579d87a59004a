"""The panel next to a plan: the checks, the decision, why a control is disabled, and the board's answer.

A callback runs before the page does, with the values the page was drawn with: the digest it passes is the one that was
on the screen. The person is looked up again, and the board decides everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.approval import Verdict
from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.board import Seat
from offsetwise.console.plan import accepting, checklist, plan_status, versions
from offsetwise.console.plan.checklist import Looked
from offsetwise.console.plan.panel import bar, outcome, override_fields, unsent
from offsetwise.console.plan.panel.naming import plan_name
from offsetwise.console.reader import PlanOf, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.model import GateCheck
from offsetwise.plan.drift import Drift
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import Approved, Done, NotAllowed, Rejected
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import State
from offsetwise.wording import clock
from offsetwise.wording.verdicts import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Offs:
    """Why the buttons of a decision are disabled; None for an enabled one."""

    approve: NotAllowed | None
    reject: NotAllowed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    drifts: tuple[Drift, ...]
    checks: tuple[GateCheck, ...]
    typed: DeltaGenerator
    """Container below the open checks, for the reasons to approve in spite of them."""


EXPORT_PAGE: Final = "pages/plan/export.py"
NO_REASON: Final = NotAllowed(
    why="A rejection needs a reason, and the remark is empty. Nothing was decided.",
    fix="Write the reason as a remark, then reject.",
)


def question(sheet: Sheet) -> Question[tuple[Drift, ...]]:
    return Question.of(Reader.drift, sheet.plan.migration, PlanOf(digest=sheet.digest, plan=sheet.plan))


def before_approving(sheet: Sheet) -> Observed:
    st.subheader("Before you approve", anchor=False)
    drifts: tuple[Drift, ...] = ()
    found_checks = checklist.checked(sheet, None)
    checks, typed, met = st.container(), st.container(), st.container()
    with guard.block("checklist"):
        offer = blocks.Offer(
            what="what the plan requires",
            now="Look whether anything changed",
            again="Look again",
            icon=":material/update:",
            key=f"drift-{sheet.digest[:8]}",
        )
        result = blocks.draw_answer(answers.current(), question(sheet), offer)
        looked = None
        if result is not None:
            drifts = result.value
            looked = Looked(drifts=drifts, at=clock(result.at))
        found_checks = checklist.checked(sheet, looked)
        requested = "" if looked is None else checklist.FRESH
        with checks:
            checklist.left_open(found_checks, requested=requested)
        with met:
            checklist.met(found_checks, requested=requested)
    return Observed(drifts=drifts, checks=found_checks, typed=typed)


def fields(seat: Seat, sheet: Sheet, observed: Observed, *, overtaken: bool) -> Offs:
    """Draw the fields of a decision; return why its buttons, which are in the bar, are disabled.

    Args:
        seat: The board, and who decides.
        sheet: The plan as it is shown.
        observed: Results of earlier checks.
        overtaken: Whether the person saw an earlier version before, and has not confirmed that they saw this one.
    """
    plan = sheet.row.id
    off = _off(seat, sheet, overtaken=overtaken)
    author = sheet.versions[-1].by.name
    stale = NotAllowed(why="the plan is stale.", fix=f"Ask {author} to draft it again.") if observed.drifts else None
    offs = Offs(approve=off or stale, reject=off)
    with guard.block("typed"), observed.typed:
        if offs.approve is None:
            override_fields.draw(plan, sheet.facts.not_met(lambda: sheet.plan))
        if offs.approve is None and sheet.facts.confirm is not None:
            st.text_input(
                f"Type `{sheet.facts.confirm}` to approve",
                key=typed_key(plan),
                help=f"{plan_status.why_typed(sheet.plan, sheet.facts.risky)}: approving it takes one more word.",
                autocomplete="off",
            )
    with guard.block("decision"):
        if offs.approve is None:
            accepting.draw(sheet)
        if speaks(seat, plan):
            _remark_field(plan)
        elif seat.person is None and unsent.of(plan):
            message = "**Your sign-in has ended. What you wrote is kept, and is in the field when you sign in again:**"
            blocks.box(Tone.CAREFUL, f"{message}  \n{versions.text(unsent.of(plan))}")
        _withdrawal(seat, sheet)
    return offs


def _remark_field(plan: int) -> None:
    key = remark_key(plan)
    st.session_state.setdefault(key, unsent.of(plan))
    st.text_area("Remark", key=key, placeholder="Required to reject", height=90, on_change=_typed, args=(plan,))
    st.button("Remark", icon=":material/chat:", key=f"remark-only-{plan}", on_click=remark, args=(plan,))


def speaks(seat: Seat, plan: int) -> bool:
    return _may(seat, Verb.COMMENT, plan)


def draw_bar(seat: Seat, sheet: Sheet, checks: Sequence[GateCheck], offs: Offs, live: Callable[[], None]) -> None:
    """Draw the bar: the plan's state, the result of the last button, and the next step.

    Args:
        seat: The board, and who decides.
        sheet: The plan as it is shown.
        checks: The checks as they are drawn.
        offs: Why buttons are disabled.
        live: Draws notices between two runs of the page.
    """
    facts = bar.PlanFacts(
        name=plan_name(sheet.row),
        state=plan_status.shown_state(sheet.status),
        checks=checks,
        digest=sheet.digest,
        more=markdown(plan_status.waits(seat.board, sheet)),
    )
    result, message = outcome.last_answer(sheet.row.id), outcome.message(sheet.row.id)
    if result is None or (isinstance(result.answer, Done) and result.answer.state.open):
        message = _meanwhile(sheet) or message
    with bar.drawn(facts, message or _why_off(sheet, offs), live):
        if sheet.row.state is State.SUBMITTED:
            _verdicts(sheet, offs)
        _submission(seat, sheet)
        if sheet.row.state in (State.APPROVED, State.APPLIED):
            bar.go_on("Export", EXPORT_PAGE, sheet.row.id, icon=":material/download:", key="go-export")


def _meanwhile(sheet: Sheet) -> bar.Message | None:
    """Return the message that somebody else changed the plan since this session opened it; None while it waits."""
    state = sheet.row.state
    opened: State = st.session_state.setdefault(f"opened-as-{sheet.row.id}", state)
    if opened is not State.SUBMITTED or state is State.SUBMITTED:
        return None
    last = max(sheet.decisions, key=lambda row: row.at_ms, default=None)
    decided = state in (State.APPROVED, State.REJECTED) and last is not None
    by = f" by {markdown(plan_status.named(last.by))}" if decided and last is not None else ""
    closed = plan_status.closed(sheet)
    fix = "" if closed is None else f" **What to do:** {markdown(closed[1])}"
    text = f"**The plan was {state}{by} while you read it.** It can no longer be decided.{fix}"
    return bar.Message(tone=Tone.CAREFUL, text=text)


def _why_off(sheet: Sheet, offs: Offs) -> bar.Message | None:
    """Return why this person or nobody can decide now; None if they can, or if the next step is another one."""
    closed = plan_status.closed(sheet)
    if closed is not None:
        if sheet.status.state in (State.APPROVED, State.APPLIED) and not sheet.status.expired:
            return None
        return bar.Message(tone=Tone.UNKNOWN, text=f"Nothing can be decided: {markdown(f'{closed[0]}. {closed[1]}')}")
    if offs.approve is None:
        return None
    both = "Approve and Reject are" if offs.reject is not None else "Approve is"
    text = f"{both} off: {sentence(offs.approve.why)} {sentence(offs.approve.fix)}"
    return bar.Message(tone=Tone.UNKNOWN, text=text)


def _verdicts(sheet: Sheet, offs: Offs) -> None:
    plan = sheet.row.id
    st.button(
        "Reject",
        icon=":material/block:",
        key=f"reject-{plan}",
        disabled=offs.reject is not None,
        on_click=decide,
        args=(plan, sheet.digest, question(sheet), Verdict.REJECTED),
    )
    st.button(
        "Approve",
        type="primary",
        icon=":material/approval:",
        key=f"approve-{plan}",
        disabled=offs.approve is not None,
        on_click=decide,
        args=(plan, sheet.digest, question(sheet), Verdict.APPROVED),
    )


def _off(seat: Seat, sheet: Sheet, *, overtaken: bool) -> NotAllowed | None:
    """Return why this person or nobody can decide now; None if they can. The board checks again at the decision."""
    refused = seat.board.why_not(seat.person, Verb.APPROVE, sheet.row.id)
    if refused is not None:
        return refused
    closed = plan_status.closed(sheet)
    if closed is not None:
        return NotAllowed(why=f"{closed[0]}.", fix=closed[1])
    person = seat.person
    if person is not None:
        own = (person.issuer, person.subject)
        if any((row.by.issuer, row.by.subject) == own for row in sheet.status.counted):
            return NotAllowed(why="you approved it already.", fix="Another person has to approve too.")
    if overtaken:
        return NotAllowed(
            why="a newer version came while you looked.", fix="Look at what it changes, and go on with it."
        )
    return None


def _submission(seat: Seat, sheet: Sheet) -> None:
    plan, state = sheet.row.id, sheet.row.state
    if state in (State.WITHDRAWN, State.APPLIED):
        return
    if (state is State.DRAFT or sheet.status.expired) and _may(seat, Verb.SUBMIT, plan):
        st.button(
            "Submit for review" if sheet.status.submission is None else "Submit again",
            type="primary",
            icon=":material/send:",
            key=f"submit-{plan}",
            on_click=submit,
            args=(plan, sheet.digest),
        )


def _withdrawal(seat: Seat, sheet: Sheet) -> None:
    plan = sheet.row.id
    if sheet.row.state in (State.WITHDRAWN, State.APPLIED) or not _may(seat, Verb.WITHDRAW, plan):
        return
    with st.popover("Withdraw …", icon=":material/undo:"):
        st.markdown("It can never be decided about or submitted again. Another plan can be drafted then.")
        st.button("Withdraw for good", key=f"withdraw-{plan}", on_click=withdraw, args=(plan,))


def _may(seat: Seat, verb: Verb, plan: int) -> bool:
    return seat.board.why_not(seat.person, verb, plan) is None


def remark_key(plan: int) -> str:
    return f"remark-{plan}"


def typed_key(plan: int) -> str:
    return f"typed-{plan}"


def decide(plan: int, digest: str, drift_question: Question[tuple[Drift, ...]], verdict: Verdict) -> None:
    """Decide about the version that was shown; a typed remark is saved first.

    Args:
        plan: The plan's number.
        digest: Digest of the version that was shown.
        drift_question: The question about that version's drift: its answer counts even if it came after the page was
            drawn.
        verdict: The person's verdict.
    """
    remark = str(st.session_state.get(remark_key(plan), ""))
    if verdict is Verdict.REJECTED and not remark.strip():
        outcome.ask(plan, lambda *_: NO_REASON)
        return
    if remark.strip() and not _remarked(plan, remark):
        return
    typed = st.session_state.get(typed_key(plan))
    accepted = accepting.chosen(plan) if verdict is Verdict.APPROVED else ()
    reasons = override_fields.typed(plan) if verdict is Verdict.APPROVED else {}
    outcome.ask(
        plan,
        lambda board_, person: board_.decide(
            person,
            plan,
            digest,
            verdict,
            typed=typed,
            drifts=_drifts(drift_question),
            accepted_unproven=accepted,
            in_spite_of=reasons,
        ),
        remarked=bool(remark.strip()),
    )
    result = outcome.last_answer(plan)
    if result is not None and isinstance(result.answer, (Approved, Rejected)):
        st.session_state.pop(typed_key(plan), None)


def remark(plan: int) -> None:
    _remarked(plan, str(st.session_state.get(remark_key(plan), "")))


def submit(plan: int, digest: str) -> None:
    outcome.ask(plan, lambda current_board, person: current_board.submit(person, plan, digest))


def withdraw(plan: int) -> None:
    outcome.ask(plan, lambda current_board, person: current_board.withdraw(person, plan))


def _drifts(drift_question: Question[tuple[Drift, ...]]) -> tuple[Drift, ...]:
    answer = answers.current().cached(drift_question)
    return () if answer is None else answer.value


def _typed(plan: int) -> None:
    """Keep the field's text, so that a sign-out or a reload does not lose it."""
    unsent.keep(plan, str(st.session_state.get(remark_key(plan), "")))


def _remarked(plan: int, text: str) -> bool:
    outcome.ask(plan, lambda current_board, person: current_board.comment(person, plan, text))
    result = outcome.last_answer(plan)
    commented = result is not None and isinstance(result.answer, Done)
    if commented:
        unsent.keep(plan, "")
        st.session_state[remark_key(plan)] = ""
    else:
        unsent.keep(plan, text)
    return commented
