"""The table of partitions in the newest sample; choosing a row shows it over time."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console import choosing, table
from offsetwise.console.checkpoint import parts
from offsetwise.console.lag import derived, frames
from offsetwise.console.palette import Palette
from offsetwise.console.wording import many, number, plain
from offsetwise.lag.view import LagView
from offsetwise.model import LagPartition

_WORST: Final = "Worst first"
_BY_TOPIC: Final = "By topic"
_WIDTHS: Final = {
    "topic": 110,
    "p": 40,
    "place on new": 100,
    "by": 130,
    "exactness": 100,
    "old log start": 100,
    "new log start": 104,
}


def choose(held: derived.Shown, view: LagView, colours: Palette) -> LagPartition | None:
    """Draw the table with its filters and downloads, and the choice of one partition; None where none is left."""
    sample = view.newest.sample
    with st.container(horizontal=True):
        wanted = tuple(
            st.multiselect(
                "Topic",
                derived.topics(held, view),
                key="lag-topic",
                bind="query-params",
                placeholder="all",
                format_func=plain,
            )
        )
        order = parts.choice("Order", [_WORST, _BY_TOPIC], "lag-order", width=160)
    rows = derived.rows(held, view, wanted, worst_first=order == _WORST)
    page = rows[choosing.rows_page(len(rows))]
    grid = f"lag-{held.id}-{abs(hash(tuple(row.key for row in page)))}"
    shown = derived.partition_table(held, view, page, colours)
    names = [_name(row) for row in page]
    st.dataframe(
        shown,
        hide_index=True,
        height=table.height(len(page)),
        placeholder="?",
        key=grid,
        on_select=lambda: _picked(grid, names),
        selection_mode="single-row",
        column_config={
            column: st.column_config.Column(width=width or 90, alignment=alignment, pinned=column in ("topic", "p"))
            for column, (width, alignment) in derived.partition_layout(held, view, page, _WIDTHS).items()
        },
        alt=f"{many(len(page), 'partition')} with position and lag on both clusters.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        amount = "" if len(rows) == len(sample.partitions) else f"{number(len(rows))} of "
        st.markdown(
            f":gray[{amount}{many(len(sample.partitions), 'partition')}. A negative lag is past the end. "
            "Select a row to see it over time.]",
            width="stretch",
        )
        st.download_button(
            "CSV",
            lambda: parts.rows_csv(frames.partition_table(sample, rows, groups=len(sample.groups))),
            file_name="lag.csv",
            mime="text/csv",
            icon=":material/download:",
            key="lag-csv",
            on_click="ignore",
            help="The rows shown, as CSV.",
        )
        st.download_button(
            "JSON",
            lambda: files.dump(replace(sample, partitions=rows)).encode(),
            file_name="lag.json",
            mime="application/json",
            icon=":material/download:",
            key="lag-json",
            on_click="ignore",
            help="The newest sample with the rows shown, as an offsetwise/lag-sample file.",
        )
    if not page:
        return None
    chosen = parts.choice("Partition over time", names, "lag-row", width=320)
    return page[names.index(chosen)]


def _name(row: LagPartition) -> str:
    return f"{row.topic}-{row.partition}" if row.source == "0" else f"{row.topic}-{row.partition}@{row.source}"


def _picked(grid: str, names: list[str]) -> None:
    chosen = st.session_state[grid]["selection"]["rows"]
    if chosen and chosen[0] < len(names):
        st.session_state["lag-row"] = names[chosen[0]]
