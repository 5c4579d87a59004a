"""The number of rows that a stateful query keeps, as Spark's own readers count them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRows:
    operator: int
    operator_name: str
    """Spark's name for it, such as `stateStoreSave`."""
    store: str
    partitions: int
    rows: tuple[tuple[int, int], ...] = ()
    """(partition, rows), ascending. Spark leaves out a partition without rows."""
    columns: str = ""
    """The types of key and value."""
    problem: str | None = None
    """Why its rows could not be counted."""

    @property
    def total(self) -> int | None:
        """Rows of all partitions; None if they could not be counted."""
        return None if self.problem is not None else sum(count for _, count in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRows:
    """The state of a query after one committed batch."""

    batch: int
    spark: str
    """The version of the Spark that read it."""
    kind: str
    """`RocksDB` or `HDFS-backed`."""
    stores: tuple[StoreRows, ...]
