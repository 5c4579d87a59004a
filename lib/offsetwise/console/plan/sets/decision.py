"""The panel next to a set of plans: the checks of all of them, one decision, and why a control is disabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console import answers
from offsetwise.console.answers import Question
from offsetwise.console.board import Seat
from offsetwise.console.drifts import Drifts, PlanOf, PlansOf
from offsetwise.console.plan import checklist, plan_status
from offsetwise.console.plan.decision import NO_REASON
from offsetwise.console.plan.panel import bar, outcome, override_fields
from offsetwise.console.plan.panel.naming import set_name
from offsetwise.console.plan.plans import name_of
from offsetwise.console.plan.sets.rows import ShownSet, job_of
from offsetwise.console.reader import Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import sentence
from offsetwise.errors import OffsetwiseError
from offsetwise.model import GateCheck, Outcome
from offsetwise.plan.drift import Drift
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import NotAllowed
from offsetwise.review.sets.answers import DecidedSet
from offsetwise.review.sets.sheet import SetSheet, SetState
from offsetwise.wording import clock, many
from offsetwise.wording.verdicts import Tone

_NAMED: Final = 10
"""Changed plans that are listed one by one."""


def question(sheet: SetSheet) -> Question[Drifts]:
    plans = (PlanOf(digest=m.member.digest, plan=plan) for m, plan in zip(sheet.members, sheet.plans, strict=True))
    return Question.of(Reader.drift_of_set, sheet.row.migration, PlansOf(digest=sheet.digest, plans=tuple(plans)))


def before_approving(sheet: SetSheet, shown: ShownSet) -> tuple[GateCheck, ...]:
    st.subheader("Before you approve", anchor=False)
    checks = st.container()
    offer = blocks.Offer(
        what="what the plans require",
        now="Look whether anything changed",
        again="Look again",
        icon=":material/update:",
        key=f"drift-{sheet.digest[:8]}",
    )
    result = blocks.draw_answer(answers.current(), question(sheet), offer)
    fresh = checklist.unlooked()
    if result is not None:
        fresh = _fresh(sheet, result.value, clock(result.at))
    gate_checks = (*shown.checks, fresh)
    with checks:
        checklist.left_open(gate_checks, requested=checklist.FRESH if result is not None else "")
        checklist.met(gate_checks)
    return gate_checks


def _fresh(sheet: SetSheet, member_drifts: Drifts, at: str) -> GateCheck:
    jobs = {member.member.digest: job_of(member) for member in sheet.members}
    changed = [f"{jobs[digest]}: {_first_drift(drifts)}" for digest, drifts in member_drifts if drifts]
    if not changed:
        message = f"Nothing that they require had changed, seen {at}."
        return GateCheck(name=checklist.FRESH, outcome=Outcome.PASSED, told=message)
    more = "" if len(changed) <= _NAMED else f"; and {many(len(changed) - _NAMED, 'more plan')}"
    message = f"{many(len(changed), 'plan')} changed, seen {at}: {'; '.join(changed[:_NAMED])}{more}."
    return GateCheck(name=checklist.FRESH, outcome=Outcome.FAILED, told=message)


def _first_drift(result: tuple[Drift, ...] | OffsetwiseError) -> str:
    return result.problem if isinstance(result, OffsetwiseError) else result[0].told


def fields(seat: Seat, sheet: SetSheet) -> NotAllowed | None:
    """Draw the fields of a decision; return why its buttons, which are in the bar, are disabled."""
    name, off = name_of(sheet.row), why_off(seat, sheet)
    with guard.block("typed"):
        if off is None:
            override_fields.draw(name, tuple(sheet.not_met))
        if off is None and sheet.confirm is not None:
            st.text_input(
                f"Type `{sheet.confirm}` to approve",
                key=typed_key(sheet),
                help="A plan of this set has unsafe rows or open checks: approving it takes one more word.",
                autocomplete="off",
            )
    if off is None:
        st.text_area(
            "Remark",
            key=remark_key(sheet),
            placeholder="Required to reject; kept with every plan",
            height=90,
        )
    _withdrawal(seat, sheet)
    return off


def why_off(seat: Seat, sheet: SetSheet) -> NotAllowed | None:
    closed = _closed(sheet)
    if closed is not None:
        return NotAllowed(why=closed[0], fix=closed[1])
    refused = seat.board.why_not_set(seat.person, Verb.APPROVE, sheet)
    if refused is None or isinstance(refused, NotAllowed):
        return refused
    return NotAllowed(why=f"{refused.job}: {refused.why}", fix=refused.fix)


def _closed(sheet: SetSheet) -> tuple[str, str] | None:
    """Explain why nobody can decide about a set now, and what would change that; None if they can."""
    status, author = sheet.status, sheet.row.by.name
    if status.state is SetState.CHANGED:
        plans = ", ".join(map(str, status.changed[:_NAMED]))
        why = f"plan {plans} was edited, withdrawn or decided alone since the set was submitted."
        return why, f"Ask {author} to submit the set again."
    if status.expired:
        return "its submission, or an approval of it, has expired.", f"Ask {author} to submit it again."
    if status.state is SetState.SUBMITTED:
        return None
    next_step = {
        SetState.APPROVED: "Take its files, and apply them on the command line.",
        SetState.APPLIED: "Verify what came of it on the command line.",
    }.get(status.state, "Draft its jobs again.")
    return f"it is {status.state} already.", next_step


def draw_bar(
    seat: Seat, sheet: SetSheet, checks: tuple[GateCheck, ...], off: NotAllowed | None, live: Callable[[], None]
) -> None:
    name, status = name_of(sheet.row), sheet.status
    facts = bar.PlanFacts(
        name=set_name(sheet.row),
        state=plan_status.set_state(status),
        checks=checks,
        digest=sheet.digest,
        more=f"{status.counted:,} of {many(status.required, 'approval')}" if status.decidable else "",
    )
    message = outcome.message(name)
    if message is None and off is not None and status.state is not SetState.APPROVED:
        text = f"Nothing can be decided: {sentence(f'{off.why} {off.fix}')}"
        message = bar.Message(tone=Tone.UNKNOWN, text=text)
    with bar.drawn(facts, message, live):
        if status.state is SetState.SUBMITTED:
            _verdicts(sheet, off)
        if status.state is SetState.CHANGED or status.expired:
            _again(seat, sheet)


def _verdicts(sheet: SetSheet, off: NotAllowed | None) -> None:
    count = many(len(sheet.members), "plan")
    for verdict, label, icon in (
        (Verdict.REJECTED, "Reject", ":material/block:"),
        (Verdict.APPROVED, f"Approve {count}", ":material/approval:"),
    ):
        st.button(
            label,
            type="primary" if verdict is Verdict.APPROVED else "secondary",
            icon=icon,
            key=f"{verdict}-{name_of(sheet.row)}",
            disabled=off is not None,
            on_click=decide,
            args=(sheet, verdict),
        )


def _again(seat: Seat, sheet: SetSheet) -> None:
    if seat.board.why_not_set(seat.person, Verb.SUBMIT, sheet) is None:
        st.button(
            "Submit the set again",
            type="primary",
            icon=":material/send:",
            key=f"again-{name_of(sheet.row)}",
            on_click=submit_again,
            args=(sheet,),
        )


def _withdrawal(seat: Seat, sheet: SetSheet) -> None:
    if sheet.status.state not in (SetState.SUBMITTED, SetState.APPROVED, SetState.CHANGED):
        return
    if seat.board.why_not_set(seat.person, Verb.WITHDRAW, sheet) is not None:
        return
    with st.popover("Withdraw …", icon=":material/undo:"):
        st.markdown(f"{many(len(sheet.members), 'plan')} can never be decided about again. Others can be drafted then.")
        st.button("Withdraw all for good", key=f"withdraw-{name_of(sheet.row)}", on_click=withdraw, args=(sheet,))


def typed_key(sheet: SetSheet) -> str:
    return f"typed-{name_of(sheet.row)}"


def remark_key(sheet: SetSheet) -> str:
    return f"remark-{name_of(sheet.row)}"


def decide(sheet: SetSheet, verdict: Verdict) -> None:
    name, remark = name_of(sheet.row), str(st.session_state.get(remark_key(sheet), ""))
    if verdict is Verdict.REJECTED and not remark.strip():
        outcome.ask(name, lambda *_: NO_REASON)
        return
    approves = verdict is Verdict.APPROVED
    outcome.ask(
        name,
        lambda board_, person: board_.decide_set(
            person,
            sheet.row.id,
            sheet.digest,
            verdict,
            typed=st.session_state.get(typed_key(sheet)),
            remark=remark.strip(),
            in_spite_of=override_fields.typed(name) if approves else {},
            drifts=_drifts(sheet),
        ),
    )
    result = outcome.last_answer(name)
    if result is not None and isinstance(result.answer, DecidedSet):
        st.session_state.pop(typed_key(sheet), None)


def _drifts(sheet: SetSheet) -> dict[int, tuple[Drift, ...]]:
    answer = answers.current().cached(question(sheet))
    drifts_by_digest = (
        {} if answer is None else {digest: drifts for digest, drifts in answer.value if isinstance(drifts, tuple)}
    )
    return {
        member.row.id: drifts_by_digest[member.member.digest]
        for member in sheet.members
        if member.member.digest in drifts_by_digest
    }


def submit_again(sheet: SetSheet) -> None:
    name = name_of(sheet.row)
    outcome.ask(name, lambda board_, person: board_.submit_set_again(person, sheet.row.id, sheet.digest))
    outcome.open_submitted(name)


def withdraw(sheet: SetSheet) -> None:
    outcome.ask(name_of(sheet.row), lambda board_, person: board_.withdraw_set(person, sheet.row.id, sheet.digest))
