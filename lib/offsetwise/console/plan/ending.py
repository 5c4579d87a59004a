"""The transactions of a job's sinks that a plan ends, on the Review screen."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.approval.demo import is_of_sample
from offsetwise.console.widgets import blocks, table
from offsetwise.console.widgets.clock import until
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.console.widgets.times import Time
from offsetwise.model import OpenPartition, Plan, PlannedTransaction, Settlement, epoch_ms
from offsetwise.wording import many
from offsetwise.wording.irreversible import irreversible
from offsetwise.wording.verdicts import Tone, Verdict

_NAMED: Final = 20


def _records(transaction: PlannedTransaction) -> str:
    counts = [at.records for at in transaction.partitions if at.start_offset is not None]
    known = [count for count in counts if count is not None]
    return f"{sum(known):,}" if len(known) == len(counts) else "?"


_COLUMNS: Final[Columns[PlannedTransaction]] = (
    Column("transactional id", lambda transaction: transaction.transactional_id or "none: it hangs"),
    Column("decision", lambda transaction: _verdict(transaction.decision), 110),
    Column("records", _records, help="On all its partitions; ? where they were not counted."),
    Column("partitions", lambda transaction: "; ".join(map(_described, transaction.partitions))),
    Column(
        "until",
        lambda transaction: "–" if transaction.deadline is None else Time(epoch_ms(transaction.deadline)),
        help="Its time-out.",
    ),
    Column("producer id", lambda transaction: transaction.producer_id),
    Column("epoch", lambda transaction: transaction.epoch),
    Column(
        "EndTxn",
        lambda transaction: "markers" if transaction.version is None else f"v{transaction.version}",
        help="The request.",
    ),
    Column(
        "decided by",
        lambda transaction: transaction.by or "the checkpoint",
        when=lambda rows: any(row.by for row in rows),
    ),
    Column("why", lambda transaction: transaction.reason),
)


def draw(plan: Plan, *, over: bool = False) -> None:
    """Draw every transaction that a plan ends; nothing if it ends none.

    Args:
        plan: The plan.
        over: Whether it was applied, or never will be: no clock is drawn for the first commit that would be too late.
    """
    message = irreversible(plan)
    if message is None:
        return
    st.subheader(f"What is ended :gray[{many(len(plan.transactions), 'transaction')}]", anchor=False)
    blocks.box(Tone.CAREFUL, sentence(message))
    said = f"{many(len(plan.transactions), 'transaction')} with decision, partitions and records."
    table.paged(_COLUMNS, plan.transactions, "ended-rows", alt=said)
    named = [transaction for transaction in plan.transactions if transaction.by is not None]
    if named:
        lines = (
            f"- **{markdown(transaction.name)}**: {sentence(transaction.reason)} ({markdown(transaction.by or '')})"
            for transaction in named
        )
        st.markdown("\n".join(list(lines)[:_NAMED]))
    commits = (transaction for transaction in plan.transactions if transaction.decision is Settlement.COMMIT)
    deadlines = [commit.deadline for commit in commits if commit.deadline is not None]
    if deadlines and not over:
        recorded_ms = epoch_ms(plan.drafted_at) if is_of_sample(plan) else None
        until(epoch_ms(min(deadlines)), recorded_ms=recorded_ms)


def _verdict(decision: Settlement) -> Verdict:
    return Verdict(icon="▲", word=decision.lower(), tone=Tone.CAREFUL)


def _described(at: OpenPartition) -> str:
    return f"{at.topic_partition} " + ("no record" if at.start_offset is None else f"from {at.start_offset:,}")
