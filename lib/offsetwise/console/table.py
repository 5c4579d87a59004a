"""Tables on screen: exact integers with separators, unknown as `?`, and the table of partitions to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from offsetwise.console import choosing, exports, frames, verdicts
from offsetwise.console.desk import Held
from offsetwise.console.palette import Palette
from offsetwise.console.wording import cell, many, number
from offsetwise.model import PartitionComparison

_ROW_PX: Final = 35
_MAX_ROWS: Final = 12
_WIDTHS: Final[dict[str, int]] = {
    "topic": 130,
    "p": 50,
    "old offset": 95,
    "new offset": 95,
    "shift": 75,
    "exactness": 115,
    "if unedited": 145,
    "lag old": 80,
    "lag new": 80,
    "replay": 70,
    "skip": 60,
    "ahead": 135,
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


def height(rows: int) -> int:
    """Give the height of a table that shows all its rows if they are few, in pixels."""
    return _ROW_PX * (min(rows, _MAX_ROWS) + 1) + 3


def plain(table: pd.DataFrame, *, alt: str | None = None, widths: dict[str, int] | None = None) -> None:
    """Draw a small table that is only read."""
    sizes = widths or {}
    st.dataframe(
        printed(table),
        hide_index=True,
        height=height(len(table)),
        placeholder="?",
        alt=alt,
        column_config={name: st.column_config.Column(width=sizes[name]) for name in sizes},
    )


def printed(table: pd.DataFrame) -> Styler:
    """Print integers with separators, exactly: formatted by the browser they would lose digits above 2^53."""
    integers = [name for name in table.columns if str(table[name].dtype) in ("Int64", "int64")]
    return table.style.format(_digits, subset=integers)


def choose_row(held: Held, rows: tuple[PartitionComparison, ...], colours: Palette) -> PartitionComparison:
    """Draw the table of partitions, its downloads, and the selector of one row; give that row."""
    span = choosing.rows_page(len(rows))
    page = rows[span]
    ids = [choosing.row_id(row) for row in page]
    first = min(range(len(page)), key=lambda index: (verdicts.rank(page[index]), index))
    wanted = st.session_state.get("row") or st.query_params.get("row")
    current = ids.index(wanted) if wanted in ids else first
    grid = f"partitions-{held.id}-{span.start}-{abs(hash(tuple(ids)))}"
    columns = [name for name in frames.PARTITION_COLUMNS if _says_something(name, page)]
    st.dataframe(
        _styled(held.id, tuple(ids), colours, page),
        hide_index=True,
        height=height(len(page)),
        placeholder="?",
        key=grid,
        on_select=lambda: _picked(grid, ids),
        selection_mode="single-row",
        selection_default={"selection": {"rows": [current]}},
        column_order=columns,
        column_config={
            name: st.column_config.Column(
                width=_WIDTHS.get(name, 110), help=_HELP.get(name), pinned=name in ("topic", "p")
            )
            for name in columns
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


def _downloads(held: Held, rows: tuple[PartitionComparison, ...]) -> None:
    total = len(held.comparison.partitions)
    amount = f"{number(len(rows))} of {many(total, 'partition')}" if len(rows) < total else many(total, "partition")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f":gray[{amount}. Select a row to see its proof.]", width="stretch")
        for text, kind, make in (
            ("CSV", "text/csv", lambda: exports.csv(rows)),
            ("JSON", "application/json", lambda: exports.json(held.comparison, rows)),
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


@st.cache_resource(max_entries=32, show_spinner=False)
def _styled(
    held: int,  # noqa: ARG001 - the key, with ids and colours
    ids: tuple[str, ...],  # noqa: ARG001 - as above
    colours: Palette,
    _rows: tuple[PartitionComparison, ...],
) -> Styler:
    table = frames.partition_table(_rows)
    exactness = [f"color: {colours.tone(verdicts.EXACTNESS[row.exactness].tone)}" for row in _rows]
    unedited = [f"color: {colours.tone(verdicts.raw(row).tone)}; font-weight: 600" for row in _rows]
    ahead = [f"color: {colours.tone(verdicts.ahead(row).tone)}" for row in _rows]
    styled = (
        printed(table)
        .apply(lambda _: exactness, subset=["exactness"])
        .apply(lambda _: unedited, subset=["if unedited"])
    )
    return styled.apply(lambda _: ahead, subset=["ahead"])


def _digits(value: object) -> str:
    return "?" if value is pd.NA else f"{value:,}"
