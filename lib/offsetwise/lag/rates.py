from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offsetwise.lag.moments import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    moved: int
    elapsed_ms: int

    @property
    def per_second(self) -> float:
        return self.moved * 1000 / self.elapsed_ms

    def time_for(self, offsets: int) -> int | None:
        """Return how long that many offsets take at this rate, in milliseconds; None if it does not move forward."""
        return None if self.moved <= 0 else max(0, offsets) * self.elapsed_ms // self.moved


def rate(moments: Sequence[Moment]) -> Rate | None:
    """Return the rate between the first and the last moment; None with fewer than two moments.

    >>> rate([Moment(at_ms=0, offset=100), Moment(at_ms=10_000, offset=150)]).per_second
    5.0
    """
    if len(moments) < 2 or moments[-1].at_ms <= moments[0].at_ms:
        return None
    return Rate(moved=moments[-1].offset - moments[0].offset, elapsed_ms=moments[-1].at_ms - moments[0].at_ms)


def start_reaches(starts: Sequence[Moment], position: int | None) -> int | None:
    """Return in how many milliseconds after the last moment the log start reaches `position`, at its past rate.

    Kafka deletes whole segments, so the start moves in jumps: the estimate improves with the length of the window. 0 if
    it has passed the position already; None if it did not move, or either is unknown.
    """
    if position is None or not starts:
        return None
    if starts[-1].offset > position:
        return 0
    pace = rate(starts)
    return None if pace is None else pace.time_for(position - starts[-1].offset)
