"""The state of the transactions of a job's sinks on their cluster, on the Checkpoint, Clusters and Draft screens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console.answers import CachedAnswer
from offsetwise.console.plan.checklist import in_words
from offsetwise.console.widgets import blocks, table
from offsetwise.console.widgets.blocks import Offer
from offsetwise.console.widgets.clock import until
from offsetwise.console.widgets.escaping import markdown, sentence
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import epoch_ms, time_of
from offsetwise.transactions.decisions import CLOSED, Decision, SinkTransaction
from offsetwise.transactions.report import LogEnds, SinkTransactions
from offsetwise.transactions.upgrade import Upgrade
from offsetwise.wording import clock, duration, many
from offsetwise.wording.verdicts import Tone, Verdict

TITLE: Final = "Transactions of the sink"
OFFER: Final = Offer(
    what="the sink's cluster",
    now="Ask the sink's cluster",
    again="Ask again",
    icon=":material/contract:",
    key="sink-transactions",
    why="The cluster that the sink writes to is looked at twice, two seconds apart. Nothing is written or created.",
)
_REASONS: Final = 8
_DONE: Final = ("✓", Tone.RIGHT)
_TO_DO: Final = ("▲", Tone.CAREFUL)
_NOT_KNOWN: Final = ("?", Tone.UNKNOWN)
_AGAINST: Final = ("!", Tone.WRONG)
_MARKS: Final = (
    dict.fromkeys(CLOSED, _DONE)
    | dict.fromkeys((Decision.COMMIT, Decision.ABORT, Decision.WAIT), _TO_DO)
    | dict.fromkeys((Decision.UNKNOWN, Decision.DENIED), _NOT_KNOWN)
)
_DECIDED: Final[Columns[SinkTransaction]] = (
    Column("transactional id", lambda transaction: transaction.transactional_id or "none"),
    Column("decision", lambda transaction: verdict(transaction.decision), 130),
    Column("held", lambda transaction: transaction.held_state or ("yes" if transaction.held else "no")),
    Column("broker", lambda transaction: transaction.broker_state or "no such id or no answer"),
    Column(
        "left",
        lambda transaction: "–" if transaction.left_ms is None else duration(transaction.left_ms),
        help="Until its time-out.",
    ),
    Column("producer id", lambda transaction: transaction.producer_id),
    Column("epoch", lambda transaction: transaction.epoch),
    Column("why", lambda transaction: transaction.reason),
)
_ENDS: Final[Columns[LogEnds]] = (
    Column("topic", lambda ends: ends.topic),
    table.partition(lambda ends: ends.partition),
    Column("last stable offset", lambda ends: ends.last_stable_offset, help="Where read_committed readers stop."),
    Column("log end", lambda ends: ends.log_end_offset),
)


@st.fragment
def draw(snapshot: CachedAnswer[SinkTransactions], *, recorded: bool) -> None:
    transactions = snapshot.value
    summary(snapshot, recorded=recorded)
    if transactions.open:
        _why(transactions.open)
    for finding in transactions.findings:
        blocks.box(Tone.CAREFUL, f"**{finding.code}** {sentence(finding.message)} {sentence(finding.remedy)}")
    at = f"when the sample was recorded, {clock(epoch_ms(transactions.taken_at))}"
    when = at if recorded else f"at {clock(snapshot.at)}"
    said = f"{many(len(transactions.transactions), 'transaction')}, as looked at {when}."
    st.markdown(f":gray[{said}]")
    if transactions.transactions:
        table.paged(
            _DECIDED,
            sorted(transactions.transactions, key=lambda transaction: transaction.decision in CLOSED),
            "decided-rows",
            alt=said,
        )
    draw_limits(transactions)


def summary(snapshot: CachedAnswer[SinkTransactions], *, recorded: bool) -> None:
    """Draw how many are open, when the first times out, and what could not be read.

    Args:
        snapshot: The decisions on the transactions.
        recorded: Whether it is of the sample, whose clock stands still at the time of the recording.
    """
    transactions = snapshot.value
    open_ = transactions.open
    if open_:
        blocks.box(
            Tone.WRONG if any(transaction.decision not in _MARKS for transaction in open_) else Tone.CAREFUL,
            f"**{many(len(open_), 'transaction')} to be ended or looked into** on cluster id "
            f"{markdown(transactions.cluster_id or 'unknown')}.",
        )
        remaining = [transaction.left_ms for transaction in open_ if transaction.left_ms is not None]
        if remaining:
            looked_ms = epoch_ms(transactions.taken_at if recorded else time_of(snapshot.at))
            until(looked_ms + min(remaining), recorded_ms=looked_ms if recorded else None)
    elif transactions.complete:
        blocks.box(Tone.RIGHT, "**Nothing is open.** What the checkpoint holds is settled.")
    for problem in transactions.problems:
        blocks.box(Tone.UNKNOWN, sentence(problem))


def draw_limits(transactions: SinkTransactions) -> None:
    if transactions.partitions:
        held_back = sum(
            None not in (partition.last_stable_offset, partition.log_end_offset)
            and partition.last_stable_offset != partition.log_end_offset
            for partition in transactions.partitions
        )
        st.markdown(f"Readers of committed records are held back in {many(held_back, 'partition')} of the sink.")
        table.show(_ENDS, transactions.partitions, alt="Where the logs of the sink end.", missing="?")
    if transactions.upgrade is not None:
        _upgrade(transactions.upgrade)


def _upgrade(upgrade: Upgrade) -> None:
    with st.expander("Two-phase commit (FLIP-319): what blocks it, and what to do until then", icon=":material/route:"):
        st.markdown(in_words(upgrade.steps))
        st.markdown("**Until then**")
        st.markdown("\n".join(f"- {sentence(statement)}" for statement in (*upgrade.until_then, upgrade.false_alarm)))


def _why(rows: Sequence[SinkTransaction]) -> None:
    """Show each reason once, with an example: table cells show only the beginning of a sentence."""
    first = {row.reason: row for row in reversed(rows)}
    shown = [row for row in rows if first[row.reason] is row][:_REASONS]
    st.markdown(
        "\n".join(
            f"- **{markdown(transaction.transactional_id or 'no id')}**: {sentence(transaction.reason)}"
            for transaction in shown
        )
    )


def verdict(decision: Decision) -> Verdict:
    icon, tone = _MARKS.get(decision, _AGAINST)
    return Verdict(icon=icon, word=decision.replace("_", " ").lower(), tone=tone)
