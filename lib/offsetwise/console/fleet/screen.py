"""The Fleet screen: the answer, the numbers, the map, the table, and the facts of the selected checkpoint."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise.console import blocks, guard, table
from offsetwise.console.desk import Desk, Held, Offered
from offsetwise.console.escaping import markdown
from offsetwise.console.fleet import choosing as fleet_choosing
from offsetwise.console.fleet import derived, facts, figures, rows, sentences
from offsetwise.console.fleet.questions import FleetOf
from offsetwise.console.palette import Palette
from offsetwise.fleet import Fleet, FleetVerdict
from offsetwise.wording import many, number, read_at
from offsetwise.wording.verdicts import Tone

_ANSWER: Final = {
    Tone.WRONG: (st.error, ":material/warning:"),
    Tone.CAREFUL: (st.warning, ":material/help:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def fleet(desk: Desk, migration: Offered, head: guard.Head) -> Held[Fleet] | None:
    """Give the fleet to show; a live one only if it was read, or a person asks for it now."""
    question = FleetOf(migration=migration.name)
    head.says(_caption(migration, desk.held(question)))
    offer = blocks.Offer(
        what=f"the checkpoints of {markdown(migration.name)}",
        why=(
            "Reads every checkpoint below the `checkpoint_roots` of the migration file, and those it names: the few "
            "files of each that decide the restart. Many are read on Spark. Asks no cluster, writes nothing."
        ),
        now="Read all checkpoints",
        again="Read again",
        icon=":material/folder_copy:",
        key="fleet",
        stop="Stop reading",
    )
    found = blocks.live(desk, question, offer)
    head.says(_caption(migration, found))
    return found


def _caption(migration: Offered, held: Held[Fleet] | None) -> str:
    name = f"migration **{markdown(migration.name)}**"
    if held is None:
        return f"{name} · not read yet"
    roots = held.value.roots
    where = f"below **{markdown(roots[0])}**" if len(roots) == 1 else f"below {many(len(roots), 'root')}"
    read = markdown(read_at(held.at.isoformat(), datetime.now(UTC)))
    return f"{name} · {where} · {read} · :material/lock: read-only"


def draw(held: Held[Fleet], migration: str) -> None:
    """Draw the whole screen of one fleet."""
    shown, colours = held.value, guard.colours()
    _troubles(shown)
    if not shown.rows:
        blocks.empty(
            "No checkpoint was found.",
            f"{many(shown.folders, 'folder')} looked into. Name the folders that hold checkpoints under "
            "`checkpoint_roots` in the migration file, at most four levels above them; or look at one yourself.",
            "offsetwise inspect FOLDER",
        )
        return
    _answer(held)
    _metrics(held)
    if len(shown.rows) >= figures.MIN_ROWS:
        _map(held, colours)
    _rows(held, migration, colours)


def _troubles(shown: Fleet) -> None:
    for trouble in shown.troubles:
        st.warning(
            f"**A root is not here, or not whole**  \n{markdown(trouble.problem)}  \n"
            f"**What to do:** {markdown(trouble.fix)}",
            icon=":material/folder_off:",
        )


def _answer(held: Held[Fleet]) -> None:
    tone, head, rest = derived.facts(held).answer
    box, icon = _ANSWER[tone]
    longest = f"The longest time without a batch or checkpoint is {derived.facts(held).longest}."
    box(f"**{head}** {markdown(rest)} {markdown(longest)}", icon=icon)


def _metrics(held: Held[Fleet]) -> None:
    known = derived.facts(held)
    cards = (
        ("Checkpoints", number(len(held.value.rows)), "Those the migration file names, and those found below roots."),
        *((_title(verdict), number(known.counts[verdict]), sentences.MEANING[verdict]) for verdict in FleetVerdict),
        ("Copies", number(known.copies), "Checkpoints whose query id another one carries too."),
    )
    with st.container(horizontal=True):
        for label, value, help_ in cards:
            st.metric(label, value, border=True, help=help_)


def _title(verdict: FleetVerdict) -> str:
    return f"{sentences.VERDICTS[verdict].icon} {verdict.value.capitalize()}"


def _map(held: Held[Fleet], colours: Palette) -> None:
    with guard.block("map"):
        st.subheader("How long without a batch", anchor=False)
        figure, takeaway = derived.age_map(held, colours)
        st.plotly_chart(figure, config=blocks.CHART_OPTIONS, alt=takeaway, key="ages", theme=None)
        with st.expander("Data"):
            table.plain(figures.age_table(held.value.rows, derived.now_ms(held)))


@st.fragment
def _rows(held: Held[Fleet], migration: str, colours: Palette) -> None:
    st.subheader("Every checkpoint", anchor=False)
    with guard.block("rows"):
        known = derived.facts(held)
        shown = derived.filtered(held, fleet_choosing.filters(known.codes, known.topics))
        if shown:
            facts.draw(held, rows.choose(held, shown, colours), migration)
        else:
            blocks.empty("No checkpoint passes these filters.", "Clear a filter to see more.")
