"""A whole topic counted on both clusters, from the Compare screen: which records are missing, doubled or foreign."""

from __future__ import annotations

from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.console.answers import Answers, CachedAnswer, Question
from offsetwise.console.reader import Offered, Reader
from offsetwise.console.widgets import blocks, downloads, selectors, table
from offsetwise.console.widgets.blocks import draw_answer
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.escaping import markdown, plain
from offsetwise.console.widgets.table import Column, Columns
from offsetwise.model import Cluster, Reconciliation
from offsetwise.model.reconciliation import PartitionReconciliation, RangeDifference
from offsetwise.wording import clock, number
from offsetwise.wording.verdicts import Tone

MAX_RANGES: Final = 250
"""Ranges shown; the downloads have all."""
PARTITIONS: Final[Columns[PartitionReconciliation]] = (
    table.partition(lambda row: row.partition),
    Column("on old", lambda row: row.old_records),
    Column("on new", lambda row: row.new_records),
    Column("on both", lambda row: row.both),
    Column("missing on new", lambda row: row.missing),
    Column("doubled on new", lambda row: row.duplicated),
    Column("only on new", lambda row: row.foreign),
)


def draw(answers: Answers, migration: Offered, topics: tuple[str, ...]) -> None:
    st.markdown(
        ":gray[A position is proven on small windows of records. Counting a whole topic reads every record of it on "
        "both clusters, on Spark: it takes longer, and finds what is missing far from any position.]"
    )
    topic = selectors.choice("Topic to count", topics, "count", width=420)
    question = Question.of(Reader.reconciliation, migration.name, topic)
    offer = blocks.Offer(
        what=f"every record of {markdown(topic)}",
        why="Counting reads the whole topic on both clusters. Nothing is written. It can be stopped.",
        now="Count every record",
        again="Count again",
        icon=":material/functions:",
        key="reconcile",
        stop="Stop counting",
    )
    answer = draw_answer(answers, question, offer)
    if answer is not None:
        _counted(answer, "when the sample was recorded" if migration.recorded else f"at {clock(answer.at)}")


def _counted(answer: CachedAnswer[Reconciliation], when: str) -> None:
    reconciliation = answer.value
    blocks.box(Tone.RIGHT if reconciliation.agrees else Tone.CAREFUL, markdown(reconciliation.summary()))
    table.draw(_partitions(answer), alt=f"Records of {plain(reconciliation.old_topic)} on both clusters, by partition.")
    if not reconciliation.agrees:
        amount = len(reconciliation.differences)
        more = "" if amount <= MAX_RANGES else f" The first {MAX_RANGES} of {number(amount)}."
        st.markdown(f"**Where they differ** · :gray[offsets of the cluster that holds the records.{more}]")
        table.draw(_ranges(answer), alt="Ranges of offsets whose records differ.")
    untimed = [row.partition for row in reconciliation.partitions if not row.timed]
    notes = []
    if untimed:
        some = "some partitions" if len(untimed) < len(reconciliation.partitions) else "this topic"
        notes.append(f"Timestamps do not count in {some}: one of the clusters sets its own.")
    if reconciliation.ignored_headers:
        notes.append(
            "Headers that only the new cluster has do not count: "
            f"{markdown(', '.join(reconciliation.ignored_headers))}."
        )
    counted = f"Counted as {markdown(reconciliation.isolation_level.value)} {markdown(when)}."
    with downloads.to_the_right_of(f":gray[{' '.join([counted, *notes])}]"):
        downloads.button(
            "CSV",
            "reconciliation.csv",
            lambda: downloads.csv(table.frame(ranges(reconciliation), reconciliation.differences, file=True)),
            key="download-reconciliation-CSV",
            says="Every range that differs, as CSV.",
        )
        downloads.button(
            "JSON",
            "reconciliation.json",
            lambda: files.dump(reconciliation).encode(),
            key="download-reconciliation-JSON",
            says="Everything counted, as JSON.",
        )


@cached(16)
def _partitions(answer: CachedAnswer[Reconciliation]) -> table.Prepared:
    return table.prepared(PARTITIONS, answer.value.partitions)


@cached(16)
def _ranges(answer: CachedAnswer[Reconciliation]) -> table.Prepared:
    return table.prepared(ranges(answer.value), answer.value.differences[:MAX_RANGES])


def ranges(reconciliation: Reconciliation) -> Columns[RangeDifference]:
    return (
        Column(
            "topic", lambda row: reconciliation.old_topic if row.cluster is Cluster.OLD else reconciliation.new_topic
        ),
        table.partition(lambda row: row.partition),
        Column("offsets of", lambda row: str(row.cluster)),
        Column("from", lambda row: row.start),
        Column("to", lambda row: row.end),
        Column("missing on new", lambda row: row.missing),
        Column("doubled on new", lambda row: row.duplicated),
        Column("only on new", lambda row: row.foreign),
    )
