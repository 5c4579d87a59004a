"""Savepoints of one file, read and edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from offsetwise.findings.several_clusters import on_cluster
from offsetwise.model import Checkpoint
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.targets.dynamic import MovedCluster
from offsetwise.plugins.flink.targets.edit import EditedSavepoint, edit_savepoint
from offsetwise.position import offset_of
from offsetwise.storage.memory import HeldFolder
from offsetwise.targets.moves import Move


def read(files: Mapping[str, bytes], cluster: str | None = None) -> Checkpoint:
    """Read a savepoint, with the positions on one cluster of a DynamicKafkaSource."""
    return on_cluster(read_from(HeldFolder(uri="savepoint-1", files=files)), cluster)


def edit(
    data: bytes,
    *,
    move: Callable[[int], int] = lambda offset: offset,
    rename: Callable[[str], str] = lambda topic: topic,
    cluster: str | None = None,
    moved: MovedCluster | None = None,
) -> EditedSavepoint:
    """Move every position that `read` gives for the cluster."""
    held = {"_metadata": data}
    moves = {
        source.id: tuple(
            Move(
                topic=at.topic,
                partition=at.partition,
                old=offset_of(at.offset),
                new_topic=rename(at.topic),
                new=move(offset_of(at.offset)),
            )
            for at in source.positions
        )
        for source in read(held, cluster).sources
    }
    return edit_savepoint(held, moves, uri="savepoint-1", moved=moved)
