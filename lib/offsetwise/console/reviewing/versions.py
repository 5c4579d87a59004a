"""The versions of a plan, and what one changes against another."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console import choosing, guard, paging, table
from offsetwise.console.board import Seat
from offsetwise.console.escaping import markdown
from offsetwise.console.reviewing import derived
from offsetwise.console.reviewing.rows import spoken
from offsetwise.review.difference import Difference
from offsetwise.review.sheet import Sheet
from offsetwise.wording import many

_SHOWN: Final = 100
"""Versions, or partitions of a difference, on one page."""


@st.fragment
def draw(seat: Seat, sheet: Sheet) -> None:
    """Draw all versions, and let the person hold two against each other."""
    with (
        st.expander(f"{many(len(sheet.versions), 'version')}", icon=":material/difference:"),
        guard.block("versions"),
    ):
        span = paging.page(len(sheet.versions), "version-rows", label="Versions", size=_SHOWN)
        table.draw(derived.version_table(sheet, span.start, span.stop), alt="Versions, and who saved them.")
        if len(sheet.versions) == 1:
            return
        numbers = [str(each.number) for each in sheet.versions]
        with st.container(horizontal=True):
            first = choosing.choice("What changed from version", numbers, "from", default=numbers[-2], width=200)
            second = choosing.choice("to version", numbers, "to", default=numbers[-1], width=200)
        if first == second:
            st.markdown(":gray[They are one version.]")
            return
        found = derived.difference(seat.board, seat.person, sheet, int(first), int(second))
        difference(found, key="between")


def difference(found: Difference, *, key: str) -> None:
    """Draw what differs."""
    if not found.positions and not found.parts:
        st.markdown("Nothing that is planned differs.")
        return
    if found.parts:
        st.markdown(f"Of the plan as a whole: **{markdown(', '.join(map(spoken, found.parts)))}**.")
    if found.positions:
        st.markdown(f"{many(len(found.positions), 'partition')}:")
        span = paging.page(len(found.positions), f"{key}-rows", label="Changes", size=_SHOWN)
        table.draw(derived.change_table(found, span.start, span.stop), alt="Partitions that differ, before and now.")
