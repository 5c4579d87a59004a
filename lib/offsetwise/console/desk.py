"""What the console holds in its process: answers read, and answers being read.

Streamlit runs a page again at every click. Nothing here contacts a cluster, starts Spark or opens a file on such a
rerun: a question is asked when a person wants its answer, in a thread of its own, and the answer is then held. Two
sessions with the same question share one reading, and leaving the page does not stop it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar, cast

from offsetwise.errors import StoppedError
from offsetwise.model import Cluster, Comparison, Plan, Reconciliation
from offsetwise.progress import Progress, unheard

if TYPE_CHECKING:
    from offsetwise.clusters.reading import MinimumAcls, ReadCluster
    from offsetwise.clusters.retention import Standing
    from offsetwise.fleet import Fleet
    from offsetwise.lag.moments import Key
    from offsetwise.lag.view import LagView, PartitionView
    from offsetwise.model.state import StateRows
    from offsetwise.plan.drift import Drift
    from offsetwise.plan.request import DraftRequest
    from offsetwise.plan.strategies import Strategy
    from offsetwise.sources.connection import Step
    from offsetwise.sources.permissions import Permissions
    from offsetwise.sources.spark_batch_files import BatchFiles
    from offsetwise.sources.spark_reading import CheckpointReading
    from offsetwise.watch.background import Sampling
    from offsetwise.workflow import Observed

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)

HELD_ANSWERS: Final = 16
"""Answers of each kind kept in memory; the one not looked at for longest goes first."""

MIGRATIONS_VARIABLE: Final = "OFFSETWISE_MIGRATIONS"
"""Names the migration files of this process, separated as in PATH. `launch` sets it."""

READERS: Final = 4
"""Questions answered at the same time: one for each cluster, and two that may wait for Spark."""


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
    """Whether it is the bundled sample, whose answers were recorded and need no cluster."""


class Reader(Protocol):
    """Where the console gets its data: the verbs of the workflow, by name of migration and subject."""

    def offered(self) -> tuple[Offered, ...]:
        """Give the migrations to pick from, the samples first. Contacts nothing."""

    def comparison(self, migration: str, subject: Subject, progress: Progress) -> Comparison:
        """Read checkpoint, clusters and records, and compare; of the sample, give the recorded comparison."""

    def reconciliation(self, migration: str, topic: str, progress: Progress) -> Reconciliation:
        """Count a whole topic on both clusters; of the sample, give the recorded counts."""

    def cluster(self, migration: str, cluster: Cluster, progress: Progress) -> ReadCluster:
        """Read one cluster; of the sample, give its recorded snapshot."""

    def connection(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[Step, ...]:
        """Try to reach one cluster, step by step."""

    def permissions(self, migration: str, cluster: Cluster, progress: Progress) -> Permissions:
        """Ask one cluster what its user may do."""

    def minimum_acls(self, migration: str, cluster: Cluster) -> MinimumAcls:
        """Say how to grant what reading the migration needs. Asks no cluster."""

    def standings(self, migration: str, cluster: Cluster, progress: Progress) -> tuple[Standing, ...]:
        """Read the positions in the logs of one cluster, and the times of the records there."""

    def checkpoint_reading(self, migration: str, name: str, retained: int | None = None) -> CheckpointReading:
        """Read a checkpoint, or another retained one of its job, with what its page shows; needs no cluster."""

    def batch_files(self, migration: str, name: str, batch: int) -> BatchFiles:
        """Read the files of one batch as they stand."""

    def state_rows(self, migration: str, name: str, progress: Progress) -> StateRows:
        """Count the rows of a checkpoint's state stores, on Spark."""

    def fleet(self, migration: str, progress: Progress) -> Fleet:
        """Read all checkpoints of a migration, many of them on Spark; of the sample, its folders at once."""

    def drift(self, plan: Plan, progress: Progress) -> tuple[Drift, ...]:
        """Say what is not as a plan requires it; of a plan of the sample, hold it against the recording."""

    def lag(self, migration: str, subject: Subject, window_ms: int) -> LagView | None:
        """Look up what was sampled lately, None where nothing was; of the sample, its recording."""

    def lag_of_partition(self, migration: str, subject: Subject, key: Key, window_ms: int) -> PartitionView | None:
        """Look up what was sampled lately of one partition."""

    def sampling(self, migration: str) -> Sampling | None:
        """Say what this process's sampler does, None where there never was one. Contacts nothing."""

    def start_sampling(self, migration: str, every_s: float) -> None:
        """Sample a migration in the background, unless that is done already."""

    def stop_sampling(self, migration: str) -> None:
        """Stop sampling it."""

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> Observed | None:
        """Give a comparison with the clusters as it read them; None where they are not kept any more."""

    def strategies(
        self, migration: str, subject: Subject, comparison: Comparison, *, sink_rewound: bool
    ) -> tuple[Strategy, ...]:
        """Judge the ways in which the job can move. Contacts nothing."""

    def draft(
        self, migration: str, subject: Subject, observed: Observed, request: DraftRequest, drafted_at: str
    ) -> Plan:
        """Draft a plan from what was read. Contacts nothing."""


class Question(Protocol[Answer_co]):
    """Something a page wants to know. Equal questions share their answer, so it is hashable."""

    in_sample: ClassVar[bool]
    """Whether the bundled sample answers it from its files, at once."""

    @property
    def migration(self) -> str:
        """The name of the migration that it is about."""

    def ask(self, reader: Reader, progress: Progress) -> Answer_co:
        """Read the answer. Called in a thread of the desk's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOf:
    """How do the positions of this subject compare?"""

    in_sample: ClassVar[bool] = True
    migration: str
    subject: Subject

    def ask(self, reader: Reader, progress: Progress) -> Comparison:
        """Compare."""
        return reader.comparison(self.migration, self.subject, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Generic[Answer]):
    """An answer in memory. `id` changes whenever it is read again: caches of what is derived use it."""

    id: int
    at: datetime
    """When reading it ended, UTC."""
    value: Answer


@dataclass(slots=True, kw_only=True)
class Reading(Generic[Answer]):
    """A question being answered: what is done now, and in the end the outcome."""

    outcome: Future[Answer]
    steps: OrderedDict[str, tuple[int, int]] = field(default_factory=OrderedDict)
    """Done and total by step, in the order in which the steps began."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when a person no longer wants the answer."""

    def report(self, step: str, done: int, total: int) -> None:
        """Take a progress report of the workflow.

        Raises:
            StoppedError: A person stopped the reading.
        """
        if self.stopped.is_set():
            raise StoppedError("The reading was stopped by a person. Its answer is not known.", fix="Start it again.")
        self.steps[step] = (done, total)

    @property
    def error(self) -> BaseException | None:
        """What it failed with; None while it goes on."""
        return self.outcome.exception() if self.outcome.done() else None


class Desk:
    """The answers of one process, shared by all its sessions.

    Args:
        reader: Where data comes from.
        admit: Called at every question, and raises if whoever asks may not: a page that offers what it should not
            gets nothing.
    """

    def __init__(self, reader: Reader, admit: Callable[[], None] = lambda: None) -> None:
        self._reader = reader
        self._admit = admit
        self.offered: Final = reader.offered()
        self._recorded: Final = {one.name for one in self.offered if one.recorded}
        self._lock = threading.Lock()
        self._held: OrderedDict[Question[Any], Held[Any]] = OrderedDict()
        self._readings: dict[Question[Any], Reading[Any]] = {}
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="offsetwise-reading")
        self._ids = 0

    def recorded(self, question: Question[Any]) -> bool:
        """Say whether it is answered from the bundled sample: there is nothing to read, then."""
        return question.in_sample and question.migration in self._recorded

    def held(self, question: Question[Answer]) -> Held[Answer] | None:
        """Give the answer in memory, reading it only if it is a recorded one."""
        self._admit()
        with self._lock:
            found = self._held.get(question)
            if found is not None:
                self._held.move_to_end(question)
                return cast("Held[Answer]", found)
        if not self.recorded(question):
            return None
        return self._hold(question, question.ask(self._reader, unheard))

    def read(self, question: Question[Answer]) -> Reading[Answer]:
        """Begin to read the answer, or join the reading that is under way."""
        self._admit()
        with self._lock:
            under_way = self._readings.get(question)
            if under_way is not None and not under_way.outcome.done():
                return under_way
            reading: Reading[Answer] = Reading(outcome=Future())
            self._readings[question] = reading
        self._pool.submit(self._run, question, reading)
        return reading

    def reading(self, question: Question[Answer]) -> Reading[Answer] | None:
        """Give the last reading of an answer, running or failed; None if there is none or it succeeded."""
        self._admit()
        with self._lock:
            return self._readings.get(question)

    def stop(self, question: Question[Any]) -> None:
        """Stop the reading that is under way at its next progress report; what was held before is kept."""
        reading = self.reading(question)
        if reading is not None:
            reading.stopped.set()

    def sampling(self, migration: str) -> Sampling | None:
        """Say what this process's sampler of a migration does."""
        self._admit()
        return self._reader.sampling(migration)

    def start_sampling(self, migration: str, every_s: float) -> None:
        """Sample a migration in the background. Only ever called since a person pressed a button."""
        self._admit()
        self._reader.start_sampling(migration, every_s)

    def stop_sampling(self, migration: str) -> None:
        """Stop sampling it."""
        self._admit()
        self._reader.stop_sampling(migration)

    def observed(self, migration: str, subject: Subject, comparison: Comparison) -> Observed | None:
        """Give a comparison with the clusters as it read them; None where they are not kept any more."""
        self._admit()
        return self._reader.observed(migration, subject, comparison)

    def strategies(
        self, migration: str, subject: Subject, comparison: Comparison, *, sink_rewound: bool
    ) -> tuple[Strategy, ...]:
        """Judge the ways in which the job can move."""
        self._admit()
        return self._reader.strategies(migration, subject, comparison, sink_rewound=sink_rewound)

    def draft(
        self, migration: str, subject: Subject, observed: Observed, request: DraftRequest, drafted_at: str
    ) -> Plan:
        """Draft a plan from what was read."""
        self._admit()
        return self._reader.draft(migration, subject, observed, request, drafted_at)

    def _run(self, question: Question[Answer], reading: Reading[Answer]) -> None:
        try:
            answer = question.ask(self._reader, reading.report)
        except StoppedError as error:
            with self._lock:
                self._readings.pop(question, None)
            reading.outcome.set_exception(error)
            return
        except Exception as error:  # noqa: BLE001 - carried to the page that waits, which shows it
            reading.outcome.set_exception(error)
            return
        self._hold(question, answer)
        with self._lock:
            self._readings.pop(question, None)
        reading.outcome.set_result(answer)

    def _hold(self, question: Question[Answer], answer: Answer) -> Held[Answer]:
        with self._lock:
            self._ids += 1
            held = Held(id=self._ids, at=datetime.now(UTC), value=answer)
            self._held[question] = held
            self._held.move_to_end(question)
            alike = [one for one in self._held if type(one) is type(question)]
            for one in alike[: len(alike) - HELD_ANSWERS]:
                del self._held[one]
            return held


_current: list[Desk] = []
_current_lock = threading.Lock()


def use(reader: Reader) -> None:
    """Read from here in this process from now on."""
    with _current_lock:
        _current[:] = [_of_people(reader)]


def current() -> Desk:
    """Give this process's desk.

    Raises:
        ConfigError: `launch` did not run, and a migration file that the environment names cannot be used.
    """
    with _current_lock:
        if not _current:
            from offsetwise.console.data import reader_of_process  # noqa: PLC0415 - imports Spark and Kafka

            _current.append(_of_people(reader_of_process()))
        return _current[0]


def _of_people(reader: Reader) -> Desk:
    from offsetwise.console.identity import require_viewer  # noqa: PLC0415 - only pages need Streamlit

    return Desk(reader, admit=require_viewer)
