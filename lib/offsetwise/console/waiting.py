"""What waits for the person of this session: plans to decide about, to submit again, to revise, to export."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console import board
from offsetwise.console.escaping import markdown
from offsetwise.review.sheet import Waiting
from offsetwise.store.review_rows import State
from offsetwise.wording import duration, number

REVIEW: Final = "pages/plan/review.py"
_SHOWN: Final = 20


def draw() -> None:
    """Draw the plans that wait for the person, and how many there are in which state. Nothing where there are none."""
    found = board.board()
    if found is None:
        return
    person = board.person()
    plans = found.plans(person)
    waiting = found.waiting_for(person)
    if not plans:
        return
    st.subheader("Plans", anchor=False)
    states = Counter(row.state for row in plans)
    told = " · ".join(f"{number(states[state])} {state}" for state in State if states[state])
    st.markdown(f":gray[{told}]")
    if not waiting:
        st.markdown("Nothing waits for you." if person is not None else "Sign in to see what waits for you.")
    for each in waiting[:_SHOWN]:
        _one(each)
    if len(waiting) > _SHOWN:
        st.page_link(
            Path(REVIEW), label=f"{number(len(waiting) - _SHOWN)} more on Review", icon=":material/more_horiz:"
        )


def _one(each: Waiting) -> None:
    ago = duration(max(0, int(datetime.now(UTC).timestamp() * 1000) - each.since_ms))
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            f":orange-badge[● for you] **Plan {each.plan}** of {markdown(each.migration)}, {markdown(each.moves)}: "
            f"{markdown(each.why)} · {markdown(each.by.name)}, {ago} ago · `{each.digest[:8]}`",
            width="stretch",
        )
        st.page_link(Path(REVIEW), label="Open", icon=":material/fact_check:", query_params={"plan": str(each.plan)})
