from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.lag.alerts import Alert, alerts
from offsetwise.lag.archive import Archive, StoredSample, StoredTotals
from offsetwise.lag.moments import Key, ends_of, starts_of
from offsetwise.lag.rates import Rate, rate, start_reaches
from offsetwise.lag.subject import LagSubject
from offsetwise.lag.times import TimeLag, time_lag
from offsetwise.model import Cluster, LagPartition, LagSample
from offsetwise.position import offset_or_none

MOST_MOMENTS: Final = 400
"""How many moments a chart has; more than its pixels would only slow it down."""

ALERT_MS: Final = 3_600_000
"""Movement is judged against the first sample of the last hour, or of the window if that is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagView:
    subject: LagSubject
    archive: str
    newest: StoredSample
    points: tuple[StoredTotals, ...]
    """Ascending; the newest one last."""
    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSide:
    time: TimeLag
    growth: Rate | None
    """How fast the log end moves."""
    start_reaches_ms: int | None
    """In how many milliseconds after the newest sample the log start reaches the position, at the rate of the
    window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionView:
    key: Key
    history: tuple[StoredSample, ...]
    """Each has this partition only, or is empty if the sample lacks it."""
    old: LagSide
    new: LagSide

    @property
    def row(self) -> LagPartition | None:
        return next(iter(self.history[-1].sample.partitions), None) if self.history else None

    def side(self, side: Cluster) -> LagSide:
        return self.old if side is Cluster.OLD else self.new


def lag_view(archive: Archive, subject: LagSubject, window_ms: int) -> LagView | None:
    """Return the samples in the window before the newest one; None if there is none."""
    newest = archive.newest(subject)
    if newest is None:
        return None
    end_ms = newest.sample.taken_at_ms
    points = archive.window(subject, end_ms - window_ms, most=MOST_MOMENTS)
    since = end_ms - min(window_ms, ALERT_MS)
    first = next((point.head.taken_at_ms for point in points if point.head.taken_at_ms >= since), end_ms)
    earlier = archive.newest(subject, before_ms=first + 1) if first < end_ms else None
    return LagView(
        subject=subject,
        archive=archive.name,
        newest=newest,
        points=points,
        alerts=alerts(newest.sample, None if earlier is None else earlier.sample),
    )


def partition_view(archive: Archive, subject: LagSubject, key: Key, window_ms: int) -> PartitionView | None:
    """Return one partition in the window before the newest sample; None if there is none."""
    end_ms = archive.newest_ms(subject)
    if end_ms is None:
        return None
    stored_samples = archive.history(subject, [key], end_ms - window_ms, most=MOST_MOMENTS)
    samples = [sample.sample for sample in stored_samples]
    return PartitionView(
        key=key, history=stored_samples, old=judged(samples, key, Cluster.OLD), new=judged(samples, key, Cluster.NEW)
    )


def judged(samples: Sequence[LagSample], key: Key, side: Cluster) -> LagSide:
    """Return the lag of one partition on one cluster, over samples ascending in time."""
    row = next((row for row in samples[-1].partitions if row.key == key), None) if samples else None
    position = None if row is None else offset_or_none(row.position_on(side))
    ends = ends_of(samples, key, side)
    # A time is relative to the newest sample: without its log end, nothing is known.
    read = bool(samples) and bool(ends) and ends[-1].at_ms >= samples[-1].taken_at_ms
    return LagSide(
        time=time_lag(ends if read else (), position),
        growth=rate(ends),
        start_reaches_ms=start_reaches(starts_of(samples, key, side), position) if read else None,
    )
