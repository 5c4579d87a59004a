"""What the console holds in its process: comparisons read, and comparisons being read.

Streamlit runs a page again at every click. Nothing here contacts a cluster, starts Spark or opens a file on such a
rerun: a comparison is read when a person asks for it, in a thread of its own, and then held. Two sessions asking
for the same comparison share one reading, and leaving the page does not stop it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from offsetwise.model import Checkpoint, Comparison

Progress = Callable[[str, int, int], None]
"""Called with step, done and total."""

HELD_COMPARISONS: Final = 16
"""Comparisons kept in memory; the one not looked at for longest goes first."""

MIGRATIONS_VARIABLE: Final = "OFFSETWISE_MIGRATIONS"
"""Names the migration files of this process, separated as in PATH. `launch` sets it."""

READERS: Final = 2
"""Comparisons read at the same time. More would compete for the same Spark session."""


class SubjectKind(StrEnum):
    """What holds the positions that are compared."""

    CHECKPOINT = "checkpoint"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One set of positions of a migration, by its name in the migration file."""

    kind: SubjectKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A migration that the browser may pick, by name only."""

    name: str
    old: str
    new: str
    subjects: tuple[Subject, ...]
    recorded: bool
    """Whether it is the bundled sample, whose comparisons were recorded and need no cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """Names one comparison in this process."""

    migration: str
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A comparison in memory. `id` changes whenever it is read again: caches of what is derived use it."""

    id: int
    comparison: Comparison


class Reader(Protocol):
    """Where the console gets its data: the verbs of the workflow, by name of migration and subject."""

    def offered(self) -> tuple[Offered, ...]:
        """Give the migrations to pick from, the sample first. Contacts nothing."""

    def recorded(self, subject: Subject) -> Comparison:
        """Give a recorded comparison of the sample."""

    def compare(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        """Read checkpoint, clusters and records, and compare."""

    def checkpoint(self, migration: str, subject: Subject) -> Checkpoint | None:
        """Read the checkpoint alone; None for a consumer group."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """A comparison being read: what it does now, and in the end its outcome."""

    outcome: Future[Comparison]
    steps: OrderedDict[str, tuple[int, int]] = field(default_factory=OrderedDict)
    """Done and total by step, in the order in which the steps began."""
    checkpoint: list[Checkpoint | None] = field(default_factory=list)
    """The checkpoint alone, once somebody asked for it after a failure."""

    def report(self, step: str, done: int, total: int) -> None:
        """Take a progress report of the workflow."""
        self.steps[step] = (done, total)


class Desk:
    """The comparisons of one process, shared by all its sessions.

    Args:
        reader: Where data comes from.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.offered: Final = reader.offered()
        self._lock = threading.Lock()
        self._held: OrderedDict[Key, Held] = OrderedDict()
        self._readings: dict[Key, Reading] = {}
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="offsetwise-reading")
        self._ids = 0

    def held(self, key: Key) -> Held | None:
        """Give the comparison in memory, reading it only if it is a recorded one."""
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
                return found
        migration = next((one for one in self.offered if one.name == key.migration), None)
        if migration is None or not migration.recorded or key.subject not in migration.subjects:
            return None
        return self._hold(key, self._reader.recorded(key.subject))

    def read(self, key: Key) -> Reading:
        """Begin to read a comparison, or join the reading that is under way."""
        with self._lock:
            under_way = self._readings.get(key)
            if under_way is not None and not under_way.outcome.done():
                return under_way
            reading = Reading(outcome=Future())
            self._readings[key] = reading
        self._pool.submit(self._run, key, reading)
        return reading

    def reading(self, key: Key) -> Reading | None:
        """Give the last reading of a comparison, running or failed; None if there is none or it succeeded."""
        with self._lock:
            return self._readings.get(key)

    def checkpoint(self, key: Key) -> Checkpoint | None:
        """Give the checkpoint alone, which needs no cluster: read once after each failed reading."""
        reading = self.reading(key)
        if reading is None:
            return None
        if not reading.checkpoint:
            reading.checkpoint.append(self._reader.checkpoint(key.migration, key.subject))
        return reading.checkpoint[0]

    def _run(self, key: Key, reading: Reading) -> None:
        try:
            comparison = self._reader.compare(key.migration, key.subject, reading.report)
        except Exception as error:  # noqa: BLE001 - carried to the page that waits, which shows it
            reading.outcome.set_exception(error)
            return
        self._hold(key, comparison)
        with self._lock:
            self._readings.pop(key, None)
        reading.outcome.set_result(comparison)

    def _hold(self, key: Key, comparison: Comparison) -> Held:
        with self._lock:
            self._ids += 1
            held = Held(id=self._ids, comparison=comparison)
            self._held[key] = held
            self._held.move_to_end(key)
            while len(self._held) > HELD_COMPARISONS:
                self._held.popitem(last=False)
            return held


_current: list[Desk] = []
_current_lock = threading.Lock()


def use(reader: Reader) -> None:
    """Read from here in this process from now on."""
    with _current_lock:
        _current[:] = [Desk(reader)]


def current() -> Desk:
    """Give this process's desk.

    Raises:
        ConfigError: `launch` did not run, and a migration file that the environment names cannot be used.
    """
    with _current_lock:
        if not _current:
            from offsetwise.console.data import reader_of_process  # noqa: PLC0415 - imports Spark and Kafka

            _current.append(Desk(reader_of_process()))
        return _current[0]
