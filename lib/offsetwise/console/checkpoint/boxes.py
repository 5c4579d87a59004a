"""A sentence in a box that tells how serious it is: by colour, by icon, and in words."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.wording.verdicts import Tone

_BOX: Final = {
    Tone.WRONG: (st.error, ":material/error:"),
    Tone.CAREFUL: (st.warning, ":material/warning:"),
    Tone.UNKNOWN: (st.info, ":material/info:"),
    Tone.RIGHT: (st.success, ":material/check_circle:"),
}


def draw(tone: Tone, text: str) -> None:
    """Draw one. Markdown, names escaped."""
    box, icon = _BOX[tone]
    box(text, icon=icon)
