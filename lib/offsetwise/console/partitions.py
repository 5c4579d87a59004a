"""The table of partitions: choosing a row opens its evidence, and what is shown can be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console import choosing, derived, exports, frames, table, verdicts
from offsetwise.console.desk import Held
from offsetwise.console.palette import Palette
from offsetwise.console.wording import cell, many, number
from offsetwise.model import Comparison, PartitionComparison

_WIDTHS: Final[dict[str, int]] = {
    "topic": 104,
    "p": 40,
    "old offset": 80,
    "new offset": 82,
    "shift": 56,
    "exactness": 98,
    "if unedited": 122,
    "lag old": 64,
    "lag new": 66,
    "replay": 56,
    "skip": 46,
    "ahead": 96,
    "findings": 220,
}
_HELP: Final = {
    "p": "Partition.",
    "old offset": "The next record to read on the old cluster.",
    "new offset": "The same place on the new cluster.",
    "shift": "New offset minus old offset.",
    "exactness": "How well the new offset is known.",
    "if unedited": "What the old number would do on the new cluster.",
    "lag old": "Records left to read on the old cluster. Negative: past the end.",
    "lag new": "Records left to read on the new cluster. Negative: past the end.",
    "replay": "Records read twice at the new offset, at most.",
    "skip": "Records never read at the new offset, at most.",
    "ahead": "How the records from the position on differ on the new cluster.",
}


def choose(held: Held[Comparison], rows: tuple[PartitionComparison, ...], colours: Palette) -> PartitionComparison:
    """Draw the table of partitions, its downloads, and the selector of one row; give that row."""
    span = choosing.rows_page(len(rows))
    page = rows[span]
    ids = [choosing.row_id(row) for row in page]
    first = min(range(len(page)), key=lambda index: verdicts.urgency(page[index]))
    wanted = st.session_state.get("row") or st.query_params.get("row")
    current = ids.index(wanted) if wanted in ids else first
    grid = f"partitions-{held.id}-{span.start}-{abs(hash(tuple(ids)))}"
    columns = tuple(name for name in frames.PARTITION_COLUMNS if _says_something(name, page))
    st.dataframe(
        derived.partition_table(held, page, columns, colours),
        hide_index=True,
        height=table.height(len(page)),
        placeholder="?",
        key=grid,
        on_select=lambda: _picked(grid, ids),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [_first_selected(grid, current)]}},
        column_config={
            name: st.column_config.Column(
                width=width or 110, alignment=alignment, help=_HELP.get(name), pinned=name in ("topic", "p")
            )
            for name, (width, alignment) in derived.partition_layout(held, page, columns, _WIDTHS).items()
        },
        alt=f"{many(len(page), 'partition')} with old and new offset, exactness, and what the old number would do.",
    )
    _downloads(held, rows)
    st.session_state.setdefault("row", ids[current])
    if st.session_state["row"] not in ids:
        st.session_state["row"] = ids[current]
    chosen = st.selectbox(
        "Evidence of",
        ids,
        key="row",
        bind="query-params",
        format_func=cell,
        width=320,
        on_change=lambda: _follow(grid, ids),
    )
    return page[ids.index(chosen)]


def _downloads(held: Held[Comparison], rows: tuple[PartitionComparison, ...]) -> None:
    total = len(held.value.partitions)
    amount = f"{number(len(rows))} of {many(total, 'partition')}" if len(rows) < total else many(total, "partition")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":gray[{amount}. Select a row to see its proof.]", width="stretch")
        for text, kind, make in (
            ("CSV", "text/csv", lambda: exports.csv(rows)),
            ("JSON", "application/json", lambda: exports.json(held.value, rows)),
        ):
            st.download_button(
                text,
                make,
                file_name=f"comparison.{text.lower()}",
                mime=kind,
                icon=":material/download:",
                key=f"download-{text}",
                on_click="ignore",
                help=f"The rows shown, as {text}.",
            )


def _first_selected(grid: str, current: int) -> int:
    """Keep saying what was selected when this table was first drawn: an unchanged table is not sent again."""
    known: tuple[str, int] | None = st.session_state.get("first-selected")
    if known is None or known[0] != grid:
        known = st.session_state["first-selected"] = (grid, current)
    return known[1]


def _picked(grid: str, ids: Sequence[str]) -> None:
    rows = st.session_state[grid]["selection"]["rows"]
    if rows and rows[0] < len(ids):
        st.session_state["row"] = ids[rows[0]]


def _follow(grid: str, ids: Sequence[str]) -> None:
    st.session_state[grid] = {"selection": {"rows": [ids.index(st.session_state["row"])], "columns": [], "cells": []}}


def _says_something(name: str, rows: Sequence[PartitionComparison]) -> bool:
    match name:
        case "source":
            return len({row.source for row in rows}) > 1
        case "new topic":
            return any(row.new_topic != row.topic for row in rows)
        case _:
            return True
