"""The cluster that a job's sinks write to: which transactions block its readers, and which time-outs it allows."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.plan import decided
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, layout, selectors
from offsetwise.transactions.decisions import Decision

TITLE: Final = decided.TITLE
_CHECKPOINT_PAGE: Final = "pages/explore/checkpoint.py"


def draw(answers: Answers, migration: Offered) -> None:
    """Draw the transactions on the cluster of one job's sinks; nothing if no sink's cluster is configured."""
    subjects = {subject.name: subject for subject, _ in migration.sinks}
    if not subjects:
        return
    blocks.section(TITLE)
    with guard.block("sinks"):
        name = selectors.choice("Sink of", list(subjects), "sink", width=420)
        result = blocks.draw_answer(
            answers, Question.of(Reader.sink_transactions, migration.name, name, ()), decided.OFFER
        )
        if result is None:
            return
        decided.summary(result, recorded=migration.recorded)
        counts = result.value.counts
        st.markdown(" · ".join(f"{decided.verdict(decision)} **{count:,}**" for decision, count in counts.items()))
        if Decision.HANGING in counts:
            st.markdown("Nothing ends those that hang, until a plan of its own aborts them.")
        decided.draw_limits(result.value)
        blocks.lead_on(
            "Each transaction, and why",
            _CHECKPOINT_PAGE,
            {**migration.address(subjects[name]), layout.PART: TITLE},
            icon=":material/contract:",
            next_step=False,
        )
