"""Downloads of what is shown. Digits are plain, and no cell can run as a formula: frames hold neutralised names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Final

import pandas as pd
import streamlit as st

_MIME: Final = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl"}


def button(label: str, file_name: str, data: bytes | Callable[[], bytes], *, key: str, says: str) -> None:
    """Offer one file.

    Args:
        label: On the button.
        file_name: What the browser calls it; its ending tells the browser what it is.
        data: Its bytes, or what makes them once a person asks.
        key: Tells the buttons of a page apart.
        says: What is in it.
    """
    st.download_button(
        label,
        data,
        file_name=file_name,
        mime=_MIME.get(PurePath(file_name).suffix, "application/octet-stream"),
        icon=":material/download:",
        key=key,
        on_click="ignore",
        help=says,
    )


@contextmanager
def beside(text: str) -> Iterator[None]:
    """Put the buttons drawn inside to the right of a text, and all of them below it where it leaves no room."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(text, width="stretch")
        with st.container(horizontal=True, width="content"):
            yield


def rows(name: str, key: str, frame: Callable[[], pd.DataFrame]) -> None:
    """Offer the rows of a table as CSV and JSON."""
    button("CSV", f"{name}.csv", lambda: csv(frame()), key=f"{key}-CSV", says="The rows shown, as CSV.")
    button("JSON", f"{name}.json", lambda: json_rows(frame()), key=f"{key}-JSON", says="The rows shown, as JSON.")


def csv(frame: pd.DataFrame) -> bytes:
    """Write rows as CSV (UTF-8, LF). An unknown number is an empty cell."""
    return str(frame.to_csv(index=False, lineterminator="\n")).encode()


def json_rows(frame: pd.DataFrame) -> bytes:
    """Write rows as JSON: integers as decimal strings, since JSON numbers lose those above 2^53; unknown is null."""
    made = [
        {name: None if value is pd.NA else str(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]
    return (json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode()
