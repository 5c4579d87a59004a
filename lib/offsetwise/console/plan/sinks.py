"""Transactions of a job's sinks in a plan: read on Draft, and which of them the copy marks, on Review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.plan import ending_transactions
from offsetwise.console.plan.work import Frozen
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import blocks, table
from offsetwise.console.widgets.blocks import Offer
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.findings.committed import open_transactions
from offsetwise.model import MarkedTransaction, Plan, Target
from offsetwise.plan.settings import MarkSettings, Recorded
from offsetwise.plan.target import takes
from offsetwise.transactions.decisions import Decision
from offsetwise.transactions.report import SinkTransactions
from offsetwise.wording import many

MARK: Final = "mark-settled"
_OFFER: Final = Offer(
    what="the sink's cluster",
    now="Ask the sink's cluster",
    again="Ask again",
    icon=":material/contract:",
    key="sink-of-draft",
    why="Whether the transactions that the savepoint holds are committed. Nothing is written or created.",
)
_MARKS: Final[Columns[MarkedTransaction]] = (
    Column("transactional id", lambda transaction: transaction.transactional_id),
    Column("producer id", lambda transaction: transaction.producer_id),
    Column("epoch", lambda transaction: transaction.epoch),
    Column("why", lambda transaction: transaction.reason),
)


def ask(
    here: Answers, migration: Offered, frozen: Frozen, targets: Sequence[Target]
) -> tuple[SinkTransactions | None, Recorded]:
    """Draw whether the sink's cluster was read, and whether to mark its settled transactions in the copy.

    Returns:
        The transactions, None if nobody asked; and the plan's settings of marks. Nothing is drawn for a job without
            transactions.
    """
    checkpoint, name = frozen.comparison.checkpoint, frozen.subject.checkpoint
    if name is None or checkpoint is None or not open_transactions(checkpoint.details):
        return None, ()
    result = blocks.draw_answer(here, Question.of(Reader.sink_transactions, migration.name, name, ()), _OFFER)
    able = any(takes(target, MarkSettings) for target in targets)
    marking = st.checkbox(
        "Mark the sink's transactions as committed in the copy",
        key=MARK,
        disabled=result is None or not able,
        help="A restore passes over them, so that it works where the sink writes to another cluster. Each has to be "
        "SETTLED. Ask the sink's cluster first.",
    )
    if result is None:
        return None, ()
    if any(row.decision is Decision.COMMIT for row in result.value.transactions):
        st.markdown("The savepoint holds transactions that are still open: a plan of its own commits them first.")
        st.button("Draft that plan first", icon=":material/contract:", key="settle-first", on_click=_settle_first)
    return result.value, (("mark_settled", "true"),) if marking and able else ()


def _settle_first() -> None:
    st.session_state.update(ending_transactions.ADDRESS)


def marked(plan: Plan) -> None:
    """Draw which transactions the copy marks as committed; nothing if none."""
    if not plan.marks:
        return
    st.subheader("Marked as committed in the copy", anchor=False)
    said = f"{many(len(plan.marks), 'transaction')} of the sink. A restore from the copy does not commit them again."
    st.markdown(said)
    table.paged(_MARKS, plan.marks, "marked-rows", alt=said)
