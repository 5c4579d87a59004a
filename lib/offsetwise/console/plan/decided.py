"""What the cluster of a job's sinks says of their transactions, on the Checkpoint, Clusters and Draft screens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from offsetwise.console.answers import Held
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
    Column("transactional id", lambda one: one.transactional_id or "none"),
    Column("decision", lambda one: verdict(one.decision), 130),
    Column("held", lambda one: one.held_state or ("yes" if one.held else "no")),
    Column("broker", lambda one: one.broker_state or "no such id or no answer"),
    Column("left", lambda one: "–" if one.left_ms is None else duration(one.left_ms), help="Until its time-out."),
    Column("producer id", lambda one: one.producer_id),
    Column("epoch", lambda one: one.epoch),
    Column("why", lambda one: one.reason),
)
_ENDS: Final[Columns[LogEnds]] = (
    Column("topic", lambda one: one.topic),
    table.partition(lambda one: one.partition),
    Column("last stable offset", lambda one: one.last_stable_offset, help="Where read_committed readers stop."),
    Column("log end", lambda one: one.log_end_offset),
)


@st.fragment
def draw(found: Held[SinkTransactions], *, recorded: bool) -> None:
    """Draw what is to become of each, and when the first of those that are open runs out; see `summary`."""
    made = found.value
    summary(found, recorded=recorded)
    if made.open:
        _why(made.open)
    for one in made.findings:
        blocks.box(Tone.CAREFUL, f"**{one.code}** {markdown(one.message)} {markdown(one.remedy)}")
    when = f"when the sample was recorded, {made.taken_at}" if recorded else f"at {clock(found.at)}"
    said = f"{many(len(made.transactions), 'transaction')}, as looked at {when}."
    st.markdown(f":gray[{said}]")
    if made.transactions:
        table.paged(
            _DECIDED, sorted(made.transactions, key=lambda one: one.decision in CLOSED), "decided-rows", alt=said
        )
    standing(made)


def summary(found: Held[SinkTransactions], *, recorded: bool) -> None:
    """Draw how many are open, when the first of them runs out, and what could not be asked.

    Args:
        found: What was decided.
        recorded: Whether it is of the sample: its clock stands still, at the time of the recording.
    """
    made = found.value
    open_ = made.open
    if open_:
        blocks.box(
            Tone.WRONG if any(one.decision not in _MARKS for one in open_) else Tone.CAREFUL,
            f"**{many(len(open_), 'transaction')} to be ended or looked into** on cluster id "
            f"{markdown(made.cluster_id or 'unknown')}.",
        )
        left = [one.left_ms for one in open_ if one.left_ms is not None]
        if left:
            looked_ms = epoch_ms(made.taken_at if recorded else time_of(found.at))
            until(looked_ms + min(left), recorded_ms=looked_ms if recorded else None)
    elif made.complete:
        blocks.box(Tone.RIGHT, "**Nothing is open.** What the checkpoint holds is settled.")
    for told in made.problems:
        blocks.box(Tone.UNKNOWN, markdown(told))


def standing(made: SinkTransactions) -> None:
    """Draw where readers of the sink stop, and what its clusters allow."""
    if made.partitions:
        held_back = sum(
            None not in (one.last_stable_offset, one.log_end_offset) and one.last_stable_offset != one.log_end_offset
            for one in made.partitions
        )
        st.markdown(f"Readers of committed records are held back in {many(held_back, 'partition')} of the sink.")
        table.show(_ENDS, made.partitions, alt="Where the logs of the sink end.", missing="?")
    if made.upgrade is not None:
        _upgrade(made.upgrade)


def _upgrade(made: Upgrade) -> None:
    """Show what stands between the job and two-phase commit, and what to do until then."""
    with st.expander("Two-phase commit (FLIP-319): what blocks it, and what to do until then", icon=":material/route:"):
        st.markdown(in_words(made.steps))
        st.markdown("**Until then**")
        st.markdown("\n".join(f"- {sentence(told)}" for told in (*made.until_then, made.false_alarm)))


def _why(rows: Sequence[SinkTransaction]) -> None:
    """Show each reason once, after an example: cells show the beginning of a sentence only."""
    first = {one.reason: one for one in reversed(rows)}
    shown = [one for one in rows if first[one.reason] is one][:_REASONS]
    st.markdown(
        "\n".join(f"- **{markdown(one.transactional_id or 'no id')}**: {markdown(one.reason)}" for one in shown)
    )


def verdict(decision: Decision) -> Verdict:
    """Return a decision as it stands on screen."""
    icon, tone = _MARKS.get(decision, _AGAINST)
    return Verdict(icon=icon, word=decision.replace("_", " ").lower(), tone=tone)
