"""Snapshots made from values, as the cluster reader hands them on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from offsetwise.clusters.reading import ReadCluster
from offsetwise.model import (
    Cluster,
    GroupOffset,
    GroupState,
    Link,
    MirrorState,
    PartitionState,
    Problem,
    Snapshot,
    TopicState,
)

CONFIG = {
    "cleanup.policy": "delete",
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
TAKEN_MS = 1_767_362_531_000


def log(number: int = 0, start: int | None = 100, hw: int | None = 1200, *, lso: int | None = None) -> PartitionState:
    return PartitionState(partition=number, leader=1, log_start=start, hw=hw, lso=hw if lso is None else lso)


def topic(
    name: str = "orders", partitions: Iterable[PartitionState] = (), *, error: str | None = None, **config: str
) -> TopicState:
    entries = CONFIG | {key.replace("_", "."): value for key, value in config.items()}
    return TopicState(
        name=name,
        id=f"id-of-{name}"[:22],
        partitions=tuple(partitions) or (log(),),
        config=tuple(sorted(entries.items())),
        error=error,
    )


def group(name: str = "orders-etl", offsets: Mapping[tuple[str, int], int] | None = None) -> GroupState:
    made = {("orders", 0): 1050} if offsets is None else offsets
    return GroupState(
        name=name,
        state="Empty",
        type="Classic",
        offsets=tuple(GroupOffset(topic=at[0], partition=at[1], offset=offset) for at, offset in made.items()),
    )


def read(
    side: Cluster,
    topics: Iterable[TopicState] = (),
    *,
    groups: Iterable[GroupState] = (),
    mirror: MirrorState | None = None,
    counterparts: Mapping[str, str] | None = None,
    cluster_id: str | None = None,
    problems: Iterable[Problem] = (),
    link: Link = Link.MIRRORMAKER,
    taken_at: str = "2026-01-02T14:02:11Z",
) -> ReadCluster:
    made = tuple(topics)
    snapshot = Snapshot(
        cluster=side,
        name=f"prod-{side}",
        alias=str(side),
        cluster_id=f"cluster-id-{side}" if cluster_id is None else cluster_id,
        taken_at=taken_at,
        topics=made,
        groups=tuple(groups),
        mirror=mirror or MirrorState(),
        problems=tuple(problems),
    )
    named = {each.name: each.name for each in made} if counterparts is None else counterparts
    return ReadCluster(snapshot=snapshot, counterparts=named, link=link)


def old(*topics: TopicState, **more: object) -> ReadCluster:
    return read(Cluster.OLD, topics, **more)  # type: ignore[arg-type] # passed on as they are


def new(*topics: TopicState, **more: object) -> ReadCluster:
    return read(Cluster.NEW, topics, **more)  # type: ignore[arg-type] # as above
