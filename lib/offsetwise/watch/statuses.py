"""The status of migrations, watched in the background of a process: a child process each, which people start.

The child is `offsetwise status --watch --json`: it reads the clusters, the checkpoints and the folder, and prints a
line for each observation. The process that shows them reads none of that, and two viewers share one child.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Final, cast

from offsetwise import files
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Cutover
from offsetwise.watch.status_history import StatusHistory

EVERY_S: Final = 5.0
IDLE_S: Final = 60.0
"""How long a watch continues without a viewer, in seconds."""
_CHECK_S: Final = 1.0
_LAST_S: Final = 5.0
"""How long the child may take to end after it was asked to, in seconds."""
_MESSAGES: Final = 20
"""How many of the newest messages of the child are kept."""
DIFFERENT: Final = 5
"""The child's exit code if the target of a job differs from its plan."""
_MAIN: Final = (sys.executable, "-c", "from offsetwise.cli import main; main()")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedStatus:
    started_at: datetime
    running: bool = True
    history: StatusHistory = field(default_factory=StatusHistory)
    logs: Cutover | None = None
    """The newest observation of the old logs; None before the first one is complete."""
    look_count: int = 0
    looked_at: datetime | None = None
    """When the newest observation was complete."""
    messages: tuple[str, ...] = ()
    """Sentences about what could not be read, the newest last."""
    unread: str | None = None
    """The newest of them, if no observation has succeeded since."""
    error: OffsetwiseError | None = None
    """The error that ended it, with its remedy."""
    ended: str | None = None
    """Why it ended, as a sentence, if nothing else says so."""
    unwatched: bool = False
    """Whether it was ended because it had no viewer."""


def command(migration: Path, folder: Path | None, *, still_for_s: float, every_s: float = EVERY_S) -> tuple[str, ...]:
    """Return the command whose output lines are the observations.

    Args:
        migration: The migration file.
        folder: The folder with comparisons, plans, approvals and receipts; None if there is none.
        still_for_s: How long an old log must not have grown, in seconds.
        every_s: Seconds between observations.
    """
    given = () if folder is None else ("--folder", str(folder))
    flags = (
        "--watch",
        "--json",
        "--logs",
        "--keep-going",
        "--every",
        f"{every_s:g}",
        "--still-for",
        f"{still_for_s:g}s",
    )
    return (*_MAIN, "status", "-m", str(migration), *given, *flags)


class _Watch:
    def __init__(self, arguments: Sequence[str]) -> None:
        self.state = WatchedStatus(started_at=datetime.now(UTC))
        self.seen_s = time.monotonic()
        self._lock = threading.Lock()
        self._messages: deque[str] = deque(maxlen=_MESSAGES)
        self._requested = True
        self.child = subprocess.Popen(  # noqa: S603 - our own command
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        # Each stream is closed by the thread that reads it to its end.
        self._output, self._talk = cast("IO[str]", self.child.stdout), cast("IO[str]", self.child.stderr)
        self.threads = [
            threading.Thread(target=target, name=f"offsetwise-status-{target.__name__}", daemon=True)
            for target in (self._read, self._hear_messages)
        ]
        for thread in self.threads:
            thread.start()

    def current(self) -> WatchedStatus:
        """Return the status, and reset the time-out of a watch without viewers."""
        self.seen_s = time.monotonic()
        return self.state

    def end(self, *, unwatched: bool = False) -> None:
        with self._lock:
            self._requested = False
            self.state = replace(self.state, running=False, unwatched=unwatched)
        self.child.terminate()

    def wait(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.child.wait(_LAST_S)
        self.child.kill()
        for thread in self.threads:
            thread.join(_LAST_S)

    def _read(self) -> None:
        with self._output as lines:
            for line in lines:
                try:
                    self._take(line)
                except OffsetwiseError as error:
                    self._change(error=error)
                except ValueError:
                    continue  # it was cut off: the process was killed while it wrote
        code = self.child.wait()
        with self._lock:
            ended = None
            if self._requested and self.state.error is None and code not in (0, DIFFERENT):
                ended = self._messages[-1] if self._messages else f"Its process ended with exit code {code}."
            self.state = replace(self.state, running=False, ended=ended)

    def _take(self, line: str) -> None:
        kind = json.loads(line).get("format") if line.startswith("{") else None
        if kind == "offsetwise/status":
            status = files.load(line, "status", subject="the watch")
            self._change(
                history=self.state.history.with_look(status),
                look_count=self.state.look_count + 1,
                looked_at=datetime.now(UTC),
                unread=None,
            )
        elif kind == "offsetwise/cutover":
            self._change(logs=files.load(line, "cutover", subject="the watch"))
        elif kind == "offsetwise/error":
            error = SimpleNamespace(**json.loads(line))
            self._change(error=OffsetwiseError(error.problem, fix=error.fix))

    def _hear_messages(self) -> None:
        with self._talk as lines:
            for line in filter(str.strip, lines):
                self._messages.append(line.strip())
                self._change(messages=tuple(self._messages), unread=self._messages[-1])

    def _change(self, **changes: object) -> None:
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type] # its own fields


class BackgroundStatuses:
    """The watches of one process, one for each migration with any number of viewers. A watch without viewers ends.

    Args:
        idle_s: How long a watch continues without a viewer, in seconds.
    """

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._watches: dict[str, _Watch] = {}
        self._closed = threading.Event()
        self._guard: threading.Thread | None = None
        self.begun = 0
        """How many child processes were started."""

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Start to watch a migration, unless it is being watched. Returns at once.

        Args:
            name: The name of the migration in this process.
            arguments: The command whose output lines are the observations; see `command`.
        """
        with self._lock:
            there = self._watches.get(name)
            if there is not None and there.state.running:
                return
            self._watches[name] = _Watch(arguments)
            self.begun += 1
            if self._guard is None:
                self._guard = threading.Thread(target=self._end_unwatched, name="offsetwise-status-guard", daemon=True)
                self._guard.start()

    def watched(self, name: str) -> WatchedStatus | None:
        """Return the status of a watch, and reset its time-out; None if there never was one."""
        with self._lock:
            there = self._watches.get(name)
        return None if there is None else there.current()

    def stop(self, name: str) -> None:
        with self._lock:
            there = self._watches.get(name)
        if there is not None and there.state.running:
            there.end()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            watches = list(self._watches.values())
        for watch in watches:
            watch.end()
        for watch in watches:
            watch.wait()

    def _end_unwatched(self) -> None:
        while not self._closed.wait(min(_CHECK_S, self._idle_s)):
            with self._lock:
                watches = list(self._watches.values())
            for watch in watches:
                if watch.state.running and time.monotonic() - watch.seen_s > self._idle_s:
                    watch.end(unwatched=True)
                    watch.wait()
