"""The transactions of a job's Kafka sinks on the Checkpoint screen, from the checkpoint and from their cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from offsetwise.console.answers import Answers, Question
from offsetwise.console.plan import decided, ending_transactions
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.server import guard
from offsetwise.console.widgets import blocks, table
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Checkpoint, Subject, SubjectKind, Transaction
from offsetwise.wording import many

DRAFT_PAGE: Final = "pages/plan/draft.py"


def draw(answers: Answers, migration: Offered, name: str, shown: Checkpoint, *, operators: Mapping[str, str]) -> None:
    """Draw the checkpoint's transactions, and what to do with each once the sink's cluster was read.

    Args:
        answers: The answers in memory.
        migration: The migration.
        name: The checkpoint's name.
        shown: The checkpoint.
        operators: Display names of the job's operators, by id.
    """
    blocks.section(decided.TITLE)
    with guard.block("transactions"):
        transactions = shown.details.transactions
        if not transactions and not shown.details.transactional_id_prefixes:
            blocks.empty("No transaction is open in it.", "Only an exactly-once Kafka sink keeps transactions here.")
            return
        _held_open(shown, operators)
        result = blocks.draw_answer(
            answers, Question.of(Reader.sink_transactions, migration.name, name, ()), decided.OFFER
        )
        if result is not None:
            decided.draw(result, recorded=migration.recorded)
            subject = Subject(kind=SubjectKind.CHECKPOINT, name=name)
            if result.value.open and subject in dict(migration.sinks):
                query = {**migration.address(subject), **ending_transactions.ADDRESS}
                blocks.lead_on("Draft a plan that ends them", DRAFT_PAGE, query, icon=":material/edit_note:")


@st.fragment
def _held_open(shown: Checkpoint, operators: Mapping[str, str]) -> None:
    said = f"{many(len(shown.details.transactions), 'transaction')} held open by the job's Kafka sinks."
    if shown.details.transactions:
        table.paged(_columns(operators), shown.details.transactions, "transaction-rows", alt=said)
    else:
        st.markdown(said)
    st.markdown(
        ":gray[They belong to the cluster that the sink writes to, and can be committed there only, before its "
        "`transaction.timeout.ms` runs out.]"
    )


def _columns(operators: Mapping[str, str]) -> Columns[Transaction]:
    return (
        Column("transactional id", lambda transaction: transaction.transactional_id),
        Column("state", lambda transaction: transaction.state),
        Column("producer id", lambda transaction: transaction.producer_id),
        Column("epoch", lambda transaction: transaction.epoch),
        Column("of checkpoint", lambda transaction: transaction.checkpoint_id),
        Column("schema", lambda transaction: transaction.schema or "?"),
        Column("strategy", lambda transaction: transaction.strategy or "?"),
        Column("operator", lambda transaction: operators.get(transaction.operator, transaction.operator)),
    )
