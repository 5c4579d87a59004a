"""The old logs of a cutover, by partition: whether they have stopped growing and are copied, and why not."""

from __future__ import annotations

from collections import Counter
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console.widgets import blocks, downloads, palette, table, terms
from offsetwise.console.widgets.blocks import Card
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.console.widgets.evidence import findings, linked
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.table import Column, Columns, Prepared
from offsetwise.model import Cutover, CutoverPartition, CutoverState, epoch_ms
from offsetwise.wording import clock, duration, many, number, verdicts
from offsetwise.wording.cutover import STATE, answer, furthest_behind_first, producer_ids

TITLE: Final = "The old logs"
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


def draw(newest: Cutover | None) -> None:
    blocks.section(TITLE)
    if newest is None:
        st.markdown(terms.said(":gray[The old logs were not looked at yet.]"))
        return
    _state(newest)
    _partitions(newest)


def _state(cutover: Cutover) -> None:
    shown = STATE[cutover.state]
    blocks.box(shown.tone, f"**{shown.word.capitalize()}.** {markdown(terms.said(answer(cutover)))}")
    still_ms = min((row.still_ms for row in cutover.partitions), default=0)
    st.progress(
        min(1.0, still_ms / cutover.still_for_ms),
        text=terms.said(
            f"The log that moved last has stood still for {duration(still_ms)} of {duration(cutover.still_for_ms)}"
        ),
    )
    looked = clock(epoch_ms(cutover.taken_at))
    st.markdown(f":gray[{many(cutover.looks_taken, 'look')}, the newest at {looked}]")
    counts = Counter(row.state for row in cutover.partitions)
    blocks.cards(
        [
            Card(state.capitalize(), number(counts[state]), _MEANING[state], _tone(state, counts[state]))
            for state in CutoverState
        ]
    )
    if cutover.findings:
        findings(cutover.findings)
    for problem in cutover.problems:
        st.markdown(f"- **{linked(problem.code)}**: {sentence(problem.message)} {sentence(problem.fix)}")


_MEANING: Final = {
    CutoverState.OPEN: "Partitions whose log grows, or for which that is not known.",
    CutoverState.DRAINING: "Partitions whose log stands still, not yet for the stated time; or a transaction is open.",
    CutoverState.FROZEN: "Partitions whose log has stood still for the stated time.",
    CutoverState.COPIED: "Partitions of which every record is on the new cluster as well.",
}


def _tone(state: CutoverState, count: int) -> verdicts.Tone | None:
    return STATE[state].tone if count else None


@cached(16)
def _table(
    identity: tuple[str, str, int, int | None],  # noqa: ARG001 - part of the cache key
    colours: Palette,
    _rows: tuple[CutoverPartition, ...],
) -> Prepared:
    return table.prepared(_PARTITIONS, _rows, colours)


def _partitions(cutover: Cutover) -> None:
    rows = furthest_behind_first(cutover)
    named = terms.said(many(len(rows), "partition"))
    shown = table.page(len(rows), "log-rows")
    identity = (cutover.migration, cutover.taken_at, cutover.looks_taken, shown.start)
    table.draw(
        _table(identity, palette.current(), rows[shown]),
        alt=f"{named} of the old cluster, those furthest behind first.",
    )
    with downloads.to_the_right_of(f":gray[{named}, those furthest behind first.]"):
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
            lambda: files.dump(cutover).encode(),
            key="cutover-json",
            says="The newest look, as an offsetwise/cutover file.",
        )
