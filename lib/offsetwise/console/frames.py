"""Tables of the console as data frames: nullable integers, so that unknown stays unknown.

An outer merge or a missing value would turn int64 into float64 and corrupt 9007199254740993; every column of
offsets here is pandas' nullable `Int64`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from offsetwise import wording
from offsetwise.console import escaping
from offsetwise.model import Checkpoint, Comparison, Finding, Neighbour, PartitionComparison, Severity
from offsetwise.wording import verdicts

PARTITION_COLUMNS = (
    "topic",
    "p",
    "old offset",
    "new offset",
    "shift",
    "exactness",
    "if unedited",
    "lag old",
    "lag new",
    "replay",
    "skip",
    "ahead",
    "findings",
    "source",
    "new topic",
)
"""The columns of `partition_table`, in order. The last two are shown when they say something."""


def partition_table(rows: Sequence[PartitionComparison]) -> pd.DataFrame:
    """Give one row per partition, in the order of `rows`.

    Integer columns are nullable: missing means unknown (or, for an old offset, that there is none).
    """
    return pd.DataFrame(
        {
            "topic": [escaping.cell(row.topic) for row in rows],
            "p": _integers([row.partition for row in rows]),
            "old offset": _integers([row.old_offset for row in rows]),
            "new offset": _integers([row.new_offset for row in rows]),
            "shift": _integers([verdicts.shift(row) for row in rows]),
            "exactness": [str(verdicts.EXACTNESS[row.exactness]) for row in rows],
            "if unedited": [str(verdicts.raw(row)) for row in rows],
            "lag old": _integers([row.lag_old for row in rows]),
            "lag new": _integers([row.lag_new for row in rows]),
            "replay": _integers([row.replay for row in rows]),
            "skip": _integers([row.skip for row in rows]),
            "ahead": [str(verdicts.ahead(row)) for row in rows],
            "findings": [", ".join(row.findings) for row in rows],
            "source": [escaping.cell(row.source) for row in rows],
            "new topic": [escaping.cell(row.new_topic) for row in rows],
        },
        columns=list(PARTITION_COLUMNS),
    )


def neighbour_table(neighbours: Sequence[Neighbour], *, first: Neighbour | None, word: str) -> pd.DataFrame:
    """Give the records around a place: offsets on both clusters, time in UTC, short identity, what they are.

    Args:
        neighbours: The records, in log order.
        first: The one that reading would begin with, marked by `word`.
        word: What to call it.
    """
    return pd.DataFrame(
        {
            "old offset": _integers([record.old_offset for record in neighbours]),
            "new offset": _integers([record.new_offset for record in neighbours]),
            "time (UTC)": [wording.moment(record.timestamp_ms) for record in neighbours],
            "identity": [record.identity[:8] for record in neighbours],
            "for the job": [f"{record.side}, {word}" if record is first else str(record.side) for record in neighbours],
        }
    )


def lane_table(rows: Sequence[PartitionComparison]) -> pd.DataFrame:
    """Give the numbers behind the chart of lanes."""
    return pd.DataFrame(
        {
            "topic": [escaping.cell(row.topic) for row in rows],
            "p": _integers([row.partition for row in rows]),
            "old log start": _integers([row.old.log_start for row in rows]),
            "old offset": _integers([row.old_offset for row in rows]),
            "old HW": _integers([row.old.hw for row in rows]),
            "new log start": _integers([row.new.log_start for row in rows]),
            "new offset": _integers([row.new_offset for row in rows]),
            "new HW": _integers([row.new.hw for row in rows]),
            "lag old": _integers([row.lag_old for row in rows]),
            "lag new": _integers([row.lag_new for row in rows]),
        }
    )


def position_table(checkpoint: Checkpoint) -> pd.DataFrame:
    """Give what a checkpoint holds: one row per partition of its Kafka sources."""
    positions = [(source, position) for source in checkpoint.sources for position in source.positions]
    return pd.DataFrame(
        {
            "topic": [escaping.cell(position.topic) for _, position in positions],
            "p": _integers([position.partition for _, position in positions]),
            "old offset": _integers([position.offset for _, position in positions]),
            "planned until": _integers([position.planned_offset for _, position in positions]),
        }
    )


def findings_of(comparison: Comparison, row: PartitionComparison) -> tuple[Finding, ...]:
    """Give the findings that concern one partition: its own and its topic's."""
    return tuple(
        finding
        for finding in comparison.findings
        if finding.topic in (row.topic, row.new_topic) and finding.partition in (None, row.partition)
    )


def findings_of_all(comparison: Comparison) -> tuple[Finding, ...]:
    """Give the findings that concern no single topic, those that block first."""
    severities = list(Severity)
    of_all = (finding for finding in comparison.findings if finding.topic is None)
    return tuple(sorted(of_all, key=lambda finding: severities.index(finding.severity)))


def _integers(values: Sequence[int | None]) -> pd.Series[int]:
    return pd.Series(pd.array(list(values), dtype="Int64"))
