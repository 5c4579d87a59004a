"""State stores: their size from their files, and their rows from Spark's own readers, when a person asks."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console import blocks, downloads, guard, paging, table
from offsetwise.console.asking import asked
from offsetwise.console.checkpoint import derived, frames
from offsetwise.console.checkpoint.questions import StateOf
from offsetwise.console.desk import Desk
from offsetwise.console.escaping import markdown, plain
from offsetwise.model.state import StateRows
from offsetwise.wording import many, number

_OFFER: Final = blocks.Offer(
    what="the rows of the state stores",
    why="Spark starts if it does not run yet, and reads every state store of the last committed batch with its own "
    "state-metadata and statestore readers. It writes nothing. Large state takes minutes; it can be stopped.",
    now="Count rows with Spark",
    again="Count again",
    icon=":material/database:",
    key="state",
    stop="Stop counting",
)


@st.fragment
def draw(desk: Desk, migration: str, name: str, held: derived.Reading) -> None:
    """Draw the sizes, the offer to count rows, and the rows once they were counted."""
    st.subheader("State stores", anchor=False)
    with guard.block("state"):
        stores = held.value.checkpoint.state
        if not stores:
            blocks.empty("The query keeps no state.", "Only stateful operators write into state/.")
            return
        table.plain(frames.state_table(stores), alt=f"State of {many(len(stores), 'operator')}, from its files.")
        st.markdown(
            ":gray[Rows are known from the files where RocksDB wrote a snapshot; otherwise only Spark can count them.]"
        )
        question = StateOf(migration=migration, name=name)
        counted = asked(desk, question, _OFFER)
        if counted is not None:
            _rows(counted.value, f"{counted.at:%Y-%m-%d %H:%M:%S} UTC")
            newest = held.value.checkpoint.last_committed_batch
            if newest != counted.value.batch:
                st.markdown(
                    f":orange-badge[▲ older] These rows are those after batch {number(counted.value.batch)}; batch "
                    f"{number(newest)} is committed by now."
                )


def _rows(state: StateRows, at: str) -> None:
    failed = [one for one in state.stores if one.problem is not None]
    total = sum(one.total or 0 for one in state.stores)
    least = "at least " if failed else ""
    said = f"{least}{many(total, 'row')} in {many(len(state.stores), 'state store')} after batch {number(state.batch)}"
    if len(failed) == len(state.stores):
        said = f"No state store could be counted after batch {number(state.batch)}"
    st.markdown(f"**{said}** · {state.kind}, counted by Spark {markdown(state.spark)} at {at}")
    table.plain(frames.rows_table(state), alt=said)
    for one in failed:
        st.markdown(
            f":orange-badge[? not counted] operator {number(one.operator)}, store {markdown(one.store)}: "
            f"{markdown(one.problem or '')}"
        )
    typed = [one for one in state.stores if one.columns]
    if typed:
        with st.expander("Types of keys and values"):
            for one in typed:
                st.markdown(f"operator {number(one.operator)}, store {markdown(one.store)}")
                st.code(plain(one.columns), language=None, wrap_lines=True)
    frame = frames.partition_rows_table(state)
    if len(frame):
        with st.expander("Rows by partition"):
            paging.draw(frame, "state-rows", alt=said)
            with st.container(horizontal=True):
                downloads.rows("state-rows", "state-rows-file", lambda: frames.partition_rows_table(state))
