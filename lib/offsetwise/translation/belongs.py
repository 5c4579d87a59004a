"""Infer, with a reason, the cluster that a checkpoint's offsets belong to, because a checkpoint does not name it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from offsetwise.model import AnyPosition, BelongsTo, Cluster, LogRange, TopicPartition
from offsetwise.translation.query import Query

SHOWN = 3

CLOCKS_APART_MS = 5 * 60_000
"""The assumed maximum difference between the clocks of producers and of the job's driver. The record before the
position of a job that keeps up is as old as its batch: differences of seconds must not decide about the cluster."""


class RecordsBefore(NamedTuple):
    """The records before one position, and before the same offset on the new cluster."""

    time_on_old: int | None = None
    """Timestamp of the record before the position on the old cluster."""
    time_on_new: int | None = None
    """Timestamp of the record before the same offset on the new cluster."""
    same: bool = False
    """Whether records proved that the same offset is the same position on both clusters."""


Records = Mapping[tuple[TopicPartition, AnyPosition | None], RecordsBefore]
"""By partition and offset, where records were read."""
_NOTHING: Final = RecordsBefore()
UNREAD: Final[Records] = MappingProxyType({})


def belongs_to(
    positions: Iterable[Query],
    *,
    planned_at_ms: int | None,
    names: Mapping[Cluster, str],
    records: Records = UNREAD,
) -> BelongsTo:
    """Infer the cluster from log ranges and, if records were read, from their identity and times.

    A log's end never falls, so a position above the end of a log was not read from it. Records with producer timestamps
    well after the batch was planned were not in that batch: this must hold for all partitions, because a single record
    may carry any time. If every offset is the same position on both clusters, nothing depends on the result.

    Args:
        positions: The positions of the restart, with both logs of the topics' own names.
        planned_at_ms: When the last batch was planned, by the driver's clock, epoch ms; None if unknown.
        names: The names of the clusters.
        records: What the records before the positions say.
    """
    stated = [position for position in positions if position.offset is not None and position.starts_at is None]
    if not stated:
        return BelongsTo(cluster=None, reason="There is no position to tell it from.")
    before = [records.get((at.topic_partition, at.offset), _NOTHING) if records else _NOTHING for at in stated]
    against = {cluster: _against(cluster, stated, before, planned_at_ms) for cluster in Cluster}
    possible = [cluster for cluster, reasons in against.items() if not reasons]
    old, new = names[Cluster.OLD], names[Cluster.NEW]
    if len(possible) == 1:
        other = Cluster.NEW if possible[0] is Cluster.OLD else Cluster.OLD
        why = f"The positions fit {names[possible[0]]!r} and not {names[other]!r}: {against[other]}."
        return BelongsTo(cluster=possible[0], reason=why)
    if possible and all(at.same for at in before):
        return BelongsTo(
            cluster=Cluster.OLD,
            reason=f"The same records stand at these numbers in the logs of {old!r} and of {new!r}: it makes no "
            "difference which of them they were read from.",
        )
    why = f"Every position lies inside the logs of {old!r} and of {new!r}."
    if not possible:
        why = f"The positions fit neither {old!r} ({against[Cluster.OLD]}) nor {new!r} ({against[Cluster.NEW]})."
    return BelongsTo(cluster=None, reason=why)


def _against(
    cluster: Cluster, positions: Sequence[Query], before: Sequence[RecordsBefore], planned_at_ms: int | None
) -> str:
    """Return what speaks against a cluster: the first sentences, and how many more there are; empty for nothing."""
    is_old = cluster is Cluster.OLD
    logs = ((at, at.old if is_old else at.new) for at in positions)
    beyond = [(at, log) for at, log in logs if _is_beyond(at.offset, log)]
    reasons = [
        f"it has no {at.topic_partition}"
        if log is None
        else f"{at.topic_partition} is at {at.offset:,}, its log ends at {log.hw:,}"
        for at, log in beyond[:SHOWN]
    ]
    times = [records.time_on_old if is_old else records.time_on_new for records in before]
    timed = [(at, time) for at, time in zip(positions, times, strict=True) if time is not None]
    young = [] if planned_at_ms is None else [at for at, time in timed if time > planned_at_ms + CLOCKS_APART_MS]
    if len(young) < len(timed):
        young = []
    reasons += [
        f"the record before {at.offset:,} of {at.topic_partition} is more than {CLOCKS_APART_MS // 60_000} minutes "
        "younger than the batch that read it"
        for at in young[:SHOWN]
    ]
    more = len(beyond) + len(young) - SHOWN
    return "; ".join(reasons[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")


def _is_beyond(offset: AnyPosition | None, log: LogRange | None) -> bool:
    return log is None or (log.hw is not None and offset is not None and offset > log.hw)
