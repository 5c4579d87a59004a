"""Styles of the page around what Streamlit draws: the room above the title, the context bar, a phone's width."""

from __future__ import annotations

from typing import Final

CSS: Final = """
[data-testid="stHeader"] { background: transparent }
[data-testid="stHeader"], [data-testid="stHeader"] * { pointer-events: none }
[data-testid="stHeader"] :is(button, a, [role="button"]), [data-testid="stHeader"] :is(button, a) * {
    pointer-events: auto
}
[data-testid="stMainBlockContainer"] { padding: 0.75rem 2.5rem 3rem }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.75rem }
.st-key-top-line { min-height: 2rem; padding-right: 3rem; gap: 0 1rem }
.st-key-top-line button { min-height: 2rem }
.st-key-top-line button[kind="tertiary"] { text-decoration: underline; text-underline-offset: 0.2em }
.stApp:has([data-testid="stExpandSidebarButton"]) .st-key-top-line { padding-left: 6rem }
@media (max-width: 640px) {
    [data-testid="stMainBlockContainer"] { padding: 3.25rem 1rem 3rem }
    .stApp:has([data-testid="stExpandSidebarButton"]) .st-key-top-line { padding: 0 }
}
"""
"""Streamlit leaves 96 pixels of nothing above every title, and 80 on either side."""
