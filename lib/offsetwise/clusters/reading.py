"""Operations on one cluster: read it, find out why it cannot be read, and read the rights of its user.

The console calls them. Nothing here writes to a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise import files
from offsetwise.bundled import Bundled
from offsetwise.clusters.retention import ReaderPosition
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.config import Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.model import (
    AnyPosition,
    Cluster,
    Link,
    Snapshot,
    SourcePosition,
    Subject,
    SubjectKind,
    TopicPartition,
)
from offsetwise.ports.stream import spec_of
from offsetwise.progress import Progress
from offsetwise.streams.access import AclCommand, Permissions, Step
from offsetwise.streams.reader import access_of, has_mirror_topic, read_cluster, timestamps_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCluster:
    snapshot: Snapshot
    counterparts: Mapping[str, str]
    """The names of its topics on the other cluster, without topics outside the migration."""
    link: Link | None
    """How records come to the new cluster; None without a migration file."""
    separator: str = "."
    """The mirror's separator between alias and topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumAcls:
    cluster: Cluster
    topics: tuple[str, ...]
    commands: tuple[AclCommand, ...]
    unread: tuple[str, ...]
    """Unreadable checkpoints, whose topics are therefore missing."""


def read(migration: Migration, cluster: Cluster, progress: Progress) -> ReadCluster:
    """Read a cluster: all topics, or only the migration's if the stream is read by name; and the migration's groups.

    Raises:
        ClusterError: The cluster does not answer.
    """
    topics = _topics(migration, cluster)[0] if spec_of(migration.cluster(cluster).stream).by_name else None
    snapshot = read_cluster(migration, cluster, topics=topics, groups=migration.group_names, progress=progress)
    return _named(migration, snapshot)


def recorded(migration: Migration, cluster: Cluster, which: Bundled = Bundled.SPARK) -> ReadCluster:
    path = which.file(f"{cluster}.json")
    snapshot: Snapshot = files.load(path.read_bytes(), "snapshot", subject=path.name)
    return _named(migration, snapshot)


def try_connection(migration: Migration, cluster: Cluster, progress: Progress) -> tuple[Step, ...]:
    """Try to reach a cluster, step by step.

    Raises:
        ConfigError: Properties that cannot be used, or a missing secret.
    """
    topics, _ = _topics(migration, cluster)
    config = migration.cluster(cluster)
    access = access_of(config)
    if access is None:
        return ()
    return access.try_connection(
        config, topic=next(iter(topics), None), groups=migration.group_names, progress=progress
    )


def read_permissions(migration: Migration, cluster: Cluster, progress: Progress) -> Permissions:
    """Read the rights of a cluster's user on the topics and groups of the migration.

    Raises:
        ClusterError: The cluster does not answer.
    """
    progress("read the checkpoints", 0, 1)
    topics, _ = _topics(migration, cluster)
    progress("read the checkpoints", 1, 1)
    progress(f"ask the {cluster} cluster", 0, 1)
    config = migration.cluster(cluster)
    access = access_of(config)
    if access is None:
        permissions = Permissions(cluster=cluster, user=None, authorizer=None, granted=())
    else:
        permissions = access.read_permissions(cluster, config, topics=topics, groups=migration.group_names)
    progress(f"ask the {cluster} cluster", 1, 1)
    return permissions


def minimum_acls(migration: Migration, cluster: Cluster) -> MinimumAcls:
    """Return the commands that grant the rights to read this migration. Reads the checkpoints, but no cluster."""
    topics, unread = _topics(migration, cluster)
    config = migration.cluster(cluster)
    mirrors = _mirror_topics(migration, cluster) if migration.link is Link.MIRRORMAKER else ()
    access = access_of(config)
    return MinimumAcls(
        cluster=cluster,
        topics=topics,
        commands=()
        if access is None
        else access.minimum_acls(config, topics=topics, mirror_topics=mirrors, groups=migration.group_names),
        unread=unread,
    )


def standings(migration: Migration, cluster: Cluster, progress: Progress) -> tuple[ReaderPosition, ...]:
    """Return the positions in the logs of a cluster, with the timestamps of their records.

    On the old cluster those of checkpoints and groups, on the new one those of groups.

    Raises:
        ClusterError: The cluster does not answer.
    """
    config = migration.cluster(cluster)
    progress("read the positions", 0, 1)
    snapshot = read_cluster(migration, cluster, topics=(), groups=migration.group_names, mirror=False)
    positions: list[tuple[str, TopicPartition, AnyPosition]] = [
        (f"group {group.name}", offset.topic_partition, offset.offset)
        for group in snapshot.groups
        for offset in group.positions
    ]
    if cluster is Cluster.OLD:
        results, _ = _checkpoints(migration)
        positions += [
            (f"checkpoint {name}", position.topic_partition, position.offset)
            for name, read in results.items()
            for position in read
        ]
    progress("read the positions", 1, 1)
    progress("read the records at the positions", 0, 1)
    requested = {(partition, offset) for _, partition, offset in positions}
    times = timestamps_at(config, requested)
    progress("read the records at the positions", 1, 1)
    return tuple(
        ReaderPosition(of=of, partition=partition, offset=offset, record_ms=times.get((partition, offset)))
        for of, partition, offset in sorted(positions)
    )


def _named(migration: Migration, snapshot: Snapshot) -> ReadCluster:
    named = {}
    for topic in snapshot.topics:
        if has_mirror_topic(migration.cluster(snapshot.cluster), topic.name):
            continue
        other = migration.new_topic(topic.name) if snapshot.cluster is Cluster.OLD else migration.old_topic(topic.name)
        if other is not None:
            named[topic.name] = other
    return ReadCluster(snapshot=snapshot, counterparts=named, link=migration.link, separator=migration.topics.separator)


def _topics(migration: Migration, cluster: Cluster) -> tuple[tuple[str, ...], tuple[str, ...]]:
    results, unread = _checkpoints(migration)
    old = {position.topic for read in results.values() for position in read}
    old |= set(migration.topics.map)
    names = old if cluster is Cluster.OLD else {migration.new_topic(name) for name in old}
    return tuple(sorted(names)), unread


def _checkpoints(migration: Migration) -> tuple[dict[str, tuple[SourcePosition, ...]], tuple[str, ...]]:
    results, unread = {}, []
    for checkpoint in migration.checkpoints:
        try:
            read = on_cluster(
                read_checkpoint(checkpoint.uri, roots=migration.checkpoint_roots, history=1),
                checkpoint.job.old_cluster_id,
            )
            owner = Subject(kind=SubjectKind.CHECKPOINT, name=checkpoint.name)
            subject = ReadSubject.of(owner, migration, read=read, traits=checkpoint.job)
            results[checkpoint.name] = tuple(at for source in read.sources for at in subject.positions(source))
        except OffsetwiseError:
            unread.append(checkpoint.name)
    return results, tuple(unread)


def _mirror_topics(migration: Migration, cluster: Cluster) -> tuple[str, ...]:
    # MirrorMaker's default names; offset syncs may be on either cluster (`offset-syncs.topic.location`), by default on
    # the source.
    source, target, dot = migration.source.alias, migration.target.alias, migration.topics.separator
    if cluster is Cluster.OLD:
        return (f"mm2-offset-syncs{dot}{target}{dot}internal", "heartbeats")
    return (f"{source}{dot}checkpoints{dot}internal", "heartbeats", f"{source}{dot}heartbeats")
