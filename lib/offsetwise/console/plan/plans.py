"""The list of plans, those that wait for the person first: choosing one opens it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console.plan import standing
from offsetwise.console.plan.panel import bar
from offsetwise.console.plan.panel.live import Listed
from offsetwise.console.widgets import blocks, palette, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import cut, markdown
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns, Selection
from offsetwise.review.sheet import Waiting
from offsetwise.store.review_rows import PlanRow
from offsetwise.wording import many

KEY: Final = "plan"
"""Of the chosen plan's number, in the URL and in the session."""
_OF_LINK: Final = "plan-of-link"
_MOST: Final = 200
"""Plans listed; of more, those that changed last."""


def choose(shown: Listed, now: datetime) -> int | None:
    """Let the person choose a plan; None where there is none."""
    waiting = {each.plan: each for each in shown.waiting}
    opened = bar.to_open()
    if opened is not None:
        st.session_state[KEY] = opened
    asked = opened or st.query_params.get(KEY)
    rows = sorted(shown.plans, key=lambda row: (row.id not in waiting, not row.state.open))
    if not rows:
        blocks.empty(
            "There is no plan yet.", "An author drafts one from a comparison, and submits it. It appears here."
        )
        st.page_link(Path("pages/plan/draft.py"), label="Draft a plan", icon=":material/edit_note:")
        return None
    wanted = asked or st.session_state.get(KEY)
    listed = [row for place, row in enumerate(rows) if place < _MOST or str(row.id) == wanted]
    names = tuple(str(row.id) for row in listed)
    _note(asked, names)
    selection = Selection(key=KEY, grid=f"plans-{abs(hash(names))}", names=names, first=0)
    with st.expander(_label(rows, len(waiting)), icon=":material/list:", expanded=wanted is None and len(waiting) > 1):
        columns = _plans(waiting, now)
        cells = repr([[column.value(row) for column in columns] for row in listed])
        selection.draw(
            _table(columns, listed, cells, palette.current()),
            alt=f"{many(len(listed), 'plan')} with state, and what waits for you.",
        )
        if len(listed) < len(rows):
            st.markdown(f":gray[Those that changed last. {many(len(rows) - len(listed), 'more')} in the audit log.]")
        chosen = listed[selection.choose("Plan", width=160)]
    _warn(str(chosen.id), names[0])
    return chosen.id


@cached(16)
def _table(
    _columns: Columns[PlanRow],
    _rows: Sequence[PlanRow],
    cells: str,  # noqa: ARG001 - the key
    colours: Palette,
) -> table.Prepared:
    """Return the table of plans with these cells."""
    return table.prepared(_columns, _rows, colours)


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


def _plans(waiting: Mapping[int, Waiting], now: datetime) -> Columns[PlanRow]:
    return (
        Column("plan", lambda row: row.id, 60),
        Column("for you", lambda row: waiting[row.id].why if row.id in waiting else "", 190),
        Column("state", lambda row: standing.STATES[row.state], 110),
        Column("moves", lambda row: cut(row.moves), 240),
        Column("migration", lambda row: cut(row.migration), 150),
        Column("version", lambda row: row.number, 64),
        Column("changed", lambda row: standing.ago(row.changed_at_ms, now), 90),
    )
