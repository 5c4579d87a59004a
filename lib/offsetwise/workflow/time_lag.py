from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from offsetwise.comparison import Scene
from offsetwise.config import ClusterConfig
from offsetwise.model import Behind, Left, PartBehind, PartitionComparison, QuotaUse, Snapshot
from offsetwise.position import in_partitions
from offsetwise.streams.abilities import Place, ReadAt
from offsetwise.streams.reader import reads_at_positions
from offsetwise.translation.query import Query


def ask_old(scene: Scene, positions: Sequence[Query]) -> ReadAt:
    """Read at the positions on the old cluster, if it is live and its stream needs that; else return nothing."""
    config = scene.migration.source
    reader = reads_at_positions(config) if scene.reads_at_positions else None
    if reader is None:
        return ReadAt()
    requested = {
        (position.topic_partition, position.offset): (position.topic_partition, position.processed or position.offset)
        for position in positions
        if position.offset is not None
    }
    read = reader.read_at(config, list(requested.values()), scene.old)
    as_stated = [(stated, position) for stated, position in requested.items() if stated != position]
    return replace(
        read,
        lag_by_position={
            **read.lag_by_position,
            **{
                stated: read.lag_by_position[position]
                for stated, position in as_stated
                if position in read.lag_by_position
            },
        },
        records={
            **read.records,
            **{stated: read.records[position] for stated, position in as_stated if position in read.records},
        },
    )


def exactly(positions: tuple[Query, ...], read: ReadAt) -> tuple[Query, ...]:
    if not read.records:
        return positions
    pairs = ((position, (position.topic_partition, position.offset)) for position in positions)
    return tuple(
        replace(query, exact=read.records[position].position) if position in read.records else query  # type: ignore[index]
        for query, position in pairs
    )


def with_problems(scene: Scene, read: ReadAt) -> Scene:
    """Return the scene with the problems that reading at positions on the old cluster showed."""
    return replace(scene, old=replace(scene.old, problems=(*scene.old.problems, *read.problems)))


def with_behind(
    scene: Scene, rows: Sequence[PartitionComparison], old: ReadAt
) -> tuple[tuple[PartitionComparison, ...], QuotaUse | None]:
    """Add how far each position is behind on both clusters, and return the quota that reading used.

    A position in several partitions is as far behind as its part that is behind most.

    Args:
        scene: Both clusters.
        rows: The positions, with their target offsets.
        old: What reading at positions on the old cluster returned.
    """
    if not scene.reads_at_positions:
        return tuple(rows), None
    of_old = [() if row.old_offset is None else in_partitions(row.topic_partition, row.old_offset) for row in rows]
    of_new = [() if row.new_offset is None else ((row.new_topic_partition, row.new_offset),) for row in rows]
    source, target = scene.migration.source, scene.migration.target
    at = _read_at(source, of_old, scene.old, old)
    same_cluster = scene.old.cluster_id == scene.new.cluster_id
    there = _read_at(target, of_new, scene.new, at if same_cluster else ReadAt())
    comparisons = tuple(
        replace(
            row,
            behind_old=worst(old_places, at),
            behind_new=worst(new_places, there),
            behind_parts=_parts(old_places, at),
            aggregate=_aggregate(new_places, there),
        )
        for row, old_places, new_places in zip(rows, of_old, of_new, strict=True)
    )
    return comparisons, there.quota if same_cluster else _sum(at.quota, there.quota)


def _parts(positions: Sequence[Place], read: ReadAt) -> tuple[PartBehind, ...]:
    return tuple(
        PartBehind(partition=position[0].partition, behind=read.lag_by_position[position])
        for position in positions
        if len(positions) > 1 and position in read.lag_by_position
    )


def _aggregate(positions: Sequence[Place], read: ReadAt) -> int | None:
    return next((read.records[position].aggregate for position in positions if position in read.records), None)


def _read_at(
    config: ClusterConfig, requested: Iterable[tuple[Place, ...]], snapshot: Snapshot, known: ReadAt
) -> ReadAt:
    reader = reads_at_positions(config)
    if reader is None:
        return known
    remaining = dict.fromkeys(
        position for positions in requested for position in positions if position not in known.lag_by_position
    )
    read = reader.read_at(config, list(remaining), snapshot)
    return ReadAt(
        lag_by_position={**known.lag_by_position, **read.lag_by_position},
        records={**known.records, **read.records},
        quota=_sum(known.quota, read.quota),
    )


def worst(positions: Sequence[Place], read: ReadAt) -> Behind | None:
    """Return how far behind a position is: the maximum of its parts; None if one is unknown."""
    lags: Mapping[Place, Behind] = read.lag_by_position
    known = [lags[position] for position in positions if position in lags]
    if not known or len(known) < len(positions):
        return None
    if len(known) == 1:
        return known[0]
    order = (Left.UNKNOWN, Left.RECORDS, Left.NOTHING, Left.ENDED)
    most = min(known, key=lambda lag: (order.index(lag.left), -(lag.ms or 0)))
    counts = [0 if lag.left is Left.ENDED else lag.records for lag in known]
    records = None if None in counts else sum(count or 0 for count in counts)
    last_ms = max((lag.last_ms for lag in known if lag.last_ms is not None), default=None)
    return replace(most, records=records, last_ms=last_ms)


def _sum(first: QuotaUse | None, second: QuotaUse | None) -> QuotaUse | None:
    if first is None or second is None:
        return first or second
    return replace(
        first,
        partitions=first.partitions + second.partitions,
        reads=first.reads + second.reads,
        most_reads=max(first.most_reads, second.most_reads),
        read_bytes=first.read_bytes + second.read_bytes,
    )
