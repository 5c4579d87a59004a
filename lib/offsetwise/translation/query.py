from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import AnyPosition, IsolationLevel, LogRange, OffsetReset
from offsetwise.position import OfTwins


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySource:
    """The values that all positions of one source share: a job may have a million positions."""

    source: str
    isolation: IsolationLevel
    batch: int | None = None
    """The batch that ended at the offsets, if a checkpoint records one."""
    planned_batch: int | None = None
    batch_ms: int | None = None
    """When that batch was planned, epoch ms."""
    planned_batch_ms: int | None = None
    saved_ms: int | None = None
    """The latest time at which the job had read up to its offsets, epoch ms; None if unknown."""
    oldest: AnyPosition | None = None
    """The position of a start at the oldest record, if that is not the start of the log."""
    of_group: bool = False
    """Whether a consumer group keeps it: without a commit it begins by a setting of its client."""
    of_file: bool = False
    """Whether it comes from a positions file: without a position the job begins by a setting of its client."""
    auto_offset_reset: OffsetReset | None = None
    """That setting, if it is stated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(OfTwins):
    """The position of one partition, and its logs on both clusters; a log range of None means no such partition."""

    of: QuerySource
    topic: str
    partition: int
    new_topic: str
    offset: AnyPosition | None
    """None for a partition without a position."""
    old: LogRange | None
    new: LogRange | None
    starts_at: str | None = None
    """The start in the checkpoint instead of an offset, as in `MarkedPosition`. An `offset` in addition is the only
    position in an empty log, whichever start is chosen."""
    planned: AnyPosition | None = None
    processed: AnyPosition | None = None
    """Up to where records are certainly processed, if the engine writes `offset` for several positions; else None."""
    exact: AnyPosition | None = None
    """The position as its record showed it; None if none was read."""
