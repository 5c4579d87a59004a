from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from offsetwise.config import Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import CheckpointError, PlanError, StorageError
from offsetwise.model import Checkpoint, CheckpointRequirement, Cluster, Plan, Snapshot
from offsetwise.plan.drift import Drift, drift_of_checkpoint, drift_of_targets
from offsetwise.plan.drift import drift as drift_of
from offsetwise.plan.sinks.ending import moved
from offsetwise.progress import Progress, no_progress
from offsetwise.streams.reader import read_cluster, read_whole
from offsetwise.transactions.snapshot import SinkSnapshot
from offsetwise.workflow.scenes import digests
from offsetwise.workflow.sinks import transactions_of


def drift_of_sink(
    plan: Plan, migration: Migration, sink: SinkSnapshot | None, *, progress: Progress = no_progress
) -> tuple[Drift, ...]:
    if plan.requirements.sink is None:
        return ()
    return tuple(moved(plan, transactions_of(migration, plan, snapshot=sink, progress=progress)))


ReadPart: TypeAlias = Callable[[Cluster, tuple[str, ...], tuple[str, ...]], Snapshot]
"""Returns a snapshot of these topics and consumer groups of a cluster."""


def shared_reading(migration: Migration, plans: Iterable[Plan], *, progress: Progress = no_progress) -> ReadPart:
    """Read both clusters once for all plans, and return a function that returns the part for each; see `drift`.

    Args:
        migration: The migration of the plans.
        plans: All plans.
        progress: Called with each step.

    Raises:
        ClusterError: A cluster cannot be read.
    """
    parts = [part for plan in plans if plan.positions for part in _required_parts(plan)]
    if not parts:
        return partial(_read_part, migration, progress)
    wholes = {}
    for side in Cluster:
        topics = tuple(sorted({topic for part, named, _ in parts if part is side for topic in named}))
        groups = tuple(sorted({group for part, _, named in parts if part is side for group in named}))
        wholes[side] = read_whole(migration, side, topics=topics, groups=groups, mirror=False, progress=progress)
    return lambda side, topics, groups: wholes[side].snapshot(topics, groups)


def _read_part(
    migration: Migration, progress: Progress, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]
) -> Snapshot:
    return read_cluster(migration, side, topics=topics, groups=groups, mirror=False, progress=progress)


def _required_parts(plan: Plan) -> Iterator[tuple[Cluster, tuple[str, ...], tuple[str, ...]]]:
    requirements = plan.requirements
    for side, required, groups in (
        (Cluster.OLD, requirements.old, () if requirements.old_group is None else (requirements.old_group.group,)),
        (Cluster.NEW, requirements.new, tuple(group.group for group in requirements.groups)),
    ):
        yield side, tuple(topic.name for topic in required.topics), groups


def drift(
    plan: Plan,
    migration: Migration,
    *,
    sink: SinkSnapshot | None = None,
    read: ReadPart | None = None,
    progress: Progress = no_progress,
) -> tuple[Drift, ...]:
    """Read again what a plan requires, and return what has changed since the review. No record is read.

    Args:
        plan: The plan.
        migration: Its migration.
        sink: Decide about transactions of the job's sinks from this instead of their live cluster.
        read: Reads the clusters; by default each is read for this plan alone.
        progress: Called with each step.

    Raises:
        PlanError: The plan belongs to another migration.
        ClusterError: A cluster cannot be read.
    """
    if plan.migration != migration.name and not plan.moves_nothing:
        raise PlanError(
            f"The plan: expected one of migration {migration.name!r}, found one of {plan.migration!r}. "
            "Nothing was read.",
            fix="Give the migration file that the plan was drafted with.",
        )
    requirements = plan.requirements
    of_sink = drift_of_sink(plan, migration, sink, progress=progress)
    if not plan.positions:
        return (
            *drift_of_checkpoint(requirements.checkpoint, *_checkpoint(requirements.checkpoint, migration)),
            *of_sink,
        )
    read = read or partial(_read_part, migration, progress)
    snapshots = {side: read(side, topics, groups) for side, topics, groups in _required_parts(plan)}
    checkpoint, files_now = _checkpoint(requirements.checkpoint, migration)
    moved_on = drift_of(plan, snapshots[Cluster.OLD], snapshots[Cluster.NEW], checkpoint, files=files_now)
    return (*moved_on, *drift_of_targets(plan, requirements, migration), *of_sink)


def _checkpoint(
    required: CheckpointRequirement | None, migration: Migration
) -> tuple[Checkpoint | None, Mapping[str, str]]:
    """Read a checkpoint and the digests of its files; None if it is unreadable, so that it counts as changed."""
    if required is None:
        return None, {}
    try:
        checkpoint = read_checkpoint(required.uri, roots=migration.checkpoint_roots, history=0)
        return checkpoint, digests(migration, checkpoint, [path for path, _ in required.files])
    except (CheckpointError, StorageError):
        return None, {}
