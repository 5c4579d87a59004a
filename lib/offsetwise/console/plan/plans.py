from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console.plan import plan_status
from offsetwise.console.plan.panel import bar
from offsetwise.console.plan.panel.live import StoreListing
from offsetwise.console.widgets import blocks, palette, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import cut, markdown
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns, Selection
from offsetwise.review.sets.sheet import SetStanding, SetState
from offsetwise.review.sheet import Waiting
from offsetwise.store.review_rows import PlanRow, SetRow
from offsetwise.wording import many
from offsetwise.wording.verdicts import Verdict

KEY: Final = "plan"
"""Key of the chosen plan's number, in the URL and in the session."""
OF_SET: Final = "set-"
"""Prefix of a set's number there."""
_OF_LINK: Final = "plan-of-link"
_MOST: Final = 200
"""Plans listed; the most recently changed ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEntry:
    of: PlanRow | SetRow
    label: int | str
    """The plan's number, or the name of the set."""
    why: str
    """What it waits for the person for; empty if it does not."""
    state: Verdict
    open: bool
    moves: str
    version: int | str
    changed_at_ms: int

    @property
    def name(self) -> str:
        return name_of(self.of)


def name_of(row: PlanRow | SetRow) -> str:
    return str(row.id) if isinstance(row, PlanRow) else f"{OF_SET}{row.id}"


def choose(shown: StoreListing, now: datetime, *, sets: bool = False) -> PlanRow | SetRow | None:
    """Let the person choose a plan; None if there is none.

    Args:
        shown: The store's content.
        now: With its time zone.
        sets: Whether a set of plans is one entry instead of its plans.
    """
    opened = bar.to_open()
    if opened is not None:
        st.session_state[KEY] = opened
    requested = opened or st.query_params.get(KEY)
    selected = requested or st.session_state.get(KEY)
    rows = sorted(_entries(shown, selected, sets=sets), key=lambda entry: (not entry.why, not entry.open))
    if not rows:
        blocks.empty(
            "There is no plan yet.", "An author drafts one from a comparison, and submits it. It appears here."
        )
        st.page_link(Path("pages/plan/draft.py"), label="Draft a plan", icon=":material/edit_note:")
        return None
    listed = [entry for index, entry in enumerate(rows) if index < _MOST or entry.name == selected]
    names = tuple(entry.name for entry in listed)
    waiting = sum(bool(entry.why) for entry in rows)
    _note(requested, names)
    selection = Selection(key=KEY, grid=f"plans-{abs(hash(names))}", names=names, first=0)
    with st.expander(_label(rows, waiting), icon=":material/list:", expanded=selected is None and waiting > 1):
        columns = _plans(now)
        cells = repr([[column.value(entry) for column in columns] for entry in listed])
        selection.draw(
            _table(columns, listed, cells, palette.current()),
            alt=f"{many(len(listed), 'plan')} with state, and what waits for you.",
        )
        if len(listed) < len(rows):
            st.markdown(f":gray[Those that changed last. {many(len(rows) - len(listed), 'more')} in the audit log.]")
        chosen = listed[selection.choose("Plan", width=160)]
    _warn(chosen.name, names[0])
    return chosen.of


def _entries(shown: StoreListing, selected: str | None, *, sets: bool) -> Iterator[PlanEntry]:
    """Yield the entries to choose from; plans of an unchanged set only if they are selected."""
    of_sets: set[int] = set()
    waiting = {review.of_set: review for review in shown.waiting if review.of_set is not None}
    visited: set[int] = set()
    for row, status in shown.sets if sets else ():
        plans = {member.plan for member in row.members}
        newest = not plans & visited
        visited |= plans
        if status.state is not SetState.CHANGED and newest:
            of_sets |= plans
        if newest or f"{OF_SET}{row.id}" == selected:
            yield _of_set(row, status, waiting.get(row.id), shown.plans)
    alone = {review.plan: review for review in shown.waiting if review.of_set is None or not sets}
    for plan in shown.plans:
        if plan.id not in of_sets or str(plan.id) == selected:
            yield _of_plan(plan, alone.get(plan.id))


def _of_set(row: SetRow, status: SetStanding, waiting: Waiting | None, plans: Sequence[PlanRow]) -> PlanEntry:
    numbers = {member.plan for member in row.members}
    return PlanEntry(
        of=row,
        label=f"set {row.id}",
        why="" if waiting is None else waiting.why,
        state=plan_status.set_state(status),
        open=status.state in (SetState.SUBMITTED, SetState.APPROVED, SetState.CHANGED),
        moves=many(len(row.members), "plan") + ("" if row.wave is None else f" of wave {row.wave}"),
        version="",
        changed_at_ms=max((plan.changed_at_ms for plan in plans if plan.id in numbers), default=row.at_ms),
    )


def _of_plan(row: PlanRow, waiting: Waiting | None) -> PlanEntry:
    return PlanEntry(
        of=row,
        label=row.id,
        why="" if waiting is None else waiting.why,
        state=plan_status.STATES[row.state],
        open=row.state.open,
        moves=row.moves,
        version=row.number,
        changed_at_ms=row.changed_at_ms,
    )


@cached(16)
def _table(
    _columns: Columns[PlanEntry],
    _rows: Sequence[PlanEntry],
    cells: str,  # noqa: ARG001 - the key
    colours: Palette,
) -> table.Prepared:
    return table.prepared(_columns, _rows, colours)


def _label(entries: Sequence[PlanEntry], waiting: int) -> str:
    waits = "" if not waiting else f" · **{waiting:,} {'waits' if waiting == 1 else 'wait'} for you**"
    sets = sum(not isinstance(entry.of, PlanRow) for entry in entries)
    plans = "" if sets == len(entries) else many(len(entries) - sets, "plan")
    return " · ".join(part for part in (many(sets, "set") if sets else "", plans) if part) + waits


def _note(requested: str | None, names: Sequence[str]) -> None:
    """Remember a plan that a link names and that does not exist here: Streamlit forgets it at the next rerun."""
    if requested is not None and requested not in names:
        st.session_state[_OF_LINK] = requested
    elif requested is not None:
        st.session_state.pop(_OF_LINK, None)


def _warn(chosen: str, first: str) -> None:
    requested: str | None = st.session_state.get(_OF_LINK)
    if requested is None:
        return
    if chosen != first:
        del st.session_state[_OF_LINK]
        return
    st.warning(
        f"**The link names a plan that is not here: {markdown(requested[:80])}**  \nWhat you see is plan {chosen}. "
        "Choose another one from the list, or open the console that the link was made with.",
        icon=":material/link_off:",
    )


def _plans(now: datetime) -> Columns[PlanEntry]:
    return (
        Column("plan", lambda entry: entry.label, 60),
        Column("for you", lambda entry: entry.why, 190),
        Column("state", lambda entry: entry.state, 110),
        Column("moves", lambda entry: cut(entry.moves), 240),
        Column("migration", lambda entry: cut(entry.of.migration), 150),
        Column("version", lambda entry: entry.version, 64),
        Column("changed", lambda entry: plan_status.ago(entry.changed_at_ms, now), 90),
    )
