"""The reference case as drafting sees it: orders-0 at 1050 on the old cluster, that record at 950 on the new one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import offsetwise
from offsetwise import workflow
from offsetwise.config import CheckpointConfig, ClusterConfig, JobTraits, Migration
from offsetwise.model import (
    AnyPosition,
    Batch,
    BatchSource,
    BelongsTo,
    Checkpoint,
    CheckpointSource,
    Cluster,
    ClusterRef,
    Comparison,
    Evidence,
    Finding,
    GroupOffset,
    GroupState,
    Neighbour,
    Override,
    PartitionComparison,
    PartitionState,
    Plan,
    RestartPoint,
    Severity,
    Side,
    Snapshot,
    SourcePosition,
    Target,
    TopicOffsets,
    TopicPartition,
    TopicState,
)
from offsetwise.plan.draft import draft
from offsetwise.plan.request import DraftRequest
from offsetwise.plugins.spark.engine.details import SparkDetails
from offsetwise.position import offset_or_none
from tests.checkpoints import changed
from tests.findings.cases import ROW

SAMPLE = Path(offsetwise.__file__).parent / "sample"
AT = "2026-11-21T10:00:00Z"
URI = "/checkpoints/orders"
COPY = Target(kind="spark-checkpoint")
IN_PLACE = Target(kind="spark-checkpoint-in-place")
STARTING = Target(kind="starting-offsets")
SEEDED = Target(kind="seeded-checkpoint")
ETL = Target(kind="consumer-group", group="etl")
EVERY = (COPY, IN_PLACE, STARTING, SEEDED, ETL)
FIRST = TopicPartition("orders", 0)
HARMLESS = JobTraits(sink="kafka", stateful=False, tolerates_replay=False)


def rows(*changes: dict[str, Any]) -> tuple[PartitionComparison, ...]:
    """Return one row of orders per set of changes, partitions counted from 0."""
    return tuple(replace(ROW, **{"partition": number, **change}) for number, change in enumerate(changes))


def proven(row: PartitionComparison) -> PartitionComparison:
    """Return a row the records that prove it on both sides, as a comparison that found a proven position does."""
    if not row.exactness.proven or row.evidence.neighbours:
        return row
    last = row.restart[-1] if len(row.restart) > 1 else None
    return replace(
        row,
        evidence=_evidence(row.evidence, row.old_offset, row.new_offset),
        end_evidence=row.end_evidence
        if row.end_evidence is not None or last is None or last.new is None
        else _evidence(row.evidence, last.old, last.new),
    )


def _evidence(evidence: Evidence, old: AnyPosition | None, new: AnyPosition | None) -> Evidence:
    at, there = offset_or_none(old), offset_or_none(new)
    if at is None or there is None:
        return evidence
    pairs = tuple(
        Neighbour(old_offset=at + by, new_offset=there + by, timestamp_ms=None, identity=f"{at + by:032x}", side=side)
        for by, side in ((-1, Side.READ), (0, Side.UNREAD))
    )
    return replace(evidence, neighbours=pairs, salt="00" * 16, identity="timestamp, key, value and headers")


def pending(end: int | None, *, equal: bool | None) -> dict[str, Any]:
    """Return what a pending batch 7 changes in a row."""
    first = RestartPoint(batch=6, old=1050, new=950)
    return {"restart": (first, RestartPoint(batch=7, old=1100, new=end)), "pending_equal": equal}


def batch(number: int, *, committed: bool = True, offset: int = 1050, partitions: int = 1) -> Batch:
    """Make a retained batch."""
    of = TopicOffsets(topic="orders", partitions=tuple(range(partitions)), offsets=(offset,) * partitions)
    return Batch(id=number, committed=committed, sources=(BatchSource(id="0", offsets=(of,)),))


def checkpoint(**changes: Any) -> Checkpoint:
    """Make a checkpoint that stands after batch 6."""
    standard = Checkpoint(
        uri=URI,
        engine="spark",
        job_id="0d1c",
        restart="The next batch starts where batch 6 ended.",
        sources=(
            CheckpointSource(
                index=0,
                id="0",
                kind="kafka",
                positions=(SourcePosition(topic="orders", partition=0, offset=1050),),
            ),
        ),
        pins=(("offsets/6", "ab" * 32),),
        details=SparkDetails(
            last_planned_batch=6,
            last_committed_batch=6,
            reruns_batch=None,
            batches=(batch(4, offset=1010), batch(5, offset=1030), batch(6)),
        ),
    )
    return changed(standard, **changes)


def comparison(*compared: PartitionComparison, **changes: Any) -> Comparison:
    """Compare rows; the reference row where none is given."""
    standard = workflow.sample_comparison("payments")
    made = replace(
        standard,
        migration="m",
        checkpoint=checkpoint(),
        taken_at=AT,
        belongs_to=BelongsTo(cluster=Cluster.OLD, reason="It is."),
        old=ClusterRef(name="old", cluster_id="id-old", taken_at=AT),
        new=ClusterRef(name="new", cluster_id="id-new", taken_at=AT),
        partitions=tuple(map(proven, compared or rows({}))),
        findings=(),
    )
    return replace(made, **changes)


def grouped(*compared: PartitionComparison, **changes: Any) -> Comparison:
    """Compare the group etl."""
    found = tuple(replace(row, source="etl") for row in compared or rows({}))
    return comparison(*found, checkpoint=None, group="etl", **changes)


def snapshot(side: Cluster, compared: tuple[PartitionComparison, ...] = (), **changes: Any) -> Snapshot:
    """Read a cluster as rows saw it, with the group etl."""
    new = side is Cluster.NEW
    logs: dict[str, dict[int, PartitionState]] = {}
    for row in compared or rows({}):
        log = row.new if new else row.old
        state = PartitionState(partition=row.partition, log_start=log.log_start, hw=log.hw, lso=log.lso)
        logs.setdefault(row.new_topic if new else row.topic, {})[row.partition] = state
    commit = GroupOffset(topic="orders", partition=0, offset=900 if new else 1050)
    standard = Snapshot(
        cluster=side,
        name=side.value,
        alias=side.value,
        cluster_id=f"id-{side}",
        taken_at=AT,
        topics=tuple(
            TopicState(
                name=name,
                id=f"{side}-{name}",
                partitions=tuple(states.values()),
                config=(("cleanup.policy", "delete"), ("retention.ms", "-1")),
            )
            for name, states in logs.items()
        ),
        groups=(GroupState(name="etl", state="Empty", type="Classic", offsets=(commit,)),),
    )
    return replace(standard, **changes)


def migration(job: JobTraits = HARMLESS, **changes: Any) -> Migration:
    """Make a migration whose checkpoint has a job."""
    return Migration(
        name="m",
        source=ClusterConfig(name="old", properties={"bootstrap.servers": "a:1"}),
        target=ClusterConfig(name="new", properties={"bootstrap.servers": "b:1"}),
        checkpoints=(CheckpointConfig(name="orders", uri=URI, job=job),),
        **changes,
    )


def drafted(
    made: Comparison | None = None,
    *targets: Target,
    job: JobTraits = HARMLESS,
    old: Snapshot | None = None,
    new: Snapshot | None = None,
    with_migration: Migration | None = None,
    **request: Any,
) -> Plan:
    """Draft a plan from a comparison; a copy of the checkpoint where no target is given."""
    made = made or comparison()
    read = (old or snapshot(Cluster.OLD, made.partitions), new or snapshot(Cluster.NEW, made.partitions))
    return draft(
        replace(made, read_from=read),
        with_migration or migration(job),
        DraftRequest(targets=targets or (COPY,), author="ada", **request),
        drafted_at=AT,
    )


def override(offset: int, reason: str = "The records between are test data.") -> Override:
    """Decide an offset."""
    return Override(offset=offset, reason=reason, by="ada")


def blocking(code: str, *, partition: int | None = None) -> Finding:
    """Make a finding that blocks."""
    topic = None if partition is None else "orders"
    return Finding(
        code=code, severity=Severity.BLOCKS, topic=topic, partition=partition, message="It is so.", remedy="See to it."
    )


def observed(name: str) -> Comparison:
    """Read one of the sample's recorded comparisons with its snapshots."""
    return workflow.load_comparison(SAMPLE / f"comparison-{name}.json", SAMPLE / "old.json", SAMPLE / "new.json")
