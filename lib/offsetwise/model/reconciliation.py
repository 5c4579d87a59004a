"""The record counts of a topic on both clusters."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model.closed_sets import Cluster, IsolationLevel
from offsetwise.model.offsets import Count, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeDifference:
    """The records of one offset range that the other cluster does not have, or not as often."""

    cluster: Cluster
    """The cluster of the offsets: the old log for missing records, the new log for duplicated and foreign ones."""
    partition: int
    start: Offset
    end: Offset
    """Exclusive."""
    missing: Count = 0
    duplicated: Count = 0
    foreign: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReconciliation:
    """One partition, counted on both clusters."""

    partition: int
    old_records: Count
    new_records: Count
    both: Count
    """Copies that pair up, one to one."""
    missing: Count
    """Records of the old log without a copy on the new one."""
    duplicated: Count
    """Copies on the new log beyond the number on the old one."""
    foreign: Count
    """Records on the new log that the old one does not have at all."""
    timed: bool
    """Whether timestamps were compared. LogAppendTime or a missing timestamp on either side rules it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """A topic of the old cluster beside its counterpart on the new one."""

    old_topic: str
    new_topic: str
    isolation_level: IsolationLevel
    partitions: tuple[PartitionReconciliation, ...]
    """Every partition that was read on either side, ascending."""
    differences: tuple[RangeDifference, ...]
    """Ranges that differ, by cluster, partition and offset. A range that is not listed has no difference."""
    ignored_headers: tuple[str, ...]
    """Header names left out of the comparison: provenance headers, and names found on the new cluster only."""

    @property
    def agrees(self) -> bool:
        """Whether both logs hold the same records, equally often."""
        return not self.differences

    def summary(self) -> str:
        both, missing, duplicated, foreign = (
            sum(getattr(partition, name) for partition in self.partitions)
            for name in ("both", "missing", "duplicated", "foreign")
        )
        names = self.old_topic if self.old_topic == self.new_topic else f"{self.old_topic} and {self.new_topic}"
        sentence = f"{names}: {both:,} records are on both clusters"
        if self.agrees:
            return f"{sentence}, and nothing differs."
        differing = len({difference.partition for difference in self.differences})
        return (
            f"{sentence}; on the new cluster {missing:,} are missing, {duplicated:,} are there too often and "
            f"{foreign:,} are its own, in {differing} of {len(self.partitions):,} partitions."
        )
