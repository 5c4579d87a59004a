"""The cutover, watched while a person wants it: do the old logs stand still, and has everything arrived?"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console.answers import Answers
from offsetwise.console.reader import Offered
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, downloads, table, terms
from offsetwise.console.widgets.blocks import Card
from offsetwise.console.widgets.escaping import markdown
from offsetwise.console.widgets.evidence import findings, linked
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Cutover, CutoverPartition, CutoverState
from offsetwise.watch.cutovers import WatchedCutover
from offsetwise.wording import clock, duration, many, number, verdicts
from offsetwise.wording.cutover import STATE, answer, furthest_behind_first, producer_ids

TITLE: Final = "Cutover"
EVERY_S: Final = 5
"""How often the card is drawn again while somebody watches; so often the logs are looked at."""
_TIMES: Final = {"30 s": 30.0, "1 min": 60.0, "5 min": 300.0, "15 min": 900.0}
_PARTITIONS: Final[Columns[CutoverPartition]] = (
    Column("topic", lambda row: row.topic, 110, pinned=True),
    table.partition(lambda row: row.partition, pinned=True),
    Column("state", lambda row: STATE[row.state], 110),
    Column("old end", lambda row: row.end, help="Where the log on the old cluster ends."),
    Column("grew by", lambda row: row.grown, help="Since the first look."),
    Column("still for", lambda row: row.still_ms, 90, printed=duration, help="For how long looks have found that end."),
    Column(
        "producers",
        producer_ids,
        help="Ids that the partition's leader remembers, the last to write first.",
        when=lambda rows: any(row.writers for row in rows),
    ),
    Column(
        "moved",
        lambda row: "" if row.moved_ms is None else clock(row.moved_ms),
        190,
        heading="last seen to grow",
        when=lambda rows: any(row.moved_ms is not None for row in rows),
    ),
    Column("why", lambda row: row.told),
)


def draw(answers: Answers, migration: Offered) -> None:
    """Draw what is known of the cutover, and draw it again while it is watched."""
    blocks.section(TITLE)
    if not migration.ends_watched:
        blocks.empty(
            terms.said("Nobody can watch where the logs of this cluster end."),
            terms.said("Stop the producers, then compare: the lag of a job on the old cluster says what is not read."),
        )
        return
    watched = answers.reader.cutover(migration.name)
    running = watched is not None and watched.running
    st.fragment(_card, run_every=EVERY_S if running else None)(answers, migration, running)


def _card(answers: Answers, migration: Offered, running: bool) -> None:
    with guard.block("cutover"):
        watched = answers.reader.cutover(migration.name)
        if running != (watched is not None and watched.running):
            st.rerun()  # it was started or has ended: the page draws it again as often as it should
        with st.container(border=True):
            _controls(answers, migration, watched)
            if watched is None:
                return
            if watched.error is not None:
                blocks.failed(watched.error, key="cutover")
            if watched.newest is None:
                st.markdown(":gray[The first look is under way.]" if running else ":gray[It ended before a look.]")
                return
            _state(watched, watched.newest)
        _partitions(watched.newest)


def _controls(answers: Answers, migration: Offered, watched: WatchedCutover | None) -> None:
    if watched is not None and watched.running:
        with st.container(horizontal=True, vertical_alignment="center"):
            message = f":gray[Watched since {clock(watched.started_at)}. Nothing is written.]"
            st.markdown(message, width="stretch")
            st.button(
                "Stop watching",
                icon=":material/stop_circle:",
                key="stop-cutover",
                on_click=_stop,
                args=(answers, migration.name),
            )
        return
    st.markdown(
        f"**{'Nothing is watched.' if watched is None else 'Nobody watches any more.'}**  \n"
        + terms.said(
            f"Watching asks the old cluster every {EVERY_S} s where the logs of the topics of all jobs end, until each "
            "has stood still for the stated time and every record of it is found on the new cluster. Records are "
            "compared with Spark. Nothing is written."
        )
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        still = st.selectbox("The logs stand still for", list(_TIMES), index=1, key="cutover-still", width=180)
        st.button(
            "Watch the old logs",
            type="primary" if watched is None else "secondary",
            icon=":material/visibility:",
            key="watch-cutover",
            on_click=_start,
            args=(answers, migration.name, _TIMES[still]),
        )


def _start(answers: Answers, migration: str, still_for_s: float) -> None:
    answers.reader.watch_cutover(migration, still_for_s)


def _stop(answers: Answers, migration: str) -> None:
    answers.reader.stop_cutover(migration)


def _state(watched: WatchedCutover, found: Cutover) -> None:
    """Draw how far all together have come, with its evidence and clock."""
    shown = STATE[found.state]
    blocks.box(shown.tone, f"**{shown.word.capitalize()}.** {markdown(terms.said(answer(found)))}")
    still_ms = min((row.still_ms for row in found.partitions), default=0)
    st.progress(
        min(1.0, still_ms / found.still_for_ms),
        text=terms.said(
            f"The log that moved last has stood still for {duration(still_ms)} of {duration(found.still_for_ms)}"
        ),
    )
    ago = ""
    if watched.looked_at is not None and watched.running:  # else nothing draws it again
        ago = f", {duration(max(0, int((datetime.now(UTC) - watched.looked_at).total_seconds()) * 1000))} ago"
    now = "" if watched.step is None else f" · now: {markdown(watched.step)}"
    looked = "?" if watched.looked_at is None else clock(watched.looked_at)
    st.markdown(f":gray[{many(found.looks_taken, 'look')}, the newest at {looked}{ago}{now}]")
    counts = Counter(row.state for row in found.partitions)
    blocks.cards(
        [
            Card(state.capitalize(), number(counts[state]), _MEANING[state], _tone(state, counts[state]))
            for state in CutoverState
        ]
    )
    if found.findings:
        findings(found.findings)
    for problem in found.problems:
        st.markdown(f"- **{linked(problem.code)}**: {markdown(problem.message)} {markdown(problem.fix)}")


_MEANING: Final = {
    CutoverState.OPEN: "Partitions whose log grows, or of which nobody knows whether it does.",
    CutoverState.DRAINING: "Partitions whose log stands still, not yet for the stated time; or a transaction is open.",
    CutoverState.FROZEN: "Partitions whose log has stood still for the stated time.",
    CutoverState.COPIED: "Partitions of which every record is on the new cluster as well.",
}


def _tone(state: CutoverState, count: int) -> verdicts.Tone | None:
    return STATE[state].tone if count else None


def _partitions(found: Cutover) -> None:
    """Draw every partition, those furthest behind first."""
    rows = furthest_behind_first(found)
    named = terms.said(many(len(rows), "partition"))
    table.paged(_PARTITIONS, rows, "cutover-rows", alt=f"{named} of the old cluster, those furthest behind first.")
    with downloads.beside(f":gray[{named}, those furthest behind first.]"):
        downloads.button(
            "CSV",
            "cutover.csv",
            lambda: downloads.csv(table.frame(_PARTITIONS, rows, file=True)),
            key="cutover-csv",
            says="Every row, as CSV.",
        )
        downloads.button(
            "JSON",
            "cutover.json",
            lambda: files.dump(found).encode(),
            key="cutover-json",
            says="The newest look, as an offsetwise/cutover file.",
        )
