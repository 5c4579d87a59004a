"""Downloads of what is shown. Digits are plain, and no cell can run as a formula: frames contain neutralised names."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from typing import Final

import pandas as pd
import streamlit as st

from offsetwise.console.widgets import blocks, terms

_MIME: Final = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl"}
REASON_S: Final = 2
"""How often an open page checks whether a file could not be created: a download itself redraws nothing."""


class Request:
    """A file that is created when a person asks for it, and why that failed the last time.

    Args:
        about: What the file is of.
    """

    def __init__(self, about: Hashable) -> None:
        self.about: Final = about
        self.error: Exception | None = None
        """None if the file could be created, or nobody asked yet."""

    def content(self, make: Callable[[], bytes]) -> bytes:
        """Return the bytes of the file, or keep the error for the page.

        Raises:
            RuntimeError: It could not be created. Streamlit shows only that there was an error.
        """
        self.error = None
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
            self.error = error
        raise RuntimeError("A file to download could not be made: the page says why.")


def button(
    label: str,
    file_name: str,
    data: bytes | Callable[[], bytes],
    *,
    key: str,
    says: str,
) -> None:
    """Draw the download of one file. A click downloads it, and redraws nothing.

    Args:
        label: Label of the button.
        file_name: Name of the file; its extension determines the media type.
        data: Its bytes, or a function that creates them on request.
        key: Distinguishes the buttons of a page.
        says: Description of the content.
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
    label: str, file_name: str, make: Callable[[], bytes], *, key: str, about: Hashable, says: str
) -> Request:
    """Draw the download of a file that is created on request and may fail; `reason` then shows why.

    Args:
        label: Label of the button.
        file_name: Name of the file.
        make: Creates its bytes, in the download's thread.
        key: Distinguishes the buttons of a page.
        about: What the file is of: the error of another file is not shown for it.
        says: Description of the content.
    """
    previous: Request | None = st.session_state.get(f"{key}-request")
    request = previous if previous is not None and previous.about == about else Request(about)
    st.session_state[f"{key}-request"] = request
    button(label, file_name, partial(request.content, make), key=f"download-{key}", says=says)
    return request


def reason(*requests: Request, key: str) -> None:
    """Draw why a file could not be created, soon after a person asked for it.

    Args:
        requests: Downloads of one block; the first error is drawn.
        key: Distinguishes several such blocks on one page.
    """
    st.fragment(_reason, run_every=REASON_S)(requests, key)


def _reason(requests: tuple[Request, ...], key: str) -> None:
    error = next((request.error for request in requests if request.error is not None), None)
    if error is not None:
        blocks.failed(error, key=key)


@contextmanager
def to_the_right_of(text: str) -> Iterator[None]:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(text, width="stretch")
        with st.container(horizontal=True, width="content"):
            yield


def rows(name: str, key: str, frame: Callable[[], pd.DataFrame]) -> None:
    button("CSV", f"{name}.csv", lambda: csv(frame()), key=f"{key}-CSV", says="The rows shown, as CSV.")
    button("JSON", f"{name}.json", lambda: json_rows(frame()), key=f"{key}-JSON", says="The rows shown, as JSON.")


def csv(frame: pd.DataFrame) -> bytes:
    """Return rows as CSV (UTF-8, LF). An unknown number is an empty cell."""
    return str(frame.to_csv(index=False, lineterminator="\n")).encode(errors="backslashreplace")


def json_rows(frame: pd.DataFrame) -> bytes:
    """Return rows as JSON: integers as decimal strings, since JSON numbers lose those above 2^53; unknown is null."""
    results = [
        {name: None if value is pd.NA else str(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]
    return (json.dumps(results, indent=2, ensure_ascii=False) + "\n").encode()
