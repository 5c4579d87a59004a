"""Redraws the page when its theme changes, in Streamlit's menu or with the system's.

The server chooses the colours of charts and tables, and learns of a theme change only at the next rerun: until then
they would have the colours of the previous theme.
"""

from __future__ import annotations

from typing import Final

import streamlit as st

KEY: Final = "theme"
_CSS: Final = "i { background: var(--st-background-color); transition: background-color 1ms }"
_JS: Final = """
export default function ({ parentElement: root, setStateValue }) {
  const paper = root.querySelector('i')
  paper.ontransitionend = () => setStateValue('background', getComputedStyle(paper).backgroundColor)
}
"""
_component = st.components.v2.component("offsetwise_theme", html='<i aria-hidden="true"></i>', css=_CSS, js=_JS)


def watch() -> None:
    _component(key=KEY, default={"background": ""}, on_background_change=_nothing, width="content", height="content")


def _nothing() -> None:
    """Do nothing: a change redraws the page."""
