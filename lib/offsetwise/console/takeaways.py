"""What each chart shows, in words: for people who do not see it, and for tests."""

from __future__ import annotations

from collections.abc import Sequence

from offsetwise import wording
from offsetwise.console import escaping
from offsetwise.console.figures import partition_name
from offsetwise.console.heat import worst_topics
from offsetwise.model import PartitionComparison
from offsetwise.wording import verdicts


def lanes(rows: Sequence[PartitionComparison]) -> str:
    """Say in words what the chart of lanes shows: the logs, then the lags."""
    return f"{logs(rows)} {lags(rows)}"


def logs(rows: Sequence[PartitionComparison]) -> str:
    """Say in words how the two logs compare."""
    wrong = [row for row in rows if verdicts.rank(row) == 0]
    if not wrong:
        return (
            f"Both logs of {wording.many(len(rows), 'partition')} aligned at the next record to read. "
            "No old number is known to be wrong."
        )
    row = wrong[0]
    example = (
        f"{escaping.plain(partition_name(row))}: {wording.number(row.old_offset)} on old is "
        f"{wording.number(row.new_offset)} on new; the old number there: {verdicts.raw(row).word}"
    )
    return (
        f"Both logs of {wording.many(len(rows), 'partition')} aligned at the next record to read. "
        f"In {len(wrong):,} the old number goes wrong on the new log. {example}."
    )


def lags(rows: Sequence[PartitionComparison]) -> str:
    """Say in words how the two lags compare."""
    both = [row for row in rows if row.lag_old is not None and row.lag_new is not None]
    same = sum(1 for row in both if row.lag_old == row.lag_new)
    return (
        f"Records left to read on old beside new: equal in {same:,} of {wording.many(len(rows), 'partition')}, "
        f"different in {len(both) - same:,}, unknown in {len(rows) - len(both):,}."
    )


def heat(rows: Sequence[PartitionComparison]) -> str:
    """Say in words what the heat map shows."""
    wrong = sum(1 for row in rows if verdicts.rank(row) == 0)
    topics = worst_topics(rows)
    worst = f", most of them in {escaping.plain(topics[0])}" if wrong else ""
    of = f"{wording.many(len(rows), 'partition')} of {wording.many(len(topics), 'topic')}"
    return f"The old number goes wrong in {wrong:,} of {of}{worst}."
