"""Downloads of what is shown. Digits are plain, and no cell can run as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offsetwise import files
from offsetwise.comparison import summarise
from offsetwise.console import downloads, escaping, frames
from offsetwise.model import Comparison, PartitionComparison


def csv(rows: Sequence[PartitionComparison]) -> bytes:
    """Write the partition table as CSV (UTF-8, LF). An unknown number is an empty cell."""
    table = frames.partition_table(rows)
    table.insert(frames.PARTITION_COLUMNS.index("exactness"), "method", [row.method.value for row in rows])
    for column in ("findings", "exactness", "if unedited", "ahead"):
        table[column] = [escaping.cell(text) for text in table[column]]
    return downloads.csv(table)


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
        replace(comparison, partitions=tuple(rows), findings=kept, summary=summarise(rows, kept))
    ).encode()
