from __future__ import annotations

import time
from typing import Final

from offsetwise.engines.engine import CheckpointReading, Written
from offsetwise.errors import StorageError
from offsetwise.model import BatchSource, Checkpoint
from offsetwise.plugins.spark.engine.initial_offsets import read_initial_offsets
from offsetwise.storage.folders import FolderReader

LOGS: Final = ("offsets", "commits")


def reading(folder: FolderReader, checkpoint: Checkpoint) -> CheckpointReading:
    times = _times(folder)
    planned = f"offsets/{checkpoint.details.last_planned_batch}"
    return CheckpointReading(
        checkpoint=checkpoint,
        read_at_ms=int(time.time() * 1000),
        initial=_initial(folder),
        newest=max(times, key=lambda written: written.modified_ms, default=None),
        newest_plan=next((written for written in times if written.path == planned), None),
    )


def _times(folder: FolderReader) -> list[Written]:
    batches = []
    for log in LOGS:
        try:
            entries = folder.entries(log, details=True)
        except StorageError:
            continue
        batches += [
            Written(path=f"{log}/{entry.name}", modified_ms=int(entry.modified_s * 1000))
            for entry in entries
            if entry.modified_s is not None and entry.name.isdigit()
        ]
    return batches


def _initial(folder: FolderReader) -> tuple[BatchSource, ...]:
    offsets = read_initial_offsets(folder, present=True, checksums=False)
    return tuple(
        BatchSource(id=source_id, offsets=offset.offsets)
        for source_id, offset in offsets.offsets.items()
        if offset.offsets
    )
