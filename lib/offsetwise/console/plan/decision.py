"""The panel beside a plan: what to check, the decision, why a control is off, and what the board answered.

A callback runs before the page does, with what the page was drawn with: the digest it passes is the one that stood on
the screen. Who asks is looked up anew, and the board decides everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console import answers, board
from offsetwise.console.answers import Question
from offsetwise.console.board import Seat
from offsetwise.console.plan import accepting, checklist, standing, versions
from offsetwise.console.plan.checklist import Looked
from offsetwise.console.reader import PlanOf, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import markdown
from offsetwise.plan.drift import Drift
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import (
    AlreadyDecided,
    Approved,
    DecideAnswer,
    Done,
    NotAllowed,
    OtherAnswer,
    Rejected,
    Stale,
    SubmitAnswer,
    Submitted,
)
from offsetwise.review.board import Board
from offsetwise.review.people import Person
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import State
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Off:
    """Why a control is off."""

    why: str
    fix: str


Answer = DecideAnswer | OtherAnswer | SubmitAnswer
_TOLD: Final = "review-told"
_NEW: Final = "review-told-new"
"""Whether the answer was not on the screen yet."""
_NO_REASON: Final = NotAllowed(
    why="Whoever rejects a plan says why, and the remark is empty. Nothing was decided.",
    fix="Write the reason as a remark, then reject.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the board answered the last time somebody pressed a button in this session."""

    plan: int
    answer: Answer | Exception
    remarked: bool = False
    """Whether the remark beside a decision was kept."""


_NAMED = 10
"""Changes on the clusters that are told one by one."""


def question(sheet: Sheet) -> Question[tuple[Drift, ...]]:
    """Give what is asked when somebody wants to know whether anything changed."""
    return Question.of(Reader.drift, sheet.plan.migration, PlanOf(digest=sheet.digest, plan=sheet.plan))


def before_approving(sheet: Sheet) -> tuple[Drift, ...]:
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
        found = blocks.asked(answers.current(), question(sheet), offer)
        looked = None
        if found is not None:
            drifts = found.value
            looked = Looked(drifts=drifts, at=f"{found.at:%Y-%m-%d %H:%M:%S} UTC")
        checks.markdown(checklist.in_words(checklist.checked(sheet, looked)))
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
        st.markdown(f":gray[{standing.votes(sheet.standing)}]")
        speaks = seat.board.why_not(seat.person, Verb.COMMENT, plan) is None
        if speaks:
            st.session_state.setdefault(remark_key(plan), unsent(plan))
            st.text_area("Remark", key=remark_key(plan), placeholder="Required when you reject", height=90)
        if approve_off is None and sheet.facts.confirm is not None:
            st.text_input(
                f"Type `{sheet.facts.confirm}` to approve",
                key=typed_key(plan),
                help=f"{standing.why_typed(sheet.plan, sheet.facts.risky)}: approving it takes one more word.",
                autocomplete="off",
            )
        if approve_off is None:
            accepting.draw(sheet)
        _answer(plan)
        with st.container(horizontal=True):
            st.button(
                "Approve",
                type="primary",
                icon=":material/approval:",
                key=f"approve-{plan}",
                disabled=approve_off is not None,
                on_click=decide,
                args=(plan, sheet.digest, question(sheet), Verdict.APPROVED),
            )
            st.button(
                "Reject",
                icon=":material/block:",
                key=f"reject-{plan}",
                disabled=off is not None,
                on_click=decide,
                args=(plan, sheet.digest, question(sheet), Verdict.REJECTED),
            )
            if speaks:
                st.button("Remark", icon=":material/chat:", key=f"remark-only-{plan}", on_click=remark, args=(plan,))
        if approve_off is not None:
            both = "Approve and Reject are" if off is not None else "Approve is"
            st.markdown(f":gray[{both} off: {markdown(approve_off.why)} {markdown(approve_off.fix)}]")
        _of_author(seat, sheet)


def _off(seat: Seat, sheet: Sheet, *, overtaken: bool) -> Off | None:
    """Say why nobody, or not this person, decides now. The board asks everything again when they do."""
    refused = seat.board.why_not(seat.person, Verb.APPROVE, sheet.row.id)
    if refused is not None:
        return Off(why=refused.why, fix=refused.fix)
    closed = standing.closed(sheet)
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
            on_click=submit,
            args=(plan, sheet.digest),
        )
    if _may(seat, Verb.WITHDRAW, plan):
        with st.popover("Withdraw …", icon=":material/undo:"):
            st.markdown("It can never be decided about or submitted again. Another plan can be drafted then.")
            st.button("Withdraw for good", key=f"withdraw-{plan}", on_click=withdraw, args=(plan,))


def _may(seat: Seat, verb: Verb, plan: int) -> bool:
    return seat.board.why_not(seat.person, verb, plan) is None


def _author(sheet: Sheet) -> str:
    return sheet.versions[-1].by.name


def told(plan: int) -> Told | None:
    """Give what was answered last, if it is about this plan."""
    found: Told | None = st.session_state.get(_TOLD)
    return found if found is not None and found.plan == plan else None


def remark_key(plan: int) -> str:
    """Name the text of a remark in the session."""
    return f"remark-{plan}"


def typed_key(plan: int) -> str:
    """Name what is typed to confirm."""
    return f"typed-{plan}"


def unsent(plan: int) -> str:
    """Give a remark that the store did not take: Streamlit forgets a field that could not be drawn."""
    return str(st.session_state.get(_unsent_key(plan), ""))


def decide(plan: int, digest: str, asked: Question[tuple[Drift, ...]], verdict: Verdict) -> None:
    """Decide about the version that was shown; a remark that was written is kept first.

    Args:
        plan: The plan's number.
        digest: Of the version that was shown.
        asked: What somebody may have asked about that version: its answer counts even where it came
            after the page was drawn.
        verdict: What the person says.
    """
    remark = str(st.session_state.get(remark_key(plan), ""))
    if verdict is Verdict.REJECTED and not remark.strip():
        _tell(plan, lambda *_: _NO_REASON)
        return
    if remark.strip() and not _remarked(plan, remark):
        return
    typed = st.session_state.get(typed_key(plan))
    accepted = accepting.chosen(plan) if verdict is Verdict.APPROVED else ()
    _tell(
        plan,
        lambda board_, person: board_.decide(
            person, plan, digest, verdict, typed=typed, drifts=_drifts(asked), accepted_unproven=accepted
        ),
        remarked=bool(remark.strip()),
    )
    found = told(plan)
    if found is not None and isinstance(found.answer, (Approved, Rejected)):
        st.session_state.pop(typed_key(plan), None)


def remark(plan: int) -> None:
    """Add a remark to the discussion."""
    _remarked(plan, str(st.session_state.get(remark_key(plan), "")))


def submit(plan: int, digest: str) -> None:
    """Submit the version that was shown."""
    _tell(plan, lambda asked, person: asked.submit(person, plan, digest))


def withdraw(plan: int) -> None:
    """Take a plan back for good."""
    _tell(plan, lambda asked, person: asked.withdraw(person, plan))


def _drifts(asked: Question[tuple[Drift, ...]]) -> tuple[Drift, ...]:
    held = answers.current().held(asked)
    return () if held is None else held.value


def _remarked(plan: int, text: str) -> bool:
    _tell(plan, lambda asked, person: asked.comment(person, plan, text))
    found = told(plan)
    kept = found is not None and isinstance(found.answer, Done)
    st.session_state[_unsent_key(plan)] = text if found is not None and isinstance(found.answer, Exception) else ""
    if kept:
        st.session_state[remark_key(plan)] = ""
    return kept


def _unsent_key(plan: int) -> str:
    return f"unsent-{plan}"


def _tell(plan: int, ask: Callable[[Board, Person | None], Answer], *, remarked: bool = False) -> None:
    answer: Answer | Exception
    try:
        asked = board.board()
        if asked is None:  # the page, which is drawn next, says how people can sign in
            st.session_state.pop(_TOLD, None)
            return
        answer = ask(asked, board.person())
    except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
        answer = error
    st.session_state[_TOLD] = Told(plan=plan, answer=answer, remarked=remarked)
    st.session_state[_NEW] = True


def _answer(plan: int) -> None:
    """Draw the last answer where its button is, and once more in the corner of the window while it is new."""
    found = told(plan)
    if found is None:
        return
    with guard.block("told"):
        answered(found)
    if st.session_state.pop(_NEW, False):
        right = isinstance(found.answer, (Approved, Rejected, Submitted, Done))
        blocks.toast(Tone.RIGHT if right else Tone.WRONG, _in_short(found.answer))


def _in_short(answer: Answer | Exception) -> str:
    match answer:
        case Approved():
            return "Approved." if answer.complete else "Your approval is signed and kept."
        case Rejected():
            return "Rejected."
        case Submitted():
            return "Submitted: it waits for decisions."
        case Done():
            return "The plan is withdrawn." if answer.state is State.WITHDRAWN else "Your remark is kept."
    return "Nothing was decided. Why is said beside the buttons."


def answered(told: Told) -> None:
    """Draw the last answer."""
    kept = "  \nYour remark is kept in the discussion." if told.remarked else ""
    match told.answer:
        case Approved() as answer:
            _approved(answer, kept)
        case Rejected():
            said = f"**Rejected.** Your no is signed and kept; its author can revise the plan.{kept}"
            st.info(said, icon=":material/block:")
        case Submitted() as answer:
            until = standing.at(answer.expires_at_ms)
            st.success(f"**Submitted.** It waits for decisions until {until} UTC.", icon=":material/send:")
        case Done() as answer:
            said = "The plan is withdrawn." if answer.state is State.WITHDRAWN else "Your remark is kept."
            st.success(said, icon=":material/check:")
        case Stale() as answer:
            _stale(answer, kept)
        case AlreadyDecided() as answer:
            st.info(
                f"**Already decided.** {markdown(answer.told)} Nothing was changed.{kept}", icon=":material/how_to_reg:"
            )
        case NotAllowed() as answer:
            st.warning(
                f"**Not allowed**  \n{markdown(answer.why)}  \n**What to do:** {markdown(answer.fix)}{kept}",
                icon=":material/lock:",
            )
        case Exception() as error:
            blocks.failed(error, key="review-told", kept="What you see below was read after that.")


def drifts_in_words(found: tuple[Drift, ...]) -> str:
    """Say what changed on the clusters, a line each. Markdown."""
    lines = [f"- {markdown(each.told)}" for each in found[:_NAMED]]
    more = len(found) - _NAMED
    return "\n".join([*lines, *([f"- and {many(more, 'more thing')}"] if more > 0 else [])])


def _approved(answer: Approved, kept: str) -> None:
    votes = f"{answer.counted} of {many(answer.required, 'approval')}"
    if not answer.complete:
        st.success(
            f"**Your approval is signed and kept.** {votes}: another person has to approve too.{kept}",
            icon=":material/approval:",
        )
        return
    st.success(
        f"**Approved: version `{answer.digest[:8]}…`.** {votes}. Nothing was written: the plan is exported, and "
        f"applied on the command line.{kept}",
        icon=":material/approval:",
    )


def _stale(answer: Stale, kept: str) -> None:
    if answer.difference is None:
        st.warning(
            "**Stale: the clusters changed since the plan was drafted.** Nothing was decided."
            f"{kept}\n\n{drifts_in_words(answer.drifts)}",
            icon=":material/history:",
        )
        return
    st.warning(
        f"**Stale: what you were shown is not the newest version.** Nothing was decided. The newest is "
        f"`{answer.digest[:8]}…`, and this is what it changes.{kept}",
        icon=":material/history:",
    )
    with st.container(border=True):
        versions.difference(answer.difference, key="stale")
