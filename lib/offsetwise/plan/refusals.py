"""Reasons against a way or a plan that no finding of the comparison states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.engines.registry import engine_of
from offsetwise.errors import PlanError
from offsetwise.findings import Stage, finding
from offsetwise.model import (
    AnyPosition,
    Checkpoint,
    Comparison,
    GroupState,
    PartitionComparison,
    PartitionState,
    Plan,
    PlannedPosition,
    Proof,
    Severity,
    Snapshot,
    TopicPartition,
)
from offsetwise.plan.proofs.several import moves_without_records, stays, without_parts
from offsetwise.position import OpaquePosition, offset_or_none
from offsetwise.wording import many, number

DECIDE: Final = "Compare again when it can be proven, or decide it: --override topic:partition=offset --reason TEXT."
ONLY_ITS_END: Final = (
    "Compare again. Of a shard that its stream does not list any more only the end can be written: "
    "--override topic:shard=SHARD_END --reason TEXT."
)
_NAMED: Final = 5
_ORDINARY_GROUPS: Final = frozenset({None, "Classic", "Consumer", "Unknown"})


@finding(
    code="SKIP",
    severity=Severity.BLOCKS,
    title="The position would skip records",
    remedy=DECIDE,
    rank=210,
    stage=Stage.PLAN,
)
def skip(row: PartitionComparison) -> Iterator[str]:
    """Records that the job has not read lie below the translated offset."""
    if row.skip and row.new_offset is not None:
        yield f"{row.topic_partition}: {row.new_offset:,} would skip up to {many(row.skip, 'record')}."


AGAIN: Final = (
    "Compare again with the clusters as they are, draft a new plan, and have that signed. A position that no record "
    "proves is decided there: --override topic:partition=offset --reason TEXT."
)
ACCEPT: Final = (
    "Or let a reviewer who has looked at it accept it as it is, in a new approval, with the topic's name on the old "
    "cluster: offsetwise sign … --accept-unproven topic:partition --reason TEXT."
)
FROM_FILES: Final = (
    "The plan was drafted from the files of a comparison and two snapshots, which people can change: `apply` makes the "
    "proof of every position again, and looks at everything else that the plan requires."
)


def without_proof(
    position: PlannedPosition,
    log: PartitionState | None = None,
    *,
    pending: bool = True,
    on_one_topic: bool = True,
) -> str | None:
    """Explain why the proof of a position, or of the end of its pending batch, cannot be repeated; None if it can.

    No proof is needed for a position that a person decided or whose exactness is not proven; if the old log has nothing
    from the position on, so that nothing can be skipped; and if the job stays on a stream whose positions name their
    record: then the new position must be the old one.

    Args:
        position: One partition of a plan.
        log: Its log on the old cluster now; None to use the log in the plan.
        pending: Whether the end of a pending batch is written too. Plans of earlier releases name that end even if not.
        on_one_topic: Whether the job stays on its topic, where a position that names its record means the same one.
    """
    end_of_log = position.old.hw if log is None else log.hw
    name = str(position.new_topic_partition)
    missing = None
    old, end = (position.old_offset, end_of_log) if position.proven else (None, None)
    if position.override is not None:
        pass
    elif isinstance(old, OpaquePosition):
        missing = without_parts(position) if old.of else moves_without_records(position, on_one_topic=on_one_topic)
    else:
        missing = _unproven(name, position.proof, old, position.new_offset, end)
    if missing is None and pending and len(position.restart) > 1:
        last = position.restart[-1]
        name = f"{name}, end of batch {last.batch}"
        missing = _unproven(name, position.end_proof, last.old, last.new, end_of_log if position.proven else last.old)
    return missing


def writes_pending(plan: Plan) -> bool:
    from offsetwise.plan.target import TargetRole, target_type  # noqa: PLC0415 - targets import ways, and ways this module

    return any(target_type(target.kind).role is TargetRole.STATE for target in plan.targets)


def without_proofs(plan: Plan) -> list[str]:
    pending = writes_pending(plan)
    results = (
        without_proof(position, pending=pending, on_one_topic=stays(plan, position)) for position in plan.positions
    )
    return [message for message in results if message is not None]


def require_proofs(plan: Plan, digest: str) -> None:
    """Raise if a position of a plan that is to be signed has no proof that could be repeated.

    Raises:
        PlanError: The plan has such a position.
    """
    missing = without_proofs(plan)
    if missing:
        more = f" And {len(missing) - _NAMED:,} more." if len(missing) > _NAMED else ""
        raise PlanError(
            f"Plan {digest[:12]}: {proof_not_repeated.code}: expected a proof that `apply` can make again for every "
            f"position that is called proven, found {many(len(missing), 'position')} without. "
            f"{' '.join(missing[:_NAMED])}{more} Nothing was signed.",
            fix=AGAIN,
        )


def _unproven(
    name: str, proof: Proof | None, old: AnyPosition | None, new: AnyPosition | None, end_of_log: AnyPosition | None
) -> str | None:
    before, after = (None, None) if proof is None else (proof.before, proof.after)
    if before is None and after is None:
        empty = offset_or_none(old) is None or (end_of_log is not None and old is not None and end_of_log <= old)
        return None if empty else f"{name}: the plan has no records that prove {number(new)}."
    below, above = None if before is None else before.new_offset, None if after is None else after.new_offset
    if not _encloses(below, new, above):
        return f"{name}: the plan's neighbours on the new cluster do not enclose {number(new)}."
    below, above = None if before is None else before.old_offset, None if after is None else after.old_offset
    if not _encloses(below, old, above):
        return f"{name}: the plan's neighbours on the old cluster do not enclose {number(old)}."
    return None


def _encloses(below: AnyPosition | None, position: AnyPosition | None, above: AnyPosition | None) -> bool:
    return position is None or ((below is None or below < position) and (above is None or position <= above))


@finding(
    code="PROOF_NOT_REPEATED",
    severity=Severity.BLOCKS,
    title="The proof of a position cannot be made again",
    remedy=AGAIN,
    rank=215,
    stage=Stage.PLAN,
)
def proof_not_repeated(position: PlannedPosition, *, on_one_topic: bool) -> Iterator[str]:
    """A position is applied only with a proof that `apply` can make again: two records that enclose it on both logs."""
    missing = without_proof(position, on_one_topic=on_one_topic)
    if missing is not None:
        yield missing


@finding(
    code="CLUSTER_ID",
    severity=Severity.BLOCKS,
    title="A cluster did not tell its id",
    remedy="Compare again when the cluster answers.",
    rank=220,
    stage=Stage.PLAN,
)
def cluster_id(snapshot: Snapshot) -> Iterator[str]:
    """Without the id, `apply` could not tell whether it writes to the same cluster."""
    if snapshot.cluster_id is None:
        yield f"{snapshot.name!r} gave no cluster id, so the plan could not be bound to it."


@finding(
    code="GROUP_TYPE",
    severity=Severity.BLOCKS,
    title="The group's offsets are not written from outside",
    remedy="Use the means of the system that the group belongs to: for a sink connector the REST call PATCH "
    "/connectors/NAME/offsets, for a share group kafka-share-groups.sh.",
    rank=230,
    stage=Stage.PLAN,
)
def group_type(group: GroupState) -> Iterator[str]:
    """The group belongs to share groups, Kafka Streams or Kafka Connect, which keep more than offsets."""
    if group.type not in _ORDINARY_GROUPS or group.name.startswith("connect-"):
        kind = "a group of Kafka Connect" if group.name.startswith("connect-") else f"of type {group.type}"
        yield f"Group {group.name!r} is {kind}, whose offsets are not written from outside."


@finding(
    code="NO_CHECKPOINT",
    severity=Severity.BLOCKS,
    title="There is no Spark checkpoint to write from",
    remedy="Write to a consumer group.",
    rank=240,
    stage=Stage.PLAN,
)
def no_checkpoint(comparison: Comparison) -> Iterator[str]:
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
def no_state_to_copy(checkpoint: Checkpoint, target: str) -> Iterator[str | tuple[str, str]]:
    """A copy keeps the state of a job; a lease table, an offsets file and a connector have none."""
    engine = engine_of(checkpoint.engine)
    if not engine.reads_files:
        return
    message = f"The positions are those of {engine.what}, which has no state: there is no {target} to copy."
    if any(source.positions for source in checkpoint.sources):
        yield (
            message,
            "Write to positions-file (of a file), to connector:NAME (of a connector), or to a consumer group: --target "
            "consumer-group:NAME.",
        )
    else:
        yield message


def instead_of_copy(checkpoint: Checkpoint, otherwise: str) -> str:
    """Return the remedy for a checkpoint of an engine whose checkpoints the target cannot copy."""
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
    positions: dict[TopicPartition, AnyPosition | None] = {}
    for row in comparison.partitions:
        if positions.setdefault(row.new_topic_partition, row.new_offset) != row.new_offset:
            yield f"Two sources read {row.topic_partition} at different positions, and a group holds one."


@finding(
    code="PLACE_NOT_HELD",
    severity=Severity.BLOCKS,
    title="The target cannot hold a position",
    remedy="Decide another one: --override topic:partition=POSITION --reason TEXT; or write another target.",
    rank=262,
    stage=Stage.PLAN,
)
def place_not_held(at: TopicPartition, position: AnyPosition, holder: str, why: str) -> Iterator[str]:
    yield f"{at} is at {position}, which {holder} cannot hold: {why}."


@finding(
    code="SHARDS_UNKNOWN",
    severity=Severity.BLOCKS,
    title="Too little is known of the shards",
    remedy="Draft it where the stream can be asked, so that all its shards and their hash keys are known.",
    rank=264,
    stage=Stage.PLAN,
)
def shards_unknown(message: str) -> Iterator[str]:
    """The target names hash keys of shards, or has to name every shard."""
    yield message


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
    if job.can_read_other_names is False:
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
    if all(row.topic == row.new_topic for row in comparison.partitions):
        yield "No topic changes its name."


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
    if job.needs_old_records:
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
    """The old cluster has records that the job has not read, or may have some."""
    comparisons = [
        row for row in comparison.partitions if row.lag_old != 0 and (row.old_offset is not None or row.old.hw)
    ]
    if comparisons and job.needs_old_records is not False:
        yield f"{counted(comparisons)} records on the old cluster that the job has not read, or may have."


@finding(
    code="REPAIR_REFUSED",
    severity=Severity.BLOCKS,
    title="The checkpoint does not fit the repair",
    remedy="Repair what `offsetwise inspect` names first.",
    rank=2110,
    stage=Stage.PLAN,
)
def repair_refused(message: str, fix: str) -> Iterator[tuple[str, str]]:
    """The checkpoint does not have the damage that the repair fixes, or lacks files or state that the copy needs."""
    yield message, fix


def counted(rows: Sequence[PartitionComparison]) -> str:
    """Return the subject and verb of a sentence about some partitions.

    >>> counted([])
    '0 partitions have'
    """
    return f"{many(len(rows), 'partition')} {'has' if len(rows) == 1 else 'have'}"
