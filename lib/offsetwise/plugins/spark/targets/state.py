from __future__ import annotations

import time

from offsetwise.apply.fitting import unfit
from offsetwise.errors import RunningQueryError
from offsetwise.findings.migration import reader_suspected
from offsetwise.model import Checkpoint
from offsetwise.plugins.spark.engine.state_versions import lost_state
from offsetwise.storage.folders import FolderReader


def refuse_running(checkpoint: Checkpoint, folder: FolderReader, pending: int | None, young_s: float) -> None:
    """Require that no query seems to run on the checkpoint.

    Raises:
        RunningQueryError: A query runs, or may run.
    """
    for problem in checkpoint.problems:
        if problem.code == reader_suspected.code:
            raise RunningQueryError(f"{folder.uri}: {problem.message} Nothing was written.", fix=problem.fix)
    if pending is None:
        return
    for entry in folder.entries("offsets", details=True):
        if entry.name == str(pending) and entry.modified_s is not None:
            age_s = time.time() - entry.modified_s
            if age_s < young_s:
                raise RunningQueryError(
                    f"{folder.uri}: expected the query to be stopped, found that batch {pending} was planned "
                    f"{max(age_s, 0):.0f} seconds ago and is not committed: it may be running. Nothing was written.",
                    fix=f"Stop the query, wait until {young_s:.0f} seconds have passed, then apply again.",
                )


def require_state(folder: FolderReader, batch: int) -> None:
    """Require that every store can be loaded as it was after a batch.

    Raises:
        ApplyError: A store cannot be loaded.
    """
    lost = lost_state(folder, batch)
    if lost is not None:
        raise unfit(lost)
