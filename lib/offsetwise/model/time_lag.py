"""How far positions are behind in time, for a stream whose positions do not give a number of records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.offsets import Count


class Left(StrEnum):
    """What a read at a position found behind it."""

    RECORDS = "RECORDS"
    NOTHING = "NOTHING"
    """None: the position is at the tip."""
    ENDED = "ENDED"
    """None, and none will come: the partition takes no more records."""
    UNKNOWN = "UNKNOWN"
    """The stream did not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """How far one position is behind the tip, as its stream answered a read there."""

    left: Left
    ms: int | None = None
    """As the stream reports it, in milliseconds; None if it did not."""
    records: Count | None = None
    """How many records are left, if all of them were read; else None."""
    last_ms: int | None = None
    """When the last processed record arrived, epoch ms, as the position records it; None if it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartBehind:
    """How far a position in several partitions is behind in one of them."""

    partition: int
    behind: Behind


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """What reading at positions took of the quota that all readers of a partition share."""

    partitions: int
    """How many were read."""
    reads: int
    most_reads: int
    """Of one partition."""
    read_bytes: Count
    reads_per_second: int
    """The maximum, of one partition."""
    allowed_per_second: int
    """What the stream allows all readers of one partition."""
    allowed_bytes_per_second: int
