"""Remarks that were typed but not sent: kept in this process until their author sends them or clears the field."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console.board import Seat
from offsetwise.console.server import guard
from offsetwise.recent import Recent

_MOST: Final = 200
"""Remarks kept; the least recently used are dropped first."""
_LONGEST: Final = 20_000
"""Characters kept of one remark."""
_WHO: Final = "last-seat"
_texts: Final[Recent[tuple[str, int | str], str]] = Recent(_MOST)


def sits(seat: Seat) -> None:
    """Remember the person in this session: after a sign-out nothing else identifies them."""
    if seat.person is not None:
        st.session_state[_WHO] = seat.who


def keep(plan: int | str, text: str) -> None:
    """Keep the remark that the person of this session typed about a plan; forget it if it is empty.

    Nothing is kept for a person who never signed in.
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
