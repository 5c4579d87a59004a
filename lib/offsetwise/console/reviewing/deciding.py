"""The panel beside a plan: what to check, the decision, and why a control is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console import asking, blocks, desk, guard
from offsetwise.console.board import Seat
from offsetwise.console.escaping import markdown
from offsetwise.console.reviewing import acting, derived, sentences
from offsetwise.console.reviewing.checklist import Looked
from offsetwise.console.reviewing.questions import DriftOf
from offsetwise.model import GateCheck, Outcome
from offsetwise.plan.drift import Drift
from offsetwise.review.allowing import Verb
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import State

_MARKS: Final = {
    Outcome.PASSED: (":green[:material/check_circle:]", ""),
    Outcome.FAILED: (":red[:material/cancel:]", "**not so:** "),
    Outcome.UNKNOWN: (":orange[:material/help:]", "not known: "),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Off:
    """Why a control is off."""

    why: str
    fix: str


def question(sheet: Sheet) -> DriftOf:
    """Give what is asked when somebody wants to know whether anything changed."""
    return DriftOf(migration=sheet.plan.migration, digest=sheet.digest, plan=sheet.plan)


def checklist(sheet: Sheet) -> tuple[Drift, ...]:
    """Draw what to check before approving, with the offer to look at the clusters again; give what changed there."""
    st.subheader("Before you approve", anchor=False)
    drifts: tuple[Drift, ...] = ()
    with guard.block("checklist"):
        checks = st.container()
        offer = blocks.Offer(
            what="what the plan requires",
            now="Look whether anything changed",
            again="Look again",
            icon=":material/update:",
            key=f"drift-{sheet.digest[:8]}",
        )
        found = asking.asked(desk.current(), question(sheet), offer)
        looked = None
        if found is not None:
            drifts = found.value
            looked = Looked(drifts=drifts, at=f"{found.at:%Y-%m-%d %H:%M:%S} UTC")
        with checks:
            for check in derived.checked(sheet, looked):
                _check(check)
    return drifts


def draw(seat: Seat, sheet: Sheet, drifts: tuple[Drift, ...], *, overtaken: bool) -> None:
    """Draw the decision.

    Args:
        seat: The board, and who decides.
        sheet: The plan as it is shown.
        drifts: What changed on the clusters, where somebody looked.
        overtaken: Whether the person was shown an earlier version before, and has not said that they saw this one.
    """
    with guard.block("decision"):
        plan = sheet.row.id
        off = _off(seat, sheet, overtaken=overtaken)
        stale = None if not drifts else Off(why="the plan is stale.", fix=f"Ask {_author(sheet)} to draft it again.")
        approve_off = off or stale
        st.markdown(f":gray[{sentences.votes(sheet.standing)}]")
        speaks = seat.board.why_not(seat.person, Verb.COMMENT, plan) is None
        if speaks:
            st.session_state.setdefault(acting.remark_key(plan), acting.unsent(plan))
            st.text_area("Remark", key=acting.remark_key(plan), placeholder="Required when you reject", height=90)
        if approve_off is None and sheet.facts.confirm is not None:
            st.text_input(
                f"Type `{sheet.facts.confirm}` to approve",
                key=acting.typed_key(plan),
                help=f"{sentences.why_typed(sheet.plan, sheet.facts.risky)}: approving it takes one more word.",
                autocomplete="off",
            )
        with st.container(horizontal=True):
            st.button(
                "Approve",
                type="primary",
                icon=":material/approval:",
                key=f"approve-{plan}",
                disabled=approve_off is not None,
                on_click=acting.decide,
                args=(plan, question(sheet), Verdict.APPROVED),
            )
            st.button(
                "Reject",
                icon=":material/block:",
                key=f"reject-{plan}",
                disabled=off is not None,
                on_click=acting.decide,
                args=(plan, question(sheet), Verdict.REJECTED),
            )
            if speaks:
                st.button(
                    "Remark", icon=":material/chat:", key=f"remark-only-{plan}", on_click=acting.remark, args=(plan,)
                )
        if approve_off is not None:
            both = "Approve and Reject are" if off is not None else "Approve is"
            st.markdown(f":gray[{both} off: {markdown(approve_off.why)} {markdown(approve_off.fix)}]")
        _of_author(seat, sheet)


def _check(check: GateCheck) -> None:
    mark, word = _MARKS[check.outcome]
    told = f"  \n:gray[{markdown(check.told)}]" if check.told else ""
    st.markdown(f"{mark} {word}{markdown(check.name)}{told}")


def _off(seat: Seat, sheet: Sheet, *, overtaken: bool) -> Off | None:
    """Say why nobody, or not this person, decides now. The board asks everything again when they do."""
    refused = seat.board.why_not(seat.person, Verb.APPROVE, sheet.row.id)
    if refused is not None:
        return Off(why=refused.why, fix=refused.fix)
    closed = sentences.closed(sheet)
    if closed is not None:
        return Off(why=f"{closed[0]}.", fix=closed[1])
    person = seat.person
    if person is not None:
        own = (person.issuer, person.subject)
        if any((each.by.issuer, each.by.subject) == own for each in sheet.standing.counted):
            return Off(why="you approved it already.", fix="Another person has to approve too.")
    if overtaken:
        return Off(why="a newer version came while you looked.", fix="Look at what it changes, and go on with it.")
    return None


def _of_author(seat: Seat, sheet: Sheet) -> None:
    """Offer its author what only they do."""
    plan, state = sheet.row.id, sheet.row.state
    if state in (State.WITHDRAWN, State.APPLIED):
        return
    submits = (state is State.DRAFT or sheet.standing.expired) and _may(seat, Verb.SUBMIT, plan)
    if submits:
        st.button(
            "Submit for review" if sheet.standing.submission is None else "Submit again",
            icon=":material/send:",
            key=f"submit-{plan}",
            on_click=acting.submit,
            args=(plan, sheet.digest),
        )
    if _may(seat, Verb.WITHDRAW, plan):
        with st.popover("Withdraw …", icon=":material/undo:"):
            st.markdown("It can never be decided about or submitted again. Another plan can be drafted then.")
            st.button("Withdraw for good", key=f"withdraw-{plan}", on_click=acting.withdraw, args=(plan,))


def _may(seat: Seat, verb: Verb, plan: int) -> bool:
    return seat.board.why_not(seat.person, verb, plan) is None


def _author(sheet: Sheet) -> str:
    return sheet.versions[-1].by.name
