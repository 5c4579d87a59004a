"""When retention will reach a position: from the record's own time, or else from the rate of the log start.

Kafka deletes whole closed segments, when the newest record of a segment is old enough. So the returned time is the
earliest at which the record can be deleted; as far as timestamps show, it lives at least as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offsetwise.digits import whole_number
from offsetwise.lag.moments import Moment
from offsetwise.lag.rates import start_reaches
from offsetwise.model import AnyPosition, PartitionState, TopicPartition, TopicState
from offsetwise.position import offset_or_none

_FOREVER: Final = "-1"


class RetentionMethod(StrEnum):
    RECORD_TIME = "record time + retention.ms"
    RATE = "rate between two readings"
    NEVER = "no limit"
    REACHED = "log start"
    NONE = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderPosition:
    of: str
    partition: TopicPartition
    offset: AnyPosition
    record_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDeadline:
    position: ReaderPosition
    at_ms: int | None
    """Epoch ms; None if it never does, has already, or the time is unknown."""
    method: RetentionMethod
    why: str
    """One sentence with its numbers."""


def deadline(
    committed: ReaderPosition, topic: TopicState | None, partition: PartitionState | None, starts: Sequence[Moment]
) -> RetentionDeadline:
    """Return when retention can reach a position.

    Args:
        committed: The position.
        topic: Its topic as the cluster described it.
        partition: Its partition, likewise.
        starts: The known log starts of the partition, ascending in time.
    """
    if topic is None or partition is None or not topic.config:
        return _deadline(committed, RetentionMethod.NONE, "The topic's configuration was not read.")
    if partition.log_start is not None and committed.offset < partition.log_start:
        below = partition.log_start - committed.offset
        far = "" if below is None else f" {below:,} offsets"
        return _deadline(committed, RetentionMethod.REACHED, f"The log begins{far} behind it: it is gone.")
    if "delete" not in topic.cleanup:
        return _deadline(committed, RetentionMethod.NEVER, "cleanup.policy is compact: age deletes nothing.")
    if partition.hw is not None and committed.offset >= partition.hw:
        return _deadline(committed, RetentionMethod.NONE, "No record is there yet.")
    config = dict(topic.config)
    by_time, by_size = config.get("retention.ms", _FOREVER), config.get("retention.bytes", _FOREVER)
    if by_time == _FOREVER and by_size == _FOREVER:
        return _deadline(committed, RetentionMethod.NEVER, "retention.ms and retention.bytes set no limit.")
    retention_ms = whole_number(by_time)
    if by_size == _FOREVER and retention_ms is not None and committed.record_ms is not None:
        return RetentionDeadline(
            position=committed,
            at_ms=committed.record_ms + retention_ms,
            method=RetentionMethod.RECORD_TIME,
            why=f"The record's timestamp and retention.ms {retention_ms:,}. Its segment may live longer.",
        )
    return _by_rate(committed, starts, by_size != _FOREVER)


def _by_rate(committed: ReaderPosition, starts: Sequence[Moment], sized: bool) -> RetentionDeadline:
    because = "retention.bytes limits the log" if sized else "the record's timestamp is not known"
    remaining_ms = start_reaches(starts, offset_or_none(committed.offset))
    if remaining_ms is None or len(starts) < 2:
        moved = "did not move between two readings" if len(starts) > 1 else "was read once only"
        return _deadline(
            committed, RetentionMethod.NONE, f"As {because}, only a rate could tell, and the log start {moved}."
        )
    first, last = starts[0], starts[-1]
    seconds = (last.at_ms - first.at_ms) / 1000
    return RetentionDeadline(
        position=committed,
        at_ms=last.at_ms + remaining_ms,
        method=RetentionMethod.RATE,
        why=f"The log start moved {last.offset - first.offset:,} offsets in {seconds:,.0f} s.",
    )


def _deadline(committed: ReaderPosition, method: RetentionMethod, why: str) -> RetentionDeadline:
    return RetentionDeadline(position=committed, at_ms=None, method=method, why=why)
