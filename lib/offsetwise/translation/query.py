from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import AnyPosition, IsolationLevel, LogRange, OffsetReset
from offsetwise.position import OfTwins


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySource:
    """What is the same of every position of one source: a job may have a million of them."""

    source: str
    isolation: IsolationLevel
    batch: int | None = None
    """The batch that ended at the offsets, where a checkpoint says so."""
    planned_batch: int | None = None
    batch_ms: int | None = None
    """When that batch was planned, epoch ms."""
    planned_batch_ms: int | None = None
    saved_ms: int | None = None
    """When the job had read up to its offsets at the latest, epoch ms; None where nothing says so."""
    oldest: AnyPosition | None = None
    """What begins at the oldest record, where that is another position than the start of the log."""
    of_group: bool = False
    """Whether a consumer group keeps it: where one begins without a commit is its client's setting."""
    of_file: bool = False
    """Whether it is one of a positions file, whose job likewise begins elsewhere by its client's setting."""
    auto_offset_reset: OffsetReset | None = None
    """That setting, where it is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(OfTwins):
    """Where one partition stands, and what both clusters hold. A log range of None: there is no such partition."""

    of: QuerySource
    topic: str
    partition: int
    new_topic: str
    offset: AnyPosition | None
    """None for a partition that the job has no position for."""
    old: LogRange | None
    new: LogRange | None
    starts_at: str | None = None
    """What the checkpoint says instead of an offset, as `MarkedPosition` does. An `offset` beside it is the one place
    in a log without records, whatever is chosen when the job starts."""
    planned: AnyPosition | None = None
    processed: AnyPosition | None = None
    """What is processed for certain, where the engine writes `offset` for several positions; None where it does not."""
    exact: AnyPosition | None = None
    """The position as its record showed it; None where none was read."""
