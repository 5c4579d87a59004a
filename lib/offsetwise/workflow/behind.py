"""How far positions are behind in time, asked from a stream whose positions tell no number of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from offsetwise.comparison import Scene
from offsetwise.model import PartitionComparison, QuotaUse
from offsetwise.streams.reader import ReadAt, reader_of
from offsetwise.translation.resolve import Position


def ask_old(scene: Scene, positions: Sequence[Position]) -> ReadAt:
    """Read at the positions on the old cluster; nothing where it was not read live, or has no need of it."""
    if not scene.live or scene.translate is None:
        return ReadAt()
    config = scene.migration.source
    places = [(each.topic_partition, each.offset) for each in positions if each.offset is not None]
    return reader_of(config).read_at(config, places, scene.old)


def with_behind(
    scene: Scene, rows: Sequence[PartitionComparison], old: ReadAt
) -> tuple[tuple[PartitionComparison, ...], QuotaUse | None]:
    """Add how far each position is behind on both clusters, and say what asking took.

    Args:
        scene: Both clusters.
        rows: The positions, and where they lie on the new cluster.
        old: What reading at them on the old cluster told.
    """
    if not scene.live or scene.translate is None:
        return tuple(rows), None
    known = old.behind if scene.old.cluster_id == scene.new.cluster_id else {}
    wanted = {(row.new_topic_partition, row.new_offset) for row in rows if row.new_offset is not None}
    config = scene.migration.target
    new = reader_of(config).read_at(config, [place for place in wanted if place not in known], scene.new)
    behind = {**known, **new.behind}
    made = tuple(
        replace(
            row,
            behind_old=None if row.old_offset is None else old.behind.get((row.topic_partition, row.old_offset)),
            behind_new=None if row.new_offset is None else behind.get((row.new_topic_partition, row.new_offset)),
        )
        for row in rows
    )
    return made, _sum(old.quota, new.quota)


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
