"""The fields of Draft for what must hold of the old logs before a plan is applied."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console.widgets import terms
from offsetwise.model import CutoverRequirement
from offsetwise.wording import duration

STATES: Final = "require-states"
STILL: Final = "require-still"
_NOTHING: Final = "may still grow"
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    _NOTHING: (),
    "stand still": ("frozen",),
    "stand still and are copied": ("frozen", "copied"),
}
_TIMES_MS: Final = (30_000, 60_000, 300_000, 900_000, 3_600_000)
_USUAL_MS: Final = 60_000


def ask() -> CutoverRequirement | None:
    """Draw the fields, and return the requirement; None for none."""
    chosen = st.selectbox(
        terms.said("Before it is applied, the old logs"),
        list(_CHOICES),
        key=STATES,
        width=260,
        help="`apply` watches the logs of the plan's topics for the stated time, and refuses unless it holds.",
    )
    if not _CHOICES[chosen]:
        return None
    times = sorted({*_TIMES_MS, st.session_state.setdefault(STILL, _USUAL_MS)})
    still_ms = st.selectbox("for", times, key=STILL, format_func=duration, width=120)
    return CutoverRequirement(states=_CHOICES[chosen], still_for_ms=still_ms)


def begin(required: CutoverRequirement | None) -> None:
    last = None if required is None else required.states[-1]
    st.session_state[STATES] = next((name for name, states in _CHOICES.items() if last in states[-1:]), _NOTHING)
    if required is not None:
        st.session_state[STILL] = required.still_for_ms
