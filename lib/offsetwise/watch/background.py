"""Samplers in the background of a process: one thread for each migration, which people start and stop."""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """How many moments were sampled."""
    last_at_ms: int | None = None
    not_kept: str | None = None
    """Why the newest sample is not in the store."""
    error: Exception | None = None
    """The exception that ended it."""


class _Running:
    def __init__(
        self, name: str, migration: Migration, subjects: Sequence[LagSubject], *, every_s: float, keeper: Keeping
    ) -> None:
        self.state = Sampling(every_s=every_s, started_at=datetime.now(UTC))
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._sampler = Sampler(
            migration,
            subjects,
            every_s=every_s,
            keeper=keeper,
            sampled_by=f"the console, process {os.getpid()} on {platform.node()}",
            heard=self._heard,
        )
        self.thread = threading.Thread(target=self._run, name=f"offsetwise-watch-{name}", daemon=True)
        self.thread.start()

    def change(self, **changes: object) -> None:
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type] # its own fields

    def _run(self) -> None:
        error = None
        try:
            self._sampler.run(self.stop)
        except Exception as failure:  # noqa: BLE001 - kept for the page, which shows it
            error = failure
        self.change(running=False, error=error)

    def _heard(self, reading: TakenSample) -> None:
        at_ms = reading.sample.taken_at_ms
        self.change(
            sampled=self.state.sampled + int(at_ms != self.state.last_at_ms),
            last_at_ms=at_ms,
            not_kept=None if reading.not_kept is None else str(reading.not_kept),
        )


class BackgroundSamplers:
    """The samplers of one process.

    Args:
        keeper: The store of samples.
    """

    def __init__(self, keeper: Keeping) -> None:
        self._keeper = keeper
        self._lock = threading.Lock()
        self._running: dict[str, _Running] = {}

    def start(self, name: str, migration: Migration, every_s: float, subjects: Sequence[LagSubject] = ()) -> None:
        """Start to sample a migration, unless it is being sampled. Returns at once.

        Args:
            name: The name of the migration in this process.
            migration: The migration.
            every_s: The intended interval of samples, in seconds.
            subjects: What to sample; by default everything that the migration file names.
        """
        with self._lock:
            there = self._running.get(name)
            if there is not None and there.state.running:
                return
            self._running[name] = _Running(
                name, migration, subjects or subjects_of(migration), every_s=every_s, keeper=self._keeper
            )

    def stop(self, name: str) -> None:
        """Take no further sample; a reading in progress ends by itself."""
        with self._lock:
            there = self._running.get(name)
            if there is not None:
                there.stop.set()
                there.change(running=False)

    def sampling(self, name: str) -> Sampling | None:
        """Return the state of a migration's sampler; None if there never was one."""
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
