"""Downloads of what is shown. Digits are plain, and no cell can run as a formula: frames hold neutralised names."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import PurePath
from threading import Barrier, BrokenBarrierError, Lock
from typing import Final, Literal

import pandas as pd
import streamlit as st

from offsetwise.console.widgets import terms

_MIME: Final = {".csv": "text/csv", ".json": "application/json", ".jsonl": "application/jsonl"}
TOGETHER_S: Final = 5
"""A click begins a run of the page and a download. As long one waits for the other."""


class _OnRequest:
    """A file that is made once, by the run of the page or by the download, whichever comes first.

    They begin together: the run forgets which downloads the page had before it, and Streamlit drops the answer of one
    that ends before the run begins.

    Args:
        about: What it is of.
        make: Makes its bytes.
    """

    def __init__(self, about: Hashable, make: Callable[[], bytes]) -> None:
        self.about: Final = about
        self._make = make
        self._both = Barrier(2)
        self._lock = Lock()
        self._outcome: bytes | Exception | None = None

    @property
    def error(self) -> Exception | None:
        """Why it could not be made; None where it was, or nobody asked yet."""
        return self._outcome if isinstance(self._outcome, Exception) else None

    def content(self) -> bytes:
        """Return its bytes, for the download."""
        outcome = self.made()
        if isinstance(outcome, Exception):
            raise RuntimeError("A file to download could not be made: the page says why.")
        return outcome

    def made(self) -> bytes | Exception:
        """Return what came of making it."""
        with suppress(BrokenBarrierError):
            self._both.wait(TOGETHER_S)
        with self._lock:
            if self._outcome is None:
                try:
                    self._outcome = self._make()
                except Exception as error:  # noqa: BLE001 - carried to the page, which shows it
                    self._outcome = error
            return self._outcome


def button(
    label: str,
    file_name: str,
    data: bytes | Callable[[], bytes],
    *,
    key: str,
    says: str,
    on_click: Callable[[], None] | Literal["ignore"] = "ignore",
) -> None:
    """Offer one file.

    Args:
        label: On the button.
        file_name: What the browser calls it; its ending tells the browser what it is.
        data: Its bytes, or what makes them once a person asks.
        key: Tells the buttons of a page apart.
        says: What is in it.
        on_click: What else a click does; the page is run again after it, unless it does nothing else.
    """
    st.download_button(
        terms.said(label),
        data,
        file_name=file_name,
        mime=_MIME.get(PurePath(file_name).suffix, "application/octet-stream"),
        icon=":material/download:",
        key=key,
        on_click=on_click,
        help=terms.said(says),
    )


def on_request(
    label: str, file_name: str, make: Callable[[], bytes], *, key: str, about: Hashable, says: str
) -> Exception | None:
    """Offer one file that is made when a person asks for it; give the error where that failed, to be drawn.

    Streamlit makes such a file beside the run of the page that the click begins, and says of any failure only that
    there was one. Here that run waits for the file, so that the page says why.

    Args:
        label: On the button.
        file_name: What the browser calls it.
        make: Makes its bytes.
        key: Tells the buttons of a page apart.
        about: What the file is of. A file of something else is made anew, and so is one that could not be made.
        says: What is in it.
    """
    kept: _OnRequest | None = st.session_state.get(f"{key}-made")
    if kept is not None and kept.about != about:
        kept = None
    failed = None if kept is None else kept.error
    file = _OnRequest(about, make) if kept is None or failed is not None else kept
    button(label, file_name, file.content, key=f"download-{key}", says=says, on_click=partial(_asked, key, file))
    return failed


def _asked(key: str, file: _OnRequest) -> None:
    file.made()
    st.session_state[f"{key}-made"] = file


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
