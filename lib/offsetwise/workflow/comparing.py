"""Positions on both clusters, each proven as far as the records allow."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from offsetwise.comparison import Scene, Subject, assemble, planned_at_ms, positions_of, standings_of
from offsetwise.config import Migration, spark_properties
from offsetwise.errors import CheckpointError, ClusterError, ConfigError, SameClusterError
from offsetwise.model import BelongsTo, Cluster, Comparison, Snapshot
from offsetwise.plan.rewind import rewound
from offsetwise.progress import Progress, unheard
from offsetwise.proof import Proof, learnt_of, prove, standings_read
from offsetwise.sources import kafka
from offsetwise.sources.checkpoint import read_checkpoint
from offsetwise.sources.storage import open_tree
from offsetwise.translation.belongs import belongs_to
from offsetwise.workflow.stored import Observed


def snapshot(migration: Migration, cluster: Cluster, *, topics: tuple[str, ...] | None = None) -> Snapshot:
    """Read one cluster: all topics, or those named, and the groups of the migration.

    Raises:
        ClusterError: The cluster gave no answer.
    """
    return kafka.read_cluster(cluster, migration.cluster(cluster), topics=topics, groups=migration.groups)


def compare(
    migration: Migration,
    *,
    checkpoint: str | None = None,
    group: str | None = None,
    snapshots: tuple[Snapshot, Snapshot] | None = None,
    content: bool = True,
    progress: Progress = unheard,
) -> Comparison:
    """Compare a checkpoint's or a group's positions on both clusters.

    Args:
        migration: The migration.
        checkpoint: The name of one of its checkpoints; or
        group: the name of a consumer group on the old cluster.
        snapshots: Compare with these instead of the live clusters; no record is read then.
        content: Whether to read records. Without, nothing is better than CLAIMED.
        progress: Told each step.

    Raises:
        CheckpointError: The checkpoint cannot be used.
        ClusterError: A cluster cannot be read.
        ConfigError: Spark cannot read a cluster with the properties given; nothing has been read yet.
        SparkError: Spark cannot read the records.
    """
    return observe(
        migration, checkpoint=checkpoint, group=group, snapshots=snapshots, content=content, progress=progress
    ).comparison


def observe(
    migration: Migration,
    *,
    checkpoint: str | None = None,
    group: str | None = None,
    snapshots: tuple[Snapshot, Snapshot] | None = None,
    content: bool = True,
    progress: Progress = unheard,
    rewind_to: int | None = None,
    groups: tuple[str, ...] = (),
) -> Observed:
    """Compare, and give both clusters as they were read for it; see `compare`.

    Args:
        migration: The migration.
        checkpoint: The name of one of its checkpoints; or
        group: the name of a consumer group on the old cluster.
        snapshots: Compare with these instead of the live clusters.
        content: Whether to read records.
        progress: Told each step.
        rewind_to: Compare the positions after this earlier batch of the checkpoint instead of the restart's.
        groups: Groups to read beside those of the migration.

    Raises:
        CheckpointError: The checkpoint cannot be used.
        ClusterError: A cluster cannot be read.
        ConfigError: Spark cannot read a cluster with the properties given; nothing has been read yet.
        PlanError: The checkpoint cannot be taken back to the batch.
        SparkError: Spark cannot read the records.
    """
    properties = spark_properties(migration) if content and snapshots is None else None
    subject, stated = _subject(migration, checkpoint, group, progress, rewind_to)
    old, new = snapshots or _both(migration, subject, progress, groups)
    check_two_clusters(old, new)
    scene = Scene.of(migration, subject, old, new, live=snapshots is None)
    _check_group(scene)
    positions = positions_of(scene)
    names = {Cluster.OLD: old.name, Cluster.NEW: new.name}
    planned_at = planned_at_ms(subject.checkpoint)
    belongs = stated or belongs_to(standings_of(scene, positions), planned_at_ms=planned_at, names=names)
    _check_old(belongs, subject)
    read = Proof() if properties is None else prove(scene, positions, properties, progress)
    if belongs.cluster is None and read.found:
        known = standings_read(scene, positions, read)
        belongs = belongs_to(known, planned_at_ms=planned_at, names=names)
        _check_old(belongs, subject)
    progress("judge", 0, 1)
    made = assemble(scene, [learnt_of(scene, position, read) for position in positions], belongs)
    progress("judge", 1, 1)
    return Observed(comparison=made, old=old, new=new)


def check_two_clusters(old: Snapshot, new: Snapshot) -> None:
    """Refuse to go on with two snapshots of one cluster.

    Raises:
        SameClusterError: Both have the same cluster id.
    """
    if old.cluster_id is not None and old.cluster_id == new.cluster_id:
        raise SameClusterError(
            f"{old.name!r} and {new.name!r}: expected two clusters, found the cluster id {old.cluster_id!r} on both. "
            "Nothing was compared.",
            fix="Correct bootstrap.servers of one of them in the migration file.",
        )


def _subject(
    migration: Migration, checkpoint: str | None, group: str | None, progress: Progress, rewind_to: int | None
) -> tuple[Subject, BelongsTo | None]:
    if (checkpoint is None) == (group is None) or (rewind_to is not None and checkpoint is None):
        raise ConfigError(
            "compare: expected either a checkpoint or a group, found both or neither; only a checkpoint can be taken "
            "back to an earlier batch. Nothing was read.",
            fix="Name one checkpoint of the migration file, or one consumer group.",
        )
    if checkpoint is None:
        itself = BelongsTo(cluster=Cluster.OLD, reason="A group's offsets are read from the old cluster itself.")
        return Subject(group=group), itself
    config = migration.checkpoint(checkpoint)
    progress("read the checkpoint", 0, 1)
    read = read_checkpoint(config.uri, roots=migration.checkpoint_roots)
    progress("read the checkpoint", 1, 1)
    if not any(source.positions for source in read.sources):
        has = "its Kafka source holds no partition yet" if any(each.kind == "kafka" for each in read.sources) else ""
        why = "; ".join(problem.message for problem in read.problems) or has or "it has no Kafka source"
        raise CheckpointError(
            f"{config.uri}: expected Kafka positions, found none that can be used: {why}. Nothing was compared.",
            fix=f"Look at it: offsetwise inspect {config.uri}",
        )
    if rewind_to is not None:
        path = f"offsets/{rewind_to}"
        found = digests(migration, config.uri, [path])
        read = rewound(read, rewind_to, files=tuple(found.items()))
        if not found:
            raise CheckpointError(
                f"{config.uri}/{path}: expected the positions to go back to, but it cannot be read any more. "
                "Nothing was compared.",
                fix="Check that no query runs on the checkpoint, then try again.",
            )
    told = config.belongs_to
    stated = None if told is None else BelongsTo(cluster=told, reason="The migration file states it.")
    return Subject(checkpoint=read, traits=config.job, rewound_to=rewind_to), stated


def digests(migration: Migration, uri: str, paths: Sequence[str]) -> dict[str, str]:
    """Give the SHA-256 of files of a checkpoint, by path; those that cannot be read are left out."""
    read = open_tree(uri, roots=migration.checkpoint_roots).for_large_files().read_many(dict.fromkeys(paths))
    return {path: hashlib.sha256(data).hexdigest() for path, data in read.items() if isinstance(data, bytes)}


def _both(
    migration: Migration, subject: Subject, progress: Progress, more_groups: tuple[str, ...] = ()
) -> tuple[Snapshot, Snapshot]:
    """Read the old cluster, then the new one: what the mirror says was then said before the new ends were read."""
    groups = tuple(sorted({*migration.groups, *more_groups, *subject.groups}))
    topics = subject.topics()
    progress("read the old cluster", 0, 1)
    if subject.group is not None:
        only_group = kafka.read_cluster(Cluster.OLD, migration.source, topics=(), groups=groups, mirror=False)
        topics = subject.topics(only_group)
    old = kafka.read_cluster(Cluster.OLD, migration.source, topics=topics, groups=groups)
    progress("read the old cluster", 1, 1)
    progress("read the new cluster", 0, 1)
    renamed = {migration.new_topic(topic) for topic in topics}
    # The old names tell which cluster the checkpoint belongs to. Where topics are renamed, that
    # they are not there is no problem of the new cluster.
    old_names = tuple(sorted(set(topics) - renamed))
    new = kafka.read_cluster(
        Cluster.NEW, migration.target, topics=(*sorted(renamed), *old_names), groups=groups, if_there=old_names
    )
    progress("read the new cluster", 1, 1)
    return old, new


def _check_group(scene: Scene) -> None:
    name = scene.subject.group
    if name is None:
        return
    found = scene.group(Cluster.OLD)
    if found is None or not found.offsets:
        why = (
            f"it could not be read: {found.error}" if found is not None and found.error else "it has committed nothing"
        )
        raise ClusterError(
            f"Group {name!r} on {scene.old.name!r}: expected committed offsets, but {why}. Nothing was compared.",
            fix="Check the group's name, and that its offsets have not expired.",
        )


def _check_old(belongs: BelongsTo, subject: Subject) -> None:
    if belongs.cluster is Cluster.NEW and subject.checkpoint is not None:
        raise CheckpointError(
            f"{subject.checkpoint.uri}: expected positions of the old cluster, found positions of the new one. "
            f"{belongs.reason} There is nothing to translate.",
            fix=(
                "To go back, swap source and target in a second migration file. If the inference is wrong, state "
                "`belongs_to: old` at this checkpoint in the migration file."
            ),
        )
