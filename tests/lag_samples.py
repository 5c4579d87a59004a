"""Samples of lag made from values."""

from __future__ import annotations

from offsetwise.model import (
    Exactness,
    GroupPosition,
    IsolationLevel,
    LagPart,
    LagPartition,
    LagSample,
    LogRange,
    Method,
    MissingPart,
    SampledCluster,
)

BEGIN_MS = 1_767_355_200_000
"""2026-01-02T12:00:00Z, the begin of a half hour."""


def row(
    topic: str = "orders",
    partition: int = 0,
    *,
    position: int | None = 1050,
    new_position: int | None = 950,
    old: tuple[int | None, int | None] = (100, 1200),
    new: tuple[int | None, int | None] = (0, 1100),
    groups: tuple[GroupPosition, ...] = (GroupPosition(old=1000, new=900),),
    method: Method = Method.MIRROR_SYNC,
    exactness: Exactness = Exactness.CLAIMED,
) -> LagPartition:
    return LagPartition(
        source="0",
        topic=topic,
        partition=partition,
        new_topic=topic,
        position=position,
        new_position=new_position,
        method=method,
        exactness=exactness,
        old=LogRange(log_start=old[0], lso=old[1], hw=old[1]),
        new=LogRange(log_start=new[0], lso=new[1], hw=new[1]),
        groups=groups,
    )


def sample(
    *rows: LagPartition,
    seconds: float = 0,
    interval_s: float | None = 30,
    missing: tuple[LagPart, ...] = (),
    groups: tuple[str, ...] = ("orders-etl",),
    migration: str = "orders-to-new",
    checkpoint: str | None = "orders",
    group: str | None = None,
    heartbeat_ms: int | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> LagSample:
    at = BEGIN_MS + int(seconds * 1000)
    return LagSample(
        migration=migration,
        checkpoint=checkpoint,
        group=group,
        taken_at_ms=at,
        interval_ms=None if interval_s is None else int(interval_s * 1000),
        sampled_by="a test",
        isolation_level=isolation,
        old=SampledCluster(name="prod-a", cluster_id="a", read_at_ms=None if LagPart.OLD in missing else at),
        new=SampledCluster(name="prod-b", cluster_id="b", read_at_ms=None if LagPart.NEW in missing else at),
        batch=6,
        heartbeat_ms=heartbeat_ms,
        groups=groups,
        partitions=rows or (row(),),
        missing=tuple(
            MissingPart(part=part, problem=f"Cluster {part} does not answer.", fix="Start it.") for part in missing
        ),
    )


def growing(count: int, *, every_s: float = 30, partitions: int = 1) -> tuple[LagSample, ...]:
    """Samples of logs that grow by 10 records in each interval, the position by 8."""
    return tuple(
        sample(
            *(
                row(
                    partition=number,
                    position=1050 + 8 * index,
                    new_position=950 + 8 * index,
                    old=(100, 1200 + 10 * index + number),
                    new=(0, 1100 + 10 * index + number),
                )
                for number in range(partitions)
            ),
            seconds=every_s * index,
            interval_s=every_s,
        )
        for index in range(count)
    )
