"""Returns people after signing in to the page they requested: the sign-in itself always leads to the start page.

The request is kept in this process for a few minutes, by a digest of the token that Streamlit gives every browser: the
session ends when the browser leaves for the identity provider. Only a page of this console can be requested.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from offsetwise.recent import Recent

KEPT_S: Final = 600
MOST: Final = 1_000
MIN_TOKEN_BYTES: Final = 16
_COOKIE: Final = "_streamlit_xsrf"
_HERE: Final = "page-shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedPage:
    path: str
    query: Mapping[str, str | list[str]]
    until_s: float
    """On the monotonic clock."""


class Wishes(Recent[str, RequestedPage]):
    """The pages that browsers requested before they left to sign in."""

    def __init__(self) -> None:
        super().__init__(MOST)

    def take_at(self, browser: str, now_s: float) -> RequestedPage | None:
        """Return the last request of a browser, once; None if there is none or it is too old."""
        result = self.take(browser)
        return result if result is not None and now_s < result.until_s else None


_wishes: Final = Wishes()


def remember() -> None:
    browser, path = browser_of(st.context.cookies.get(_COOKIE)), st.session_state.get(_HERE)
    if browser is not None and path:
        query = {name: st.query_params.get_all(name) for name in st.query_params}
        _wishes.keep(browser, RequestedPage(path=path, query=query, until_s=time.monotonic() + KEPT_S))


def come_back(chosen: StreamlitPage, pages: Sequence[StreamlitPage], *, signed_in: bool) -> None:
    """Open the page that was requested before signing in, if there is one, and record the one that is shown.

    Args:
        chosen: The page that is about to run.
        pages: All pages.
        signed_in: Whether somebody is signed in now.
    """
    st.session_state[_HERE] = chosen.url_path
    browser = browser_of(st.context.cookies.get(_COOKIE))
    if not signed_in or chosen.url_path or browser is None:
        return
    requested = _wishes.take_at(browser, time.monotonic())
    target = None if requested is None else next((page for page in pages if page.url_path == requested.path), None)
    if requested is not None and target is not None:
        st.switch_page(target, query_params=dict(requested.query))


def browser_of(cookie: str | None) -> str | None:
    """Return an identifier of a browser from Streamlit's cookie `2|mask|masked token|time`; None for anything else.

    The mask differs at every request, the token under it stays.
    """
    parts = [] if cookie is None else cookie.strip("\"'").split("|")
    if len(parts) != 4 or parts[0] != "2":
        return None
    try:
        mask, masked = bytes.fromhex(parts[1]), bytes.fromhex(parts[2])
    except ValueError:
        return None
    if not mask or len(masked) < MIN_TOKEN_BYTES:
        return None
    return hashlib.sha256(bytes(byte ^ mask[at % len(mask)] for at, byte in enumerate(masked))).hexdigest()
