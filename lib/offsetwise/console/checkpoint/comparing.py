"""Two batches beside each other: which partitions moved, and what changed in watermark and configuration."""

from __future__ import annotations

import streamlit as st

from offsetwise.batches import History
from offsetwise.console import blocks, choosing, downloads, guard, paging, table
from offsetwise.console.checkpoint import derived, frames
from offsetwise.console.checkpoint.raw import files_of
from offsetwise.console.desk import Desk
from offsetwise.console.escaping import markdown
from offsetwise.wording import duration, many, number


@st.fragment
def draw(desk: Desk, migration: str, name: str, held: derived.Reading) -> None:
    """Let the person choose two batches, and draw what differs."""
    st.subheader("Two batches compared", anchor=False)
    with guard.block("comparing"):
        found = derived.history(held)
        ids = {str(batch.id): row for row, batch in enumerate(found.batches)}
        if len(ids) < 2:
            blocks.empty("Fewer than two batches are retained.", "There is nothing to compare yet.")
            return
        names = list(reversed(ids))
        with st.container(horizontal=True):
            first = ids[choosing.choice("First batch", names, "first", default=names[1], width=160)]
            second = ids[choosing.choice("Second batch", names, "second", width=160)]
        moved = derived.moved_table(held, first, second)
        st.markdown(_said(found, first, second))
        if not len(moved):
            blocks.empty("Neither batch has Kafka offsets that can be read.", "Look at their files below.")
        else:
            steps = moved["moved"]
            said = (
                f"{number(int((steps > 0).sum()))} forward, {number(int((steps < 0).sum()))} back, "
                f"{number(int((steps == 0).sum()))} unmoved, {number(int(steps.isna().sum()))} in one of them only."
            )
            st.markdown(f"**{many(len(moved), 'partition')}**: {said}")
            paging.draw(moved, "moved-rows", alt=said)
            with st.container(horizontal=True):
                downloads.rows("moved", "moved", lambda: derived.moved_table(held, first, second))
        _configuration(desk, migration, name, held, (found.batches[first].id, found.batches[second].id))


def _said(found: History, first: int, second: int) -> str:
    a, b = found.batches[first], found.batches[second]
    apart = None if a.timestamp_ms is None or b.timestamp_ms is None else b.timestamp_ms - a.timestamp_ms
    before, after = frames.watermark(a.watermark_ms), frames.watermark(b.watermark_ms)
    marks = f"{before} in both" if before == after else f"{before} → {after}"
    return (
        f":gray[Batch {number(b.id)} was planned {duration(apart)} after batch {number(a.id)}. "
        f"Watermark: {markdown(marks)}.]"
    )


def _configuration(desk: Desk, migration: str, name: str, held: derived.Reading, batches: tuple[int, int]) -> None:
    files = [files_of(desk, migration, name, held, batch, key=f"compared-{batch}") for batch in dict.fromkeys(batches)]
    parsed = [one.offsets.parsed if one is not None else None for one in files]
    known = [one.configuration for one in parsed if one is not None]
    if len(known) < len(files):
        st.markdown(":gray[? Recorded configuration: the file of one of them cannot be read.]")
        return
    changed = frames.changed_pairs(known[0], known[-1])
    if len(changed):
        st.markdown(f"**Recorded configuration: {many(len(changed), 'difference')}**")
        table.plain(changed, alt=f"{many(len(changed), 'setting')} recorded differently.")
    else:
        st.markdown(f":gray[Recorded configuration: the same {many(len(known[0]), 'setting')} in both.]")
