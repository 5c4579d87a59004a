"""What the buttons of the Review screen do: each asks the board for one thing, and keeps what it answered.

A callback runs before the page does, with what the page was drawn with: the digest it passes is the one that stood on
the screen. Who asks is looked up anew, and the board decides everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.approval import Verdict
from offsetwise.console import board, desk
from offsetwise.console.reviewing.questions import DriftOf
from offsetwise.plan.drift import Drift
from offsetwise.review.answers import (
    Approved,
    DecideAnswer,
    Done,
    NotAllowed,
    OtherAnswer,
    Rejected,
    SubmitAnswer,
)
from offsetwise.review.board import Board
from offsetwise.review.people import Person

Answer = DecideAnswer | OtherAnswer | SubmitAnswer
_TOLD: Final = "review-told"
_NO_REASON: Final = NotAllowed(
    why="Whoever rejects a plan says why, and the remark is empty. Nothing was decided.",
    fix="Write the reason as a remark, then reject.",
)
_NO_BOARD: Final = NotAllowed(why="Nobody can sign in here any more.", fix="Open the page again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the board answered the last time somebody pressed a button in this session."""

    plan: int
    answer: Answer | Exception
    remarked: bool = False
    """Whether the remark beside a decision was kept."""


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


def decide(plan: int, asked: DriftOf, verdict: Verdict) -> None:
    """Decide about the version that was shown; a remark that was written is kept first.

    Args:
        plan: The plan's number.
        asked: What somebody may have asked about the version that was shown: its answer counts even where it came
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
    _tell(
        plan,
        lambda board_, person: board_.decide(person, plan, asked.digest, verdict, typed=typed, drifts=_drifts(asked)),
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


def _drifts(asked: DriftOf) -> tuple[Drift, ...]:
    held = desk.current().held(asked)
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
        answer = _NO_BOARD if asked is None else ask(asked, board.person())
    except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
        answer = error
    st.session_state[_TOLD] = Told(plan=plan, answer=answer, remarked=remarked)
