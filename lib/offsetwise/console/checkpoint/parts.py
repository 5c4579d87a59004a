"""Small parts that the blocks of the Checkpoint screen share: long tables in pages, downloads, choices in the URL."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console import table
from offsetwise.console.choosing import PAGE_ROWS
from offsetwise.console.wording import plain

_CSV: Final = "text/csv"
_JSON: Final = "application/json"


def choice(label: str, options: list[str], key: str, *, default: str | None = None, width: int = 240) -> str:
    """Let the person choose; the choice lives in the URL, and an unknown one there is ignored."""
    wanted = st.session_state.get(key)
    if wanted is not None and wanted not in options:
        del st.session_state[key]
    index = options.index(default) if default in options else 0
    return st.selectbox(label, options, index=index, key=key, bind="query-params", format_func=plain, width=width)


def paged(frame: pd.DataFrame, key: str, *, alt: str, widths: dict[str, int] | None = None, missing: str = "?") -> None:
    """Draw a table, in pages where it is long."""
    shown = frame
    if len(frame) > PAGE_ROWS:
        starts = {
            f"{first + 1}–{min(first + PAGE_ROWS, len(frame))}": first for first in range(0, len(frame), PAGE_ROWS)
        }
        first = starts[choice("Rows", list(starts), key, width=200)]
        shown = frame.iloc[first : first + PAGE_ROWS]
    table.plain(shown, alt=alt, widths=widths, missing=missing)


def downloads(name: str, key: str, frame: Callable[[], pd.DataFrame]) -> None:
    """Offer what is shown as CSV and JSON. Digits are plain, and no cell can run as a formula."""
    for text, kind, make in (
        ("CSV", _CSV, lambda: rows_csv(frame())),
        ("JSON", _JSON, lambda: rows_json(frame())),
    ):
        st.download_button(
            text,
            make,
            file_name=f"{name}.{text.lower()}",
            mime=kind,
            icon=":material/download:",
            key=f"{key}-{text}",
            on_click="ignore",
            help=f"The rows shown, as {text}.",
        )


def rows_csv(frame: pd.DataFrame) -> bytes:
    """Write rows as CSV (UTF-8, LF). An unknown number is an empty cell."""
    return str(frame.to_csv(index=False, lineterminator="\n")).encode()


def rows_json(frame: pd.DataFrame) -> bytes:
    """Write rows as JSON: integers as decimal strings, since JSON numbers lose those above 2^53; unknown is null."""
    rows = [
        {name: None if value is pd.NA else str(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]
    return (json.dumps(rows, indent=2, ensure_ascii=False) + "\n").encode()
