"""The list of plans, those that wait for the person first: choosing one opens it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import blocks
from offsetwise.console.board import Seat
from offsetwise.console.escaping import markdown
from offsetwise.console.reviewing import frames
from offsetwise.console.selecting import Selection
from offsetwise.store.review_rows import PlanRow
from offsetwise.wording import many

KEY: Final = "plan"
"""Of the chosen plan's number, in the URL and in the session."""
_OF_LINK: Final = "plan-of-link"
_MOST: Final = 200
"""Plans listed; of more, those that changed last."""
_WIDTHS: Final = {
    "plan": 60,
    "for you": 190,
    "state": 110,
    "moves": 240,
    "migration": 150,
    "version": 64,
    "changed": 90,
}


def choose(seat: Seat, now: datetime) -> int | None:
    """Let the person choose a plan; None where there is none."""
    waiting = {each.plan: each for each in seat.board.waiting_for(seat.person)}
    asked = st.query_params.get(KEY)
    found = sorted(seat.board.plans(seat.person), key=lambda row: (row.id not in waiting, not row.state.open))
    if not found:
        blocks.empty("There is no plan yet.", "An author drafts one from a comparison, and submits it.")
        st.page_link(Path("pages/plan/draft.py"), label="Draft a plan", icon=":material/edit_note:")
        return None
    wanted = asked or st.session_state.get(KEY)
    listed = [row for place, row in enumerate(found) if place < _MOST or str(row.id) == wanted]
    names = tuple(str(row.id) for row in listed)
    _note(asked, names)
    selection = Selection(key=KEY, grid=f"plans-{abs(hash(names))}", names=names, first=0)
    with st.expander(_label(found, len(waiting)), icon=":material/list:", expanded=wanted is None):
        selection.draw(
            frames.plans(listed, waiting, now),
            columns={name: st.column_config.Column(width=width) for name, width in _WIDTHS.items()},
            alt=f"{many(len(listed), 'plan')} with state, and what waits for you.",
        )
        if len(listed) < len(found):
            st.markdown(f":gray[Those that changed last. {many(len(found) - len(listed), 'more')} in the audit log.]")
    chosen = listed[selection.choose("Plan", width=160)]
    _warn(str(chosen.id), names[0])
    return chosen.id


def _label(found: Sequence[PlanRow], waiting: int) -> str:
    waits = "" if not waiting else f" · **{waiting:,} {'waits' if waiting == 1 else 'wait'} for you**"
    return f"{many(len(found), 'plan')}{waits}"


def _note(asked: str | None, names: Sequence[str]) -> None:
    """Remember a plan that a link names and that is not here: Streamlit forgets it at the next rerun."""
    if asked is not None and asked not in names:
        st.session_state[_OF_LINK] = asked
    elif asked is not None:
        st.session_state.pop(_OF_LINK, None)


def _warn(chosen: str, first: str) -> None:
    asked: str | None = st.session_state.get(_OF_LINK)
    if asked is None:
        return
    if chosen != first:
        del st.session_state[_OF_LINK]
        return
    st.warning(
        f"**The link names a plan that is not here: {markdown(asked[:80])}**  \nWhat you see is plan {chosen}. Choose "
        "another one from the list, or open the console that the link was made with.",
        icon=":material/link_off:",
    )
