"""The loop that takes samples until it is stopped: on time, whatever clusters and stores fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.lag.alerts import Alert, alerts
from offsetwise.lag.subject import LagSubject
from offsetwise.model import LagSample, SubjectKind
from offsetwise.store.store import Store
from offsetwise.watch.reading import take_samples

ALERT_MS: Final = 3_600_000
"""Movement is judged against a sample of this age, or the first one if there is none that old."""

PRUNE_EVERY_S: Final = 1_800.0
_KEPT_IN_MEMORY: Final = 13
"""How many earlier samples are kept to judge movement: one in five minutes of the last hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenSample:
    subject: LagSubject
    sample: LagSample
    alerts: tuple[Alert, ...]
    took_ms: int
    not_kept: OffsetwiseError | None = None
    """Why it is not in the store."""

    @property
    def whole(self) -> bool:
        return not self.sample.missing and self.not_kept is None


class Keeping(Protocol):
    def add(self, sample: LagSample) -> int:
        """Store a sample."""

    def prune(self, now_ms: int) -> int:
        """Remove old samples."""


class Keeper:
    """The store, opened when it is first needed, and again after a failure.

    Args:
        opened: Opens it. May raise a `StoreError`.
    """

    def __init__(self, opened: Callable[[], Store]) -> None:
        self._opened = opened
        self._store: Store | None = None
        self._lock = threading.Lock()

    def add(self, sample: LagSample) -> int:
        """Store a sample.

        Raises:
            StoreError: The store cannot be opened or written.
        """
        return self.store().add(sample)

    def prune(self, now_ms: int) -> int:
        """Remove old samples.

        Raises:
            StoreError: The store cannot be opened or written.
        """
        return self.store().prune(now_ms)

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None

    def store(self) -> Store:
        """Return the store, opened if it is not open.

        Raises:
            ConfigError: Its URL cannot be used.
            StoreError: It cannot be opened.
        """
        with self._lock:
            if self._store is None:
                self._store = self._opened()
            return self._store


class Sampler:
    """Takes samples of some subjects of one migration.

    Args:
        migration: The migration.
        subjects: Checkpoints and groups of it, at least one.
        every_s: The intended interval of samples, in seconds.
        keeper: Stores them.
        sampled_by: Who takes them, for people.
        heard: Called with each sample.
    """

    def __init__(
        self,
        migration: Migration,
        subjects: Sequence[LagSubject],
        *,
        every_s: float,
        keeper: Keeping,
        sampled_by: str,
        heard: Callable[[TakenSample], None],
    ) -> None:
        self.migration: Final = migration
        self.subjects: Final = tuple(subjects)
        self.every_s: Final = every_s
        self._keeper: Final = keeper
        self._by: Final = sampled_by
        self._heard: Final = heard
        self._before: dict[LagSubject, LagSample] = {}
        self._earlier: dict[LagSubject, list[LagSample]] = {}
        self._pruned: float | None = None

    def once(self) -> tuple[TakenSample, ...]:
        """Take one sample of each subject.

        Raises:
            ConfigError: The migration has no such checkpoint, or a secret cannot be resolved.
            SameClusterError: Both addresses lead to one cluster.
        """
        began = time.monotonic()
        samples = take_samples(
            self.migration,
            self.subjects,
            sampled_by=self._by,
            interval_ms=int(self.every_s * 1000),
            before=self._before,
        )
        took_ms = int((time.monotonic() - began) * 1000)
        results = []
        for subject, sample in zip(self.subjects, samples, strict=True):
            reading = TakenSample(
                subject=subject,
                sample=sample,
                alerts=alerts(sample, self._since(subject, sample)),
                took_ms=took_ms,
                not_kept=self._stored(sample),
            )
            self._heard(reading)
            results.append(reading)
        self._before = dict(zip(self.subjects, samples, strict=True))
        return tuple(results)

    def run(self, stop: threading.Event, *, count: int | None = None) -> bool:
        """Take samples until `stop` is set, or `count` of them; return whether all were complete.

        A reading that takes longer than the interval delays the next one; missed ones are not repeated.

        Raises:
            ConfigError: As for `once`.
            SameClusterError: As for `once`.
        """
        whole, number, due = True, 0, time.monotonic()
        while not stop.is_set():
            whole = all(reading.whole for reading in self.once()) and whole
            number += 1
            if count is not None and number >= count:
                break
            now = time.monotonic()
            due = max(due + self.every_s, now)
            stop.wait(due - now)
        return whole

    def _stored(self, sample: LagSample) -> OffsetwiseError | None:
        try:
            self._keeper.add(sample)
            if self._pruned is None or time.monotonic() - self._pruned > PRUNE_EVERY_S:
                self._keeper.prune(sample.taken_at_ms)
                self._pruned = time.monotonic()
        except OffsetwiseError as error:
            return error
        return None

    def _since(self, subject: LagSubject, sample: LagSample) -> LagSample | None:
        samples = [
            lag_sample
            for lag_sample in self._earlier.get(subject, ())
            if sample.taken_at_ms - lag_sample.taken_at_ms <= ALERT_MS
        ]
        if not samples or sample.taken_at_ms - samples[-1].taken_at_ms >= ALERT_MS // (_KEPT_IN_MEMORY - 1):
            self._earlier[subject] = [*samples, sample]
        else:
            self._earlier[subject] = samples
        return samples[0] if samples else None


def subjects_of(
    migration: Migration, checkpoints: Sequence[str] = (), groups: Sequence[str] = ()
) -> tuple[LagSubject, ...]:
    """Return the named subjects, or all in the migration file.

    Raises:
        ConfigError: The migration has no such checkpoint.
    """
    if checkpoints or groups:
        return (
            *(_subject(migration, SubjectKind.CHECKPOINT, migration.checkpoint(name).name) for name in checkpoints),
            *(_subject(migration, SubjectKind.GROUP, name) for name in groups),
        )
    return (
        *(_subject(migration, SubjectKind.CHECKPOINT, checkpoint.name) for checkpoint in migration.checkpoints),
        *(_subject(migration, SubjectKind.GROUP, name) for name in migration.group_names),
    )


def _subject(migration: Migration, kind: SubjectKind, name: str) -> LagSubject:
    return LagSubject(migration=migration.name, kind=kind, name=name)
