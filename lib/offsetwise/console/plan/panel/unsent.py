"""Remarks that were written and not sent: kept in this process until their author sends them or clears the field."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console.board import Seat
from offsetwise.console.server import guard
from offsetwise.recent import Recent

_MOST: Final = 200
"""Remarks kept; of more, those that were looked at longest ago are dropped."""
_LONGEST: Final = 20_000
"""Characters of one."""
_WHO: Final = "last-seat"
_texts: Final[Recent[tuple[str, int | str], str]] = Recent(_MOST)


def sits(seat: Seat) -> None:
    """Remember in this session who sits there: of somebody whose sign-in ended nothing else tells."""
    if seat.person is not None:
        st.session_state[_WHO] = seat.who


def keep(plan: int | str, text: str) -> None:
    """Keep what the person of this session wrote about a plan, or forget it where nothing is left of it.

    Nothing is kept of somebody who never signed in.
    """
    who: str | None = st.session_state.get(_WHO)
    if who is None:
        return
    st.session_state[guard.UNSENT] = bool(text.strip())
    if text.strip():
        _texts.keep((who, plan), text[:_LONGEST])
    else:
        _texts.take((who, plan))


def of(plan: int | str) -> str:
    who: str | None = st.session_state.get(_WHO)
    return _texts.get((who or "", plan)) or ""
