"""How far positions are behind in time, of a stream whose positions tell no number of records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.offsets import Count


class Left(StrEnum):
    """What a read at a position found behind it."""

    RECORDS = "RECORDS"
    NOTHING = "NOTHING"
    """The position is at the tip."""
    ENDED = "ENDED"
    """Nothing, and nothing will come: the partition takes no more records."""
    UNKNOWN = "UNKNOWN"
    """The stream gave no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """How far one position is behind the tip, as its stream answered a read there."""

    left: Left
    ms: int | None = None
    """As the stream says it, in milliseconds; None where it did not."""
    records: Count | None = None
    """How many records are left, where all of them were read; else None."""
    last_ms: int | None = None
    """When the last processed record arrived, since the epoch, as the position tells it; None where it does not."""


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
    """At most, of one partition."""
    allowed_per_second: int
    """What the stream allows all readers of one partition."""
    allowed_bytes_per_second: int
