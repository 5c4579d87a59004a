"""Plans over recorded checkpoints, drafted by hand: every position moves by the same number."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from offsetwise.apply.disk import Disk
from offsetwise.apply.journal import Journal
from offsetwise.apply.writers import TargetWriters
from offsetwise.apply.writing import Context
from offsetwise.config import Migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import (
    Checkpoint,
    CheckpointRequirement,
    Plan,
    PlannedPosition,
    RestartPoint,
    Start,
    Target,
)
from offsetwise.position import offset_of
from tests.plans import plan_of, planned
from tests.plugins.spark.folders import SAMPLES

DIGEST = "ab" * 32
COPY = Target(kind="spark-checkpoint")
IN_PLACE = Target(kind="spark-checkpoint-in-place")
STARTING = Target(kind="starting-offsets")
SEEDED = Target(kind="seeded-checkpoint")
SAVEPOINT = Target(kind="flink-savepoint")
MIGRATION = Migration.model_validate(
    {
        "name": "test",
        "source": {"properties": {"bootstrap.servers": "old.invalid:9092"}},
        "target": {"properties": {"bootstrap.servers": "new.invalid:9092"}},
    }
)
WRITERS = TargetWriters(MIGRATION)
spark_checkpoint, in_place, starting_offsets, seeded, flink_savepoint = (
    WRITERS[target.kind] for target in (COPY, IN_PLACE, STARTING, SEEDED, SAVEPOINT)
)
SHIFT = 3
POLLUTED = "spark-4.2.0-polluted-after-failed-start"
PENDING = "spark-3.5.1-planned"
STATE = "spark-4.0.0-agg-rocksdb"


def recorded(name: str, folder: Path) -> Path:
    """Copy a recorded checkpoint, with its files as old as a stopped query's."""
    made = folder / "source"
    shutil.copytree(SAMPLES / name, made)
    return aged(made)


def aged(folder: Path) -> Path:
    """Make every file in a folder an hour old."""
    for path in sorted(folder.rglob("*")):
        os.utime(path, (path.stat().st_mtime - 3600, path.stat().st_mtime - 3600))
    return folder


def drafted(
    uri: str,
    *,
    rename: Callable[[str], str] = lambda topic: topic,
    move: Callable[[int], int] = lambda offset: offset + SHIFT,
    rewind_to: int | None = None,
    added: Sequence[tuple[str, str, int, int]] = (),
) -> Plan:
    """Draft a plan that moves every position of a checkpoint.

    Args:
        uri: The checkpoint.
        rename: Gives the new name of a topic.
        move: Gives the new offset.
        rewind_to: The batch to go back to.
        added: (source, topic, partition, offset) of partitions that the checkpoint lacks.
    """
    read = read_checkpoint(uri)
    polluted = any(problem.code == "CHECKPOINT_POLLUTED" for problem in read.problems)
    positions = [
        _position(source, topic, partition, points, rename, move)
        for source, topic, partition, points in (
            _at_batch(read, rewind_to) if rewind_to is not None else _at_restart(read, polluted)
        )
    ]
    positions += [
        replace(
            _position(source, topic, partition, (RestartPoint(batch=None, old=0, new=offset),), rename, move),
            old_offset=None,
            new_offset=offset,
            restart=(),
            start=Start.EARLIEST,
        )
        for source, topic, partition, offset in added
    ]
    made = plan_of(
        *positions,
        rewind_to=rewind_to,
        dropped_batch=read.details.progress.again if polluted and rewind_to is None else None,
    )
    required = CheckpointRequirement.of(read)
    return replace(made, requirements=replace(made.requirements, checkpoint=required))


def _at_restart(read: Checkpoint, polluted: bool) -> list[tuple[str, str, int, tuple[RestartPoint, ...]]]:
    made = []
    for source in read.sources:
        for one in source.positions:
            points = [RestartPoint(batch=read.details.progress.committed, old=one.offset, new=None)]
            if one.planned_offset is not None and not polluted:
                points.append(RestartPoint(batch=read.details.progress.again, old=one.planned_offset, new=None))
            made.append((source.id, one.topic, one.partition, tuple(points)))
    return made


def _at_batch(read: Checkpoint, batch: int) -> list[tuple[str, str, int, tuple[RestartPoint, ...]]]:
    found = next(one for one in read.details.batches if one.id == batch)
    return [
        (source.id, of.topic, partition, (RestartPoint(batch=batch, old=offset, new=None),))
        for source in found.sources
        for of in source.offsets
        for partition, offset in zip(of.partitions, of.offsets, strict=True)
    ]


def _position(
    source: str,
    topic: str,
    partition: int,
    points: tuple[RestartPoint, ...],
    rename: Callable[[str], str],
    move: Callable[[int], int],
) -> PlannedPosition:
    moved = (replace(point, new=move(offset_of(point.old))) for point in points)
    return planned(topic, partition, *moved, source=source, new_topic=rename(topic))


def context(
    folder: Path, *, output: str | None = None, journal: Journal | None = None, disk: Disk | None = None
) -> Context:
    """Return a context that may write below a folder and read anywhere."""
    return Context(
        digest=DIGEST,
        output=output if output is not None else str(folder / "out" / "copy"),
        write_roots=(str(folder),),
        read_roots=None,
        journal=journal,
        disk=disk or Disk(),
    )


def journal(folder: Path, *, name: str = "receipt.json.journal", disk: Disk | None = None) -> Journal:
    """Open the journal of a test."""
    return Journal.open(str(folder / name), digest=DIGEST, begun_at="2026-11-21T00:00:00Z", disk=disk)


def files_of(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def tree_hash(folder: Path) -> str:
    """Return one digest of every name, file, size, permission and time of change below a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        facts = path.stat(follow_symlinks=False)
        digest.update(f"{path.relative_to(folder)} {facts.st_mode:o}".encode())
        if path.is_file():
            digest.update(f" {facts.st_mtime_ns}\n".encode() + path.read_bytes())
    return digest.hexdigest()
