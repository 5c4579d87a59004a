"""Samplers inside a process that does something else: one thread per migration, started and stopped by people."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from offsetwise.config import Migration
from offsetwise.lag.subject import LagSubject
from offsetwise.watch.sampler import Keeping, Sampler, TakenSample, subjects_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    every_s: float
    started_at: datetime
    running: bool = True
    sampled: int = 0
    """Moments sampled."""
    last_at_ms: int | None = None
    not_kept: str | None = None
    """Why the newest sample is not in the store."""
    error: Exception | None = None
    """What ended it."""


@dataclass(slots=True)
class _Running:
    stop: threading.Event
    thread: threading.Thread
    state: Sampling
    lock: threading.Lock = field(default_factory=threading.Lock)


class BackgroundSamplers:
    """The samplers of one process.

    Args:
        keeper: Where samples are kept.
    """

    def __init__(self, keeper: Keeping) -> None:
        self._keeper = keeper
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}

    def start(self, name: str, migration: Migration, every_s: float, subjects: Sequence[LagSubject] = ()) -> None:
        """Begin to sample a migration, unless it is being sampled. Returns at once.

        Args:
            name: What the migration is called here.
            migration: The migration.
            every_s: How far apart samples are meant to be.
            subjects: What to sample; all that the migration file names where nothing is given.
        """
        with self._lock:
            there = self._running.get(name)
            if there is not None and there.state.running:
                return
            stop = threading.Event()
            state = Sampling(every_s=every_s, started_at=datetime.now(UTC))
            running = _Running(stop=stop, thread=threading.Thread(daemon=True), state=state)
            sampler = Sampler(
                migration,
                subjects or subjects_of(migration),
                every_s=every_s,
                keeper=self._keeper,
                sampled_by=f"the console, process {os.getpid()} on {platform.node()}",
                heard=lambda reading: _heard(running, reading),
            )
            running.thread = threading.Thread(
                target=_run, args=(running, sampler), name=f"offsetwise-watch-{name}", daemon=True
            )
            self._running[name] = running
            running.thread.start()

    def stop(self, name: str) -> None:
        """Take no further sample; a reading under way ends by itself."""
        with self._lock:
            there = self._running.get(name)
            if there is not None:
                there.stop.set()
                _change(there, lambda state: replace(state, running=False))

    def sampling(self, name: str) -> Sampling | None:
        """Return what the sampler of a migration does; None where there never was one."""
        with self._lock:
            there = self._running.get(name)
        return None if there is None else there.state

    def close(self) -> None:
        with self._lock:
            all_of_them = list(self._running.values())
        for running in all_of_them:
            running.stop.set()
        for running in all_of_them:
            running.thread.join()


def _run(running: _Running, sampler: Sampler) -> None:
    try:
        sampler.run(running.stop)
    except Exception as error:  # noqa: BLE001 - kept for the page, which shows it
        failure = error
        _change(running, lambda state: replace(state, running=False, error=failure))
    else:
        _change(running, lambda state: replace(state, running=False))


def _heard(running: _Running, reading: TakenSample) -> None:
    first = reading.sample.taken_at_ms != running.state.last_at_ms
    _change(
        running,
        lambda state: replace(
            state,
            sampled=state.sampled + int(first),
            last_at_ms=reading.sample.taken_at_ms,
            not_kept=None if reading.not_kept is None else str(reading.not_kept),
        ),
    )


def _change(running: _Running, change: Callable[[Sampling], Sampling]) -> None:
    with running.lock:
        running.state = change(running.state)
