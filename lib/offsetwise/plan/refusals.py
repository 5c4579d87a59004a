"""Why a way to move a job does not fit, or a plan may not be drafted, where no finding of the comparison says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.engines.registry import engine_of
from offsetwise.findings import Stage, finding
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    Comparison,
    GroupState,
    PartitionComparison,
    Severity,
    Snapshot,
    TopicPartition,
)
from offsetwise.wording import many

DECIDE: Final = "Compare again when it can be proven, or decide it: --override topic:partition=offset --reason TEXT."
_ORDINARY_GROUPS: Final = frozenset({None, "Classic", "Consumer", "Unknown"})


@finding(
    code="SKIP",
    severity=Severity.BLOCKS,
    title="The place would skip records",
    remedy=DECIDE,
    rank=210,
    stage=Stage.PLAN,
)
def skip(row: PartitionComparison) -> Iterator[str]:
    """Records that the job has not read lie below the translated offset."""
    if row.skip and row.new_offset is not None:
        yield f"{row.topic_partition}: {row.new_offset:,} would skip up to {many(row.skip, 'record')}."


@finding(
    code="CLUSTER_ID",
    severity=Severity.BLOCKS,
    title="A cluster did not tell its id",
    remedy="Compare again when the cluster answers.",
    rank=220,
    stage=Stage.PLAN,
)
def cluster_id(snapshot: Snapshot) -> Iterator[str]:
    """Without the id nothing could tell at apply whether it is the same cluster."""
    if snapshot.cluster_id is None:
        yield f"{snapshot.name!r} gave no cluster id, so the plan could not be bound to it."


@finding(
    code="GROUP_TYPE",
    severity=Severity.BLOCKS,
    title="The group's offsets are not written from outside",
    remedy="Use the means of the system that the group belongs to.",
    rank=230,
    stage=Stage.PLAN,
)
def group_type(group: GroupState) -> Iterator[str]:
    """The group is one of share groups, streams or Connect, which keep more than offsets."""
    if group.type not in _ORDINARY_GROUPS or group.name.startswith("connect-"):
        yield f"Group {group.name!r} is of type {group.type or 'Connect'}, whose offsets are not written from outside."


@finding(
    code="NO_CHECKPOINT",
    severity=Severity.BLOCKS,
    title="There is no Spark checkpoint to write from",
    remedy="Write to a consumer group.",
    rank=240,
    stage=Stage.PLAN,
)
def no_checkpoint(comparison: Comparison) -> Iterator[str]:
    """A copy, and a fresh checkpoint, are made from a checkpoint."""
    if comparison.checkpoint is None:
        yield "The positions are a group's: there is no checkpoint."


@finding(
    code="NO_STATE_TO_COPY",
    severity=Severity.BLOCKS,
    title="What the job keeps has positions and no state",
    remedy="Write to kcl-leases:APPLICATION, starting-position or flink-savepoint-from-positions.",
    rank=242,
    stage=Stage.PLAN,
)
def no_state_to_copy(checkpoint: Checkpoint, target: str) -> Iterator[str]:
    """A copy keeps the state of a job, and a table of leases has none."""
    engine = engine_of(checkpoint.engine)
    if engine.reads_files:
        yield f"The positions are those of {engine.what}, which has no state: there is no {target} to copy."


def instead_of_copy(checkpoint: Checkpoint, otherwise: str) -> str:
    """Return what to do where a checkpoint is none of the engine whose checkpoints a target copies."""
    if any(source.shards for source in checkpoint.sources):
        return "Write to kcl-leases:APPLICATION, starting-position or flink-savepoint-from-positions."
    return otherwise


@finding(
    code="SOURCES",
    severity=Severity.BLOCKS,
    title="The target cannot hold the positions of all sources",
    remedy="Edit a copy of the checkpoint.",
    rank=250,
    stage=Stage.PLAN,
)
def sources(comparison: Comparison) -> Iterator[str]:
    """A group holds one offset per partition."""
    places: dict[TopicPartition, AnyPosition | None] = {}
    for row in comparison.partitions:
        if places.setdefault(row.new_topic_partition, row.new_offset) != row.new_offset:
            yield f"Two sources read {row.topic_partition} at different places, and a group holds one."


@finding(
    code="PLACE_NOT_HELD",
    severity=Severity.BLOCKS,
    title="The target cannot hold a position",
    remedy="Decide another one: --override topic:partition=POSITION --reason TEXT; or write another target.",
    rank=262,
    stage=Stage.PLAN,
)
def place_not_held(at: TopicPartition, place: AnyPosition, holder: str, why: str) -> Iterator[str]:
    """What would be written has no form for such a position."""
    yield f"{at} is at {place}, which {holder} cannot hold: {why}."


@finding(
    code="SHARDS_UNKNOWN",
    severity=Severity.BLOCKS,
    title="Too little is known of the shards",
    remedy="Draft it where the stream can be asked, so that all its shards and their hash keys are known.",
    rank=264,
    stage=Stage.PLAN,
)
def shards_unknown(told: str) -> Iterator[str]:
    """What would be written names hash keys of shards, or has to name every shard."""
    yield told


@finding(
    code="SUBSCRIPTION",
    severity=Severity.BLOCKS,
    title="The job cannot read topics of other names",
    remedy="Mirror the topics under their old names, or change the job and state `subscription_changeable: true`.",
    rank=270,
    stage=Stage.PLAN,
)
def subscription(job: JobTraits) -> Iterator[str]:
    """The migration file states that the job's subscription stays as it is."""
    if job.subscription_changeable is False:
        yield "The job is stated to keep the names of its topics."


@finding(
    code="NO_RENAME",
    severity=Severity.BLOCKS,
    title="No topic has another name on the new cluster",
    remedy="Move without renaming: edit a copy. If a name does change, say so in `topics` of the migration file.",
    rank=280,
    stage=Stage.PLAN,
)
def no_rename(comparison: Comparison) -> Iterator[str]:
    """There is nothing to rename."""
    if all(row.topic == row.new_topic for row in comparison.partitions):
        yield "No topic has another name on the new cluster."


@finding(
    code="RETAINED_DATA",
    severity=Severity.BLOCKS,
    title="The job needs records that only the old cluster has",
    remedy="Mirror the topics and move by a way that translates positions, or state `needs_retained_data: false`.",
    rank=290,
    stage=Stage.PLAN,
)
def retained_data(job: JobTraits) -> Iterator[str]:
    """The migration file states that the job needs what the old cluster retains."""
    if job.needs_retained_data:
        yield "The job is stated to need what the old cluster retains, which nobody would bring to the new one."


@finding(
    code="NOT_DRAINED",
    severity=Severity.BLOCKS,
    title="The job has not read the old topics to their end",
    remedy="Stop the producers on the old cluster, let the job read to the end there, and compare again.",
    rank=300,
    stage=Stage.PLAN,
)
def not_drained(comparison: Comparison, job: JobTraits) -> Iterator[str]:
    """Records that the job has not read lie on the old cluster, or may."""
    left = [row for row in comparison.partitions if row.lag_old != 0 and (row.old_offset is not None or row.old.hw)]
    if left and job.needs_retained_data is not False:
        yield f"{counted(left)} records on the old cluster that the job has not read, or may have."


@finding(
    code="REPAIR_REFUSED",
    severity=Severity.BLOCKS,
    title="The checkpoint does not fit the repair",
    remedy="See with `offsetwise inspect` what is wrong, and choose the repair that its page names.",
    rank=2110,
    stage=Stage.PLAN,
)
def repair_refused(message: str, fix: str) -> Iterator[tuple[str, str]]:
    """The checkpoint does not have what the repair mends, or not the files and the state that the copy needs."""
    yield message, fix


def counted(rows: Sequence[PartitionComparison]) -> str:
    """Begin a sentence about some partitions.

    >>> counted([])
    '0 partitions have'
    """
    return f"{many(len(rows), 'partition')} {'has' if len(rows) == 1 else 'have'}"
