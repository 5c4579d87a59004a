"""The decision bar of Draft and Review: state, open checks, digest and the next step, always on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import streamlit as st

from offsetwise.console.widgets import blocks
from offsetwise.console.widgets.escaping import markdown
from offsetwise.model import GateCheck, Outcome
from offsetwise.wording import many
from offsetwise.wording.verdicts import Tone, Verdict

KEY: Final = "decision-bar"
_OPEN: Final = "plan-to-open"
_NEXT: Final = "page-to-open"
_STYLE: Final = """<style>
[data-testid="stBottomBlockContainer"] { padding: 0.6rem 2.5rem 0.75rem; max-width: none }
[data-testid="stBottom"] > div { border-top: 1px solid rgba(128, 128, 128, 0.35) }
.st-key-decision-bar [data-testid="stAlertContainer"] { padding: 0.5rem 0.75rem }
.st-key-decision-bar { gap: 0.5rem }
@media (max-width: 640px) {
    [data-testid="stBottomBlockContainer"] { padding: 0.5rem 1rem 0.75rem }
    .st-key-decision-bar [data-testid="stLayoutWrapper"] { gap: 0.5rem }
}
</style>"""
"""Without it, the bar has the margins of Streamlit's chat input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    name: str
    """Such as "Plan 1 · orders"."""
    state: Verdict
    checks: Sequence[GateCheck]
    digest: str | None
    """None if there is no plan yet."""
    more: str = ""
    """Additional information, as a clause. Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    tone: Tone
    text: str
    """Markdown, names escaped."""


@contextmanager
def drawn(facts: PlanFacts, message: Message | None, live: Callable[[], None] | None = None) -> Iterator[None]:
    """Draw the bar; the body of the context draws its buttons at the right end.

    Args:
        facts: The plan's facts.
        message: Result of the last button; None for no message.
        live: Draws notices between two runs of the page.
    """
    st.html(_STYLE)
    with st.bottom, st.container(key=KEY):
        if message is not None:
            blocks.box(message.tone, message.text)
        if live is not None:
            live()
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(in_words(facts), width="content")
            with st.container(horizontal=True, vertical_alignment="center", width="content"):
                yield


def in_words(facts: PlanFacts) -> str:
    """Describe a plan for the bar, as Markdown."""
    parts = [f"**{markdown(facts.name)}**", f":{facts.state.tone.colour}-badge[{facts.state}]", _open(facts.checks)]
    if facts.digest is not None:
        parts.append(f":gray-badge[:material/fingerprint: {facts.digest[:8]}]")
    if facts.more:
        parts.append(f":gray[{facts.more}]")
    return " ".join(parts)


def _open(checks: Sequence[GateCheck]) -> str:
    gate_checks = [check for check in checks if check.outcome is not Outcome.PASSED]
    if not gate_checks:
        return ":green-badge[✓ no open check]"
    tone = Tone.WRONG if any(check.outcome is Outcome.FAILED for check in gate_checks) else Tone.CAREFUL
    return f":{tone.colour}-badge[{tone.icon} {many(len(gate_checks), 'open check')}]"


def go_on(label: str, page: str, plan: int | str, *, icon: str, key: str) -> None:
    """Draw the next step as the primary button: it opens the plan on another page.

    The number goes through the session: Streamlit refuses to switch pages with a query parameter that a widget is bound
    to.
    """
    if st.button(label, type="primary", icon=icon, key=key):
        open_on(page, plan)


def open_on(page: str, plan: int | str) -> None:
    st.session_state[_OPEN] = str(plan)
    _switch(page)


def open_next(page: str, plan: int | str) -> None:
    """Open a plan on another page at the next run; see `follow`. For a button's callback."""
    st.session_state[_OPEN] = str(plan)
    st.session_state[_NEXT] = page


def open_here(name: str) -> None:
    st.session_state[_OPEN] = name


def follow() -> None:
    page: str | None = st.session_state.pop(_NEXT, None)
    if page is not None:
        _switch(page)


def to_open() -> str | None:
    """Return the number of the plan that the previous page opened here, once."""
    result: str | None = st.session_state.pop(_OPEN, None)
    return result


def _switch(page: str) -> None:
    # Without parameters, Streamlit would clear the URL's query, and refuses that while widgets are bound to it.
    st.switch_page(Path(page), query_params={})
