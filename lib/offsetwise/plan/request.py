"""What a person asks for when a plan is drafted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import PlanError
from offsetwise.model import (
    SAVEPOINT_KINDS,
    Comparison,
    GroupState,
    Identity,
    Override,
    PartitionState,
    Snapshot,
    Start,
    Target,
    TargetKind,
    TopicPartition,
)

CHECKPOINT_KINDS = frozenset({TargetKind.SPARK_CHECKPOINT, TargetKind.SPARK_CHECKPOINT_IN_PLACE, *SAVEPOINT_KINDS})
"""Targets that keep state, and Spark's batch ids."""
FRESH_KINDS = frozenset({TargetKind.STARTING_OFFSETS, TargetKind.SEEDED_CHECKPOINT})
"""Targets that begin a checkpoint anew: state is given up, and batch ids start at 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartChoice:
    """A person's choice where the partitions of one topic start, in the place of the translated offsets."""

    topic: str
    """Its name on the old cluster."""
    start: Start
    """`earliest`, `latest`, `timestamp` or `group`; an offset of one's own is an `Override`."""
    reason: str
    by: str
    timestamp_ms: int | None = None
    """For `timestamp`."""
    group: str | None = None
    """For `group`: whose committed offsets on the new cluster."""
    looked_up: tuple[tuple[int, int | None], ...] = ()
    """For `timestamp`: (partition, offset) as the new cluster answered; None where no record is that young."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What a plan is to write, and who decided what."""

    targets: tuple[Target, ...]
    author: str
    editors: tuple[str, ...] = ()
    identities: tuple[Identity, ...] = ()
    """Of those of them whom an identity provider signed in."""
    checkpoint: str | None = None
    """The checkpoint's name in the migration file, which states the job's traits; found by its path where not given."""
    rewind_to: int | None = None
    overrides: tuple[tuple[TopicPartition, Override], ...] = ()
    """By partition of the old cluster."""
    starts: tuple[StartChoice, ...] = ()
    sink_rewound: bool = False
    """Whether a person states that the sink is taken back with the job."""
    cutover_ms: int | None = None
    """When the job is to start on the new cluster, epoch ms."""
    newest: tuple[tuple[TopicPartition, int | None], ...] = ()
    """(partition of the new cluster, time of its newest record in epoch ms), where they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a plan may not be made as asked for."""

    code: str
    """A finding's code where one says it."""
    told: str
    """One sentence."""
    fix: str


def traits_of(migration: Migration, comparison: Comparison, name: str | None) -> JobTraits:
    """Give what the migration file states about the job; nothing for a group.

    Raises:
        ConfigError: The file names no such checkpoint.
    """
    if comparison.checkpoint is None:
        return JobTraits()
    if name is not None:
        return migration.checkpoint(name).job
    uri = comparison.checkpoint.uri
    return next((each.job for each in migration.checkpoints if each.uri == uri), JobTraits())


def partitions_of(snapshot: Snapshot) -> Mapping[TopicPartition, PartitionState]:
    """Give the partitions of a snapshot by their names."""
    return {
        TopicPartition(topic=topic.name, partition=each.partition): each
        for topic in snapshot.topics
        for each in topic.partitions
    }


def group_of(snapshot: Snapshot, name: str | None) -> GroupState | None:
    """Give a group of a snapshot; None where it was not asked for."""
    return next((each for each in snapshot.groups if each.name == name), None)


def refuse(reasons: tuple[Reason, ...]) -> None:
    """Go on only where nothing speaks against the plan.

    Raises:
        PlanError: Something does; every reason is named, those of one kind together.
    """
    if not reasons:
        return
    grouped: dict[str, list[Reason]] = {}
    for reason in reasons:
        grouped.setdefault(reason.code, []).append(reason)
    told = [f"{code}: {_together(found)}" for code, found in grouped.items()]
    fixes = dict.fromkeys(found[0].fix for found in grouped.values())
    kinds = "1 reason" if len(grouped) == 1 else f"{len(grouped)} kinds of reasons"
    raise PlanError(
        f"The plan may not be drafted as asked for, {kinds}. {' '.join(told)} Nothing was written.",
        fix=" ".join(fixes),
    )


NAMED = 5
"""How many partitions an error names for one kind of reason."""


def _together(found: list[Reason]) -> str:
    told = list(dict.fromkeys(reason.told for reason in found))
    more = f" And {len(told) - NAMED:,} more like these." if len(told) > NAMED else ""
    return " ".join(told[:NAMED]) + more
