"""A whole topic counted on both clusters, from the Compare screen: what is missing, doubled, or foreign, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import pandas as pd
import streamlit as st

from offsetwise import files
from offsetwise.console import blocks, choosing, downloads, table
from offsetwise.console.asking import asked
from offsetwise.console.desk import Desk, Held, Offered, Reader
from offsetwise.console.escaping import cell, markdown, plain
from offsetwise.model import Cluster, Reconciliation
from offsetwise.progress import Progress
from offsetwise.wording import number

MAX_RANGES: Final = 250
"""Ranges shown; the downloads have all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciliationOf:
    """What do both clusters hold of this topic?"""

    in_sample: ClassVar[bool] = True
    migration: str
    topic: str
    """Its name on the old cluster."""

    def ask(self, reader: Reader, progress: Progress) -> Reconciliation:
        """Count, on Spark."""
        return reader.reconciliation(self.migration, self.topic, progress)


def draw(desk: Desk, migration: Offered, topics: tuple[str, ...]) -> None:
    """Let the person pick a topic and count it."""
    st.markdown(
        ":gray[A position is proven on small windows of records. Counting a whole topic reads every record of it on "
        "both clusters, on Spark: it takes longer, and finds what is missing far from any position.]"
    )
    topic = choosing.choice("Topic to count", topics, "count", width=420)
    question = ReconciliationOf(migration=migration.name, topic=topic)
    offer = blocks.Offer(
        what=f"every record of {markdown(topic)}",
        why="Counting reads the whole topic on both clusters. Nothing is written. It can be stopped.",
        now="Count every record",
        again="Count again",
        icon=":material/functions:",
        key="reconcile",
        stop="Stop counting",
    )
    held = asked(desk, question, offer)
    if held is not None:
        _counted(held, "when the sample was recorded" if migration.recorded else f"at {held.at:%Y-%m-%d %H:%M:%S} UTC")


def _counted(held: Held[Reconciliation], when: str) -> None:
    made = held.value
    box, icon = (st.success, ":material/check_circle:") if made.agrees else (st.warning, ":material/difference:")
    box(markdown(made.summary()), icon=icon)
    partitions, ranges = _tables(held.id, held)
    table.draw(partitions, alt=f"Records of {plain(made.old_topic)} on both clusters, by partition.")
    if not made.agrees:
        amount = len(made.differences)
        more = "" if amount <= MAX_RANGES else f" The first {MAX_RANGES} of {number(amount)}."
        st.markdown(f"**Where they differ** · :gray[offsets of the cluster that holds the records.{more}]")
        table.draw(ranges, alt="Ranges of offsets whose records differ.")
    untimed = [each.partition for each in made.partitions if not each.timed]
    notes = []
    if untimed:
        some = "some partitions" if len(untimed) < len(made.partitions) else "this topic"
        notes.append(f"Timestamps do not count in {some}: one of the clusters sets its own.")
    if made.ignored_headers:
        notes.append(
            f"Headers that only the new cluster has do not count: {markdown(', '.join(made.ignored_headers))}."
        )
    counted = f"Counted as {markdown(made.isolation_level.value)} {markdown(when)}."
    with downloads.beside(f":gray[{' '.join([counted, *notes])}]"):
        downloads.button(
            "CSV",
            "reconciliation.csv",
            lambda: downloads.csv(range_table(made)),
            key="download-reconciliation-CSV",
            says="Every range that differs, as CSV.",
        )
        downloads.button(
            "JSON",
            "reconciliation.json",
            lambda: files.dump(made).encode(),
            key="download-reconciliation-JSON",
            says="Everything counted, as JSON.",
        )


@st.cache_resource(max_entries=16, show_spinner=False)
def _tables(held_id: int, _held: Held[Reconciliation]) -> tuple[table.Prepared, table.Prepared]:  # noqa: ARG001 - the key
    """Give the counts by partition, and the first ranges that differ."""
    made = _held.value
    return table.prepared(partition_table(made)), table.prepared(range_table(made).head(MAX_RANGES))


def partition_table(made: Reconciliation) -> pd.DataFrame:
    """Give the counts by partition; one row each, in log order."""
    columns = {
        "p": "partition",
        "on old": "old_records",
        "on new": "new_records",
        "on both": "both",
        "missing on new": "missing",
        "doubled on new": "duplicated",
        "only on new": "foreign",
    }
    return pd.DataFrame(
        {
            name: pd.array([getattr(each, attribute) for each in made.partitions], dtype="Int64")
            for name, attribute in columns.items()
        }
    )


def range_table(made: Reconciliation) -> pd.DataFrame:
    """Give the ranges that differ: where, and how many records."""
    rows = made.differences
    return pd.DataFrame(
        {
            "topic": [cell(made.old_topic if row.cluster is Cluster.OLD else made.new_topic) for row in rows],
            "p": pd.array([row.partition for row in rows], dtype="Int64"),
            "offsets of": [str(row.cluster) for row in rows],
            "from": pd.array([row.start for row in rows], dtype="Int64"),
            "to": pd.array([row.end for row in rows], dtype="Int64"),
            "missing on new": pd.array([row.missing for row in rows], dtype="Int64"),
            "doubled on new": pd.array([row.duplicated for row in rows], dtype="Int64"),
            "only on new": pd.array([row.foreign for row in rows], dtype="Int64"),
        }
    )
