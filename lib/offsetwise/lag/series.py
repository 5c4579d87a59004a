"""Points over time: where a line must break, and which points to keep if there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

GAP_INTERVALS: Final = 2.5
"""Samples further apart than this many intervals have a gap between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    taken_at_ms: int
    interval_ms: int | None
    missing: bool = False
    """Whether a part of it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSample:
    index: int
    """The index in the unthinned series."""
    after_gap: bool
    """Whether a sample is missing between this one and the previous one in the result."""


def gap_between(before: Tick, after: Tick) -> bool:
    """Return whether a sample is missing or late between two consecutive ones.

    The longer of the two intervals counts, so that a change of the interval is no gap. Without an interval, nothing is
    known to be missing.
    """
    interval = max(before.interval_ms or 0, after.interval_ms or 0)
    return interval > 0 and after.taken_at_ms - before.taken_at_ms > GAP_INTERVALS * interval


def thin(ticks: Sequence[Tick], most: int) -> tuple[KeptSample, ...]:
    """Return at most `most` samples, evenly over time, including the first and the last.

    Of the samples in one stretch of time, an incomplete one is preferred, then the newest: a cluster that was away for
    a moment stays visible. A gap between two samples remains one, whatever is left out.

    Args:
        ticks: Ascending in time.
        most: At least 2.
    """
    if not ticks:
        return ()
    chosen = list(range(len(ticks))) if len(ticks) <= most else _one_per_stretch(ticks, most)
    gaps = [index for index in range(1, len(ticks)) if gap_between(ticks[index - 1], ticks[index])]
    samples, passed = [], 0
    for position, index in enumerate(chosen):
        begin = passed
        while passed < len(gaps) and gaps[passed] <= index:
            passed += 1
        samples.append(KeptSample(index=index, after_gap=position > 0 and passed > begin))
    return tuple(samples)


def _one_per_stretch(ticks: Sequence[Tick], most: int) -> list[int]:
    first, span = ticks[0].taken_at_ms, ticks[-1].taken_at_ms - ticks[0].taken_at_ms
    by_stretch: dict[int, int] = {}
    for index in range(1, len(ticks) - 1) if most > 2 else ():
        stretch = (ticks[index].taken_at_ms - first) * (most - 2) // (span + 1)
        before = by_stretch.get(stretch)
        if before is None or ticks[index].missing or not ticks[before].missing:
            by_stretch[stretch] = index
    return [0, *sorted(by_stretch.values()), len(ticks) - 1]
