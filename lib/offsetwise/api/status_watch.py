"""Watch a migration until every job has caught up, and its old logs meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from offsetwise.api.status import StatusReading, StatusRequest, read_status
from offsetwise.config import Migration, load_migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Cutover, Snapshot, Status
from offsetwise.progress import Progress, no_progress
from offsetwise.workflow.cutting_over import watch_logs

Notes = Callable[[str], None]
"""Called with sentences."""


class OfWatch(TypedDict, total=False):
    """Options of a watch besides its interval."""

    still_for_s: float | None
    """How long an old log must not have grown, in seconds; 60 by default."""
    keep_going: bool
    """Whether to continue although a target differs from its plan."""
    heard_logs: Callable[[Cutover], None]
    """Called before a status with the observations of the old logs, if they are new."""


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
    return StatusRequest(
        migration=settings,
        path=path,
        folder=None if folder is None else Path(folder),
        wave=wave,
        trust=tuple(map(Path, trust)),
        lag_at_most=lag_at_most,
        snapshots=snapshots,
    )


def read_once(
    request: StatusRequest, heard: Callable[[Status], None], note: Notes, progress: Progress = no_progress
) -> StatusReading:
    read = read_status(request, progress=progress)
    for sentence in read.unread:
        note(sentence)
    heard(read.status)
    return read


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
    """Read the status repeatedly until every job has caught up, or a target differs from its plan.

    Args:
        request: The request.
        every_s: Seconds between two readings.
        records: Whether to search for the copies of the old logs' records, with Spark.
        heard: Called with every status.
        note: Called with a sentence about each thing that cannot be read, once until it changes.
        still_for_s: How long an old log must not have grown, in seconds; None for 60.
        keep_going: Whether to continue although a target differs from its plan.
        heard_logs: Called before a status with the observations of the old logs, if they are new.
        wait: Waits for a number of seconds.

    Raises:
        OffsetwiseError: The first reading fails; a later failure is a note.
    """
    once, file = _EachOnce(note), _MigrationFile(request)
    logs = _OldLogs(records=records, note=once, still_for_s=still_for_s)
    read = read_once(request, heard, once)
    while not (read.status.is_done or (read.status.is_different and not keep_going)):
        if request.snapshots is None:
            logs.follow(file.newest, read.topics)
        wait(every_s)
        try:
            read = read_once(replace(request, migration=file.read(), cutover=logs.newest(heard_logs)), heard, once)
        except OffsetwiseError as error:
            once(f"{error.problem} {error.fix}")
    return read.status


class _EachOnce:
    """Passes on a sentence unless it was among the last: an unreachable cluster is reported once, not every 5 s."""

    def __init__(self, note: Notes) -> None:
        self._note, self._noted = note, set[str]()

    def __call__(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._note(sentence)


class _MigrationFile:
    """A migration file that may be edited while it is in use."""

    def __init__(self, request: StatusRequest) -> None:
        self.newest = request.migration
        self._path = request.path
        self._version = self._version_now()

    def read(self) -> Migration:
        """Return its content, read again if it has changed since it was last read.

        Raises:
            OffsetwiseError: It cannot be used now; until it changes again, the last content counts.
        """
        version = self._version_now()
        if self._path is not None and version != self._version:
            self._version = version
            self.newest = load_migration(self._path)
        return self.newest

    def _version_now(self) -> tuple[int, int, int] | None:
        if self._path is None:
            return None
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


class _OldLogs:
    """Watches the old logs in a thread: searching for copies takes Spark longer than a reading may take."""

    def __init__(self, *, records: bool, note: Notes, still_for_s: float | None) -> None:
        self._records, self._note, self._still_for_s = records, note, still_for_s
        self._followed: tuple[Migration, frozenset[str]] | None = None
        self._newest: Cutover | None = None
        self._reported: Cutover | None = None

    def follow(self, migration: Migration, topics: frozenset[str]) -> None:
        """Watch the logs of topics until others are to be watched, or the process ends.

        Another job, or another path of one, changes nothing about a log: its watch continues.
        """
        of_jobs = ("checkpoint_roots", "checkpoints", "groups", "waves")
        clusters = migration.model_copy(update=dict.fromkeys(of_jobs, ()))
        if self._followed is not None and self._followed[0] == clusters:
            topics |= self._followed[1]  # a job that is unreadable for a moment still reads its topics
        if topics and self._followed != (clusters, topics):
            self._followed = clusters, topics
            arguments = (clusters, topics)
            threading.Thread(target=self._run, args=arguments, name="offsetwise-old-logs", daemon=True).start()

    def newest(self, heard: Callable[[Cutover], None]) -> Cutover | None:
        """Return the newest observation, after passing it on if it is new."""
        newest = self._newest
        if newest is not None and newest is not self._reported:
            heard(newest)
        self._reported = newest
        return newest

    def _run(self, clusters: Migration, topics: frozenset[str]) -> None:
        def keep(judged: Cutover) -> None:
            if self._followed != (clusters, topics):
                raise _OthersFollowedError
            self._newest = judged

        try:
            watch_logs(
                clusters,
                tuple(sorted(topics)),
                still_for_s=self._still_for_s,
                records=self._records,
                heard=keep,
            )
        except OffsetwiseError as error:
            self._note(f"The old logs are not watched: {error.problem} {error.fix}")
        except _OthersFollowedError:
            return


class _OthersFollowedError(Exception):
    """Ends the watch of topics, because others are watched instead."""
