"""The reasons for which a reviewer approves although checks are not met, typed next to those checks."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from offsetwise.console.widgets.escaping import markdown
from offsetwise.review.sheet import Sheet
from offsetwise.store.review_rows import DecisionRow


def draw(plan: int | str, not_met: Sequence[str]) -> None:
    if not_met:
        st.markdown(
            ":gray[To approve, write why the plan may be applied although a check is not met. The reasons stand in the "
            "timeline and in Audit. To reject, leave them empty.]"
        )
    for name in not_met:
        st.text_input(
            f"Approve in spite of: {markdown(name)}",
            key=_key(plan, name),
            placeholder="Required to approve",
            autocomplete="off",
        )


def typed(plan: int | str) -> dict[str, str]:
    begin = _key(plan, "")
    return {
        str(key).removeprefix(begin): str(value)
        for key, value in st.session_state.items()
        if str(key).startswith(begin)
    }


def in_words(sheet: Sheet, decision: DecisionRow) -> str:
    """List the checks that a decision overrides, one line each; empty if there are none."""
    own = (decision.by.issuer, decision.by.subject, decision.digest)
    checks = (
        overridden
        for overridden in sheet.overridden
        if (overridden.issuer, overridden.subject, overridden.digest) == own
    )
    return "\n".join(f"In spite of {line}" for overridden in checks for line in overridden.lines)


def _key(plan: int | str, name: str) -> str:
    return f"in-spite-of-{plan}-{name}"
