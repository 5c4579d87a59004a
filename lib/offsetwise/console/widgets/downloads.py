"""Downloads of what is shown. Digits are plain, and no cell can run as a formula: frames hold neutralised names."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console.widgets import terms

_MIME: Final = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What came of making a file."""

    about: Hashable
    outcome: bytes | Exception


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
        terms.said(label),
        data,
        file_name=file_name,
        mime=_MIME.get(PurePath(file_name).suffix, "application/octet-stream"),
        icon=":material/download:",
        key=key,
        on_click="ignore",
        help=terms.said(says),
    )


def on_request(
    what: str, file_name: str, make: Callable[[], bytes], *, key: str, about: Hashable, says: str
) -> Exception | None:
    """Offer one file that is made when a person asks for it; give the error where that failed, to be drawn.

    Streamlit can make a file as it is downloaded (`button` with a function), but says of any failure only that there
    was one: right for what is in memory, and not for what is read from the store.

    Args:
        what: What the file is, on the buttons.
        file_name: What the browser calls it.
        make: Makes its bytes.
        key: Tells the buttons of a page apart.
        about: What the file is of. A file of something else is made anew.
        says: What is in it.
    """
    made: _Made | None = st.session_state.get(f"{key}-made")
    if made is None or made.about != about:
        made = None
    if made is not None and isinstance(made.outcome, bytes):
        button(f"Download {what}", file_name, made.outcome, key=f"download-{key}", says=says)
        return None
    st.button(
        f"Make {what}",
        icon=":material/deployed_code:",
        key=f"make-{key}",
        help=says,
        on_click=_make,
        args=(f"{key}-made", about, make),
    )
    return None if made is None or isinstance(made.outcome, bytes) else made.outcome


def _make(key: str, about: Hashable, make: Callable[[], bytes]) -> None:
    outcome: bytes | Exception
    try:
        outcome = make()
    except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
        outcome = error
    st.session_state[key] = _Made(about=about, outcome=outcome)


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
    return str(frame.to_csv(index=False, lineterminator="\n")).encode(errors="backslashreplace")


def json_rows(frame: pd.DataFrame) -> bytes:
    """Write rows as JSON: integers as decimal strings, since JSON numbers lose those above 2^53; unknown is null."""
    made = [
        {name: None if value is pd.NA else str(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]
    return (json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode()
