"""One moment of a migration: its checkpoints and groups with both clusters, each cluster read once.

If a cluster does not answer, or a checkpoint is gone, its part of the samples is unread, with the reason; the other
parts are complete.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from offsetwise.comparison import Scene, positions_of, under_own_names
from offsetwise.comparison.subjects import ReadSubject
from offsetwise.config import Migration
from offsetwise.engines.checkpoint import read_newest
from offsetwise.errors import OffsetwiseError, SameClusterError
from offsetwise.findings.reading import blocking_problems, remedies
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.lag.sampling import SampleHead, sample_of
from offsetwise.lag.subject import LagSubject
from offsetwise.model import (
    Cluster,
    Exactness,
    LagPart,
    LagSample,
    Method,
    MissingPart,
    PartitionComparison,
    Snapshot,
    TopicState,
)
from offsetwise.ports.stream import are_two, spec_of
from offsetwise.proof import Proof, match_of
from offsetwise.streams.reader import read_cluster
from offsetwise.translation.belongs import belongs_to
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import resolve
from offsetwise.workflow.time_lag import ask_old, with_behind, with_problems


def take_samples(
    migration: Migration,
    subjects: Sequence[LagSubject],
    *,
    sampled_by: str,
    interval_ms: int | None = None,
    before: Mapping[LagSubject, LagSample] | None = None,
) -> tuple[LagSample, ...]:
    """Take one sample of each subject, in their order.

    Args:
        migration: The migration that they belong to.
        subjects: Checkpoints and groups of it.
        sampled_by: Who takes them, for people.
        interval_ms: The intended interval of samples.
        before: The previous samples, whose partitions are kept while something cannot be read.

    Raises:
        ConfigError: The migration has no such checkpoint.
        SameClusterError: Both addresses lead to one cluster.
    """
    head = SampleHead(taken_at_ms=time.time_ns() // 1_000_000, sampled_by=sampled_by, interval_ms=interval_ms)
    known = before or {}
    resolved = {subject: _subject(migration, subject) for subject in subjects}
    of_subjects = (name for subject, _ in resolved.values() for name in subject.groups)
    groups = tuple(sorted({*migration.group_names, *of_subjects}))
    old, no_old, topics = _old(migration, resolved, groups, known)
    new, no_new = _new(migration, topics, groups, old if no_old is None else None)
    if not migration.may_be_one:
        _require_two(old, new)
    whole = Scene.of(migration, next(iter(resolved.values()))[0], old, new, live=True)
    samples = []
    for lag_subject, (subject, no_positions) in resolved.items():
        missing = tuple(part for part in (no_old, no_new, no_positions) if part is not None)
        scene = replace(whole, subject=subject)
        if subject.read is not None and whole.translate is not None:  # some of its shards are known only from positions
            snapshots = (subject.completed(snapshot, migration) for snapshot in (old, new))
            scene = Scene.of(migration, subject, *snapshots, live=True, sibling=whole)
        samples.append(_sample(scene, lag_subject, replace(head, before=known.get(lag_subject), missing=missing)))
    return tuple(samples)


def _subject(migration: Migration, subject: LagSubject) -> tuple[ReadSubject, MissingPart | None]:
    if subject.checkpoint is None:
        return ReadSubject.of(subject, migration), None
    config, stream = migration.checkpoint(subject.checkpoint), spec_of(migration.source.stream)
    try:
        # A running Flink job writes one checkpoint after another: its folder is watched, and the newest in it is read.
        read = on_cluster(read_newest(config.uri, roots=migration.checkpoint_roots), config.job.old_cluster_id)
    except OffsetwiseError as error:
        return ReadSubject.of(subject, migration, traits=config.job), _missing(LagPart.POSITIONS, error)
    read_subject, label = ReadSubject.of(subject, migration, read=read, traits=config.job), stream.label
    try:
        read_subject.topics()
    except OffsetwiseError as error:
        unread = ReadSubject.of(subject, migration, traits=config.job)
        return unread, _missing(LagPart.POSITIONS, error)
    moved = [source for source in read.sources if source.kind in stream.compared]
    if any(source.positions or source.shards or source.undecided for source in moved):
        return read_subject, None
    blocking = blocking_problems(read.problems)
    why = " ".join(problem.message for problem in blocking) or f"it has no {label} source."
    return read_subject, MissingPart(
        part=LagPart.POSITIONS,
        problem=f"{config.uri}: expected {label} positions, found none that can be used: {why}",
        fix=" ".join([*remedies(blocking), f"Look at it: offsetwise inspect {config.uri}"]),
    )


def _old(
    migration: Migration,
    resolved: Mapping[LagSubject, tuple[ReadSubject, MissingPart | None]],
    groups: tuple[str, ...],
    before: Mapping[LagSubject, LagSample],
) -> tuple[Snapshot, MissingPart | None, tuple[str, ...]]:
    topics = {row.topic for sample in before.values() for row in sample.partitions}
    topics |= {topic for subject, _ in resolved.values() for topic in subject.topics()}
    try:
        if any(subject.group is not None for subject, _ in resolved.values()):
            committed = read_cluster(migration, Cluster.OLD, topics=(), groups=groups, mirror=False)
            topics |= {topic for subject, _ in resolved.values() for topic in subject.topics(committed)}
        requested = tuple(sorted(topics))
        return read_cluster(migration, Cluster.OLD, topics=requested, groups=groups), None, requested
    except OffsetwiseError as error:
        requested = tuple(sorted(topics))
        return _unread(migration, Cluster.OLD, requested), _missing(LagPart.OLD, error), requested


def _new(
    migration: Migration, topics: tuple[str, ...], groups: tuple[str, ...], old: Snapshot | None
) -> tuple[Snapshot, MissingPart | None]:
    """Read the new cluster; if it is the old one, it is not read twice."""
    renamed, target = {migration.new_topic(topic) for topic in topics}, migration.target
    if old is not None and migration.is_one and renamed == set(topics):
        return replace(old, cluster=Cluster.NEW, name=target.name, alias=target.alias, problems=()), None
    # The old names show which cluster a checkpoint belongs to; their absence is no problem of the new cluster.
    old_names = tuple(sorted(set(topics) - renamed))
    requested = (*sorted(renamed), *old_names)
    try:
        return (
            read_cluster(migration, Cluster.NEW, topics=requested, groups=groups, if_there=old_names),
            None,
        )
    except OffsetwiseError as error:
        return _unread(migration, Cluster.NEW, requested), _missing(LagPart.NEW, error)


def _sample(scene: Scene, subject: LagSubject, head: SampleHead) -> LagSample:
    lacking = {part.part for part in head.missing}
    positions = positions_of(scene)
    if subject.group is not None and not lacking and not any(position.offset is not None for position in positions):
        head = replace(head, missing=(*head.missing, _uncommitted(scene)))
    if scene.subject.read is not None and not lacking:
        elsewhere = _belongs_elsewhere(scene, subject)
        if elsewhere is not None:
            head = replace(head, missing=(*head.missing, elsewhere))
    rows = [_row(scene, position) for position in positions]
    if lacking:
        return sample_of(head, scene, rows)
    try:
        at = ask_old(scene, positions)
        measured, quota = with_behind(scene, rows, at)
    except OffsetwiseError as error:
        return sample_of(replace(head, missing=(*head.missing, _missing(LagPart.OLD, error))), scene, rows)
    return replace(sample_of(head, with_problems(scene, at), measured), quota=quota)


def _row(scene: Scene, position: Query) -> PartitionComparison:
    row = resolve(replace(match_of(scene, position, Proof()), planned=None, pending_equal=None))
    if (
        position.offset is not None
        or scene.translate is None
        or not are_two(scene.old, row.topic, scene.new, row.new_topic)
    ):
        return row
    # A shard of the same number is another one there: only records show a position.
    return replace(row, new_offset=None, method=Method.NONE, exactness=Exactness.UNKNOWN)


def _belongs_elsewhere(scene: Scene, subject: LagSubject) -> MissingPart | None:
    """Return why a checkpoint has no lag on the old cluster: its positions are the new cluster's; else None."""
    if scene.migration.checkpoint(str(subject.checkpoint)).belongs_to is not None:
        return None
    names = {Cluster.OLD: scene.old.name, Cluster.NEW: scene.new.name}
    positions, read = under_own_names(scene, positions_of(scene)), scene.subject.read
    belongs = belongs_to(positions, planned_at_ms=None if read is None else read.restart_planned_ms, names=names)
    if belongs.cluster is not Cluster.NEW:
        return None
    return MissingPart(
        part=LagPart.POSITIONS,
        problem=f"Checkpoint {subject.checkpoint!r}: expected positions of the old cluster, found positions of the "
        f"new one. {belongs.reason}",
        fix="If the inference is wrong, state `belongs_to: old` at this checkpoint in the migration file.",
    )


def _uncommitted(scene: Scene) -> MissingPart:
    state = scene.group(Cluster.OLD)
    why = f"it could not be read: {state.error}" if state is not None and state.error else "it has committed nothing"
    return MissingPart(
        part=LagPart.POSITIONS,
        problem=f"Group {scene.subject.group!r} on {scene.old.name!r}: expected committed offsets, but {why}.",
        fix="Check the group's name, and that its offsets have not expired.",
    )


def _unread(migration: Migration, side: Cluster, topics: tuple[str, ...]) -> Snapshot:
    config = migration.cluster(side)
    return Snapshot(
        cluster=side,
        name=config.name,
        alias=config.alias,
        cluster_id=None,
        taken_at=datetime.now(UTC).isoformat(),
        topics=tuple(TopicState(name=topic, error="its cluster was not read") for topic in topics),
    )


def _missing(part: LagPart, error: OffsetwiseError) -> MissingPart:
    return MissingPart(part=part, problem=error.problem, fix=error.fix)


def _require_two(old: Snapshot, new: Snapshot) -> None:
    if old.cluster_id is not None and old.cluster_id == new.cluster_id:
        raise SameClusterError(
            f"{old.name!r} and {new.name!r}: expected two clusters, found the cluster id {old.cluster_id!r} on both. "
            "No sample was taken.",
            fix="Correct bootstrap.servers of one of them in the migration file.",
        )
