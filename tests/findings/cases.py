"""The reference row, 1050 on the old cluster and 950 on the new one, and ways to vary it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offsetwise.config import JobTraits
from offsetwise.findings import Case, MigrationCase, TopicCase
from offsetwise.model import (
    Ahead,
    BelongsTo,
    Checkpoint,
    Cluster,
    Evidence,
    Exactness,
    Link,
    LogRange,
    Method,
    OffsetSync,
    PartitionComparison,
    PartitionState,
    RawReuse,
    RawVerdict,
    RestartPoint,
    Snapshot,
    TopicState,
    Writers,
)
from offsetwise.plugins.spark.engine.details import SparkDetails
from tests.checkpoints import changed

NOW_MS = 1_767_225_600_000
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
OLD = BelongsTo(cluster=Cluster.OLD, reason="every position fits the old cluster's ranges only")

ROW = PartitionComparison(
    source="0",
    topic="orders",
    partition=0,
    old_offset=1050,
    new_topic="orders",
    new_offset=950,
    exactness=Exactness.EXACT,
    method=Method.CONTENT,
    restart=(RestartPoint(batch=6, old=1050, new=950),),
    bounds=(950, 950),
    replay=0,
    skip=0,
    foreign_below=0,
    counted=True,
    ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0),
    old=LogRange(log_start=100, lso=1200, hw=1200),
    new=LogRange(log_start=0, lso=1100, hw=1100),
    lag_old=150,
    lag_new=150,
    mirror_maker=910,
    raw=RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0),
    findings=(),
    evidence=Evidence(reason="Counted between anchors."),
)


def topic(name: str = "orders", *, partitions: int = 2, epoch: int = 0, **config: str) -> TopicState:
    """Make a topic; configuration keys are written with underscores."""
    return TopicState(
        name=name,
        partitions=tuple(PartitionState(partition=n, leader=1, leader_epoch=epoch) for n in range(partitions)),
        config=tuple(sorted((key.replace("_", "."), value) for key, value in config.items())),
    )


def row(**changes: Any) -> PartitionComparison:
    """Vary the reference row."""
    return replace(ROW, **changes)


def case(changed: PartitionComparison = ROW, **changes: Any) -> Case:
    """Make a case around a row; everything else is in order."""
    standard = Case(
        row=changed,
        stream="kafka",
        old_topic=topic(),
        new_topic=topic(),
        job=JobTraits(),
        link=Link.MIRRORMAKER,
        writers=Writers.UNKNOWN,
        belongs_to=OLD,
        now_ms=NOW_MS,
    )
    return replace(standard, **changes)


def raw(verdict: RawVerdict, *, skip: int | None = None, replay: int | None = None) -> RawReuse:
    """Return what reusing the old number would do."""
    return RawReuse(verdict=verdict, skip=skip, replay=replay)


def pending(old_end: int, new_end: int | None) -> tuple[RestartPoint, ...]:
    """Return the restart points of a batch that runs again."""
    return (RestartPoint(batch=6, old=1050, new=950), RestartPoint(batch=7, old=old_end, new=new_end))


def syncs(*pairs: tuple[int, int]) -> tuple[OffsetSync, ...]:
    """Return MirrorMaker's syncs of the partition, in log order."""
    return tuple(OffsetSync(topic="orders", partition=0, upstream=up, downstream=down) for up, down in pairs)


def snapshot(cluster: Cluster, **changes: Any) -> Snapshot:
    """Make a snapshot of a cluster in order."""
    standard = Snapshot(
        cluster=cluster, name=cluster.value, alias=cluster.value, cluster_id=f"id-{cluster}", taken_at="2026-01-01"
    )
    return replace(standard, **changes)


def checkpoint(**changes: Any) -> Checkpoint:
    """Make a checkpoint whose last batch is committed."""
    standard = Checkpoint(
        uri="orders",
        engine="spark",
        job_id="0d1c",
        restart="The next batch starts where batch 6 ended.",
        details=SparkDetails(last_planned_batch=6, last_committed_batch=6, reruns_batch=None),
    )
    return changed(standard, **changes)


def migration(**changes: Any) -> MigrationCase:
    """Make a migration in order."""
    standard = MigrationCase(
        old=snapshot(Cluster.OLD),
        new=snapshot(Cluster.NEW),
        checkpoint=checkpoint(),
        belongs_to=OLD,
        job=JobTraits(),
        link=Link.MIRRORMAKER,
        topics=(TopicCase(old_name="orders", old=topic(), new=topic()),),
        rows=(ROW,),
        now_ms=NOW_MS,
        stream="kafka",
    )
    return replace(standard, **changes)


def pair(old: TopicState | None, new: TopicState | None) -> tuple[TopicCase, ...]:
    """Return one topic on both clusters."""
    return (TopicCase(old_name="orders", old=old, new=new),)
