"""Styles of the page around Streamlit's elements: the room above the title, the context bar, a phone's width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from offsetwise.console.widgets import terms

CSS: Final = """
@media (min-width: 641px) {
    [data-testid="stHeader"] { background: transparent }
}
[data-testid="stHeader"], [data-testid="stHeader"] * { pointer-events: none }
[data-testid="stHeader"] :is(button, a, [role="button"]), [data-testid="stHeader"] :is(button, a) * {
    pointer-events: auto
}
[data-testid="stStatusWidget"] button { display: none }
[data-testid="stMainBlockContainer"] { padding: 0.75rem 2.5rem 3rem }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.75rem }
.st-key-top-line { min-height: 2rem; padding-right: 3rem; gap: 0 1rem }
.st-key-top-line button { min-height: 2rem }
.st-key-top-line .st-key-theme { position: absolute }
.st-key-top-line button[kind="tertiary"] p { text-decoration: underline; text-underline-offset: 0.2em }
.stApp:has([data-testid="stExpandSidebarButton"]) .st-key-top-line { padding-left: 6rem }
[data-testid="stMetric"] > div { padding: 0.375rem 0.875rem }
[class*="st-key-card-"] [data-testid="stMetric"] > div { padding: 0 0 0.25rem }
[data-testid="stMetricValue"] { font-size: 1.5rem; line-height: 1.3 }
[data-testid="stMetricLabel"] p { font-size: 0.875rem }
[data-testid="stTabs"] [role="tab"][aria-selected="true"] { color: inherit !important }
[data-testid="stVerticalBlock"]:has(> [data-testid="stElementContainer"] .whole) { container-type: inline-size }
[data-testid="stElementContainer"]:has(.whole) { display: none }
[data-testid="stMarkdownContainer"] td:first-child { min-width: 6rem }
[data-testid="stMarkdownContainer"] code { display: inline-block; max-width: 100% }
[data-testid="stCode"] .token { color: inherit !important; font-style: inherit !important }
[data-testid="stCode"] .token.parameter { white-space: nowrap }
[data-testid="stDataFrame"] .dvn-scroller { scrollbar-color: rgba(128, 128, 128, 0.75) transparent }
@media (max-width: 1200px) {
    [class*="st-key-beside-"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] {
        flex-direction: column
    }
    [class*="st-key-beside-"] > [data-testid="stLayoutWrapper"] > * > [data-testid="stColumn"] { width: 100% }
}
@media (max-width: 640px) {
    [data-testid="stMainBlockContainer"] { padding: 4.25rem 1rem 3rem }
    [data-testid="stLayoutWrapper"]:has(> :is(.st-key-own-row, [class*="st-key-card-"])) { flex: 1 1 100% }
    [class*="st-key-card-"] { width: 100% }
    .stApp:has([data-testid="stExpandSidebarButton"]) .st-key-top-line { padding: 0 }
}
"""
"""Streamlit leaves 96 empty pixels above every title, and 80 on either side. Its own Stop ends the drawing of a page,
not a reading: the page's button does that. Its colour of an open tab has too little contrast in the dark theme. It
shows a table's horizontal scroll bar only while the mouse is over it, so that nobody notices further columns.
Browsers break a line of code between the hyphens of an option."""

PART: Final = "part"
"""URL parameter of a tab."""
ROW: Final = "own-row"
"""Key prefix of elements that take a whole row on a phone: next to a control, sentences would be a few words wide."""


def two_columns(key: str, *, main: int = 11, right: int = 9) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Lay out two columns, such as a table and the details of its selected row; stacked in a narrow window.

    Args:
        key: Key for the page's styles; distinguishes those of one page.
        main: Width of the first column, in shares of both.
        right: Width of the second.
    """
    with st.container(key=f"beside-{key}"):
        first, second = st.columns([main, right], gap="medium")
    return first, second


def tabs(parts: Mapping[str, Callable[[], None]]) -> None:
    """Draw the parts of a long page in tabs, a single one without. The URL parameter `PART` may name the open one.

    Args:
        parts: The function that draws each part, by the title of its tab.
    """
    if len(parts) == 1:
        # If it were a tab alone, it would stay open when others are added before it.
        next(iter(parts.values()))()
        return
    requested = st.query_params.get(PART)
    shown = st.tabs(
        [terms.said(title) for title in parts],
        default=terms.said(requested) if requested is not None and requested in parts else None,
    )
    for tab, draw in zip(shown, parts.values(), strict=True):
        with tab:
            draw()
