"""A checkpoint together with what a person needs to follow it: where batch 0 began, and when its logs were written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.errors import StorageError
from offsetwise.model import BatchSource, Checkpoint
from offsetwise.sources.checkpoint import read_checkpoint
from offsetwise.sources.spark_positions import read_initial_offsets
from offsetwise.sources.storage import FolderReader, open_tree

LOGS: Final = ("offsets", "commits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """When a file was written, as its file system says."""

    path: str
    modified_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointReading:
    """A checkpoint as it stood at one time."""

    checkpoint: Checkpoint
    read_at_ms: int
    """When its files' times were looked at, by this machine's clock."""
    initial: tuple[BatchSource, ...] = ()
    """The initial offsets of its Kafka sources, where they are readable."""
    newest: Written | None = None
    """The file of both logs that was written last; None where the file system tells no times."""
    newest_plan: Written | None = None
    """The offset file of the newest planned batch."""


def read_with_times(uri: str, *, roots: Sequence[str] | None = None, batches: int = 100) -> CheckpointReading:
    """Read a checkpoint as it stands now; of Spark with its initial offsets and the times of its logs.

    Args:
        uri: As for `read_checkpoint`.
        roots: The folders that may be read; None when a person named the path.
        batches: How many of the newest retained batches to read.

    Raises:
        StorageError: The folder is missing, cannot be read, or leaves the roots.
        NotACheckpointError: The folder is something else.
    """
    checkpoint = read_checkpoint(uri, roots=roots, batches=batches)
    if checkpoint.engine != "spark":
        return CheckpointReading(checkpoint=checkpoint, read_at_ms=int(time.time() * 1000))
    folder = open_tree(uri, roots=roots)
    times = _times(folder)
    return CheckpointReading(
        checkpoint=checkpoint,
        read_at_ms=int(time.time() * 1000),
        initial=_initial(folder),
        newest=max(times, key=lambda one: one.modified_ms, default=None),
        newest_plan=next((one for one in times if one.path == f"offsets/{checkpoint.last_planned_batch}"), None),
    )


def _times(folder: FolderReader) -> list[Written]:
    found = []
    for log in LOGS:
        try:
            entries = folder.entries(log, details=True)
        except StorageError:
            continue
        found += [
            Written(path=f"{log}/{entry.name}", modified_ms=int(entry.modified_s * 1000))
            for entry in entries
            if entry.modified_s is not None and entry.name.isdigit()
        ]
    return found


def _initial(folder: FolderReader) -> tuple[BatchSource, ...]:
    found = read_initial_offsets(folder, present=True, checksums=False)
    return tuple(
        BatchSource(id=source_id, offsets=one.offsets) for source_id, one in found.offsets.items() if one.offsets
    )
