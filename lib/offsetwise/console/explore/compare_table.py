from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

import streamlit as st

from offsetwise import files
from offsetwise.comparison import summarise
from offsetwise.console.answers import CachedAnswer
from offsetwise.console.widgets import downloads, table
from offsetwise.console.widgets.cached import cached
from offsetwise.console.widgets.palette import Palette
from offsetwise.console.widgets.selectors import BY_NAME, WORST_FIRST, several
from offsetwise.console.widgets.table import Column
from offsetwise.findings import severity_of
from offsetwise.model import Comparison, PartitionComparison
from offsetwise.wording import verdicts
from offsetwise.wording.time_lag import lag_text

Rows = tuple[PartitionComparison, ...]
_BEHIND: Final = "As the stream says at the position; a number of records only where all that are left were read."


def in_time(rows: Sequence[PartitionComparison]) -> bool:
    """Return whether lag is a time: positions of these partitions do not yield a number of records."""
    return any(row.behind_old is not None or row.behind_new is not None for row in rows)


PARTITIONS: Final[table.Columns[PartitionComparison]] = (
    Column("topic", lambda row: row.topic, 84, pinned=True),
    table.partition(lambda row: row.partition, pinned=True),
    Column("old offset", lambda row: row.old_offset, 78, "The next record to read on the old cluster."),
    Column("new offset", lambda row: row.new_offset, 82, "The position of the same record on the new cluster."),
    Column("shift", verdicts.shift, 52, "New offset minus old offset.", when=lambda rows: not in_time(rows)),
    Column("method", lambda row: row.method.value, only="file"),
    Column("exactness", lambda row: verdicts.EXACTNESS[row.exactness], 84, "How well the new offset is known."),
    Column(
        "if unedited",
        verdicts.raw,
        100,
        "What the old number would do on the new cluster.",
        when=lambda rows: not all(map(verdicts.of_another_stream, rows)),
    ),
    Column("replay", lambda row: row.replay, 54, "Records read twice at the new offset, at most."),
    Column("skip", lambda row: row.skip, 44, "Records never read at the new offset, at most."),
    Column(
        "ahead",
        lambda row: verdicts.ahead(row.ahead),
        104,
        "How the records from the position on differ on the new cluster.",
        heading="records ahead",
    ),
    Column(
        "findings",
        lambda row: verdicts.findings(map(severity_of, row.findings)),
        82,
        "How many: ! blocks, ▲ warns, i informs. The row's proof names them, and so do filter and downloads.",
        lambda row: verdicts.worst(map(severity_of, row.findings)),
        only="screen",
    ),
    Column("findings", lambda row: ", ".join(row.findings), only="file"),
    Column(
        "lag old",
        lambda row: row.lag_old,
        62,
        "Records left to read on the old cluster. Negative: past the end.",
        when=lambda rows: not in_time(rows),
    ),
    Column(
        "lag new",
        lambda row: row.lag_new,
        64,
        "Records left to read on the new cluster. Negative: past the end.",
        when=lambda rows: not in_time(rows),
    ),
    Column("behind, old", lambda row: lag_text(row.behind_old), 150, _BEHIND, when=in_time),
    Column("behind, new", lambda row: lag_text(row.behind_new), 150, _BEHIND, when=in_time),
    Column("source", lambda row: row.source, 90, when=lambda rows: len({row.source for row in rows}) > 1),
    Column(
        "new topic", lambda row: row.new_topic, 110, when=lambda rows: any(row.new_topic != row.topic for row in rows)
    ),
)
LANES: Final[table.Columns[PartitionComparison]] = (
    Column("topic", lambda row: row.topic),
    table.partition(lambda row: row.partition),
    Column("old log start", lambda row: row.old.log_start),
    Column("old offset", lambda row: row.old_offset),
    Column("old HW", lambda row: row.old.hw),
    Column("new log start", lambda row: row.new.log_start),
    Column("new offset", lambda row: row.new_offset),
    Column("new HW", lambda row: row.new.hw),
    Column("lag old", lambda row: row.lag_old, when=lambda rows: not in_time(rows)),
    Column("lag new", lambda row: row.lag_new, when=lambda rows: not in_time(rows)),
    Column("behind, old", lambda row: lag_text(row.behind_old), 200, when=in_time),
    Column("behind, new", lambda row: lag_text(row.behind_new), 200, when=in_time),
)
"""The numbers behind the chart of lanes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFilters:
    """Which partitions are shown, and in which order. An empty tuple keeps all."""

    topics: tuple[str, ...] = ()
    unedited: tuple[str, ...] = ()
    exactness: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    order: str = WORST_FIRST

    def apply(self, rows: Sequence[PartitionComparison]) -> tuple[PartitionComparison, ...]:
        comparisons = [
            row
            for row in rows
            if (not self.topics or row.topic in self.topics)
            and (not self.unedited or verdicts.RAW[row.raw.verdict] in self.unedited)
            and (not self.exactness or verdicts.EXACTNESS[row.exactness].word in self.exactness)
            and (not self.findings or not set(self.findings).isdisjoint(row.findings))
        ]
        comparisons.sort(key=attrgetter("topic", "partition", "source"))
        if self.order == WORST_FIRST:
            comparisons.sort(key=verdicts.urgency)
        return tuple(comparisons)


def filters(topics: Sequence[str], codes: Sequence[str]) -> PartitionFilters:
    words = list(dict.fromkeys(verdict.word for verdict in verdicts.EXACTNESS.values()))
    with st.container(horizontal=True):
        return PartitionFilters(
            topics=several("Topic", "topic", topics),
            unedited=several("If unedited", "unedited", tuple(verdicts.RAW.values())),
            exactness=several("Exactness", "exactness", words),
            findings=several("Finding", "finding", codes),
            order=st.selectbox("Order", [WORST_FIRST, BY_NAME], key="order", bind="query-params"),
        )


@cached(64)
def filtered(answer: CachedAnswer[Comparison], filters: PartitionFilters) -> Rows:
    return filters.apply(answer.value.partitions)


@cached(64)
def lane_table(answer: CachedAnswer[Comparison], rows: Rows) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(LANES, rows)


@cached(32)
def partition_table(answer: CachedAnswer[Comparison], rows: Rows, colours: Palette) -> table.Prepared:  # noqa: ARG001 - the key
    return table.prepared(PARTITIONS, rows, colours)


def csv(rows: Sequence[PartitionComparison]) -> bytes:
    return downloads.csv(table.frame(PARTITIONS, rows, file=True))


def json(comparison: Comparison, rows: Sequence[PartitionComparison]) -> bytes:
    """Return an `offsetwise/comparison` file of these partitions, with its summary recomputed."""
    shown = {row.topic_partition for row in rows}
    findings = tuple(
        finding
        for finding in comparison.findings
        if finding.topic_partition is None or finding.topic_partition in shown
    )
    if len(rows) == len(comparison.partitions):
        return files.dump(comparison).encode()
    return files.dump(
        replace(comparison, partitions=tuple(rows), findings=findings, summary=summarise(rows, findings))
    ).encode()
