"""Compare the clusters, checkpoint and targets with their state in a reviewed plan.

Growth of log ends is no drift. The records next to each position are read and compared by `apply`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    CheckpointRequirement,
    Cluster,
    ClusterRequirement,
    GroupBefore,
    LogRange,
    PartitionState,
    Plan,
    Requirements,
    Snapshot,
    SourcePosition,
    TopicPartition,
)
from offsetwise.model.clusters import has_members
from offsetwise.plan.target import target_type
from offsetwise.ports.stream import completed
from offsetwise.position import needs_log, of_one_stream, offset_or_none


class DriftKind(StrEnum):
    """What kind of thing is not as it was reviewed."""

    CLUSTER_REPLACED = "CLUSTER_REPLACED"
    TOPIC_MISSING = "TOPIC_MISSING"
    TOPIC_RECREATED = "TOPIC_RECREATED"
    PARTITIONS_CHANGED = "PARTITIONS_CHANGED"
    PARTITION_MISSING = "PARTITION_MISSING"
    LOG_START_PASSED = "LOG_START_PASSED"
    """Retention removed the record at the planned position, or later ones."""
    LOG_END_BELOW = "LOG_END_BELOW"
    """The log is shorter than before: truncated, or the topic was created again."""
    LOG_START_BELOW = "LOG_START_BELOW"
    """The log starts earlier than before: another log, or a broker whose answers are inconsistent."""
    CHECKPOINT_REPLACED = "CHECKPOINT_REPLACED"
    CHECKPOINT_MOVED = "CHECKPOINT_MOVED"
    CHECKPOINT_EDITED = "CHECKPOINT_EDITED"
    GROUP_ACTIVE = "GROUP_ACTIVE"
    GROUP_MOVED = "GROUP_MOVED"
    TARGET_MOVED = "TARGET_MOVED"
    """The state of a target of a plug-in has changed."""
    SINK_REPLACED = "SINK_REPLACED"
    SINK_MOVED = "SINK_MOVED"
    """A transaction of the job's sinks has changed state, or is new."""
    TIME_LEFT = "TIME_LEFT"
    """A transaction that the plan commits times out before the plan can be applied."""
    UNREADABLE = "UNREADABLE"
    """The current state cannot be read, so it may have changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One thing, as it was reviewed and as it is now."""

    kind: DriftKind
    subject: str
    reviewed: str
    now: str
    topic: str | None = None
    """The name on the cluster in `subject`."""
    partition: int | None = None

    @property
    def told(self) -> str:
        return f"{self.subject}: reviewed {self.reviewed}, now {self.now}."


def drift_of_targets(plan: Plan, requirements: Requirements, migration: Migration) -> Iterator[Drift]:
    """Read the state of targets that are services, and yield each difference from the reviewed state.

    Args:
        plan: The plan.
        requirements: The requirements that must still hold.
        migration: The migration, which has the addresses of some services.
    """
    for reviewed in requirements.targets:
        kind = target_type(reviewed.target.kind)
        name = kind.named(reviewed.target)
        try:
            now = kind.before_of(migration, reviewed.target, plan.settings) or {}
        except OffsetwiseError as error:
            yield Drift(kind=DriftKind.UNREADABLE, subject=name, reviewed="what the plan says", now=error.problem)
            continue
        for key in sorted(reviewed.before.keys() | now.keys()):
            if (was := reviewed.before.get(key)) != (present := now.get(key)):
                yield Drift(
                    kind=DriftKind.TARGET_MOVED, subject=f"{name}, {key}", reviewed=_value(was), now=_value(present)
                )


def _value(value: str | int | None) -> str:
    return "nothing" if value is None else str(value)


def drift(
    plan: Plan,
    old: Snapshot,
    new: Snapshot,
    checkpoint: Checkpoint | None,
    *,
    files: Mapping[str, str] | None = None,
) -> tuple[Drift, ...]:
    """Compare the requirements of a plan with the current state.

    Args:
        plan: The plan.
        old: The old cluster now, with the plan's topics and the group that the positions were read from.
        new: The new cluster now, with the plan's topics and groups.
        checkpoint: The checkpoint now; None if it cannot be read, or the plan was drafted from a group.
        files: SHA-256 of the checkpoint's files by path, in hex; by default `checkpoint.pins`.

    Returns:
        All drifts: clusters, positions, old logs, checkpoint, groups.
    """
    requirements = plan.requirements
    old, new = _with_read_partitions(plan, old, requirements.old), _with_read_partitions(plan, new, requirements.new)
    drifts = [
        *_cluster(requirements.old, old, Cluster.OLD),
        *_cluster(requirements.new, new, Cluster.NEW),
        *_positions(plan, new),
    ]
    drifts += [*_old_logs(plan, old)]
    drifts += drift_of_checkpoint(requirements.checkpoint, checkpoint, files)
    planned = {twins.new_topic_partition for twins in (*plan.positions, *plan.left_unset)}
    for group in requirements.groups:
        drifts += _group(group, new, planned)
    if requirements.old_group is not None:
        drifts += _group(
            requirements.old_group, old, {twins.topic_partition for twins in (*plan.positions, *plan.left_unset)}
        )
    return tuple(drifts)


def _with_read_partitions(plan: Plan, now: Snapshot, requirement: ClusterRequirement) -> Snapshot:
    """Complete a snapshot with the partitions and shards that only positions name, as when the plan was drafted."""
    positions = [
        SourcePosition(topic=position.topic, partition=position.partition, offset=position.old_offset)
        for position in plan.positions
        if position.old_offset is not None
    ]
    return completed(now, positions, {topic.name: topic.shards for topic in requirement.topics})


def drift_of_checkpoint(
    requirement: CheckpointRequirement | None, now: Checkpoint | None, files: Mapping[str, str] | None
) -> tuple[Drift, ...]:
    return () if requirement is None else tuple(_checkpoint(requirement, now, files))


def _cluster(requirement: ClusterRequirement, now: Snapshot, side: Cluster) -> Iterator[Drift]:
    subject = f"The {side} cluster {requirement.name!r}"
    if requirement.cluster_id is None or now.cluster_id is None:
        yield _drift(DriftKind.UNREADABLE, f"{subject}, cluster id", requirement.cluster_id, now.cluster_id)
    elif requirement.cluster_id != now.cluster_id:
        yield _drift(DriftKind.CLUSTER_REPLACED, f"{subject}, cluster id", requirement.cluster_id, now.cluster_id)
        return
    topics = {topic.name: topic for topic in now.topics}
    for topic in requirement.topics:
        state, name = topics.get(topic.name), f"Topic {topic.name!r} of {requirement.name!r}"
        if state is None:
            yield _drift(DriftKind.TOPIC_MISSING, name, "there", "not there", topic=topic.name)
        elif state.error is not None:
            yield _drift(DriftKind.UNREADABLE, name, "read", state.error, topic=topic.name)
        elif state.id != topic.id:
            yield _drift(DriftKind.TOPIC_RECREATED, f"{name}, topic id", topic.id, state.id, topic=topic.name)
        elif len(state.partitions) != topic.partitions:
            yield _drift(
                DriftKind.PARTITIONS_CHANGED,
                f"{name}, partitions",
                topic.partitions,
                len(state.partitions),
                topic=topic.name,
            )
        elif topic.shards != state.shards:
            reviewed, there = ({part.partition for part in of.shards} for of in (topic, state))
            changed = ", ".join(str(number) for number in sorted(reviewed ^ there)) or "their hash keys or parents"
            yield _drift(
                DriftKind.PARTITIONS_CHANGED, f"{name}, shards", len(reviewed), f"others: {changed}", topic=topic.name
            )


def _positions(plan: Plan, new: Snapshot) -> Iterator[Drift]:
    logs = new.partitions()
    removed = {topic.name for topic in plan.requirements.new.topics} - {topic.name for topic in new.topics}
    for position in plan.positions:
        if position.new_topic in removed:
            continue  # reported once, for the topic
        key = position.new_topic_partition
        state = logs.get(key)
        if state is None:
            if needs_log(position.new_offset):
                yield _drift(DriftKind.PARTITION_MISSING, str(key), "there", "not there", topic=key)
            continue
        end = state.log.end(plan.isolation_level)
        if state.log_start is None or end is None:
            yield _drift(DriftKind.UNREADABLE, str(key), "read", state.error or "the broker did not say", topic=key)
            continue
        if not of_one_stream(position.new_offset, end):
            yield _drift(
                DriftKind.UNREADABLE, str(key), f"a position as {position.new_offset:,}", f"the end {end:,}", topic=key
            )
            continue
        positions = {position.new_offset, *(point.new for point in position.restart if point.new is not None)}
        yield from _within(key, positions, position.new.hw, state, end)
        yield from _begins(key, position.new, state)


def _old_logs(plan: Plan, old: Snapshot) -> Iterator[Drift]:
    """Yield drifts of the old logs: their ends may only grow, and their starts may only rise."""
    logs = old.partitions()
    for position in plan.positions:
        state = logs.get(position.topic_partition)
        before, after = (None if log is None else offset_or_none(log.hw) for log in (position.old, state))
        if state is None or position.old_offset is None:
            continue
        if before is not None and after is not None and after < before:
            key = position.topic_partition
            yield _drift(DriftKind.LOG_END_BELOW, f"{key} on the old cluster, log end", before, after, topic=key)
        yield from _begins(position.topic_partition, position.old, state, where=" on the old cluster")


def _begins(at: TopicPartition, reviewed: LogRange, now: PartitionState, *, where: str = "") -> Iterator[Drift]:
    before, after = offset_or_none(reviewed.log_start), offset_or_none(now.log_start)
    if before is not None and after is not None and after < before:
        yield _drift(DriftKind.LOG_START_BELOW, f"{at}{where}, log start", before, after, topic=at)


def _within(
    key: TopicPartition,
    positions: set[AnyPosition],
    reviewed_hw: AnyPosition | None,
    now: PartitionState,
    end: AnyPosition,
) -> Iterator[Drift]:
    start = now.log_start
    if start is not None and min(positions) < start:
        yield _drift(
            DriftKind.LOG_START_PASSED, f"{key}, log start", f"at most {min(positions)}, the position", start, topic=key
        )
    shrunk = reviewed_hw is not None and now.hw is not None and now.hw < reviewed_hw
    if shrunk or max(positions) > end:
        reviewed = reviewed_hw if shrunk else f"at least {max(positions)}, the position"
        yield _drift(DriftKind.LOG_END_BELOW, f"{key}, log end", reviewed, now.hw if shrunk else end, topic=key)


def _checkpoint(
    requirement: CheckpointRequirement, now: Checkpoint | None, files: Mapping[str, str] | None
) -> Iterator[Drift]:
    if now is None:
        yield _drift(DriftKind.UNREADABLE, requirement.uri, "read", "cannot be read")
        return
    for what, reviewed, result in (
        ("engine", requirement.engine, now.engine),
        ("query id", requirement.job_id, now.job_id),
    ):
        if reviewed != result:
            yield _drift(DriftKind.CHECKPOINT_REPLACED, f"{requirement.uri}, {what}", reviewed, result)
    for what, before, after in requirement.moved(CheckpointRequirement.of(now)):
        yield _drift(DriftKind.CHECKPOINT_MOVED, f"{requirement.uri}, {what}", before, after)
    there = dict(now.pins) if files is None else files
    for path, digest in requirement.files:
        if there.get(path) != digest:
            yield _drift(DriftKind.CHECKPOINT_EDITED, f"{requirement.uri}/{path}, SHA-256", digest, there.get(path))


def _group(reviewed: GroupBefore, now: Snapshot, planned: set[TopicPartition]) -> Iterator[Drift]:
    subject = f"Group {reviewed.group!r} on {now.name!r}"
    state = now.group(reviewed.group)
    if state is None or state.error is not None or state.state is None:
        yield _drift(DriftKind.UNREADABLE, subject, "read", "not read" if state is None else state.error)
        return
    if has_members(state.state):
        yield _drift(DriftKind.GROUP_ACTIVE, subject, reviewed.state, state.state)
    before = {TopicPartition(topic, partition): offset for topic, partition, offset in reviewed.offsets}
    commits = state.commits
    for at in sorted({*before, *planned}):
        if before.get(at) != commits.get(at):
            yield _drift(DriftKind.GROUP_MOVED, f"{subject}, {at}", before.get(at), commits.get(at), topic=at)


def _drift(
    kind: DriftKind, subject: str, reviewed: object, now: object, *, topic: TopicPartition | str | None = None
) -> Drift:
    at = topic if isinstance(topic, TopicPartition) else None
    return Drift(
        kind=kind,
        subject=subject,
        reviewed="none" if reviewed is None else str(reviewed),
        now="none" if now is None else str(now),
        topic=at.topic if at is not None else topic if isinstance(topic, str) else None,
        partition=None if at is None else at.partition,
    )
