"""Clusters made from values for the Clusters page: the reference case, other groups, a large one, hostile names."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.clusters.reading import ReadCluster
from offsetwise.model import (
    Application,
    ApplicationEvidence,
    Cluster,
    GroupOffset,
    GroupState,
    Heartbeat,
    MirrorCheckpoint,
    MirrorState,
    MirrorTopic,
    OffsetSync,
)
from offsetwise.model.clusters import SHARE
from tests.clusters.values import TAKEN_MS, group, log, new, old, topic

SYNCS = "mm2-offset-syncs.new.internal"
CHECKPOINTS = "old.checkpoints.internal"


def reference() -> dict[Cluster, ReadCluster]:
    """Orders is 100 lower on the new cluster and goes earlier there; clicks has another name."""
    syncs = MirrorState(
        topics=(
            MirrorTopic(
                name=SYNCS, kind="offset-syncs", alias="new", records=1, undecodable=2, newest_ms=TAKEN_MS - 5_000
            ),
        ),
        syncs=((SYNCS, (OffsetSync(topic="orders", partition=0, upstream=1149, downstream=1049),)),),
    )
    checkpoint = MirrorCheckpoint(group="orders-etl", topic="orders", partition=0, upstream=1050, downstream=950)
    answers = MirrorState(
        topics=(MirrorTopic(name=CHECKPOINTS, kind="checkpoints", alias="old", records=1),),
        checkpoints=((CHECKPOINTS, (checkpoint,)),),
        heartbeats=(Heartbeat(source="old", target="new", timestamp_ms=TAKEN_MS - 3_000),),
    )
    return {
        Cluster.OLD: old(
            topic("clicks"),
            topic("orders", [log(0, 100, 1200), log(1, 100, 1180, lso=1170)]),
            groups=[group()],
            mirror=syncs,
            counterparts={"clicks": "old.clicks", "orders": "orders"},
        ),
        Cluster.NEW: new(
            topic("old.clicks"),
            topic("orders", [log(0, 0, 1100), log(1, 0, 1080)], retention_ms="86400000"),
            groups=[group()],
            mirror=answers,
            counterparts={"old.clicks": "clicks", "orders": "orders"},
        ),
    }


def other_groups() -> tuple[GroupState, ...]:
    """A share group that has begun in orders, and an application of Kafka Streams that reads them."""
    starts = tuple(
        GroupOffset(topic="orders", partition=number, offset=offset) for number, offset in enumerate((1150, 1130))
    )
    counting = Application(
        evidence=ApplicationEvidence.METADATA,
        changelogs=("counting-counts-changelog",),
        repartitions=("counting-by-value-repartition",),
    )
    return (
        GroupState(name="emails", state="Empty", type=SHARE, start_offsets=starts),
        replace(group("counting", {("orders", 0): 1200, ("orders", 1): 1100}), application=counting),
    )


def large(topics: int, partitions: int) -> dict[Cluster, ReadCluster]:
    """Many topics, of which every tenth differs."""

    def made(side: Cluster) -> list[object]:
        return [
            topic(
                f"topic-{number:03d}",
                [log(p, number, number + 1000 + p) for p in range(partitions)],
                retention_ms="1000" if side is Cluster.NEW and number % 10 == 0 else "2000",
            )
            for number in range(topics)
        ]

    return {Cluster.OLD: old(*made(Cluster.OLD)), Cluster.NEW: new(*made(Cluster.NEW))}  # type: ignore[arg-type] # topics


def hostile(names: tuple[str, ...]) -> dict[Cluster, ReadCluster]:
    """Names that a cluster could not make, in every place where a name can stand."""
    both = {}
    for side, make in ((Cluster.OLD, old), (Cluster.NEW, new)):
        mirror = MirrorState(
            topics=tuple(MirrorTopic(name=f"{name}-own", kind="heartbeats", alias=name, records=1) for name in names),
            heartbeats=tuple(Heartbeat(source=name, target=name, timestamp_ms=TAKEN_MS) for name in names),
        )
        both[side] = make(
            *(topic(name, retention_ms="1" if side is Cluster.OLD else "2", cleanup_policy=name) for name in names),
            groups=[group(name, {(name, 0): 1050}) for name in names],
            mirror=mirror,
            cluster_id=f"{names[0]}{side}",
        )
    return both
