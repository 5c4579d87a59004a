"""A question's state drawn without waiting for it: the rest of the page goes on answering.

For what takes long beside something that is worth looking at: the other cluster, or a comparison while a whole topic is
counted. Where the answer is all there is to see, or is there at once, `blocks.live` waits in place instead.
"""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from offsetwise.console import blocks
from offsetwise.console.desk import Answer, Desk, Held, Question

_POLL_S: Final = 0.5


def asked(desk: Desk, question: Question[Answer], offer: blocks.Offer) -> Held[Answer] | None:
    """Draw whether the answer was read, is being read, or failed, and give the last one there is.

    What is drawn above it takes what is given here: an answer may come while the page is being drawn, and nothing
    would draw it again.
    """
    reading = desk.reading(question)
    held = desk.held(question)
    if desk.recorded(question):
        return held
    if reading is None and held is None and offer.at_once:
        reading = desk.read(question)
    if reading is not None and not reading.outcome.done():
        st.fragment(_steps, run_every=_POLL_S)(desk, question, offer)
        return held
    error = None if reading is None else reading.error
    held = held or desk.held(question)  # a small reading ends before anybody looks
    # In one place, which the steps then take: what one fragment drew before the fragment in it stays on screen.
    with st.empty().container():
        blocks.ended(desk, question, offer, held, error)
    return held


def busy(desk: Desk, question: Question[Any]) -> bool:
    """Say whether the question is being answered now."""
    reading = desk.reading(question)
    return reading is not None and not reading.outcome.done()


def _steps(desk: Desk, question: Question[Any], offer: blocks.Offer) -> None:
    """Show how far the reading is, again and again.

    Waiting in a loop would not do: Streamlit lets no click inside a fragment interrupt what runs.
    """
    reading = desk.reading(question)
    if reading is None or reading.outcome.done():
        st.rerun()
    blocks.stop_button(desk, question, offer, reading)
    # Not as a context: leaving one would call it complete.
    status = st.status(blocks.under_way(reading, offer.what), expanded=True)
    for step, (done, total) in list(reading.steps.items()):
        blocks.step(status, step, done, total)
