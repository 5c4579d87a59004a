"""The verbs that read: what the console and the command line both call, so that they cannot differ.

Nothing here writes to a cluster or a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from offsetwise import files
from offsetwise.comparison import (
    Learnt,
    Scene,
    Subject,
    assemble,
    candidates_of,
    mirror_maker_of,
    planned_at_ms,
    positions_of,
    standings_of,
    target_of,
)
from offsetwise.config import Migration, SparkSettings, java_properties, load_migration
from offsetwise.errors import CheckpointError, ClusterError, ConfigError, FileError, OffsetwiseError, SameClusterError
from offsetwise.model import (
    BelongsTo,
    Candidate,
    Checkpoint,
    Cluster,
    Comparison,
    Link,
    Method,
    Snapshot,
    TopicPartition,
    Writers,
)
from offsetwise.pipeline.content import Ask, ContentMatch, Found, Progress
from offsetwise.pipeline.fleet import expand, inspect_many
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.shipping import ship
from offsetwise.sources import kafka
from offsetwise.sources.spark_checkpoint import read_checkpoint
from offsetwise.sources.spark_checkpoint_rows import FailedCheckpoint
from offsetwise.translation.belongs import Standing, belongs_to
from offsetwise.translation.resolve import Position, Told
from offsetwise.translation.search import Span

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
    return load_migration(Path(str(package_files("offsetwise") / "sample" / "migration.yaml")))


def sample_comparison(checkpoint: str) -> Comparison:
    """Give a recorded comparison of the sample migration.

    Raises:
        FileError: The sample has no such checkpoint.
    """
    path = Path(str(package_files("offsetwise") / "sample" / f"comparison-{checkpoint}.json"))
    recorded: Comparison = _read(path, "comparison")
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
    session = open_session(spark or SparkSettings(), kafka=False)
    ship(session, uris=found)
    yield from inspect_many(session, found, roots=roots, batches=batches)


def snapshot(migration: Migration, cluster: Cluster, *, topics: tuple[str, ...] | None = None) -> Snapshot:
    """Read one cluster: all topics, or those named, and the groups of the migration.

    Raises:
        ClusterError: The cluster gave no answer.
    """
    return kafka.read_cluster(cluster, migration.cluster(cluster), topics=topics, groups=migration.groups)


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
    subject, stated = _subject(migration, checkpoint, group, progress)
    old, new = snapshots or _both(migration, subject, progress)
    _check_two_clusters(old, new)
    scene = Scene.of(migration, subject, old, new, live=snapshots is None)
    _check_group(scene)
    positions = positions_of(scene)
    names = {Cluster.OLD: old.name, Cluster.NEW: new.name}
    planned_at = planned_at_ms(subject.checkpoint)
    belongs = stated or belongs_to(standings_of(scene, positions), planned_at_ms=planned_at, names=names)
    _check_old(belongs, subject)
    read = _by_content(scene, positions, progress) if content and snapshots is None else _Read()
    if belongs.cluster is None and read.found:
        timed = _with_times(scene, positions, read)
        belongs = belongs_to(timed, planned_at_ms=planned_at, names=names)
        _check_old(belongs, subject)
    progress("judge", 0, 1)
    made = assemble(scene, [_learnt(scene, position, read) for position in positions], belongs)
    progress("judge", 1, 1)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What the records said, by partition and offset."""

    found: Mapping[tuple[TopicPartition, int], Found] = field(default_factory=dict)
    pending_equal: Mapping[TopicPartition, bool] = field(default_factory=dict)
    salt: str = ""


def _subject(
    migration: Migration, checkpoint: str | None, group: str | None, progress: Progress
) -> tuple[Subject, BelongsTo | None]:
    if (checkpoint is None) == (group is None):
        raise ConfigError(
            "compare: expected either a checkpoint or a group, found both or neither. Nothing was read.",
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
    told = config.belongs_to
    stated = None if told is None else BelongsTo(cluster=told, reason="The migration file states it.")
    return Subject(checkpoint=read, traits=config.job), stated


def _both(migration: Migration, subject: Subject, progress: Progress) -> tuple[Snapshot, Snapshot]:
    """Read the old cluster, then the new one: what the mirror says was then said before the new ends were read."""
    groups = tuple(sorted({*migration.groups, *((subject.group,) if subject.group else ())}))
    topics = subject.topics()
    progress("read the old cluster", 0, 1)
    if subject.group is not None:
        only_group = kafka.read_cluster(Cluster.OLD, migration.source, topics=(), groups=groups)
        topics = subject.topics(only_group)
    old = kafka.read_cluster(Cluster.OLD, migration.source, topics=topics, groups=groups)
    progress("read the old cluster", 1, 1)
    progress("read the new cluster", 0, 1)
    wanted = tuple(sorted({*topics, *(migration.new_topic(topic) for topic in topics)}))
    new = kafka.read_cluster(Cluster.NEW, migration.target, topics=wanted, groups=groups)
    progress("read the new cluster", 1, 1)
    # The old names were asked for to tell which cluster the checkpoint belongs to. That they are
    # not there, where topics are renamed, is no problem of the new cluster.
    return old, _without_problems_about(new, set(wanted) - {migration.new_topic(topic) for topic in topics})


def _without_problems_about(new: Snapshot, names: set[str]) -> Snapshot:
    kept = tuple(p for p in new.problems if not any(p.code == "TOPIC_MISSING" and repr(n) in p.message for n in names))
    return replace(new, problems=kept)


def _check_two_clusters(old: Snapshot, new: Snapshot) -> None:
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


def _by_content(scene: Scene, positions: Sequence[Position], progress: Progress) -> _Read:
    asks: dict[tuple[TopicPartition, int], Ask] = {}
    for position in positions:
        for offset in (position.offset, position.planned):
            ask = None if offset is None else _ask(scene, position, offset)
            if ask is not None:
                asks[ask.partition, ask.target.position] = ask
    if not asks:
        return _Read()
    migration = scene.migration
    progress("start Spark", 0, 1)
    session = open_session(migration.spark, kafka=True)
    ship(session)
    progress("start Spark", 1, 1)
    match = ContentMatch(
        spark=session,
        properties={side: java_properties(migration.cluster(side)) for side in Cluster},
        isolation=migration.isolation_level,
        offsets_for_times=lambda times: kafka.offsets_for_times(migration.target, times),
        log_starts=lambda side, wanted: kafka.log_starts(migration.cluster(side), wanted),
        progress=progress,
    )
    found = match.find(list(asks.values()))
    by_place = {key: found[ask] for key, ask in asks.items()}
    return _Read(found=by_place, pending_equal=_pending(match, positions, asks, by_place), salt=match.salt.hex())


def _ask(scene: Scene, position: Position, offset: int) -> Ask | None:
    target = target_of(scene, position, offset, candidates_of(scene, position, offset))
    if target is None:
        return None
    return Ask(
        partition=TopicPartition(topic=position.topic, partition=position.partition),
        new_topic=position.new_topic,
        target=target,
        natives_excluded=scene.migration.writers is Writers.MIRROR_ONLY,
        preserving=scene.migration.link is Link.PRESERVING,
    )


def _pending(
    match: ContentMatch,
    positions: Iterable[Position],
    asks: Mapping[tuple[TopicPartition, int], Ask],
    found: Mapping[tuple[TopicPartition, int], Found],
) -> dict[TopicPartition, bool]:
    """Compare the records of the pending batch on both clusters, where both its ends are proven."""
    ranges = {}
    for position in positions:
        partition = TopicPartition(topic=position.topic, partition=position.partition)
        first, last = position.offset, position.planned
        if first is None or last is None or (partition, first) not in found or (partition, last) not in found:
            continue
        begin, end = (_place(found[partition, offset], offset) for offset in (first, last))
        if begin is not None and end is not None and begin <= end and first <= last:
            ranges[asks[partition, first]] = (Span(start=first, end=last), Span(start=begin, end=end))
    return {ask.partition: equal for ask, equal in match.same_records(ranges).items()} if ranges else {}


def _place(found: Found, offset: int) -> int | None:
    if found.preserved:
        return offset
    cut = found.answer.cut
    return cut.offset if cut is not None and cut.exactness is not None and cut.exactness.proven else None


def _with_times(scene: Scene, positions: Iterable[Position], read: _Read) -> Iterator[Standing]:
    for standing in standings_of(scene, positions):
        found = read.found.get((standing.partition, standing.offset))
        cut = found.answer.cut if found is not None else None
        if found is None or cut is None or not found.answer.timed:
            yield standing
            continue
        before = [each.timestamp_ms for each in cut.at_raw if (each.new_offset or 0) < standing.offset]
        yield replace(standing, time_on_old=found.answer.time_before, time_on_new=before[-1] if before else None)


def _learnt(scene: Scene, position: Position, read: _Read) -> Learnt:
    partition = TopicPartition(topic=position.topic, partition=position.partition)
    if position.offset is None:
        return Learnt(position=position, told=Told())
    return Learnt(
        position=position,
        told=_told(scene, position, position.offset, read),
        planned=None if position.planned is None else _told(scene, position, position.planned, read),
        pending_equal=read.pending_equal.get(partition),
    )


def _told(scene: Scene, position: Position, offset: int, read: _Read) -> Told:
    partition = TopicPartition(topic=position.topic, partition=position.partition)
    found = read.found.get((partition, offset))
    candidates = candidates_of(scene, position, offset)
    told = Told(candidates=candidates, mirror_maker=mirror_maker_of(scene, position, offset), salt=read.salt)
    if found is None:
        return replace(told, preserved=scene.migration.link is Link.PRESERVING and position.new is not None)
    return replace(
        told,
        answer=found.answer,
        preserved=found.preserved,
        probed=_probed(found),
        candidates=(*candidates, *_guesses(found, offset)),
        old_read=found.old_offsets_read,
        new_read=found.new_offsets_read,
    )


def _probed(found: Found) -> str:
    probes = found.probes
    if probes is None:
        return ""
    if found.preserved:
        return f"Probed at several places: {probes.agree:,} unique records have the same offset on both, none differs."
    return (
        f"The link is stated to keep offsets, but of the records probed {probes.differ:,} differ at the same offset "
        f"and {probes.agree:,} agree."
    )


def _guesses(found: Found, offset: int) -> Iterator[Candidate]:
    if found.at_time is not None:
        said = f"The new log reaches the time of the record before the position at {found.at_time}."
        yield Candidate(method=Method.TIMESTAMP, lo=found.at_time, hi=found.at_time, said_by=said, guess=True)
    if found.answer.origin_shift is not None:
        place = offset + found.answer.origin_shift
        said = f"The nearest provenance header places the position at {place}."
        yield Candidate(method=Method.HEADER, lo=place, hi=place, said_by=said, guess=True)


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
