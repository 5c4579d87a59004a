"""Read everything except records: the positions of jobs, and both clusters, once for all jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from offsetwise.comparison import Scene, positions_of, under_own_names
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.config import CheckpointConfig, Migration
from offsetwise.engines.checkpoint import read_checkpoint, read_newest
from offsetwise.engines.registry import engine_of
from offsetwise.errors import CheckpointError, ClusterError, ConfigError, OffsetwiseError, SameClusterError
from offsetwise.findings.reading import blocking_problems, remedies
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.garbage import collected_seldom
from offsetwise.model import BelongsTo, Checkpoint, Cluster, Snapshot, SourcePosition, Subject
from offsetwise.model.clusters import SHARE
from offsetwise.plan.moving import require_rewinding
from offsetwise.ports.stream import spec_of
from offsetwise.progress import Progress
from offsetwise.storage.folders import open_tree
from offsetwise.streams.reader import WholeReading, read_cluster, read_whole
from offsetwise.translation.belongs import UNREAD, Records, belongs_to
from offsetwise.translation.query import Query
from offsetwise.workflow.sink_looks import ask_sink

_CHECKPOINTS_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedJob(Subject):
    rewind_to: int | None = None
    """The earlier batch of the checkpoint whose positions are requested instead of the restart's."""
    repaired: Checkpoint | None = field(default=None, compare=False)
    """The checkpoint as a repaired copy will be; None to read the existing one."""
    newest: bool = field(default=False, compare=False)
    """Whether the folder of a job that retains checkpoints means the newest of them. A plan needs one by name."""

    @classmethod
    def of(cls, subject: Subject, *, rewind_to: int | None = None, repaired: Checkpoint | None = None) -> WantedJob:
        """Return a job, or its positions after an earlier batch, or in a repaired copy.

        Raises:
            ConfigError: A group is to go back to an earlier batch.
        """
        if rewind_to is not None and subject.checkpoint is None:
            raise ConfigError(
                f"{subject}: expected a checkpoint to take back to batch {rewind_to}, found a group. Nothing was read.",
                fix="Name a checkpoint of the migration file, or leave the batch out.",
            )
        return cls(kind=subject.kind, name=subject.name, rewind_to=rewind_to, repaired=repaired)


def stage(
    migration: Migration,
    jobs: Sequence[WantedJob],
    *,
    snapshots: tuple[Snapshot, Snapshot] | None,
    groups: tuple[str, ...],
    progress: Progress,
) -> dict[WantedJob, Scene | OffsetwiseError]:
    """Read jobs and both clusters; return the scene of each job or why it cannot be compared, unreadable ones first.

    Args:
        migration: The migration.
        jobs: The jobs. An unreadable one does not stop the others.
        snapshots: Snapshots of both clusters instead of the live ones.
        groups: Groups to read besides those of the migration and of the jobs.
        progress: Called with each step.

    Raises:
        ClusterError: A cluster cannot be read, or both are the same.
        ConfigError: The migration file has no such checkpoint.
    """
    read = dict(_read_jobs(migration, jobs, progress, live=snapshots is None))
    scenes: dict[WantedJob, Scene | OffsetwiseError] = {
        job: error for job, error in read.items() if isinstance(error, OffsetwiseError)
    }
    readable = {job: subject for job, subject in read.items() if isinstance(subject, ReadSubject)}
    if not readable:
        return scenes
    if snapshots is None:
        seen = _snapshots_of(migration, list(readable.values()), groups, progress)
    else:
        seen = _given(migration, snapshots)
    previous: Scene | None = None
    for job, subject in readable.items():
        try:
            previous = Scene.of(migration, subject, *seen(subject), live=snapshots is None, sibling=previous)
            scenes[job] = _with_queries(previous)
        except (CheckpointError, ClusterError) as error:
            scenes[job] = error
    return scenes


def belongs_of(scene: Scene, queries: Iterable[Query], records: Records = UNREAD) -> BelongsTo:
    """Infer which cluster the positions of a job were read from.

    Raises:
        CheckpointError: It is the new cluster: there is nothing to translate.
    """
    if scene.migration.may_be_one and scene.old.cluster_id == scene.new.cluster_id:
        return BelongsTo(cluster=Cluster.OLD, reason="Both are one: the job stays where its positions are.")
    names, read = {Cluster.OLD: scene.old.name, Cluster.NEW: scene.new.name}, scene.subject.read
    planned_ms = None if read is None else read.restart_planned_ms
    belongs = belongs_to(under_own_names(scene, queries), planned_at_ms=planned_ms, names=names, records=records)
    return _of_old(belongs, None if read is None else read.uri)


def check_two_clusters(old: Snapshot | WholeReading, new: Snapshot | WholeReading) -> None:
    """Raise if two readings are of one cluster.

    Raises:
        SameClusterError: Both have the same cluster id.
    """
    if old.cluster_id is not None and old.cluster_id == new.cluster_id:
        raise SameClusterError(
            f"{old.name!r} and {new.name!r}: expected two clusters, found the cluster id {old.cluster_id!r} on both. "
            "Nothing was compared.",
            fix="Correct bootstrap.servers of one of them in the migration file.",
        )


def _read_jobs(
    migration: Migration, jobs: Sequence[WantedJob], progress: Progress, *, live: bool
) -> Iterator[tuple[WantedJob, ReadSubject | OffsetwiseError]]:
    """Read the checkpoints, several in parallel because an object store answers slowly."""
    itself = BelongsTo(cluster=Cluster.OLD, reason="A group's offsets are read from the old cluster itself.")
    total = sum(job.checkpoint is not None for job in jobs)
    configs = {job: migration.checkpoint(job.checkpoint) for job in jobs if job.checkpoint is not None}
    step, done = "read the checkpoint" if total == 1 else "read the checkpoints", 0
    if total:
        progress(step, 0, total)
    pool = ThreadPoolExecutor(min(_CHECKPOINTS_AT_ONCE, max(1, total)), thread_name_prefix="offsetwise-checkpoint")
    try:
        under_way = {job: pool.submit(_read_job, migration, config, job, live=live) for job, config in configs.items()}
        for requested_job in jobs:
            if requested_job not in under_way:
                yield requested_job, ReadSubject.of(requested_job, migration, stated=itself)
                continue
            yield requested_job, under_way[requested_job].result()
            done += 1
            progress(step, done, total)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _read_job(
    migration: Migration, config: CheckpointConfig, job: WantedJob, *, live: bool
) -> ReadSubject | OffsetwiseError:
    cluster = config.belongs_to
    try:
        read = _checkpoint(migration, config, job)
        subject = ReadSubject.of(
            job,
            migration,
            read=read,
            traits=config.job,
            rewound_to=job.rewind_to,
            other_positions=_other_positions(migration, config),
            sink=ask_sink(migration, config, read) if live else None,
            stated=None if cluster is None else BelongsTo(cluster=cluster, reason="The migration file states it."),
        )
        subject.topics()
    except OffsetwiseError as error:
        return error
    return subject


def _other_positions(migration: Migration, config: CheckpointConfig) -> tuple[SourcePosition, ...]:
    if config.job.other_reader is None:
        return ()
    other = migration.checkpoint(config.job.other_reader)
    read = read_checkpoint(other.uri, roots=migration.checkpoint_roots)
    its = ReadSubject.of(Subject.either(checkpoint=other.name, group=None), migration, read=read, traits=other.job)
    return tuple(at for source in read.sources for at in its.positions(source))


def _checkpoint(migration: Migration, config: CheckpointConfig, job: WantedJob) -> Checkpoint:
    read, rewind_to = job.repaired, job.rewind_to
    if read is None:
        read = (read_newest if job.newest else read_checkpoint)(config.uri, roots=migration.checkpoint_roots)
    if config.job.old_cluster_id is not None:
        read = on_cluster(read, config.job.old_cluster_id)
    stream = spec_of(migration.source.stream)
    moved = [source for source in read.sources if source.kind in stream.compared]
    if not any(source.positions or source.shards or source.undecided for source in moved):
        has = f"its {stream.label} source holds no partition yet" if moved else f"it has no {stream.label} source"
        blocking = blocking_problems(read.problems)
        why = " ".join(problem.message for problem in blocking) or f"{has}."
        raise CheckpointError(
            f"{config.uri}: expected positions of {stream.label}, found none that can be used: {why} Nothing was "
            "compared.",
            fix=" ".join([*remedies(blocking), f"Look at it: offsetwise inspect {config.uri}"]),
        )
    if rewind_to is None:
        return read
    rewinding = require_rewinding(read)
    path = rewinding.file(rewind_to)
    results = digests(migration, read, [path])
    checkpoint = rewinding.to(read, rewind_to, files=tuple(results.items()))
    if not results:
        raise CheckpointError(
            f"{config.uri}/{path}: expected the positions to go back to, but it cannot be read any more. "
            "Nothing was compared.",
            fix="Check that no query runs on the checkpoint, then try again.",
        )
    return checkpoint


def digests(migration: Migration, checkpoint: Checkpoint, paths: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of files of a checkpoint by path, without unreadable ones; of a table, those of its rows."""
    if engine_of(checkpoint.engine).reads_files:
        return dict(checkpoint.pins)
    read = open_tree(checkpoint.uri, roots=migration.checkpoint_roots).for_large_files().read_many(dict.fromkeys(paths))
    return {path: hashlib.sha256(data).hexdigest() for path, data in read.items() if isinstance(data, bytes)}


_Seen = Callable[[ReadSubject], tuple[Snapshot, Snapshot]]
"""Returns both clusters with the topics and groups of a job."""


def _topics_of(
    migration: Migration, committed: Snapshot | None, subject: ReadSubject
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the topics of a job on the old cluster, their names on the new one, and those that are renamed.

    The old names show which cluster the checkpoint belongs to. If topics are renamed, their absence is no problem of
    the new cluster; nor is that of internal topics of the application, which a finding covers.
    """
    internal = set(subject.internal_topics(committed))
    topics = set(subject.topics(committed)) - internal
    renamed = {migration.new_topic(topic) for topic in topics}
    copies = internal | {migration.new_topic(topic) for topic in internal}
    return tuple(sorted(topics | internal)), tuple(sorted(renamed)), tuple(sorted((topics | copies) - renamed))


def _given(migration: Migration, snapshots: tuple[Snapshot, Snapshot]) -> _Seen:
    if not migration.may_be_one:
        check_two_clusters(*snapshots)
    return lambda _: snapshots


def _snapshots_of(
    migration: Migration,
    subjects: Sequence[ReadSubject],
    more_groups: tuple[str, ...],
    progress: Progress,
) -> _Seen:
    """Read the old cluster, then the new one, so that the mirror's claims are older than the new ends."""
    always = {*migration.group_names, *more_groups}
    groups = tuple(sorted(always.union(*(subject.groups for subject in subjects))))
    committed: Snapshot | None = None
    if any(subject.group is not None for subject in subjects):
        committed = read_cluster(migration, Cluster.OLD, topics=(), groups=groups, mirror=False)
    names = partial(_topics_of, migration, committed)
    named = [names(subject) for subject in subjects]
    topics = tuple(sorted({topic for of_old, _, _ in named for topic in of_old}))
    old = read_whole(migration, Cluster.OLD, topics=topics, groups=groups, progress=progress)
    requested = tuple(sorted({topic for _, renamed, unchanged in named for topic in (*renamed, *unchanged)}))
    # A single cluster is read once: reads of streams count against a quota that jobs share.
    same = migration.is_one and topics == requested
    new = old if same else read_whole(migration, Cluster.NEW, topics=requested, groups=groups, progress=progress)
    if not migration.may_be_one:
        check_two_clusters(old, new)

    def snapshots_of_subject(subject: ReadSubject) -> tuple[Snapshot, Snapshot]:
        of_old, renamed, unchanged = names(subject)
        its = always.union(subject.groups)
        ours = old.snapshot(of_old, its)
        there = new.snapshot((*renamed, *unchanged), its, if_there=unchanged)
        target = migration.target
        ours, there = (subject.completed(snapshot, migration) for snapshot in (ours, there))
        if new is old:  # and its problems are reported once
            there = replace(there, cluster=Cluster.NEW, name=target.name, alias=target.alias, problems=())
        return ours, there

    return snapshots_of_subject


@collected_seldom()
def _with_queries(scene: Scene) -> Scene:
    if scene.subject.group is not None:
        _check_group(scene, scene.subject.group)
    queries, stated, read = positions_of(scene), scene.subject.stated, scene.subject.read
    uri = None if read is None else read.uri
    belongs = belongs_of(scene, queries) if stated is None else _of_old(stated, uri)
    return replace(scene, queries=queries, belongs_to=belongs)


_UNNAMED_TYPES: Final = frozenset({SHARE, "Unknown"})
"""Types of groups that may be share groups: librdkafka does not know that type by name."""


def _check_group(scene: Scene, name: str) -> None:
    state = scene.group(Cluster.OLD)
    group = f"Group {name!r} on {scene.old.name!r}"
    if state is not None and state.error:
        # A commit that was not read is not a missing one.
        raise ClusterError(
            f"{group}: expected all its committed offsets, but it could not be read: {state.error}. Nothing was "
            "compared.",
            fix="Grant DESCRIBE on the group and its topics, or compare again when all brokers answer. Share groups "
            "are read from brokers of Kafka 4.1 or later.",
        )
    if state is not None and not state.positions and state.state != "Dead" and state.type in _UNNAMED_TYPES:
        sure = state.is_share_group
        raise ClusterError(
            f"{group}: expected a consumer group with committed offsets, or a share group that has begun, found "
            f"{'a share group' if sure else 'a group of a type that its broker does not name, without any'}. A share "
            "group has no committed offset: its broker keeps the state of single records, and a start offset once it "
            "has read. Nothing was compared.",
            fix="A share group begins on the new cluster where its share.auto.offset.reset says: set that there before "
            "its first member joins. Name a group here that has read, and whose offsets have not expired.",
        )
    if state is None or not state.positions:
        raise ClusterError(
            f"{group}: expected committed offsets, but it has committed nothing. Nothing was compared.",
            fix="Check the group's name, and that its offsets have not expired.",
        )


def _of_old(belongs: BelongsTo, uri: str | None) -> BelongsTo:
    if belongs.cluster is Cluster.NEW and uri is not None:
        raise CheckpointError(
            f"{uri}: expected positions of the old cluster, found positions of the new one. "
            f"{belongs.reason} There is nothing to translate.",
            fix=(
                "To go back, swap source and target in a second migration file. If the inference is wrong, state "
                "`belongs_to: old` at this checkpoint in the migration file."
            ),
        )
    return belongs
