from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from offsetwise.comparison import Scene
from offsetwise.model import (
    Cluster,
    Exactness,
    GroupPosition,
    GroupState,
    LagPart,
    LagPartition,
    LagSample,
    LogRange,
    Method,
    MissingPart,
    PartitionComparison,
    SampledCluster,
    Snapshot,
    TopicPartition,
    epoch_ms,
)

_UNREAD = LogRange(log_start=None, lso=None, hw=None)
_Commits = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleHead:
    taken_at_ms: int
    sampled_by: str
    interval_ms: int | None = None
    before: LagSample | None = None
    """The previous sample, whose partitions are kept while a cluster or the positions cannot be read."""
    missing: tuple[MissingPart, ...] = field(default=())


def sample_of(head: SampleHead, scene: Scene, rows: Sequence[PartitionComparison]) -> LagSample:
    """Return the sample of a scene.

    Args:
        head: The time, the sampler, and what could not be read.
        scene: The two snapshots; that of an unreadable cluster is empty.
        rows: The positions with their target offsets, from a comparison without records.
    """
    missing = {part.part for part in head.missing}
    own = scene.subject.groups
    groups = (*scene.migration.group_names, *(name for name in own if name not in scene.migration.group_names))
    commits = {
        side: [_commits(snapshot.group(name)) for name in groups]
        for side, snapshot in ((Cluster.OLD, scene.old), (Cluster.NEW, scene.new))
    }
    results = {row.key: row for row in (_partition(row, commits) for row in rows)}
    if missing and head.before is not None:
        nobody = tuple(GroupPosition(old=None, new=None) for _ in groups)
        lost = (_nowhere(row) for row in head.before.partitions if row.key not in results)
        results |= {row.key: replace(row, old=_UNREAD, new=_UNREAD, groups=nobody) for row in lost}
    if LagPart.POSITIONS in missing:
        results = {key: _nowhere(row) for key, row in results.items()}
    read = scene.subject.read
    return LagSample(
        migration=scene.migration.name,
        checkpoint=scene.subject.checkpoint,
        group=scene.subject.group,
        taken_at_ms=head.taken_at_ms,
        interval_ms=head.interval_ms,
        sampled_by=head.sampled_by,
        isolation_level=scene.migration.isolation_level,
        old=_cluster(scene.old, read=LagPart.OLD not in missing),
        new=_cluster(scene.new, read=LagPart.NEW not in missing),
        batch=read.details.progress.committed if read is not None else None,
        heartbeat_ms=_heartbeat(scene),
        groups=groups,
        partitions=tuple(sorted(results.values(), key=lambda row: row.key)),
        missing=head.missing,
        problems=(*scene.old.problems, *scene.new.problems),
    )


def _partition(row: PartitionComparison, commits: Mapping[Cluster, Sequence[_Commits]]) -> LagPartition:
    old = (commit.get(row.topic_partition) for commit in commits[Cluster.OLD])
    new = (commit.get(row.new_topic_partition) for commit in commits[Cluster.NEW])
    return LagPartition(
        source=row.source,
        topic=row.topic,
        partition=row.partition,
        new_topic=row.new_topic,
        position=row.old_offset,
        new_position=row.new_offset,
        method=row.method,
        exactness=row.exactness,
        old=row.old,
        new=row.new,
        groups=tuple(GroupPosition(old=here, new=there) for here, there in zip(old, new, strict=True)),
        behind_old=row.behind_old,
        behind_new=row.behind_new,
    )


def _nowhere(row: LagPartition) -> LagPartition:
    return replace(
        row,
        position=None,
        new_position=None,
        method=Method.NONE,
        exactness=Exactness.UNKNOWN,
        behind_old=None,
        behind_new=None,
    )


def _commits(group: GroupState | None) -> _Commits:
    return {} if group is None else group.commits


def _cluster(snapshot: Snapshot, *, read: bool) -> SampledCluster:
    at = epoch_ms(snapshot.taken_at) if read else None
    return SampledCluster(name=snapshot.name, cluster_id=snapshot.cluster_id, read_at_ms=at)


def _heartbeat(scene: Scene) -> int | None:
    flow = (scene.old.alias, scene.new.alias)
    beats = [
        beat.timestamp_ms
        for snapshot in (scene.old, scene.new)
        for beat in snapshot.mirror.heartbeats
        if (beat.source, beat.target) == flow
    ]
    return max(beats, default=None)
