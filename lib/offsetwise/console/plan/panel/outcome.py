"""The board's answer to a button on Review: in the bar, and as a toast in the corner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console import board
from offsetwise.console.plan import plan_status
from offsetwise.console.plan.panel import bar
from offsetwise.console.plan.panel.bar import Message
from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.errors import OffsetwiseError
from offsetwise.plan.drift import Drift
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
from offsetwise.review.sets.answers import DecidedSet, RefusedOf, SetAnswer, SubmittedSet, WithdrawnSet
from offsetwise.store.review_rows import State
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone

Answer = DecideAnswer | OtherAnswer | SubmitAnswer | SetAnswer
About = int | str
"""The number of a plan, or the name of a set in the list."""
_TOLD: Final = "review-told"
_NEW: Final = "review-told-new"
"""Set while the answer was not shown yet."""
_DONE: Final = (Approved, Rejected, Submitted, Done, DecidedSet, SubmittedSet, WithdrawnSet)
_NAMED: Final = 10
"""Changes on the clusters that are listed one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardAnswer:
    plan: About
    answer: Answer | Exception
    remarked: bool = False
    """Whether the remark of a decision was saved."""

    @property
    def done(self) -> bool:
        return isinstance(self.answer, _DONE)


def last_answer(plan: About) -> BoardAnswer | None:
    result: BoardAnswer | None = st.session_state.get(_TOLD)
    return result if result is not None and result.plan == plan else None


def ask(
    plan: About, question: Callable[[Board, Person | None], Answer], *, remarked: bool = False
) -> BoardAnswer | None:
    """Ask the board on behalf of the current person, keep the answer for the page, and return it.

    Args:
        plan: The plan that it is about.
        question: Asks the board.
        remarked: Whether a remark was saved before.
    """
    answer: Answer | Exception
    try:
        current_board = board.board()
        if current_board is None:  # the page, which is drawn next, shows how people can sign in
            st.session_state.pop(_TOLD, None)
            return None
        answer = question(current_board, board.person())
    except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
        answer = error
    result = BoardAnswer(plan=plan, answer=answer, remarked=remarked)
    st.session_state[_TOLD] = result
    st.session_state[_NEW] = True
    return result


def open_submitted(name: str) -> None:
    result = last_answer(name)
    if result is not None and isinstance(result.answer, SubmittedSet):
        opened = f"set-{result.answer.number}"
        st.session_state[_TOLD] = replace(result, plan=opened)
        bar.open_here(opened)


def message(plan: About) -> Message | None:
    """Return the bar's message on the last answer; show a new answer as a toast too."""
    result = last_answer(plan)
    if result is None:
        return None
    if st.session_state.pop(_NEW, False):
        blocks.toast(Tone.RIGHT if result.done else Tone.WRONG, _in_short(result.answer))
    return _message(result)


def _in_short(answer: Answer | Exception) -> str:
    match answer:
        case Approved():
            return "Approved." if answer.complete else "Your approval is signed and kept."
        case DecidedSet() if answer.verdict is Verdict.APPROVED:
            return "Approved." if answer.complete else "Your approval is signed and kept."
        case Rejected() | DecidedSet():
            return "Rejected."
        case Submitted() | SubmittedSet():
            return "Submitted: it waits for decisions."
        case WithdrawnSet():
            return "The plans are withdrawn."
        case Done():
            return "The plan is withdrawn." if answer.state is State.WITHDRAWN else "Your remark is kept."
    return "Nothing was decided. The reason is shown next to the buttons."


def _message(board_answer: BoardAnswer) -> Message:
    remark = " Your remark is kept in the timeline." if board_answer.remarked else ""
    match board_answer.answer:
        case Approved() as answer:
            return Message(tone=Tone.RIGHT, text=_approved(answer) + remark)
        case Rejected():
            text = f"**Rejected.** Your no is signed and kept; its author can revise the plan.{remark}"
            return Message(tone=Tone.UNKNOWN, text=text)
        case Submitted() as answer:
            until = plan_status.at(answer.expires_at_ms)
            return Message(tone=Tone.RIGHT, text=f"**Submitted.** It waits for decisions until {until} UTC.")
        case Done() as answer:
            withdrawn = answer.state is State.WITHDRAWN
            return Message(tone=Tone.RIGHT, text="The plan is withdrawn." if withdrawn else "Your remark is kept.")
        case Stale() as answer:
            return Message(tone=Tone.CAREFUL, text=_stale(answer) + remark)
        case AlreadyDecided() as answer:
            text = f"**Already decided.** {sentence(answer.message)} Nothing was changed.{remark}"
            return Message(tone=Tone.CAREFUL, text=text)
        case NotAllowed() as answer:
            text = f"**Not done.** {sentence(answer.why)} **What to do:** {sentence(answer.fix)}{remark}"
            return Message(tone=Tone.CAREFUL, text=text)
        case DecidedSet() | SubmittedSet() | WithdrawnSet() | RefusedOf() as answer:
            return _of_set(answer)
        case OffsetwiseError() as error:
            text = f"{sentence(error.problem)} **What to do:** {sentence(error.fix)} What you see was read after that."
            return Message(tone=Tone.WRONG, text=text)
    return Message(
        tone=Tone.WRONG,
        text="An unexpected error occurred. **What to do:** try again, and report it with the "
        "console's log if it comes back. What you see was read after that.",
    )


def _of_set(answer: DecidedSet | SubmittedSet | WithdrawnSet | RefusedOf) -> Message:
    match answer:
        case DecidedSet() if answer.verdict is Verdict.REJECTED:
            text = f"**Rejected: {many(answer.plans, 'plan')}.** Your no is signed and kept with each of them."
            return Message(tone=Tone.UNKNOWN, text=text)
        case DecidedSet():
            votes = f"{answer.counted} of {many(answer.required, 'approval')}"
            head = f"**Approved: {many(answer.plans, 'plan')}, set `{answer.digest[:8]}`.** {votes}."
            text = f"{head} Nothing was written: the set is exported, and applied on the command line."
            if not answer.complete:
                text = f"**Your approval is signed and kept.** {votes}: another person has to approve too."
            return Message(tone=Tone.RIGHT, text=text)
        case SubmittedSet():
            without = "" if not answer.refused else f" {many(answer.refused, 'job')} of it have no plan."
            text = f"**Submitted: {many(answer.plans, 'plan')}, set `{answer.digest[:8]}`.** It waits for one decision."
            return Message(tone=Tone.RIGHT, text=text + without)
        case WithdrawnSet():
            return Message(tone=Tone.RIGHT, text=f"{many(answer.plans, 'plan')} of the set are withdrawn.")
    head = f"**Not done, of no plan of the set.** {markdown(answer.job)}: {sentence(answer.why)}"
    return Message(tone=Tone.CAREFUL, text=f"{head} **What to do:** {sentence(answer.fix)}")


def drifts_in_words(drifts: tuple[Drift, ...]) -> str:
    """List what changed on the clusters, one line each. Markdown."""
    lines = [f"- {sentence(drift.told)}" for drift in drifts[:_NAMED]]
    more = len(drifts) - _NAMED
    return "\n".join([*lines, *([f"- and {many(more, 'more thing')}"] if more > 0 else [])])


def _approved(answer: Approved) -> str:
    votes = f"{answer.counted} of {many(answer.required, 'approval')}"
    if not answer.complete:
        return f"**Your approval is signed and kept.** {votes}: another person has to approve too."
    return (
        f"**Approved: version `{answer.digest[:8]}`.** {votes}. Nothing was written: the plan is exported, and "
        "applied on the command line."
    )


def _stale(answer: Stale) -> str:
    if answer.difference is None:
        return (
            "**Stale: the clusters changed since the plan was drafted.** Nothing was decided. What changed is listed "
            "above the positions."
        )
    return (
        f"**Stale: what you were shown is not the newest version.** Nothing was decided. The newest is "
        f"`{answer.digest[:8]}`, and what it changes is listed above the positions."
    )
