from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st

from offsetwise.console.widgets import terms
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.model import GateCheck, Outcome, Plan
from offsetwise.plan.checks import checks_of
from offsetwise.plan.drift import Drift
from offsetwise.review.sheet import Sheet
from offsetwise.wording import many, verdicts

FRESH: Final = "fresh"
"""Name of the check that needs a look at the clusters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    drifts: tuple[Drift, ...]
    at: str


def checks(plan: Plan, looked: Looked | None) -> tuple[GateCheck, ...]:
    """Return everything to check about a plan; its freshness comes last.

    Args:
        plan: The plan.
        looked: The last look at the clusters; None if nobody looked since the plan was drafted.
    """
    return (*checks_of(plan), _fresh(looked))


def unlooked() -> GateCheck:
    return _fresh(None)


def _fresh(looked: Looked | None) -> GateCheck:
    if looked is None:
        message = terms.said("Nobody looked at the clusters since it was drafted. Ask for a look.")
        return GateCheck(outcome=Outcome.UNKNOWN, name=FRESH, told=message)
    if looked.drifts:
        message = f"{many(len(looked.drifts), 'thing')} changed, seen {looked.at}."
        return GateCheck(outcome=Outcome.FAILED, name=FRESH, told=message)
    return GateCheck(
        outcome=Outcome.PASSED, name=FRESH, told=f"Nothing that it requires had changed, seen {looked.at}."
    )


@cached(16)
def checked(sheet: Sheet, looked: Looked | None) -> tuple[GateCheck, ...]:
    return checks(sheet.plan, looked)


def in_words(results: Sequence[GateCheck]) -> str:
    lines = []
    for check in results:
        shown = verdicts.GATE[check.outcome]
        message = f": {sentence(check.told)}" if check.told else ""
        lines.append(f"- :{shown.tone.colour}-badge[{shown}] **{markdown(check.name)}**{message}")
    return "\n".join(lines)


def counts(results: Sequence[GateCheck]) -> str:
    outcomes = [check.outcome for check in results]
    return " · ".join(
        f"{outcomes.count(outcome):,} {verdicts.GATE[outcome].word}" for outcome in Outcome if outcome in outcomes
    )


def left_open(results: Sequence[GateCheck], *, requested: str = "") -> None:
    """Draw how many checks have which outcome, and list those that are not met.

    Args:
        results: The checks.
        requested: Name of a check that a person asked for; it is listed even if it is met.
    """
    st.markdown(f"**{counts(results)}**")
    gate_checks = [check for check in results if check.outcome is not Outcome.PASSED or check.name == requested]
    if gate_checks:
        st.markdown(in_words(gate_checks))


def met(results: Sequence[GateCheck], *, requested: str = "") -> None:
    right = [check for check in results if check.outcome is Outcome.PASSED and check.name != requested]
    if right:
        with st.expander(f"{many(len(right), 'check')} met", icon=":material/check:"):
            st.markdown(in_words(right))
