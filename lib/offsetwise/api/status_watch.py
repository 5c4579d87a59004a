"""Looks at a migration until every job has caught up, with the old logs watched beside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from offsetwise.api.status import StatusRequest, read_status
from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Cutover, Snapshot, Status
from offsetwise.progress import Progress, unheard
from offsetwise.workflow.cutting_over import cutover

Notes = Callable[[str], None]
"""Takes sentences."""


class OfWatch(TypedDict, total=False):
    """What a watch is told beside how often it looks."""

    still_for_s: float | None
    """How long an old log has to stand still, in seconds; 60 unless told."""
    keep_going: bool
    """Whether to look on although another thing than its plan stands at a target."""
    heard_logs: Callable[[Cutover], None]
    """Called before a status with what looks at the old logs have shown, where that is new."""


def requested(
    settings: Migration,
    path: Path | None,
    folder: str | Path | None,
    *,
    wave: str | None,
    trust: Sequence[str | Path],
    lag_at_most: int,
    snapshots: tuple[Snapshot, Snapshot] | None,
) -> StatusRequest:
    """Put together what is asked; see `Migration.status`."""
    return StatusRequest(
        migration=settings,
        file=str(path or "migration.yaml"),
        folder=None if folder is None else Path(folder),
        wave=wave,
        trust=tuple(map(Path, trust)),
        lag_at_most=lag_at_most,
        snapshots=snapshots,
    )


def look(request: StatusRequest, heard: Callable[[Status], None], note: Notes, progress: Progress = unheard) -> Status:
    """Read the status once; see `read_status`."""
    status, unread = read_status(request, progress=progress)
    for sentence in unread:
        note(sentence)
    heard(status)
    return status


def watch_status(
    request: StatusRequest,
    *,
    every_s: float,
    records: bool,
    heard: Callable[[Status], None],
    note: Notes,
    still_for_s: float | None = None,
    keep_going: bool = False,
    heard_logs: Callable[[Cutover], None] = lambda _: None,
    wait: Callable[[float], object] = time.sleep,
) -> Status:
    """Look again and again until every job has caught up, or another thing than its plan stands at a target.

    Args:
        request: What is asked.
        every_s: Seconds between two looks.
        records: Whether the copies of the old logs' records are looked for, with Spark.
        heard: Called with every status.
        note: Told what cannot be read, each sentence once until it changes.
        still_for_s: How long an old log has to stand still, in seconds; None for 60.
        keep_going: Whether to look on although another thing than its plan stands at a target.
        heard_logs: Called before a status with what looks at the old logs have shown, where that is new.
        wait: Lets so many seconds pass.

    Raises:
        OffsetwiseError: The first look cannot be taken; a later one that cannot is a note.
    """
    once = _EachOnce(note)
    logs = _LogWatch(request, records=records, note=once, still_for_s=still_for_s)
    status = look(request, heard, once)
    logs.start()
    while not (status.is_done or (status.is_different and not keep_going)):
        wait(every_s)
        try:
            status = look(replace(request, cutover=logs.told(heard_logs)), heard, once)
        except OffsetwiseError as error:
            once(f"{error.problem} {error.fix}")
    return status


class _EachOnce:
    """Passes on a sentence that was not the last of its kind: a cluster that is away is named once, not every 5 s."""

    def __init__(self, note: Notes) -> None:
        self._note, self._noted = note, set[str]()

    def __call__(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._note(sentence)


class _LogWatch:
    """Watches the old logs in a thread of its own: looking for copies takes Spark longer than a look may take."""

    def __init__(self, request: StatusRequest, *, records: bool, note: Notes, still_for_s: float | None) -> None:
        self.newest: Cutover | None = request.cutover
        self._told = self.newest
        self._request, self._records, self._note, self._still_for_s = request, records, note, still_for_s

    def start(self) -> None:
        """Begin to watch; the thread ends with the process."""
        threading.Thread(target=self._run, name="offsetwise-old-logs", daemon=True).start()

    def told(self, heard: Callable[[Cutover], None]) -> Cutover | None:
        """Return what was seen, and hand it on where it is new."""
        newest = self.newest
        if newest is not None and newest is not self._told:
            heard(newest)
        self._told = newest
        return newest

    def _run(self) -> None:
        try:
            cutover(
                self._request.migration,
                still_for_s=self._still_for_s,
                until_copied=True,
                records=self._records,
                heard=self._keep,
            )
        except OffsetwiseError as error:
            self._note(f"The old logs are not watched: {error.problem} {error.fix}")

    def _keep(self, judged: Cutover) -> None:
        self.newest = judged
