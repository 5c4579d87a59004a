"""Infer, with a reason, the cluster that a checkpoint's offsets belong to, because a checkpoint does not name it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from offsetwise.model import AnyPosition, BelongsTo, Cluster, LogRange, TopicPartition

SHOWN = 3

CLOCKS_APART_MS = 5 * 60_000
"""The assumed maximum difference between the clocks of producers and of the job's driver. The record before the
position of a job that keeps up is as old as its batch: differences of seconds must not decide about the cluster."""


class PositionStanding(NamedTuple):
    """One position with the state of both clusters for its topic's names. None: no such partition.

    A tuple, because a job may have a million of them.
    """

    partition: TopicPartition
    offset: AnyPosition
    old: LogRange | None
    new: LogRange | None
    time_on_old: int | None = None
    """Timestamp of the record before the position on the old cluster, if records were read."""
    time_on_new: int | None = None
    """Timestamp of the record before the same offset on the new cluster, if records were read."""
    same: bool = False
    """Whether records proved that the same offset is the same position on both clusters."""


def belongs_to(
    standings: Iterable[PositionStanding], *, planned_at_ms: int | None, names: Mapping[Cluster, str]
) -> BelongsTo:
    """Infer the cluster from log ranges and, if records were read, from their identity and times.

    A log's end never falls, so a position above the end of a log was not read from it. Records with producer timestamps
    well after the batch was planned were not in that batch: this must hold for all partitions, because a single record
    may carry any time. If every offset is the same position on both clusters, nothing depends on the result.

    Args:
        standings: The positions of the restart.
        planned_at_ms: When the last batch was planned, by the driver's clock, epoch ms; None if unknown.
        names: The names of the clusters.
    """
    objections = {cluster: _Candidate(cluster, planned_at_ms) for cluster in Cluster}
    count, same = _weighed(standings, objections.values())
    if not count:
        return BelongsTo(cluster=None, reason="There is no position to tell it from.")
    possible = [cluster for cluster, reasons in objections.items() if not reasons.count]
    old, new = names[Cluster.OLD], names[Cluster.NEW]
    if len(possible) == 1:
        other = Cluster.NEW if possible[0] is Cluster.OLD else Cluster.OLD
        return BelongsTo(
            cluster=possible[0],
            reason=f"The positions fit {names[possible[0]]!r} and not {names[other]!r}: {objections[other]}.",
        )
    if possible and same:
        return BelongsTo(
            cluster=Cluster.OLD,
            reason=f"The same records stand at these numbers in the logs of {old!r} and of {new!r}: it makes no "
            "difference which of them they were read from.",
        )
    if possible:
        return BelongsTo(cluster=None, reason=f"Every position lies inside the logs of {old!r} and of {new!r}.")
    return BelongsTo(
        cluster=None,
        reason=f"The positions fit neither {old!r} ({objections[Cluster.OLD]}) nor {new!r} "
        f"({objections[Cluster.NEW]}).",
    )


def _weighed(standings: Iterable[PositionStanding], objections: Collection[_Candidate]) -> tuple[int, bool]:
    count, same = 0, True
    for state in standings:
        count, same = count + 1, same and state.same
        for reasons in objections:
            reasons.add(state)
    return count, same


class _Candidate:
    """The objections to a cluster: the first sentences, and the number of objections of all positions."""

    __slots__ = ("_beyond", "_cluster", "_of_beyond", "_of_young", "_planned_at_ms", "_timed", "_young")

    def __init__(self, cluster: Cluster, planned_at_ms: int | None) -> None:
        self._cluster = cluster
        self._planned_at_ms = planned_at_ms
        self._beyond: list[str] = []
        self._young: list[str] = []
        self._of_beyond = self._of_young = self._timed = 0

    def add(self, state: PositionStanding) -> None:
        is_old = self._cluster is Cluster.OLD
        log, time = (state.old, state.time_on_old) if is_old else (state.new, state.time_on_new)
        if log is None or (log.hw is not None and state.offset > log.hw):
            self._of_beyond += 1
            if self._of_beyond <= SHOWN:
                self._beyond.append(
                    f"it has no {state.partition}"
                    if log is None
                    else f"{state.partition} is at {state.offset:,}, its log ends at {log.hw:,}"
                )
        if time is None or self._planned_at_ms is None:
            return
        self._timed += 1
        if time > self._planned_at_ms + CLOCKS_APART_MS:
            self._of_young += 1
            if self._of_young <= SHOWN:
                self._young.append(
                    f"the record before {state.offset:,} of {state.partition} is more than "
                    f"{CLOCKS_APART_MS // 60_000} minutes younger than the batch that read it"
                )

    @property
    def count(self) -> int:
        """The number of objections; 0 if it may be the cluster."""
        return self._of_beyond + (self._of_young if self._of_young == self._timed else 0)

    def __str__(self) -> str:
        more = self.count - SHOWN
        sentences = (self._beyond + self._young if self._of_young == self._timed else self._beyond)[:SHOWN]
        return "; ".join(sentences) + (f"; and {more:,} more" if more > 0 else "")
