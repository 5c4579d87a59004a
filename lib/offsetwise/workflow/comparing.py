from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeAlias

from offsetwise.comparison import Scene, assemble
from offsetwise.config import Migration, spark_properties
from offsetwise.errors import CheckpointError, ClusterError, FileError, OffsetwiseError
from offsetwise.garbage import collected_seldom
from offsetwise.model import Checkpoint, Cluster, Comparison, Snapshot, Subject
from offsetwise.pipeline.start import install_pyspark, starting_beside
from offsetwise.ports.stream import are_two, spec_of
from offsetwise.progress import Progress, no_progress
from offsetwise.proof import Proof, match_of, prove, records_before
from offsetwise.streams.abilities import ReadAt
from offsetwise.streams.reader import read_cluster
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import Match
from offsetwise.workflow.matching import match_records
from offsetwise.workflow.scenes import WantedJob, belongs_of, stage
from offsetwise.workflow.time_lag import ask_old, exactly, with_behind, with_problems

Known: TypeAlias = Callable[[WantedJob, Scene], Comparison | None]
"""Returns a still valid comparison of a job from an earlier command; None if it must be compared."""


def snapshot(migration: Migration, cluster: Cluster, *, topics: tuple[str, ...] | None = None) -> Snapshot:
    """Read one cluster: all topics, or the named ones, and the groups of the migration.

    Raises:
        ClusterError: The cluster does not answer.
    """
    return read_cluster(migration, cluster, topics=topics, groups=migration.group_names)


def compare(
    migration: Migration,
    subject: Subject,
    *,
    snapshots: tuple[Snapshot, Snapshot] | None = None,
    content: bool = True,
    progress: Progress = no_progress,
    rewind_to: int | None = None,
    repaired: Checkpoint | None = None,
    groups: tuple[str, ...] = (),
) -> Comparison:
    """Compare a checkpoint's or a group's positions on both clusters.

    Args:
        migration: The migration.
        subject: One of its checkpoints, or a consumer group of the old cluster.
        snapshots: Compare with these instead of the live clusters; no record is read then.
        content: Whether to read records. Without, nothing is better than CLAIMED.
        progress: Called with each step.
        rewind_to: Compare the positions after this earlier batch of the checkpoint instead of the restart's.
        repaired: The checkpoint as a repaired copy will be; None to read the existing one.
        groups: Groups to read besides those of the migration.

    Returns:
        The comparison, with both snapshots.

    Raises:
        CheckpointError: The checkpoint cannot be used.
        ClusterError: A cluster cannot be read.
        ConfigError: Spark cannot read a cluster with the given properties; nothing has been read yet.
        PlanError: The checkpoint cannot go back to the batch.
        SparkError: Spark cannot read the records.
    """
    job = WantedJob.of(subject, rewind_to=rewind_to, repaired=repaired)
    ((_, outcome),) = compare_each(
        migration, [job], snapshots=snapshots, content=content, progress=progress, groups=groups
    )
    if isinstance(outcome, OffsetwiseError):
        raise outcome
    return outcome


def compare_each(
    migration: Migration,
    jobs: Sequence[WantedJob],
    *,
    snapshots: tuple[Snapshot, Snapshot] | None = None,
    content: bool = True,
    progress: Progress = no_progress,
    groups: tuple[str, ...] = (),
    known: Known | None = None,
    spark_beside: bool = True,
) -> Iterator[tuple[WantedJob, Comparison | OffsetwiseError]]:
    """Compare many jobs: each cluster is read once, and records in one search, whatever the number of jobs.

    Args:
        migration: The migration.
        jobs: The jobs, each once.
        snapshots: Compare with these instead of the live clusters.
        content: Whether to read records.
        progress: Called with each step.
        groups: Groups to read besides those of the migration.
        known: Returns the still valid comparison of a job, which is then not compared again.
        spark_beside: Whether to start Spark while checkpoints and clusters are read.

    Yields:
        Each job as soon as it is ready, with the same result as comparing it alone, or why it cannot be compared.

    Raises:
        ClusterError: A cluster cannot be read at all.
        ConfigError: An unknown checkpoint, or properties with which Spark cannot read a cluster; nothing has been read.
        SparkError: Spark cannot read the records.
    """
    by_records = content and snapshots is None and spec_of(migration.source.stream).translate is None
    properties = spark_properties(migration) if by_records else None
    if by_records:
        install_pyspark(progress)
    startup = starting_beside(migration.spark) if properties is not None and spark_beside else nullcontext(lambda: None)
    with startup as give_up:
        scenes = stage(migration, jobs, snapshots=snapshots, groups=groups, progress=progress)
        ready = {job: _known(known, job, scene) for job, scene in scenes.items()}
        remaining = {job: scene for job, scene in scenes.items() if isinstance(scene, Scene) and ready[job] is None}
        if not remaining:
            give_up()
    yield from ((job, outcome) for job, outcome in ready.items() if outcome is not None)
    read = Proof() if properties is None or not remaining else prove([*remaining.values()], properties, progress)
    if remaining:
        progress("judge", 0, len(remaining))
    for number, (requested_job, scene) in enumerate(remaining.items(), start=1):
        try:
            comparison: Comparison | OffsetwiseError = _compared(scene, read, progress, content=content)
        except (CheckpointError, ClusterError) as error:
            comparison = error
        progress("judge", number, len(remaining))
        yield requested_job, comparison


def _known(known: Known | None, job: WantedJob, scene: Scene | OffsetwiseError) -> Comparison | OffsetwiseError | None:
    if isinstance(scene, OffsetwiseError):
        return scene
    try:
        comparison = None if known is None else known(job, scene)
    except FileError as error:
        return error
    return None if comparison is None else replace(comparison, read_from=(scene.old, scene.new))


@collected_seldom()
def _compared(scene: Scene, read: Proof, progress: Progress, *, content: bool) -> Comparison:
    at_positions = ReadAt()
    if scene.reads_at_positions:
        at_positions = ask_old(scene, scene.queries)
        scene = replace(with_problems(scene, at_positions), queries=exactly(scene.queries, at_positions))
    read, belongs = read.of(scene.queries), scene.belongs_to
    if belongs.cluster is None and read.matches:
        belongs = belongs_of(scene, scene.queries, records_before(scene.queries, read))
    others = frozenset(_on_other_streams(scene) if content else ())
    matches: list[Match] = []
    if others:
        matched = match_records(scene, [query for query in scene.queries if query in others], progress)
        belongs = belongs if belongs.cluster is not None else matched.belongs or belongs
        matches += matched.matches
    matches += [match_of(scene, query, read) for query in scene.queries if query not in others]
    comparison = replace(assemble(scene, matches, belongs), read_from=(scene.old, scene.new))
    if not scene.reads_at_positions:
        return comparison
    rows, quota = with_behind(scene, comparison.partitions, at_positions)
    return replace(comparison, partitions=rows, quota=quota)


def _on_other_streams(scene: Scene) -> list[Query]:
    if not scene.live or not spec_of(scene.migration.source.stream).matches_records:
        return []
    return [query for query in scene.queries if are_two(scene.old, query.topic, scene.new, query.new_topic)]
