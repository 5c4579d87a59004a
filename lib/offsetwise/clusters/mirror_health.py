"""How far MirrorMaker has come: its newest sync of every partition, and its last heartbeats.

A sync is a claim about one record, written now and then (`offset.lag.max` is 100 by default), so "mirrored up to" is
the newest sync and no more: the rest of both logs is shown separately, in offsets, and nothing is added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.clusters.reading import ReadCluster
from offsetwise.findings.migration import HEARTBEAT_AGE_MS
from offsetwise.model import MirrorState, MirrorTopic, OffsetSync, PartitionState, TopicPartition, epoch_ms
from offsetwise.position import offset_or_none
from offsetwise.translation.mirror import find_flow


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirrored:
    topic: str
    """The old name."""
    partition: int
    upstream: int
    """Mirrored up to: this offset on the old cluster …"""
    downstream: int
    """… is this one on the new."""
    old_behind: int | None
    """Offsets of the old log after the sync's record; None if the log was not read."""
    new_behind: int | None
    """Offsets of the new log after it; negative if the new log ends before it."""

    @property
    def apart(self) -> int | None:
        """How many more offsets the old log has after the sync than the new one; None if either is unknown."""
        return None if self.old_behind is None or self.new_behind is None else self.old_behind - self.new_behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The last heartbeat of one flow, and its age when the clusters were read."""

    source: str
    target: str
    at_ms: int
    age_ms: int
    stalled: bool
    ours: bool
    """Whether it is the flow of this migration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorHealth:
    partitions: tuple[Mirrored, ...]
    beats: tuple[Beat, ...]
    topics: tuple[tuple[str, MirrorTopic], ...]
    """MirrorMaker's topics, with the side of each."""
    statements: tuple[str, ...]
    """Which topics were taken for the flow, and why."""
    last_sync_ms: int | None
    """Kafka's timestamp of the newest sync; None if it was not recorded."""
    read_ms: int
    """When the later of the clusters was read; 0 if neither was."""


def mirror_health(old: ReadCluster | None, new: ReadCluster | None) -> MirrorHealth:
    states = {side: MirrorState() if read is None else read.snapshot.mirror for side, read in _sides(old, new)}
    aliases = {side: "" if read is None else read.snapshot.alias for side, read in _sides(old, new)}
    separator = next((cluster.separator for cluster in (old, new) if cluster is not None), ".")
    flow = find_flow(
        states["old"],
        states["new"],
        source_alias=aliases["old"],
        target_alias=aliases["new"],
        separator=separator,
    )
    newest = {sync.topic_partition: sync for sync in flow.syncs}
    logs_old, logs_new = ({} if read is None else read.snapshot.partitions() for read in (old, new))
    names = {} if old is None else old.counterparts
    partitions = tuple(
        _mirrored(sync, logs_old.get(key), logs_new.get(TopicPartition(names.get(sync.topic, ""), sync.partition)))
        for key, sync in sorted(newest.items())
    )
    read_ms = max((epoch_ms(cluster.snapshot.taken_at) for cluster in (old, new) if cluster is not None), default=0)
    topics = tuple((side, topic) for side, state in states.items() for topic in state.topics)
    syncs = [topic.newest_ms for _, topic in topics if topic.kind == "offset-syncs" and topic.newest_ms is not None]
    return MirrorHealth(
        partitions=partitions,
        beats=_beats(old, new, states, read_ms),
        read_ms=read_ms,
        topics=topics,
        statements=flow.statements if old is not None and new is not None else (),
        last_sync_ms=max(syncs, default=None),
    )


def _sides(old: ReadCluster | None, new: ReadCluster | None) -> tuple[tuple[str, ReadCluster | None], ...]:
    return ("old", old), ("new", new)


def _mirrored(sync: OffsetSync, old: PartitionState | None, new: PartitionState | None) -> Mirrored:
    return Mirrored(
        topic=sync.topic,
        partition=sync.partition,
        upstream=sync.upstream,
        downstream=sync.downstream,
        old_behind=_lag(old, sync.upstream),
        new_behind=_lag(new, sync.downstream),
    )


def _lag(log: PartitionState | None, offset: int) -> int | None:
    end = None if log is None else offset_or_none(log.hw)
    return None if end is None else end - offset - 1


def _beats(
    old: ReadCluster | None, new: ReadCluster | None, states: Mapping[str, MirrorState], now_ms: int
) -> tuple[Beat, ...]:
    newest: dict[tuple[str, str], int] = {}
    for state in states.values():
        for beat in state.heartbeats:
            flow = beat.source, beat.target
            newest[flow] = max(beat.timestamp_ms, newest.get(flow, 0))
    aliases = tuple("" if cluster is None else cluster.snapshot.alias for cluster in (old, new))
    return tuple(
        Beat(
            source=source,
            target=target,
            at_ms=at_ms,
            age_ms=max(0, now_ms - at_ms),
            stalled=now_ms - at_ms > HEARTBEAT_AGE_MS,
            ours=(source, target) == aliases,
        )
        for (source, target), at_ms in sorted(newest.items(), key=lambda beat: (beat[0] != aliases, beat[0]))
    )
