"""The age of the next record, from our own samples: when did the log end pass the position?

Kafka does not report when an offset was written, and reading the record would be a read of data. The samples have the
log end at certain moments; between two of them the moment is interpolated, with bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offsetwise.lag.moments import Moment


class TimeMethod(StrEnum):
    """How a time lag was determined. Always shown with it."""

    AT_END = "at the end"
    """Nothing is left to read."""
    INTERPOLATED = "interpolated between two samples"
    OLDER = "older than our samples"
    """The log end had passed the position before the first sample: a lower bound."""
    PAST_END = "past the end"
    """There is no such record yet."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLag:
    """How long ago the next record to read was written."""

    method: TimeMethod
    at_least_ms: int | None = None
    estimate_ms: int | None = None
    at_most_ms: int | None = None


UNKNOWN: Final = TimeLag(method=TimeMethod.UNKNOWN)


def time_lag(ends: Sequence[Moment], position: int | None) -> TimeLag:
    """Return how long before the last of `ends` the record at `position` was written.

    The record was written after the last moment at which the log ended at or before it, and before the first moment at
    which the log had passed it.

    Args:
        ends: Ascending in time, never falling.
        position: The next record to read.
    """
    if position is None or not ends:
        return UNKNOWN
    now, last = ends[-1].at_ms, ends[-1].offset
    if position >= last:
        if position > last:
            return TimeLag(method=TimeMethod.PAST_END)
        return TimeLag(method=TimeMethod.AT_END, at_least_ms=0, estimate_ms=0, at_most_ms=0)
    after = next(index for index, moment in enumerate(ends) if moment.offset > position)
    passed = ends[after]
    if after == 0:
        return TimeLag(method=TimeMethod.OLDER, at_least_ms=now - passed.at_ms)
    before = ends[after - 1]
    grown, elapsed = passed.offset - before.offset, passed.at_ms - before.at_ms
    written = before.at_ms + elapsed * (position - before.offset) // grown
    return TimeLag(
        method=TimeMethod.INTERPOLATED,
        at_least_ms=now - passed.at_ms,
        estimate_ms=now - written,
        at_most_ms=now - before.at_ms,
    )
