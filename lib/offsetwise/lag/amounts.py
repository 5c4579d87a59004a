"""How much is left to read, signed: by partition and in total. Unread values stay unknown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from offsetwise.model import Cluster, IsolationLevel, LagPartition, LagSample, Left
from offsetwise.position import OpaquePosition


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Signed amounts of several partitions, summed up so that positive and negative ones do not cancel out."""

    left: int
    """The sum of the positive ones."""
    past: int
    """The sum of the negative ones, as a positive number: how far positions are past the end."""
    past_partitions: int
    known: int
    """Partitions whose amount is known."""
    unknown: int

    @property
    def net(self) -> int | None:
        return self.left - self.past if self.known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Furthest:
    ms: int
    unknown: int
    """Partitions whose time is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    old: Total
    new: Total
    drift: tuple[Total, ...] = ()
    """In the order of the sample's groups."""

    def lag(self, side: Cluster) -> Total:
        return self.old if side is Cluster.OLD else self.new


def lag(row: LagPartition, side: Cluster, isolation: IsolationLevel) -> int | None:
    """Return what is left to read; negative if the position is past the end, None if either is unknown."""
    position, last = row.position_on(side), row.log(side).end(isolation)
    return None if position is None or last is None else last - position


def in_time(sample: LagSample) -> bool:
    positions = (
        at for partition in sample.partitions for at in (partition.position, partition.old.hw, partition.new.hw)
    )
    return any(isinstance(at, OpaquePosition) for at in positions)


def behind_ms(row: LagPartition, side: Cluster) -> int | None:
    """Return how far a partition is behind in time; 0 if it is read to its end, None if unknown."""
    result = row.time_lag_on(side)
    return None if result is None else 0 if result.left is Left.ENDED else result.ms


def furthest(sample: LagSample, side: Cluster) -> Furthest | None:
    """Return the time of the partition that is furthest behind; None if no time is known.

    Partitions without a position of the subject do not count.
    """
    times = [behind_ms(row, side) for row in sample.partitions if row.position_on(side) is not None]
    known = [time for time in times if time is not None]
    return Furthest(ms=max(known), unknown=len(times) - len(known)) if known else None


def drift(row: LagPartition, group: int) -> int | None:
    """Return how far a group's commit on the old cluster is ahead of the subject's position; negative if behind."""
    committed = row.groups[group].old if group < len(row.groups) else None
    return None if committed is None or row.position is None else committed - row.position


def total(amounts: Iterable[int | None]) -> Total:
    """Sum up signed amounts.

    >>> total([150, -100, None])
    Total(left=150, past=100, past_partitions=1, known=2, unknown=1)
    """
    remaining = past = past_partitions = known = uncounted = 0
    for amount in amounts:
        if amount is None:
            uncounted += 1
            continue
        known += 1
        if amount < 0:
            past -= amount
            past_partitions += 1
        else:
            remaining += amount
    return Total(left=remaining, past=past, past_partitions=past_partitions, known=known, unknown=uncounted)


def totals(sample: LagSample) -> Totals:
    """Sum up a sample. Partitions in which a group never committed do not count as unknown drift."""
    rows, isolation = sample.partitions, sample.isolation_level
    return Totals(
        old=total(lag(row, Cluster.OLD, isolation) for row in rows),
        new=total(lag(row, Cluster.NEW, isolation) for row in rows),
        drift=tuple(
            total(drift(row, index) for row in rows if index < len(row.groups) and row.groups[index].old is not None)
            for index in range(len(sample.groups))
        ),
    )
