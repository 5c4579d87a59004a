"""The table of a fleet: selecting a row opens its facts, and what is shown can be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import streamlit as st

from offsetwise.console import choosing, table
from offsetwise.console.desk import Held
from offsetwise.console.fleet import derived, exports
from offsetwise.console.palette import Palette
from offsetwise.console.wording import cell, many, number
from offsetwise.fleet import Fleet, FleetRow

_WIDTHS: Final = {
    "verdict": 126,
    "checkpoint": 120,
    "age": 74,
    "since commit": 104,
    "problems": 190,
    "restart": 320,
    "planned": 74,
    "committed": 86,
    "topics": 170,
    "partitions": 80,
    "state": 78,
    "copies": 78,
    "newest batch (UTC)": 190,
    "query id": 280,
    "engine": 70,
}
_HELP: Final = {
    "age": "Time since the newest batch was planned.",
    "since commit": "Time since the newest committed batch was planned. The commit log keeps no times of its own.",
    "problems": "Codes of what is wrong or worth knowing. Select the row to see what to do.",
    "planned": "The newest planned batch.",
    "committed": "The newest committed batch.",
    "topics": "Kafka topics, each with the number of its partitions.",
    "state": "What the files of its state stores take.",
    "copies": "How many checkpoints here carry the same query id.",
    "restart": "Where the query restarts.",
}
_WIDEST_NAME_PX: Final = 280
_LETTER_PX: Final = 7
_CELL_PADDING_PX: Final = 24
_RIGHT: Final = ("age", "since commit", "planned", "committed", "partitions", "state")


def choose(held: Held[Fleet], rows: tuple[FleetRow, ...], colours: Palette) -> FleetRow:
    """Draw the table of rows, its downloads, and the selector of one row; give that row."""
    span = choosing.rows_page(len(rows))
    page = rows[span]
    labels = derived.facts(held).labels
    ids = [labels[row.uri] for row in page]
    wanted = st.session_state.get("row") or st.query_params.get("row")
    current = ids.index(wanted) if wanted in ids else 0
    grid = f"fleet-{held.id}-{span.start}-{abs(hash(tuple(ids)))}"
    st.dataframe(
        derived.fleet_table(held, page, colours),
        hide_index=True,
        height=table.height(len(page)),
        placeholder="?",
        key=grid,
        on_select=lambda: _picked(grid, ids),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [_first_selected(grid, current)]}},
        column_config={
            name: st.column_config.Column(
                width=width, alignment=_alignment(name), help=_HELP.get(name), pinned=name == "checkpoint"
            )
            for name, width in (_WIDTHS | {"checkpoint": _name_width(ids)}).items()
        },
        alt=f"{many(len(page), 'checkpoint')} with verdict, age, problems, batches, topics, state and restart.",
    )
    _downloads(held, rows)
    if st.session_state.get("row") not in ids:
        st.session_state["row"] = ids[current]
    chosen = st.selectbox(
        "Facts of",
        ids,
        key="row",
        bind="query-params",
        format_func=cell,
        width=420,
        on_change=lambda: _follow(grid, ids),
    )
    return page[ids.index(chosen)]


def _downloads(held: Held[Fleet], rows: tuple[FleetRow, ...]) -> None:
    total = len(held.value.rows)
    amount = f"{number(len(rows))} of {many(total, 'checkpoint')}" if len(rows) < total else many(total, "checkpoint")
    now = derived.now_ms(held)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":gray[{amount}. Select a row to see its facts.]", width="stretch")
        for text, name, kind, make in (
            ("CSV", "fleet.csv", "text/csv", lambda: exports.csv(rows, now)),
            ("JSON", "fleet.jsonl", "application/jsonl", lambda: exports.json_lines(rows)),
        ):
            st.download_button(
                text,
                make,
                file_name=name,
                mime=kind,
                icon=":material/download:",
                key=f"download-{text}",
                on_click="ignore",
                help=f"The rows shown, as {text}{' lines: a checkpoint a line' if text == 'JSON' else ''}.",
            )


def _name_width(ids: Sequence[str]) -> int:
    return min(_WIDEST_NAME_PX, max(_WIDTHS["checkpoint"], _CELL_PADDING_PX + _LETTER_PX * max(map(len, ids))))


def _alignment(name: str) -> Literal["right"] | None:
    return "right" if name in _RIGHT else None


def _first_selected(grid: str, current: int) -> int:
    """Keep saying what was selected when this table was first drawn: an unchanged table is not sent again."""
    known: tuple[str, int] | None = st.session_state.get("fleet-first-selected")
    if known is None or known[0] != grid:
        known = st.session_state["fleet-first-selected"] = (grid, current)
    return known[1]


def _picked(grid: str, ids: Sequence[str]) -> None:
    rows = st.session_state[grid]["selection"]["rows"]
    if rows and rows[0] < len(ids):
        st.session_state["row"] = ids[rows[0]]


def _follow(grid: str, ids: Sequence[str]) -> None:
    st.session_state[grid] = {"selection": {"rows": [ids.index(st.session_state["row"])], "columns": [], "cells": []}}
