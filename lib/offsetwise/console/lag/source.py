"""Where the Lag screen's samples come from: the store, opened when first needed; of a sample, its recording."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from offsetwise.bundled import Bundled
from offsetwise.config import Migration
from offsetwise.console.desk import Subject, SubjectKind
from offsetwise.lag.archive import Archive
from offsetwise.lag.moments import Key
from offsetwise.lag.subject import LagSubject
from offsetwise.lag.view import LagView, PartitionView, lag_view, partition_view
from offsetwise.store.store import open_store
from offsetwise.watch.background import BackgroundSamplers, Sampling
from offsetwise.watch.recording import recorded_lag
from offsetwise.watch.sampler import Keeper


class LagSource:
    """Samples by name of migration, and the samplers of this process.

    The store is the one that the operator's environment names, never one that the browser could.

    Args:
        migrations: By the names they have in the console.
        samples: Which of them are bundled samples, by the same names.
    """

    def __init__(self, migrations: Mapping[str, Migration], samples: Mapping[str, Bundled]) -> None:
        self._migrations = migrations
        self._samples = samples
        self._keeper = Keeper(open_store)
        self._samplers = BackgroundSamplers(self._keeper)
        self._lock = threading.Lock()
        self._recordings: dict[str, Archive] = {}

    def view(self, migration: str, subject: Subject, window_ms: int) -> LagView | None:
        """Give what was sampled lately; None where there is no sample."""
        return lag_view(self._archive(migration), self._subject(migration, subject), window_ms)

    def partition(self, migration: str, subject: Subject, key: Key, window_ms: int) -> PartitionView | None:
        """Give what was sampled lately of one partition; None where there is no sample."""
        return partition_view(self._archive(migration), self._subject(migration, subject), key, window_ms)

    def sampling(self, migration: str) -> Sampling | None:
        """Say what this process's sampler of a migration does."""
        return self._samplers.sampling(migration)

    def start(self, migration: str, every_s: float) -> None:
        """Sample a migration in this process. A bundled sample has no clusters to sample."""
        if migration not in self._samples:
            self._samplers.start(migration, self._migrations[migration], every_s)

    def stop(self, migration: str) -> None:
        """Stop sampling it."""
        self._samplers.stop(migration)

    def _archive(self, migration: str) -> Archive:
        if migration not in self._samples:
            return self._keeper.store()
        with self._lock:
            if migration not in self._recordings:
                self._recordings[migration] = recorded_lag(self._samples[migration])
            return self._recordings[migration]

    def _subject(self, migration: str, subject: Subject) -> LagSubject:
        name = self._migrations[migration].name
        if subject.kind is SubjectKind.GROUP:
            return LagSubject(migration=name, group=subject.name)
        return LagSubject(migration=name, checkpoint=subject.name)
