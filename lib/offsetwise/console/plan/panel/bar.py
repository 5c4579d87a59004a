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
"""The bar takes the room that a chat would leave around its input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    name: str
    """Such as "Plan 1 · orders"."""
    state: Verdict
    checks: Sequence[GateCheck]
    digest: str | None
    """None where there is no plan yet."""
    more: str = ""
    """What else is worth knowing, as a clause. Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    tone: Tone
    text: str
    """Markdown, names escaped."""


@contextmanager
def drawn(facts: PlanFacts, message: Message | None, live: Callable[[], None] | None = None) -> Iterator[None]:
    """Draw the bar; what is drawn inside, its buttons, stands at its right end.

    Args:
        facts: What is said of the plan.
        message: What came of the button that was pressed last; None where nothing has to be said.
        live: Draws what has to be said between two runs of the page.
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
    """Return what the bar says of a plan, as Markdown."""
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

    The number goes through the session: Streamlit refuses to switch pages with what a widget has in the address.
    """
    if st.button(label, type="primary", icon=icon, key=key):
        open_on(page, plan)


def open_on(page: str, plan: int | str) -> None:
    st.session_state[_OPEN] = str(plan)
    _switch(page)


def open_next(page: str, plan: int | str) -> None:
    """Open a plan on another page as soon as this one is drawn again; see `follow`. For a button's callback."""
    st.session_state[_OPEN] = str(plan)
    st.session_state[_NEXT] = page


def open_here(name: str) -> None:
    st.session_state[_OPEN] = name


def follow() -> None:
    page: str | None = st.session_state.pop(_NEXT, None)
    if page is not None:
        _switch(page)


def to_open() -> str | None:
    """Return the number of the plan that the page before opened here, once."""
    result: str | None = st.session_state.pop(_OPEN, None)
    return result


def _switch(page: str) -> None:
    # Given no parameters at all, Streamlit would clear the address, and refuses that while widgets have a part in it.
    st.switch_page(Path(page), query_params={})
