"""Downloads of what is shown. Digits are plain, and no cell can run as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offsetwise import files
from offsetwise.console import frames, verdicts, wording
from offsetwise.model import Comparison, Exactness, PartitionComparison, RawVerdict, Summary


def csv(rows: Sequence[PartitionComparison]) -> bytes:
    """Write the partition table as CSV (UTF-8, LF). An unknown number is an empty cell."""
    table = frames.partition_table(rows)
    for column in ("findings", "exactness", "if unedited", "ahead"):
        table[column] = [wording.cell(text) for text in table[column]]
    return str(table.to_csv(index=False, lineterminator="\n")).encode()


def json(comparison: Comparison, rows: Sequence[PartitionComparison]) -> bytes:
    """Write an `offsetwise/comparison` file of these partitions, counted anew."""
    shown = {(row.topic, row.partition) for row in rows}
    kept = tuple(
        finding
        for finding in comparison.findings
        if finding.topic is None or finding.partition is None or (finding.topic, finding.partition) in shown
    )
    if len(rows) == len(comparison.partitions):
        return files.dump(comparison).encode()
    return files.dump(
        replace(comparison, partitions=tuple(rows), findings=kept, summary=_count(comparison, rows))
    ).encode()


def _count(comparison: Comparison, rows: Sequence[PartitionComparison]) -> Summary:
    blocking = {(f.topic, f.partition) for f in comparison.findings if f.severity == "blocks"}
    proven = [row for row in rows if row.counted]
    of = {exactness: sum(1 for row in rows if row.exactness is exactness) for exactness in Exactness}
    return Summary(
        partitions=len(rows),
        exact=of[Exactness.EXACT],
        position_exact=of[Exactness.POSITION_EXACT],
        preserved=of[Exactness.PRESERVED],
        bounded=of[Exactness.BOUNDED],
        claimed=of[Exactness.CLAIMED],
        unknown=of[Exactness.UNKNOWN],
        blocked=sum(1 for row in rows if (row.topic, row.partition) in blocking),
        raw_wrong=sum(1 for row in rows if verdicts.rank(row) == 0),
        raw_out_of_range=sum(1 for row in rows if row.raw.verdict is RawVerdict.OUT_OF_RANGE),
        raw_skip=sum(row.raw.skip or 0 for row in proven),
        raw_replay=sum(row.raw.replay or 0 for row in proven),
    )
