"""A positions file of very many rows: what each row costs, in bytes and in work, and not how long it takes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from offsetwise.comparison import Scene, partitions
from offsetwise.config import Migration, load_migration
from offsetwise.model import Cluster, LogRange, PartitionState, Snapshot, Subject, TopicState
from offsetwise.progress import no_progress
from offsetwise.workflow.scenes import WantedJob, stage

GROUPS, TOPICS, WIDTH = 20, 10, 100
ROWS = GROUPS * TOPICS * WIDTH
BYTES_PER_ROW = 320
"""Of a million rows 320 MB, which leaves room below 512 MB for the process, the file and the snapshots."""


def migration(folder: Path) -> Migration:
    """Write a file of many groups, and the migration that names it."""
    lines = (
        f"group-{group},topic-{topic},{each},{1_000 + each + group}\n"
        for group in range(GROUPS)
        for topic in range(TOPICS)
        for each in range(WIDTH)
    )
    (folder / "positions.csv").write_text("".join(lines))
    (folder / "m.yaml").write_text(
        "name: many\n"
        "source: {name: old, properties: {bootstrap.servers: old:9092}}\n"
        "target: {name: new, properties: {bootstrap.servers: new:9092}}\n"
        "topics: {policy: identity}\n"
        "positions: [{name: job, file: ./positions.csv}]\n"
    )
    return load_migration(folder / "m.yaml")


def snapshot(side: Cluster) -> Snapshot:
    states = tuple(PartitionState(partition=each, log_start=0, hw=5_000, lso=5_000) for each in range(WIDTH))
    topics = tuple(TopicState(name=f"topic-{topic}", partitions=states) for topic in range(TOPICS))
    name = str(side)
    return Snapshot(
        cluster=side, name=name, alias=name, cluster_id=name, taken_at="2026-11-27T00:00:00Z", topics=topics
    )


def joined(of: Migration) -> Scene:
    """Read the file, check it, and join it with both snapshots."""
    job = WantedJob.of(Subject.either(checkpoint="job", group=None))
    snapshots = snapshot(Cluster.OLD), snapshot(Cluster.NEW)
    ((_, scene),) = stage(of, [job], snapshots=snapshots, groups=(), progress=no_progress).items()
    assert isinstance(scene, Scene), scene
    return scene


def test_a_row_costs_few_bytes(tmp_path: Path) -> None:
    of = migration(tmp_path)
    joined(of)  # what is imported for it stays
    tracemalloc.start()
    try:
        scene = joined(of)
        size, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(scene.queries) == ROWS
    assert size / ROWS <= BYTES_PER_ROW, f"{size / ROWS:.0f} bytes stay of each row"
    assert most / ROWS <= 1.5 * BYTES_PER_ROW, f"{most / ROWS:.0f} bytes of each row at the worst moment"


def test_each_log_is_built_once_and_each_topic_indexed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of = migration(tmp_path)
    asked: list[str] = []
    original = partitions.PartitionIndex._partitions

    def counted(index: partitions.PartitionIndex, topic: str) -> object:
        asked.append(topic)
        return original(index, topic)

    monkeypatch.setattr(partitions.PartitionIndex, "_partitions", counted)

    scene = joined(of)

    assert sorted(asked) == sorted(2 * [f"topic-{topic}" for topic in range(TOPICS)]), "once of each cluster"
    logs = [log for query in scene.queries for log in (query.old, query.new)]
    assert len(logs) == 2 * ROWS
    assert {type(log) for log in logs} == {LogRange}
    assert len({id(log) for log in logs}) == 2 * TOPICS * WIDTH, "the groups of a file share them"
    assert len({id(query.of) for query in scene.queries}) == GROUPS, "what is the same of a group is there once"
