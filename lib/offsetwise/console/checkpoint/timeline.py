"""Batches over time: where each ended, how many records it read, and how long after the one before it was planned."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise.batches import BatchFact
from offsetwise.console import blocks, choosing, downloads, guard, table
from offsetwise.console.checkpoint import derived
from offsetwise.wording import duration, many, number

_EVERY: Final = "all, added up"
_WIDTHS: Final = {"batch": 64, "state": 110, "planned at (UTC)": 196, "since the one before": 140, "note": 260}


@st.fragment
def draw(held: derived.Reading) -> None:
    """Draw the charts and the table of batches, of all partitions or of those chosen."""
    st.subheader("Batches over time", anchor=False)
    with guard.block("timeline"):
        topics = derived.topics(held)
        if not held.value.checkpoint.batches:
            blocks.empty("No batch is retained.", "A query plans its first batch when it starts.")
            return
        if not topics:
            blocks.empty("No Kafka offsets in the retained batches.", "Their files are shown below as they stand.")
        with st.container(horizontal=True):
            scope = _scope(held, topics)
        facts = derived.batch_facts(held, scope)
        st.markdown(
            ":gray[Solid: committed. Hollow and hatched: planned, not committed. Records are differences of end "
            "offsets: compacted topics and transactions hold fewer.]"
        )
        _charts(held, scope, facts)
        frame = derived.batch_table(held, scope)
        with st.expander("Data", expanded=True):
            table.plain(frame, alt=_ends(facts), widths=_WIDTHS)
        with downloads.beside(f":gray[{many(len(frame), 'retained batch', 'retained batches')}.]"):
            downloads.rows("batches", "batches", lambda: derived.batch_table(held, scope))


def _scope(held: derived.Reading, topics: dict[str, derived.Scope]) -> derived.Scope:
    if not topics:
        return derived.Scope(name=derived.ALL, first=0, count=0)
    topic = topics[choosing.choice("Topic", list(topics), "topic-of-batches")]
    if topic.count < 2 or (topic.first == 0 and len(topics) > 1 and topic is next(iter(topics.values()))):
        return topic
    numbers = {str(one): one for one in derived.partitions(held, topic)}
    chosen = choosing.choice("Partition", [_EVERY, *numbers], "partition-of-batches")
    return topic if chosen == _EVERY else derived.partition(held, topic, numbers[chosen])


def _charts(held: derived.Reading, scope: derived.Scope, facts: tuple[BatchFact, ...]) -> None:
    ends, amounts, times = derived.batch_charts(held, scope, guard.colours())
    if scope.count:
        st.plotly_chart(ends, config=blocks.CHART_OPTIONS, alt=_ends(facts), key="chart-ends", theme=None)
    left, right = st.columns(2)
    with left:
        st.markdown("**Records per batch**")
        st.plotly_chart(amounts, config=blocks.CHART_OPTIONS, alt=_read(facts), key="chart-records", theme=None)
    with right:
        st.markdown("**Time between batches**")
        st.plotly_chart(times, config=blocks.CHART_OPTIONS, alt=_paced(facts), key="chart-times", theme=None)


def _ends(facts: tuple[BatchFact, ...]) -> str:
    planned = sum(not fact.batch.committed for fact in facts)
    ends = [fact.end for fact in facts if fact.end is not None]
    span = f", from {number(ends[0])} to {number(ends[-1])}" if ends else ""
    return f"{many(len(facts), 'batch', 'batches')}, {planned} of them planned and not committed{span}."


def _read(facts: tuple[BatchFact, ...]) -> str:
    known = [fact.read.records for fact in facts if fact.read.at_all]
    if not known:
        return "Records per batch are not known: their beginnings are not retained."
    return f"Between {number(min(known))} and {number(max(known))} records per batch."


def _paced(facts: tuple[BatchFact, ...]) -> str:
    known = [fact.interval_ms for fact in facts if fact.interval_ms is not None]
    if not known:
        return "Time between batches is not known."
    return f"Batches were planned between {duration(min(known))} and {duration(max(known))} after the one before."
