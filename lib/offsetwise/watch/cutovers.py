"""The old logs watched inside a process that does something else: one thread per migration, started by people."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from offsetwise import workflow
from offsetwise.config import Migration
from offsetwise.model import Cutover


class _UnwantedError(Exception):
    """A person stopped the watch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedCutover:
    """What a watch of the old logs has shown, until now or until it ended."""

    still_for_s: float
    started_at: datetime
    running: bool = True
    newest: Cutover | None = None
    """What the newest look showed; None before the first one is over."""
    looked_at: datetime | None = None
    """When that was over."""
    step: str | None = None
    """What is being done now, where that is more than a look."""
    error: Exception | None = None
    """What ended it."""


@dataclass(slots=True)
class _Watch:
    stop: threading.Event
    state: WatchedCutover
    thread: threading.Thread = field(default_factory=threading.Thread)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def change(self, **changes: Any) -> None:
        with self.lock:
            self.state = replace(self.state, **changes)

    def heard(self, found: Cutover) -> None:
        self.change(newest=found, looked_at=datetime.now(UTC), step=None)
        self.require_wanted()

    def progress(self, step: str, done: int, total: int) -> None:
        self.change(step=step if done < total else None)
        self.require_wanted()

    def wait(self, seconds: float) -> None:
        self.stop.wait(seconds)
        self.require_wanted()

    def require_wanted(self) -> None:
        if self.stop.is_set():
            raise _UnwantedError


class BackgroundCutovers:
    """The watches of one process. Each ends when all is copied, when it fails, or when a person stops it.

    Args:
        spark_in_use: Keeps Spark while a watch may compare records.
    """

    def __init__(self, spark_in_use: Callable[[], AbstractContextManager[None]]) -> None:
        self._spark_in_use = spark_in_use
        self._lock = threading.Lock()
        self._watches: dict[str, _Watch] = {}

    def start(self, name: str, migration: Migration, still_for_s: float) -> None:
        """Begin to watch a migration's old logs, unless they are being watched. Returns at once.

        Args:
            name: What the migration is called here.
            migration: The migration.
            still_for_s: How long a log has to stand still.
        """
        with self._lock:
            there = self._watches.get(name)
            if there is not None and there.state.running:
                return
            state = WatchedCutover(still_for_s=still_for_s, started_at=datetime.now(UTC))
            watch = self._watches[name] = _Watch(stop=threading.Event(), state=state)
            watch.thread = threading.Thread(
                target=self._run, args=(watch, migration), name=f"offsetwise-cutover-{name}", daemon=True
            )
            watch.thread.start()

    def stop(self, name: str) -> None:
        """Look no more; a look under way ends by itself."""
        with self._lock:
            there = self._watches.get(name)
        if there is not None:
            there.stop.set()
            there.change(running=False, step=None)

    def watched(self, name: str) -> WatchedCutover | None:
        """Return what a watch has shown; None where there never was one."""
        with self._lock:
            there = self._watches.get(name)
        return None if there is None else there.state

    def close(self) -> None:
        """Stop all watches, and wait for looks under way."""
        with self._lock:
            watches = list(self._watches.values())
        for watch in watches:
            watch.stop.set()
        for watch in watches:
            watch.thread.join()

    def _run(self, watch: _Watch, migration: Migration) -> None:
        try:
            with self._spark_in_use():
                workflow.cutover(
                    migration,
                    still_for_s=watch.state.still_for_s,
                    until_copied=True,
                    heard=watch.heard,
                    progress=watch.progress,
                    wait=watch.wait,
                )
        except _UnwantedError:
            watch.change(running=False, step=None)
        except Exception as error:  # noqa: BLE001 - kept for the page, which shows it
            watch.change(running=False, step=None, error=error)
        else:
            watch.change(running=False, step=None)
