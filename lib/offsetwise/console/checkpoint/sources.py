"""The sources of a job and where each partition continues, whichever engine wrote the checkpoint."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console import blocks, downloads, guard, paging, table
from offsetwise.console.checkpoint import derived, frames
from offsetwise.console.escaping import markdown, plain
from offsetwise.wording import many

_RAW_CHARACTERS: Final = 4_000


@st.fragment
def draw(held: derived.Reading) -> None:
    """Draw them."""
    st.subheader("Sources", anchor=False)
    with guard.block("sources"):
        shown = held.value.checkpoint
        if not shown.sources:
            blocks.empty("No source is recorded.", "A query records its sources when it plans its first batch.")
            return
        table.plain(frames.source_table(shown), alt=f"{many(len(shown.sources), 'source')} in plan order.")
        for source in shown.sources:
            if source.raw is not None:
                st.markdown(f"Source **{markdown(source.id)}** is not Kafka. Its offset, as it stands:")
                st.code(plain(source.raw[:_RAW_CHARACTERS]), language=None, wrap_lines=True)
        positions = derived.position_table(held)
        if len(positions):
            with st.expander(f"Where reading continues in {many(len(positions), 'partition')}"):
                paging.draw(positions, "position-rows", alt="The next record to read, by partition.", missing="–")
                with st.container(horizontal=True):
                    downloads.rows("positions", "positions", lambda: derived.position_table(held))
