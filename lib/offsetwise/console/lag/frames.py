"""The tables of the Lag screen. Unknown stays unknown: every number is a nullable integer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from offsetwise import wording
from offsetwise.console import escaping
from offsetwise.lag.amounts import Total, drift, lag
from offsetwise.lag.archive import StoredTotals
from offsetwise.lag.view import PartitionView
from offsetwise.model import Cluster, LagPartition, LagSample
from offsetwise.wording import verdicts

MOST_GROUPS = 8
"""Groups with a column of their own; the downloads have all."""


def partition_table(sample: LagSample, rows: Sequence[LagPartition], *, groups: int = MOST_GROUPS) -> pd.DataFrame:
    """Give one row per partition: where the subject stands on both clusters, what is left, and how groups drift."""
    isolation = sample.isolation_level
    frame = pd.DataFrame(
        {
            "topic": [escaping.cell(row.topic) for row in rows],
            "p": _integers([row.partition for row in rows]),
            "position": _integers([row.position for row in rows]),
            "lag old": _integers([lag(row, Cluster.OLD, isolation) for row in rows]),
            "place on new": _integers([row.new_position for row in rows]),
            "lag new": _integers([lag(row, Cluster.NEW, isolation) for row in rows]),
            "by": [escaping.cell(row.method.value) for row in rows],
            "exactness": [str(verdicts.EXACTNESS[row.exactness]) for row in rows],
            "old log start": _integers([row.old.log_start for row in rows]),
            "old HW": _integers([row.old.hw for row in rows]),
            "new log start": _integers([row.new.log_start for row in rows]),
            "new HW": _integers([row.new.hw for row in rows]),
        }
    )
    for index, group in enumerate(sample.groups[:groups]):
        if group != sample.group:
            frame[f"drift of {escaping.cell(group)}"] = _integers([drift(row, index) for row in rows])
    return frame


def totals_table(points: Sequence[StoredTotals]) -> pd.DataFrame:
    """Give the numbers behind the chart of totals, newest first."""
    newest_first = list(reversed(points))
    return pd.DataFrame(
        {
            "time (UTC)": [wording.moment(point.head.taken_at_ms) for point in newest_first],
            "lag old": _integers([_left(point.totals.old) for point in newest_first]),
            "past the end, old": _integers([_past(point.totals.old) for point in newest_first]),
            "lag new": _integers([_left(point.totals.new) for point in newest_first]),
            "past the end, new": _integers([_past(point.totals.new) for point in newest_first]),
            "unknown, old": _integers([point.totals.old.unknown for point in newest_first]),
            "unknown, new": _integers([point.totals.new.unknown for point in newest_first]),
            "not read": [
                escaping.cell(", ".join(each.part.value for each in point.head.missing)) for point in newest_first
            ],
            "gap before": ["yes" if point.after_gap else "" for point in newest_first],
        }
    )


def history_table(shown: PartitionView, group: int | None) -> pd.DataFrame:
    """Give the numbers behind the charts of one partition, newest first."""
    newest_first = list(reversed(shown.history))

    def column(value: Callable[[LagPartition, LagSample], int | None]) -> pd.Series[int]:
        return _integers(
            [next((value(row, each.sample) for row in each.sample.partitions), None) for each in newest_first]
        )

    return pd.DataFrame(
        {
            "time (UTC)": [wording.moment(each.sample.taken_at_ms) for each in newest_first],
            "position": column(lambda row, _: row.position),
            "old end": column(lambda row, _: row.old.hw),
            "lag old": column(lambda row, sample: lag(row, Cluster.OLD, sample.isolation_level)),
            "place on new": column(lambda row, _: row.new_position),
            "new end": column(lambda row, _: row.new.hw),
            "lag new": column(lambda row, sample: lag(row, Cluster.NEW, sample.isolation_level)),
            "drift": column(lambda row, _: None if group is None else drift(row, group)),
            "gap before": ["yes" if each.after_gap else "" for each in newest_first],
        }
    )


def _left(of: Total) -> int | None:
    return of.left if of.known else None


def _past(of: Total) -> int | None:
    return of.past if of.known else None


def _integers(values: Sequence[int | None]) -> pd.Series[int]:
    return pd.Series(pd.array(list(values), dtype="Int64"))
