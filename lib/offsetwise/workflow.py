"""The verbs that read: what the console and the command line both call, so that they cannot differ.

Nothing here writes to a cluster or a checkpoint.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files as package_files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offsetwise import files
from offsetwise.comparison import Scene, Subject, assemble, planned_at_ms, positions_of, standings_of
from offsetwise.config import Migration, SparkSettings, java_properties, load_migration
from offsetwise.errors import (
    CheckpointError,
    ClusterError,
    ConfigError,
    FileError,
    OffsetwiseError,
    PlanError,
    SameClusterError,
    StorageError,
)
from offsetwise.fleet import Fleet
from offsetwise.model import (
    BelongsTo,
    Checkpoint,
    Cluster,
    Comparison,
    IsolationLevel,
    Plan,
    Reconciliation,
    Snapshot,
    Start,
    TopicPartition,
)
from offsetwise.model.state import StateRows
from offsetwise.pipeline.fleet import expand, inspect_many
from offsetwise.pipeline.whole_fleet import read_fleet
from offsetwise.plan.draft import draft as draft_plan
from offsetwise.plan.drift import Drift
from offsetwise.plan.drift import drift as drift_of
from offsetwise.plan.request import DraftRequest, StartChoice
from offsetwise.plan.rewind import rewound
from offsetwise.proof import Proof, learnt_of, prove, standings_with_times
from offsetwise.sources import kafka
from offsetwise.sources.record_times import timestamps_at
from offsetwise.sources.spark_batch_files import BatchFiles, read_batch_files
from offsetwise.sources.spark_checkpoint import read_checkpoint
from offsetwise.sources.spark_checkpoint_rows import FailedCheckpoint
from offsetwise.sources.spark_reading import CheckpointReading, read_with_times
from offsetwise.sources.spark_state_path import spark_path
from offsetwise.sources.storage import open_tree
from offsetwise.translation.belongs import belongs_to

if TYPE_CHECKING:
    from offsetwise.pipeline.content import Progress
    from offsetwise.pipeline.reconcile import TopicLog

INSPECT_IN_PROCESS = 3
"""Up to so many checkpoints are read here; more go through Spark."""


def unheard(_step: str, _done: int, _total: int) -> None:
    """Take progress and say nothing."""


def load_migrations(paths: Iterable[Path]) -> tuple[Migration, ...]:
    """Read migration files.

    Raises:
        ConfigError: A file cannot be used.
    """
    return tuple(load_migration(path) for path in paths)


def sample() -> Migration:
    """Give the bundled sample migration. Its clusters do not run; its comparisons were recorded from the lab."""
    return load_migration(_recorded("migration.yaml"))


def sample_comparison(checkpoint: str) -> Comparison:
    """Give a recorded comparison of the sample migration.

    Raises:
        FileError: The sample has no such checkpoint.
    """
    recorded: Comparison = _read(_recorded(f"comparison-{checkpoint}.json"), "comparison")
    return recorded


def sample_reconciliation(topic: str) -> Reconciliation:
    """Give the recorded reconciliation of a topic of the sample migration.

    Raises:
        FileError: The sample has no such topic.
    """
    recorded: Reconciliation = _read(_recorded(f"reconciliation-{topic}.json"), "reconciliation")
    return recorded


def inspect(
    uris: Sequence[str],
    *,
    roots: tuple[str, ...] | None = None,
    spark: SparkSettings | None = None,
    batches: int = 100,
) -> Iterator[Checkpoint | FailedCheckpoint]:
    """Read checkpoints, globs of folders expanded: a few in-process, many on Spark.

    Args:
        uris: Paths and URIs.
        roots: The folders that may be read; None when a person named the paths.
        spark: Where many are read; a local session by default.
        batches: How many of the newest retained batches to read.

    Raises:
        StorageError: A single path cannot be read.
        CheckpointError: A single path holds no checkpoint. One of many is a `FailedCheckpoint`.
    """
    found = expand(uris, roots=roots)
    if len(found) <= INSPECT_IN_PROCESS:
        for uri in found:
            yield _inspected(uri, roots, batches, alone=len(found) == 1)
        return
    from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - PySpark takes half a second to import

    session = open_session(spark or SparkSettings(), kafka=False)
    yield from inspect_many(session, found, roots=roots, batches=batches)


def checkpoint(migration: Migration, name: str) -> Checkpoint:
    """Read one checkpoint of a migration.

    Raises:
        ConfigError: The migration names no such checkpoint.
        StorageError: It cannot be read, or lies outside the migration's roots.
        CheckpointError: It is no checkpoint.
    """
    return read_checkpoint(migration.checkpoint(name).uri, roots=migration.checkpoint_roots)


def checkpoint_reading(migration: Migration, name: str) -> CheckpointReading:
    """Read one checkpoint of a migration, with its initial offsets and the times of its logs.

    Raises:
        ConfigError: The migration names no such checkpoint.
        StorageError: It cannot be read, or lies outside the migration's roots.
        CheckpointError: It is no checkpoint.
    """
    return read_with_times(migration.checkpoint(name).uri, roots=migration.checkpoint_roots)


def batch_files(migration: Migration, name: str, batch: int) -> BatchFiles:
    """Read the two files of one batch of a checkpoint as they stand.

    Raises:
        ConfigError: The migration names no such checkpoint.
        StorageError: The checkpoint lies outside the migration's roots, or its file system cannot be opened.
    """
    return read_batch_files(migration.checkpoint(name).uri, batch, roots=migration.checkpoint_roots)


def state_rows(migration: Migration, name: str, *, progress: Progress = unheard) -> StateRows:
    """Count the rows of a checkpoint's state stores, on Spark.

    Args:
        migration: The migration.
        name: The name of one of its checkpoints.
        progress: Told each step; what it raises stops the count.

    Raises:
        ConfigError: The migration names no such checkpoint.
        StorageError: It cannot be read, lies outside the roots, or Spark would read another path.
        CheckpointError: It has no state that Spark's readers could be asked about.
        SparkError: Spark cannot be started, or cannot read it.
    """
    config = migration.checkpoint(name)
    progress("read the checkpoint", 0, 1)
    read = read_checkpoint(config.uri, roots=migration.checkpoint_roots, batches=0)
    path = spark_path(config.uri, roots=migration.checkpoint_roots)
    from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.state import check_state, read_state_rows  # noqa: PLC0415 - as above

    check_state(read)
    progress("read the checkpoint", 1, 1)
    progress("start Spark", 0, 1)
    session = open_session(migration.spark, kafka=False)
    progress("start Spark", 1, 1)
    return read_state_rows(session, path, read, progress=progress)


def fleet(migration: Migration, *, progress: Progress = unheard) -> Fleet:
    """Read the checkpoints that a migration names and all others below its roots; see `read_fleet`.

    Raises:
        WorkerError: The workers cannot run the parser.
        SparkError: Spark cannot be started, or the job failed.
    """
    return read_fleet(migration, progress, in_process=INSPECT_IN_PROCESS)


def snapshot(migration: Migration, cluster: Cluster, *, topics: tuple[str, ...] | None = None) -> Snapshot:
    """Read one cluster: all topics, or those named, and the groups of the migration.

    Raises:
        ClusterError: The cluster gave no answer.
    """
    return kafka.read_cluster(cluster, migration.cluster(cluster), topics=topics, groups=migration.groups)


def load_observed(comparison: Path, old: Path, new: Path) -> Observed:
    """Read a comparison's file and those of the two snapshots that it was made with.

    Raises:
        FileError: A file cannot be read, or is another one.
    """
    taken = load_snapshots(old, new)
    return Observed(comparison=_read(comparison, "comparison"), old=taken[0], new=taken[1])


def load_snapshots(old: Path, new: Path) -> tuple[Snapshot, Snapshot]:
    """Read two snapshot files.

    Raises:
        FileError: A file cannot be read, or holds the other cluster.
    """
    loaded = []
    for path, wanted in ((old, Cluster.OLD), (new, Cluster.NEW)):
        found: Snapshot = _read(path, "snapshot")
        if found.cluster is not wanted:
            raise FileError(
                f"{path}: expected a snapshot of the {wanted} cluster, found one of the {found.cluster} cluster "
                f"({found.name!r}). Nothing was compared.",
                fix="Give the old cluster's snapshot first, the new one's second.",
            )
        loaded.append(found)
    return loaded[0], loaded[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One reading of everything: the comparison, and both clusters as it read them."""

    comparison: Comparison
    old: Snapshot
    new: Snapshot


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
        PlanError: The checkpoint cannot be taken back to the batch.
        SparkError: Spark cannot read the records.
    """
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
    read = prove(scene, positions, progress) if content and snapshots is None else Proof()
    if belongs.cluster is None and read.found:
        timed = standings_with_times(scene, positions, read)
        belongs = belongs_to(timed, planned_at_ms=planned_at, names=names)
        _check_old(belongs, subject)
    progress("judge", 0, 1)
    made = assemble(scene, [learnt_of(scene, position, read) for position in positions], belongs)
    progress("judge", 1, 1)
    return Observed(comparison=made, old=old, new=new)


def draft(
    migration: Migration,
    request: DraftRequest,
    *,
    drafted_at: str,
    checkpoint: str | None = None,
    group: str | None = None,
    observed: Observed | None = None,
    progress: Progress = unheard,
) -> Plan:
    """Draft a plan from a checkpoint's or a group's positions.

    Args:
        migration: The migration.
        request: What to write, and what people decided.
        drafted_at: ISO 8601, UTC.
        checkpoint: The name of one of its checkpoints; or
        group: the name of a consumer group on the old cluster.
        observed: Draft from this reading instead of a new one; nothing is contacted then.
        progress: Told each step.

    Raises:
        PlanError: The plan may not be made; every reason is named.
        CheckpointError: The checkpoint cannot be used.
        ClusterError: A cluster cannot be read.
        SparkError: Spark cannot read the records.
    """
    if observed is None:
        observed = observe(
            migration,
            checkpoint=checkpoint,
            group=group,
            progress=progress,
            rewind_to=request.rewind_to,
            groups=(
                *(target.group for target in request.targets if target.group is not None),
                *(choice.group for choice in request.starts if choice.group is not None),
            ),
        )
        request = replace(
            request,
            starts=tuple(_looked_up(migration, observed, choice) for choice in request.starts),
            newest=_newest(migration, observed),
        )
    return draft_plan(
        observed.comparison,
        observed.old,
        observed.new,
        migration,
        replace(request, checkpoint=checkpoint),
        drafted_at=drafted_at,
    )


def drift(plan: Plan, migration: Migration, *, progress: Progress = unheard) -> tuple[Drift, ...]:
    """Read again what a plan requires, and say what is not as it was reviewed. No record is read.

    Raises:
        PlanError: The plan is one of another migration.
        ClusterError: A cluster cannot be read.
    """
    if plan.migration != migration.name:
        raise PlanError(
            f"The plan: expected one of migration {migration.name!r}, found one of {plan.migration!r}. "
            "Nothing was read.",
            fix="Give the migration file that the plan was drafted with.",
        )
    wanted = plan.requirements
    taken = {}
    for side, required, groups in (
        (Cluster.OLD, wanted.old, () if wanted.old_group is None else (wanted.old_group.group,)),
        (Cluster.NEW, wanted.new, tuple(each.group for each in wanted.groups)),
    ):
        progress(f"read the {side} cluster", 0, 1)
        topics = tuple(topic.name for topic in required.topics)
        config = migration.cluster(side)
        taken[side] = kafka.read_cluster(side, config, topics=topics, groups=groups, mirror=False)
        progress(f"read the {side} cluster", 1, 1)
    found: Checkpoint | None = None
    files_now: Mapping[str, str] = {}
    if wanted.checkpoint is not None:
        try:
            found = read_checkpoint(wanted.checkpoint.uri, roots=migration.checkpoint_roots, batches=0)
            files_now = _digests(migration, wanted.checkpoint.uri, [path for path, _ in wanted.checkpoint.files])
        except (CheckpointError, StorageError):
            found = None  # told as a drift: what cannot be read may have changed
    return drift_of(plan, taken[Cluster.OLD], taken[Cluster.NEW], found, files=files_now)


def reconcile(migration: Migration, topic: str, *, progress: Progress = unheard) -> Reconciliation:
    """Count what both clusters hold of a whole topic, on Spark.

    Args:
        migration: The migration.
        topic: The topic's name on the old cluster.
        progress: Told each step.

    Raises:
        ClusterError: A cluster or the topic cannot be read, or retention removed records meanwhile.
        SparkError: The job failed.
    """
    from offsetwise.pipeline import reconcile as counting  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.content import SALT_BYTES  # noqa: PLC0415 - as above
    from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - as above
    from offsetwise.pipeline.shipping import ship  # noqa: PLC0415 - as above

    names = {Cluster.OLD: topic, Cluster.NEW: migration.new_topic(topic)}
    logs = {}
    for side, name in names.items():
        progress(f"read the {side} cluster", 0, 1)
        logs[side] = _topic_log(migration, side, name)
        progress(f"read the {side} cluster", 1, 1)
    progress("start Spark", 0, 1)
    session = open_session(migration.spark, kafka=True)
    ship(session)
    progress("start Spark", 1, 1)
    progress("compare every record", 0, 1)
    made = counting.reconcile(
        session,
        logs[Cluster.OLD],
        logs[Cluster.NEW],
        isolation=migration.isolation_level,
        salt=os.urandom(SALT_BYTES),
    )
    for side, log in logs.items():
        _check_not_passed(migration, side, log)
    progress("compare every record", 1, 1)
    return made


def _recorded(name: str) -> Path:
    return Path(str(package_files("offsetwise") / "sample" / name))


def _topic_log(migration: Migration, side: Cluster, name: str) -> TopicLog:
    from offsetwise.pipeline.reconcile import TopicLog  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.records import OffsetRange  # noqa: PLC0415 - as above

    config = migration.cluster(side)
    taken = kafka.read_cluster(side, config, topics=(name,), groups=())
    committed = migration.isolation_level is IsolationLevel.READ_COMMITTED
    ranges = []
    for partition in (p for state in taken.topics for p in state.partitions):
        end = partition.lso if committed else partition.hw
        if partition.log_start is None or end is None:
            raise ClusterError(
                f"{name}-{partition.partition} on {config.name!r}: expected its log start and end, but "
                f"{partition.error or 'the broker did not say'}. Nothing was compared.",
                fix="Check the broker that leads it, then try again.",
            )
        ranges.append(
            OffsetRange(
                topic=name, partition=partition.partition, start=partition.log_start, end=max(end, partition.log_start)
            )
        )
    if not ranges:
        why = next((state.error for state in taken.topics if state.error), "it does not exist")
        raise ClusterError(
            f"Topic {name!r} on {config.name!r}: expected its partitions, but {why}. Nothing was compared.",
            fix="Check the topic's name; `topics` in the migration file says what it is called on the new cluster.",
        )
    return TopicLog(properties=java_properties(config), topic=name, ranges=tuple(ranges))


def _check_not_passed(migration: Migration, side: Cluster, log: TopicLog) -> None:
    starts = kafka.log_starts(
        migration.cluster(side), [TopicPartition(topic=each.topic, partition=each.partition) for each in log.ranges]
    )
    for each in log.ranges:
        now = starts.get(TopicPartition(topic=each.topic, partition=each.partition))
        if now is not None and now > each.start:
            raise ClusterError(
                f"{each.topic}-{each.partition} on {migration.cluster(side).name!r}: retention moved the log start "
                f"from {each.start} to {now} while the records were read, so the counts cannot be relied on.",
                fix="Run it again; extend the topic's retention until the migration is over.",
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
        why = "; ".join(problem.message for problem in read.problems) or "it has no Kafka source"
        raise CheckpointError(
            f"{config.uri}: expected Kafka positions, found none that can be used: {why}. Nothing was compared.",
            fix=f"Look at it: offsetwise inspect {config.uri}",
        )
    if rewind_to is not None:
        path = f"offsets/{rewind_to}"
        digests = _digests(migration, config.uri, [path])
        read = rewound(read, rewind_to, files=tuple(digests.items()))
        if not digests:
            raise CheckpointError(
                f"{config.uri}/{path}: expected the positions to go back to, but it cannot be read any more. "
                "Nothing was compared.",
                fix="Check that no query runs on the checkpoint, then try again.",
            )
    told = config.belongs_to
    stated = None if told is None else BelongsTo(cluster=told, reason="The migration file states it.")
    return Subject(checkpoint=read, traits=config.job, rewound_to=rewind_to), stated


def _digests(migration: Migration, uri: str, paths: Sequence[str]) -> dict[str, str]:
    read = open_tree(uri, roots=migration.checkpoint_roots).read_many(dict.fromkeys(paths))
    return {path: hashlib.sha256(data).hexdigest() for path, data in read.items() if isinstance(data, bytes)}


def _looked_up(migration: Migration, observed: Observed, choice: StartChoice) -> StartChoice:
    """Ask the new cluster where a topic's records of a time begin."""
    if choice.start is not Start.TIMESTAMP or choice.timestamp_ms is None:
        return choice
    keys = [
        TopicPartition(topic=row.new_topic, partition=row.partition)
        for row in observed.comparison.partitions
        if row.topic == choice.topic
    ]
    found = kafka.offsets_for_times(migration.target, dict.fromkeys(keys, choice.timestamp_ms))
    return replace(choice, looked_up=tuple((key.partition, found.get(key)) for key in keys))


def _newest(migration: Migration, observed: Observed) -> tuple[tuple[TopicPartition, int | None], ...]:
    """Read the time of the newest record of every partition on the new cluster."""
    ends = {
        TopicPartition(topic=row.new_topic, partition=row.partition): row.new.hw - 1
        for row in observed.comparison.partitions
        if row.new.hw
    }
    found = timestamps_at(migration.target, ends.items())
    return tuple((key, found[key, offset]) for key, offset in ends.items())


def _both(
    migration: Migration, subject: Subject, progress: Progress, more_groups: tuple[str, ...] = ()
) -> tuple[Snapshot, Snapshot]:
    """Read the old cluster, then the new one: what the mirror says was then said before the new ends were read."""
    groups = tuple(sorted({*migration.groups, *more_groups, *((subject.group,) if subject.group else ())}))
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


def _inspected(uri: str, roots: tuple[str, ...] | None, batches: int, *, alone: bool) -> Checkpoint | FailedCheckpoint:
    try:
        return read_checkpoint(uri, roots=roots, batches=batches)
    except OffsetwiseError as error:
        if alone:
            raise
        return FailedCheckpoint(uri=uri, error=type(error).__name__, problem=error.problem, fix=error.fix)


def _read(path: Path, kind: str) -> Any:
    try:
        text = path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path}: expected an offsetwise/{kind} file, but {error.strerror or error}. Nothing was used.",
            fix="Check the path.",
        ) from error
    return files.load(text, kind, subject=str(path))
