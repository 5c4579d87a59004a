"""Which cluster a checkpoint's offsets belong to. A checkpoint does not say, so it is inferred, with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from offsetwise.model import AnyPosition, BelongsTo, Cluster, LogRange, TopicPartition

SHOWN = 3

CLOCKS_APART_MS = 5 * 60_000
"""How far the clocks of producers and of the job's driver may be apart. The record before the position of a job that
keeps up is as old as its batch: seconds of difference must not tell its cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionStanding:
    """One position beside what both clusters hold under its topic's names. None: no such partition."""

    partition: TopicPartition
    offset: AnyPosition
    old: LogRange | None
    new: LogRange | None
    time_on_old: int | None = None
    """Timestamp of the record before the position on the old cluster, where records were read."""
    time_on_new: int | None = None
    """Timestamp of the record before the same number on the new cluster, where records were read."""
    same: bool = False
    """Whether records proved that the same number is the same place on both clusters."""


def belongs_to(
    standings: Iterable[PositionStanding], *, planned_at_ms: int | None, names: Mapping[Cluster, str]
) -> BelongsTo:
    """Infer the cluster from log ranges and, where records were read, from their identity and times.

    A log's end never moves back, so a position past the end of a log was not read from it. Records that producers
    stamped well after the batch was planned were not in that batch: all partitions have to say so, since a single
    record may carry any time. Where every number is the same place on both clusters, nothing depends on the answer.

    Args:
        standings: The positions of the restart.
        planned_at_ms: When the last batch was planned, by the driver's clock; None where it is not known.
        names: What the clusters are called.
    """
    standings = tuple(standings)
    if not standings:
        return BelongsTo(cluster=None, reason="There is no position to tell it from.")
    against = {cluster: _against(standings, cluster, planned_at_ms) for cluster in Cluster}
    possible = [cluster for cluster, reasons in against.items() if not reasons]
    old, new = names[Cluster.OLD], names[Cluster.NEW]
    if len(possible) == 1:
        other = Cluster.NEW if possible[0] is Cluster.OLD else Cluster.OLD
        return BelongsTo(
            cluster=possible[0],
            reason=f"The positions fit {names[possible[0]]!r} and not {names[other]!r}: {_some(against[other])}.",
        )
    if possible and all(standing.same for standing in standings):
        return BelongsTo(
            cluster=Cluster.OLD,
            reason=f"The same records stand at these numbers in the logs of {old!r} and of {new!r}: it makes no "
            "difference which of them they were read from.",
        )
    if possible:
        return BelongsTo(cluster=None, reason=f"Every position lies inside the logs of {old!r} and of {new!r}.")
    return BelongsTo(
        cluster=None,
        reason=f"The positions fit neither {old!r} ({_some(against[Cluster.OLD])}) nor {new!r} "
        f"({_some(against[Cluster.NEW])}).",
    )


def _against(standings: tuple[PositionStanding, ...], cluster: Cluster, planned_at_ms: int | None) -> list[str]:
    """Describe what speaks against a cluster, nothing if it may be the one."""
    beyond: list[str] = []
    young: list[str] = []
    timed = 0
    for standing in standings:
        is_old = cluster is Cluster.OLD
        log, time = (standing.old, standing.time_on_old) if is_old else (standing.new, standing.time_on_new)
        if log is None:
            beyond.append(f"it has no {standing.partition}")
        elif log.hw is not None and standing.offset > log.hw:
            beyond.append(f"{standing.partition} is at {standing.offset:,}, its log ends at {log.hw:,}")
        if time is None or planned_at_ms is None:
            continue
        timed += 1
        if time > planned_at_ms + CLOCKS_APART_MS:
            young.append(
                f"the record before {standing.offset:,} of {standing.partition} is more than "
                f"{CLOCKS_APART_MS // 60_000} minutes younger than the batch that read it"
            )
    return beyond + young if len(young) == timed else beyond


def _some(reasons: list[str]) -> str:
    more = len(reasons) - SHOWN
    return "; ".join(reasons[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
