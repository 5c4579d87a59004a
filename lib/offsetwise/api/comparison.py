"""A job's positions on both clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from offsetwise import workflow
from offsetwise.model import Finding, PartitionComparison, Summary
from offsetwise.workflow import Observed


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every position beside its place on the new cluster, with both clusters as they were read for it."""

    observed: Observed
    """`.comparison` is what a comparison's file holds, `.old` and `.new` are the snapshots."""

    @classmethod
    def load(cls, comparison: str | Path, old: str | Path, new: str | Path) -> Self:
        """Read the file of a comparison, and those of the snapshots it was made with.

        Raises:
            FileError: A file cannot be read, or is another one.
        """
        return cls(workflow.load_observed(Path(comparison), Path(old), Path(new)))

    @property
    def partitions(self) -> tuple[PartitionComparison, ...]:
        """One row for each partition of each source."""
        return self.observed.comparison.partitions

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What would go wrong, and what to know, each with a code and a remedy."""
        return self.observed.comparison.findings

    @property
    def summary(self) -> Summary:
        """The comparison in numbers."""
        return self.observed.comparison.summary

    def __getitem__(self, partition: str) -> PartitionComparison:
        """Give the row of a partition of the old cluster, as `orders-0`.

        Raises:
            KeyError: No source reads it, or several do: look at `partitions`.
        """
        rows = [row for row in self if str(row.topic_partition) == partition]
        if len(rows) != 1:
            raise KeyError(f"{partition}: expected one row, found {len(rows)}")
        return rows[0]

    def __iter__(self) -> Iterator[PartitionComparison]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)
