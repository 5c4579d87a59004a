"""What the board answered, in words."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from offsetwise.console import blocks
from offsetwise.console.escaping import markdown
from offsetwise.console.reviewing import sentences, versions
from offsetwise.console.reviewing.acting import Told
from offsetwise.plan.drift import Drift
from offsetwise.review.answers import (
    AlreadyDecided,
    Approved,
    Done,
    NotAllowed,
    Rejected,
    Stale,
    Submitted,
)
from offsetwise.store.review_rows import State
from offsetwise.wording import many

_NAMED = 10
"""Changes on the clusters that are told one by one."""


def draw(told: Told) -> None:
    """Draw the last answer."""
    kept = "  \nYour remark is kept in the discussion." if told.remarked else ""
    match told.answer:
        case Approved() as answer:
            _approved(answer, kept)
        case Rejected():
            said = f"**Rejected.** Your no is signed and kept; its author can revise the plan.{kept}"
            st.info(said, icon=":material/block:")
        case Submitted() as answer:
            until = sentences.at(answer.expires_at_ms)
            st.success(f"**Submitted.** It waits for decisions until {until} UTC.", icon=":material/send:")
        case Done() as answer:
            said = "The plan is withdrawn." if answer.state is State.WITHDRAWN else "Your remark is kept."
            st.success(said, icon=":material/check:")
        case Stale() as answer:
            _stale(answer, kept)
        case AlreadyDecided() as answer:
            st.info(
                f"**Already decided.** {markdown(answer.told)} Nothing was changed.{kept}", icon=":material/how_to_reg:"
            )
        case NotAllowed() as answer:
            st.warning(
                f"**Not allowed**  \n{markdown(answer.why)}  \n**What to do:** {markdown(answer.fix)}{kept}",
                icon=":material/lock:",
            )
        case Exception() as error:
            blocks.failed(error, key="review-told", kept="What you see below was read after that.")


def drifts(found: tuple[Drift, ...]) -> str:
    """Say what changed on the clusters, a line each. Markdown."""
    lines = [f"- {markdown(each.told)}" for each in found[:_NAMED]]
    more = len(found) - _NAMED
    return "\n".join([*lines, *([f"- and {many(more, 'more thing')}"] if more > 0 else [])])


def _approved(answer: Approved, kept: str) -> None:
    votes = f"{answer.counted} of {many(answer.required, 'approval')}"
    if not answer.complete:
        st.success(
            f"**Your approval is signed and kept.** {votes}: another person has to approve too.{kept}",
            icon=":material/approval:",
        )
        return
    st.success(
        f"**Approved: version `{answer.digest[:8]}…`.** {votes}. Nothing was written: the plan is exported, and "
        f"applied on the command line.{kept}",
        icon=":material/approval:",
    )
    st.page_link(
        Path("pages/plan/export.py"),
        label="Export it",
        icon=":material/download:",
        query_params={"plan": str(answer.plan)},
    )


def _stale(answer: Stale, kept: str) -> None:
    if answer.difference is None:
        st.warning(
            "**Stale: the clusters changed since the plan was drafted.** Nothing was decided."
            f"{kept}\n\n{drifts(answer.drifts)}",
            icon=":material/history:",
        )
        return
    st.warning(
        f"**Stale: what you were shown is not the newest version.** Nothing was decided. The newest is "
        f"`{answer.digest[:8]}…`, and this is what it changes.{kept}",
        icon=":material/history:",
    )
    with st.container(border=True):
        versions.difference(answer.difference, key="stale")
