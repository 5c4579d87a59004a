"""A question's state drawn without waiting for it: what one cluster says is shown while the other is silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from offsetwise.console import blocks
from offsetwise.console.desk import Answer, Desk, Held, Question
from offsetwise.console.wording import markdown

_POLL_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """How the screen offers to read something."""

    now: str
    """On the button while nothing was read."""
    again: str
    icon: str
    key: str
    at_once: bool = False
    """Read when the page opens. For what asks no cluster."""


def asked(desk: Desk, question: Question[Answer], offer: Offer) -> Held[Answer] | None:
    """Draw whether the answer was read, is being read, or failed, and give the last one there is."""
    held = desk.held(question)
    if desk.recorded(question):
        return held
    reading = desk.reading(question)
    if reading is None and held is None and offer.at_once:
        reading = desk.read(question)
    if reading is not None and not reading.outcome.done():
        st.fragment(_steps, run_every=_POLL_S)(desk, question)
        return held
    error = None if reading is None else reading.error
    if isinstance(error, Exception):
        kept = f"What was read at {held.at:%Y-%m-%d %H:%M:%S} UTC is still shown." if held else ""
        blocks.failed(error, retry=lambda: _read(desk, question), key=offer.key, kept=kept)
    elif held is None:
        st.button(offer.now, icon=offer.icon, key=f"{offer.key}-now", on_click=_read, args=(desk, question))
    else:
        st.button(
            offer.again, icon=":material/refresh:", key=f"{offer.key}-again", on_click=_read, args=(desk, question)
        )
    return held


def busy(desk: Desk, question: Question[Any]) -> bool:
    """Say whether the question is being answered now."""
    reading = desk.reading(question)
    return reading is not None and not reading.outcome.done()


def _read(desk: Desk, question: Question[Any]) -> None:
    desk.read(question)


def _steps(desk: Desk, question: Question[Any]) -> None:
    reading = desk.reading(question)
    if reading is None or reading.outcome.done():
        st.rerun()
    st.markdown(":material/hourglass_top: **Reading …**")
    for step, (done, total) in list(reading.steps.items()):
        finished = total > 0 and done >= total
        icon = ":material/check:" if finished else ":material/more_horiz:"
        amount = f" · {done:,} of {total:,}" if total > 1 else ""
        st.markdown(f"{icon} {markdown(step)}{amount}")
