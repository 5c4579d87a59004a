"""The answers of this process: those in memory, and those being read in the background.

Streamlit reruns a page at every click. Such a rerun contacts no cluster, starts no Spark and opens no file: a question
is read in its own thread when a person asks for its answer, and the answer is then kept in memory. Two sessions with
the same question share one reading, and leaving the page does not stop it.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeAlias, TypeVar, TypeVarTuple, cast

from offsetwise.console.jobs.drafting import DraftedJobs
from offsetwise.console.reader import HELD_ANSWERS, LIVE_ONLY, Reader, reader_of_process
from offsetwise.console.server.identity import require_viewer
from offsetwise.errors import OffsetwiseError, StoppedError
from offsetwise.model import Comparison, Subject
from offsetwise.progress import Progress, no_progress

Answer = TypeVar("Answer")
Found = TypeVar("Found")
About = TypeVarTuple("About")

READERS: Final = 4
"""Questions read at the same time: one for each cluster, and two that may wait for Spark."""
PACE_S: Final = 2.0
"""Minimum running time of a step before its pace is used to estimate when it ends."""

MOST_COMPARISONS: Final = 1_000
"""Maximum number of comparisons kept, one for each job of a live migration: the Overview shows their verdicts."""
Comparisons: TypeAlias = Iterator[tuple[Subject, Comparison | OffsetwiseError]]


@dataclass(frozen=True, slots=True)
class Question(Generic[Answer]):
    """A method of the reader and its arguments. Equal questions share their answer."""

    verb: str
    migration: str
    about: tuple[Hashable, ...]
    edition: int
    """Version of what the answer is derived from; another version makes another question."""

    @staticmethod
    def of(
        verb: Callable[[Reader, str, *About, Progress], Found], migration: str, *about: *About, edition: int = 0
    ) -> Question[Found]:
        return Question(verb.__name__, migration, about, edition)

    def ask(self, reader: Reader, progress: Progress) -> Answer:
        answer: Answer = getattr(reader, self.verb)(self.migration, *self.about, progress)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAnswer(Generic[Answer]):
    id: int
    at: datetime
    """When the reading ended, UTC."""
    value: Answer
    took_s: float | None = None
    """Duration of the reading in seconds; None if nobody waited for it."""


@dataclass(slots=True, kw_only=True)
class Reading(Generic[Answer]):
    outcome: Future[Answer]
    steps: OrderedDict[str, tuple[int, int]] = field(default_factory=OrderedDict)
    """Done and total by step, in the order in which the steps began."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when a person stops the reading."""
    began_s: float = field(default_factory=time.monotonic)
    """Start, on the monotonic clock."""
    took_before_s: float | None = None
    """Duration of the previous reading; None if there was none or its answer is no longer in memory."""
    _steps_began_s: dict[str, float] = field(default_factory=dict)

    def report(self, step: str, done: int, total: int) -> None:
        """Record a progress report of the workflow.

        Raises:
            StoppedError: A person stopped the reading.
        """
        if self.stopped.is_set():
            raise StoppedError("The reading was stopped by a person. Its answer is not known.", fix="Start it again.")
        self._steps_began_s.setdefault(step, time.monotonic())
        self.steps[step] = (done, total)

    def elapsed_s(self) -> float:
        return time.monotonic() - self.began_s

    def remaining_s(self, step: str) -> float | None:
        """Return the estimated seconds until a step ends; None if too little of it is done for an estimate."""
        done, total = self.steps[step]
        elapsed_s = time.monotonic() - self._steps_began_s[step]
        if not 0 < done < total or elapsed_s < PACE_S:
            return None
        return elapsed_s * (total - done) / done

    @property
    def error(self) -> BaseException | None:
        """The exception that ended the reading; None while it runs or if it succeeded."""
        return self.outcome.exception() if self.outcome.done() else None


class Answers:
    """The answers of one process, shared by all its sessions.

    Args:
        reader: Source of the data.
        admit: Called at every question; raises if the person may not see the answer, so that a page cannot reveal it by
            mistake.
    """

    def __init__(self, reader: Reader, admit: Callable[[], None] = lambda: None) -> None:
        self._reader = reader
        self._admit = admit
        self.offered: Final = reader.offered()
        live = sum(len(offered.subjects) for offered in self.offered if not offered.recorded)
        self._comparisons: Final = min(live, MOST_COMPARISONS)
        self._recorded: Final = {offered.name for offered in self.offered if offered.recorded}
        self._lock = threading.Lock()
        self._cached: OrderedDict[Question[Any], CachedAnswer[Any]] = OrderedDict()
        self._readings: dict[Question[Any], Reading[Any]] = {}
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="offsetwise-reading")
        self._ids = 0

    def recorded(self, question: Question[Any]) -> bool:
        return question.verb not in LIVE_ONLY and question.migration in self._recorded

    def cached(self, question: Question[Answer]) -> CachedAnswer[Answer] | None:
        """Return the answer in memory; read it only if it is recorded."""
        self._admit()
        with self._lock:
            result = self._cached.get(question)
            if result is not None:
                self._cached.move_to_end(question)
                return cast("CachedAnswer[Answer]", result)
        if not self.recorded(question):
            return None
        return self._hold(question, question.ask(self._reader, no_progress))

    def read(self, question: Question[Answer]) -> Reading[Answer]:
        self._admit()
        with self._lock:
            under_way = self._readings.get(question)
            running = under_way is not None and not under_way.outcome.done()
            # One that was stopped ends without an answer: whoever asks after that gets a reading of their own.
            if under_way is not None and running and not under_way.stopped.is_set():
                return under_way
            before = self._cached.get(question)
            reading: Reading[Answer] = Reading(
                outcome=Future(), took_before_s=None if before is None else before.took_s
            )
            self._readings[question] = reading
        self._pool.submit(self._run, question, reading)
        return reading

    def reading(self, question: Question[Answer]) -> Reading[Answer] | None:
        """Return the last reading of an answer, running or failed; None if there is none or it succeeded."""
        self._admit()
        with self._lock:
            return self._readings.get(question)

    def known(
        self, questions: Iterable[Question[Answer]]
    ) -> list[tuple[CachedAnswer[Answer] | None, Reading[Answer] | None]]:
        """Return the answer in memory and the last reading of each question; see `cached` and `reading`.

        Access is checked once for all questions. Recorded answers are not read.
        """
        self._admit()
        with self._lock:
            return [(self._cached.get(question), self._readings.get(question)) for question in questions]

    def stop(self, question: Question[Any]) -> None:
        """Stop the running reading at its next progress report; the previous answer stays in memory."""
        reading = self.reading(question)
        if reading is not None:
            reading.stopped.set()

    def end(self) -> None:
        """Stop all readings and accept no new ones: the process waits for them before it ends."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for reading in self._readings.values():
                reading.stopped.set()
        self._reader.close()

    @property
    def reader(self) -> Reader:
        self._admit()
        return self._reader

    def _run(self, question: Question[Answer], reading: Reading[Answer]) -> None:
        try:
            answer = question.ask(self._reader, reading.report)
            if question.verb == Reader.comparisons.__name__:
                answer = cast("Answer", self._hold_each(question.migration, cast("Comparisons", answer)))
            if isinstance(answer, DraftedJobs):
                self._hold_each(question.migration, iter(answer.comparisons.items()))
        except StoppedError as error:
            self._forget(question, reading)
            reading.outcome.set_exception(error)
            return
        except Exception as error:  # noqa: BLE001 - carried to the page that waits, which shows it
            reading.outcome.set_exception(error)
            return
        self._hold(question, answer, reading.elapsed_s())
        self._forget(question, reading)
        reading.outcome.set_result(answer)

    def _forget(self, question: Question[Any], reading: Reading[Any]) -> None:
        with self._lock:
            if self._readings.get(question) is reading:
                del self._readings[question]

    def _hold_each(self, migration: str, comparisons: Comparisons) -> int:
        count = 0
        for subject, outcome in comparisons:
            question = Question.of(Reader.comparison, migration, subject)
            failed: Reading[Comparison] = Reading(outcome=Future())
            if isinstance(outcome, OffsetwiseError):
                failed.outcome.set_exception(outcome)
            else:
                self._hold(question, outcome)
            with self._lock:
                self._readings.pop(question, None)
                if failed.outcome.done():
                    self._readings[question] = failed
            count += 1
        return count

    def _hold(self, question: Question[Answer], answer: Answer, took_s: float | None = None) -> CachedAnswer[Answer]:
        with self._lock:
            self._ids += 1
            stored = CachedAnswer(id=self._ids, at=datetime.now(UTC), value=answer, took_s=took_s)
            self._cached[question] = stored
            self._cached.move_to_end(question)
            alike = [other for other in self._cached if other.verb == question.verb]
            most = max(HELD_ANSWERS, self._comparisons) if question.verb == Reader.comparison.__name__ else HELD_ANSWERS
            for question_to_drop in alike[: max(0, len(alike) - most)]:
                del self._cached[question_to_drop]
            return stored


def comparing_all(migration: str) -> Question[int]:
    """Return the question that compares all jobs; its answer is how many were compared or failed."""
    return Question(Reader.comparisons.__name__, migration, (), 0)


_current: Final[list[Answers]] = []
_current_lock: Final = threading.Lock()


def use(reader: Reader) -> None:
    with _current_lock:
        _current[:] = [Answers(reader, admit=require_viewer)]


def end() -> None:
    with _current_lock:
        for answers in _current:
            answers.end()


def current() -> Answers:
    """Return the answers of this process.

    Raises:
        ConfigError: `launch` did not run, and a migration file named in the environment cannot be used.
    """
    with _current_lock:
        if not _current:
            _current.append(Answers(reader_of_process(), admit=require_viewer))
        return _current[0]
