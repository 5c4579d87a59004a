"""The migration's consumer groups on both clusters: their state, and what they committed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from offsetwise.console import choosing, guard, paging, table
from offsetwise.console.clusters import frames, notes
from offsetwise.console.clusters.view import View
from offsetwise.wording import many


@st.fragment
def draw(view: View) -> None:
    """Draw all groups, and the offsets of one."""
    st.subheader("Consumer groups", anchor=False)
    with guard.block("group-tables"):
        if not view.groups:
            st.markdown("The migration names no group. Add those to be looked at under `groups` in its file.")
            return
        table.plain(
            frames.group_table(view),
            alt=f"{many(len(view.groups), 'group')} with state and number of committed partitions on both clusters.",
            widths={"group": 160, "state old": 100, "state new": 100, "committed old": 108, "committed new": 114},
        )
        chosen = choosing.choice("Offsets of", view.groups, "group", width=420)
        made = _offsets(view.ids, chosen, view)
        if made.empty:
            st.markdown("It has committed nothing on either cluster, as far as was read.")
            return
        if len(made) > paging.PAGE_ROWS:
            st.markdown(f":gray[The first {paging.PAGE_ROWS} of {many(len(made), 'partition')}.]")
        table.plain(
            made.head(paging.PAGE_ROWS),
            alt=f"What the group committed in {many(len(made), 'partition')}, beside MirrorMaker's answer.",
            widths={"old topic": 104, "new topic": 104, "p": 36, "MirrorMaker says": 130, "hint": 420},
            missing="none" if None not in view.ids else "?",
        )
        notes.draw("What the hints say", [("", hint) for hint in made["hint"]])


@st.cache_resource(max_entries=16, show_spinner=False)
def _offsets(ids: tuple[int | None, int | None], group: str, _view: View) -> pd.DataFrame:  # noqa: ARG001 - the key
    return frames.group_offset_table(_view, group)
