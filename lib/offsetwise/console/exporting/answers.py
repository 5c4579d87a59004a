"""What came of bringing a file in: kept for the session until the next file, and drawn in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.console import blocks, board
from offsetwise.console.escaping import markdown
from offsetwise.console.reviewing.sentences import STATES
from offsetwise.review.answers import (
    AlreadyDecided,
    AlreadyOpen,
    Approved,
    DecideAnswer,
    Done,
    NotAllowed,
    OtherAnswer,
    Rejected,
    SaveAnswer,
    Saved,
    Stale,
    Unchanged,
)

Answer = DecideAnswer | OtherAnswer | SaveAnswer
_ANOTHER: Final = NotAllowed(
    why="This page was drawn for somebody else.", fix="Look at the page again, then repeat it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was answered about which file."""

    name: str
    about: str
    """What it was about: another plan's page does not show it."""
    answer: Answer | Exception


def keep(key: str, name: str, about: str, seat: board.Seat, verb: Callable[[board.Seat], Answer]) -> None:
    """Do something for a button, and keep what was answered.

    Args:
        key: Of the button.
        name: Of the file that was brought in.
        about: What the page was drawn for.
        seat: Before which board, and for whom.
        verb: What to do as whoever sits there now, which is looked up again.
    """
    answer: Answer | Exception
    try:
        found, person = board.board(), board.person()
        answer = _ANOTHER if found is not seat.board else verb(board.Seat(board=found, person=person))
    except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
        answer = error
    st.session_state[f"{key}-told"] = Told(name=name, about=about, answer=answer)


def draw(key: str, about: str) -> None:
    """Draw what was answered last."""
    told: Told | None = st.session_state.get(f"{key}-told")
    if told is None or told.about != about:
        return
    name, answer = markdown(told.name), told.answer
    match answer:
        case Approved():
            st.success(
                f"**✓ The approval in {name} is taken in:** {answer.counted:,} of {answer.required:,} asked for.",
                icon=":material/verified:",
            )
        case Rejected():
            st.warning(f"**✗ {name} is a rejection.** The plan is rejected.", icon=":material/block:")
        case Done():
            st.success(
                f"**✓ {name} is kept.** Plan {answer.plan:,} is {markdown(str(STATES[answer.state]))}.",
                icon=":material/task_alt:",
            )
        case Saved():
            st.success(
                f"**✓ {name} is taken in as plan {answer.plan:,}.** It waits on Review for a decision; its digest is "
                f"`{answer.digest[:8]}…`.",
                icon=":material/task_alt:",
            )
        case Unchanged():
            st.info(f"**{name} was taken in before:** it is plan {answer.plan:,}.", icon=":material/info:")
        case AlreadyOpen():
            st.warning(f"**{name} was not taken in.** {markdown(answer.told)}", icon=":material/info:")
        case AlreadyDecided():
            st.info(f"**{name} changes nothing.** {markdown(answer.told)}", icon=":material/info:")
        case Stale():
            st.warning(
                f"**{name} is about an earlier version.** The newest has the digest `{answer.digest[:8]}…`, and only "
                "that can be decided about.",
                icon=":material/update:",
            )
        case NotAllowed():
            st.error(
                f"**Not taken in: {name}**  \n{markdown(answer.why)}  \n**What to do:** {markdown(answer.fix)}",
                icon=":material/lock:",
            )
        case Exception():
            blocks.failed(answer, key=f"{key}-failed")
