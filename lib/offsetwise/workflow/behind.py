"""How far positions are behind in time, asked from a stream whose positions tell no number of records."""

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
    """Read at the positions on the old cluster; nothing where it was not read live, or has no need of it."""
    config = scene.migration.source
    reader = reads_at_positions(config) if scene.reads_at_positions else None
    if reader is None:
        return ReadAt()
    asked = {
        (position.topic_partition, position.offset): (position.topic_partition, position.processed or position.offset)
        for position in positions
        if position.offset is not None
    }
    read = reader.read_at(config, list(asked.values()), scene.old)
    as_stated = [(stated, place) for stated, place in asked.items() if stated != place]
    return replace(
        read,
        behind={**read.behind, **{stated: read.behind[each] for stated, each in as_stated if each in read.behind}},
        records={**read.records, **{stated: read.records[each] for stated, each in as_stated if each in read.records}},
    )


def exactly(positions: tuple[Query, ...], read: ReadAt) -> tuple[Query, ...]:
    """Return the positions, each as its record showed it where one was read."""
    if not read.records:
        return positions
    places = ((position, (position.topic_partition, position.offset)) for position in positions)
    return tuple(
        replace(query, exact=read.records[place].position) if place in read.records else query  # type: ignore[index]
        for query, place in places
    )


def with_problems(scene: Scene, found: ReadAt) -> Scene:
    """Return the scene with what only reading at positions on the old cluster told is wrong."""
    return replace(scene, old=replace(scene.old, problems=(*scene.old.problems, *found.problems)))


def with_behind(
    scene: Scene, rows: Sequence[PartitionComparison], old: ReadAt
) -> tuple[tuple[PartitionComparison, ...], QuotaUse | None]:
    """Add how far each position is behind on both clusters, and say what asking took.

    A position in several partitions is as far behind as the one that is behind most.

    Args:
        scene: Both clusters.
        rows: The positions, and where they lie on the new cluster.
        old: What reading at positions on the old cluster told.
    """
    if not scene.reads_at_positions:
        return tuple(rows), None
    of_old = [() if row.old_offset is None else in_partitions(row.topic_partition, row.old_offset) for row in rows]
    of_new = [() if row.new_offset is None else ((row.new_topic_partition, row.new_offset),) for row in rows]
    source, target = scene.migration.source, scene.migration.target
    at = _asked(source, of_old, scene.old, old)
    one = scene.old.cluster_id == scene.new.cluster_id
    there = _asked(target, of_new, scene.new, at if one else ReadAt())
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
    return comparisons, there.quota if one else _sum(at.quota, there.quota)


def _parts(places: Sequence[Place], read: ReadAt) -> tuple[PartBehind, ...]:
    """Return the lag of each part of a position in several partitions, where it is known."""
    return tuple(
        PartBehind(partition=each[0].partition, behind=read.behind[each])
        for each in places
        if len(places) > 1 and each in read.behind
    )


def _aggregate(places: Sequence[Place], read: ReadAt) -> int | None:
    return next((read.records[each].aggregate for each in places if each in read.records), None)


def _asked(config: ClusterConfig, wanted: Iterable[tuple[Place, ...]], taken: Snapshot, known: ReadAt) -> ReadAt:
    """Ask about what is not known yet, and give both."""
    reader = reads_at_positions(config)
    if reader is None:
        return known
    left = dict.fromkeys(place for places in wanted for place in places if place not in known.behind)
    read = reader.read_at(config, list(left), taken)
    return ReadAt(
        behind={**known.behind, **read.behind},
        records={**known.records, **read.records},
        quota=_sum(known.quota, read.quota),
    )


def worst(places: Sequence[Place], read: ReadAt) -> Behind | None:
    """Return how far behind a position is: as its part that is behind most; not known where one is not."""
    behind: Mapping[Place, Behind] = read.behind
    known = [behind[each] for each in places if each in behind]
    if not known or len(known) < len(places):
        return None
    if len(known) == 1:
        return known[0]
    order = (Left.UNKNOWN, Left.RECORDS, Left.NOTHING, Left.ENDED)
    most = min(known, key=lambda each: (order.index(each.left), -(each.ms or 0)))
    counts = [0 if each.left is Left.ENDED else each.records for each in known]
    records = None if None in counts else sum(count or 0 for count in counts)
    last_ms = max((each.last_ms for each in known if each.last_ms is not None), default=None)
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
