"""One observation of the logs of some topics: starts, ends, producers, and contradictions between two observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from offsetwise.model import (
    AnyPosition,
    Cluster,
    LogWriter,
    PartitionState,
    Problem,
    Snapshot,
    TopicPartition,
    TopicState,
)
from offsetwise.position import offset_or_none


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of one partition's log. None is unknown."""

    end: int | None
    """The high watermark."""
    stable: int | None
    """The last stable offset."""
    error: str = ""
    """Why it is unknown, as a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsLook:
    cluster_id: str | None
    logs: Mapping[TopicPartition, LogEnd] = field(default_factory=dict)
    """Every partition of the topics that exist."""
    writers: Mapping[TopicPartition, tuple[LogWriter, ...]] = field(default_factory=dict)
    """For partitions whose end has moved: the producers that their leaders remember, the last to write first."""
    problems: tuple[Problem, ...] = ()
    """Topics that do not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLog:
    """The log of one partition at one observation, and its identity. None is unknown."""

    log_start: AnyPosition | None = None
    hw: AnyPosition | None = None
    """The high watermark."""
    lso: AnyPosition | None = None
    """The last stable offset."""
    leader_epoch: int | None = None
    topic_id: str | None = None
    cluster_id: str | None = None


def seen_log(snapshot: Snapshot, topic: TopicState | None, partition: PartitionState | None) -> SeenLog:
    """Return a partition's log from a snapshot."""
    id_, log = None if topic is None else topic.id, partition or PartitionState(partition=0)
    return SeenLog(
        log_start=log.log_start,
        hw=log.hw,
        lso=log.lso,
        leader_epoch=log.leader_epoch,
        topic_id=id_,
        cluster_id=snapshot.cluster_id,
    )


def disagreements(side: Cluster, first: SeenLog, now: SeenLog) -> Iterator[str]:
    """Yield how two observations of a log contradict each other, as clauses with both values; nothing if it only grew.

    >>> list(disagreements(Cluster.OLD, SeenLog(hw=1_200), SeenLog(hw=1_100)))
    ['the end of the old log was 1,200, then 1,100']
    >>> list(disagreements(Cluster.NEW, SeenLog(hw=1_200, leader_epoch=3), SeenLog(hw=1_300, leader_epoch=4)))
    []
    """
    for what, was, then in (
        (f"the id of the {side} cluster", first.cluster_id, now.cluster_id),
        (f"the id of the topic on the {side} cluster", first.topic_id, now.topic_id),
    ):
        if was is not None and then is not None and was != then:
            yield f"{what} was {was}, then {then}"
    for what, before, after in (
        (f"the start of the {side} log", first.log_start, now.log_start),
        (f"the end of the {side} log", first.hw, now.hw),
        (f"the last stable offset of the {side} log", first.lso, now.lso),
        (f"the leader epoch of the {side} log", first.leader_epoch, now.leader_epoch),
    ):
        earlier, later = offset_or_none(before), offset_or_none(after)
        if earlier is not None and later is not None and later < earlier:
            yield f"{what} was {earlier:,}, then {later:,}"
