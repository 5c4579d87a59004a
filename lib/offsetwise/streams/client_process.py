"""Run the clients of brokers in child processes, because some answers crash librdkafka.

An answer to Metadata with partition 1,000,000, or about a topic that was not requested, is a segmentation fault there
(`docs/reports/librdkafka-metadata.md`). Then a child process without any state ends, and the caller gets an error: for
a read that nothing was read, for a change that its reply was lost.
"""

from __future__ import annotations

import atexit
import gc
import os
import resource
import select
import shlex
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, ParamSpec, TypeVar

from offsetwise.client_properties import AddressedCluster, PlainCluster, lent, lent_now, masked
from offsetwise.errors import ClusterError, LostReplyError, OffsetwiseError
from offsetwise.progress import Progress

P = ParamSpec("P")
Answer = TypeVar("Answer")

RETAINED: Final = 2
"""How many idle processes are kept: each has loaded its libraries, which takes a fifth of a second."""
SILENCE_S: Final = 120.0
"""The maximum silence of a process: everything that it does has a time-out of a minute at most."""
_FREED_S: Final = 2.0
"""How long a process may take to free its clients once it is needed for another request."""
_LAST_S: Final = 5.0
"""How long a process that has closed its connection may take to end."""
_LIBRARIES: Final = ("confluent_kafka", "kafka")
_TAKEN: Final = "answers that Kafka's client library can take"
_UNREAD: Final = "Nothing was read from it."
_UNKNOWN: Final = "The reply to a change is lost, and whether the change was made is not known."
_CHECK: Final = (
    "Check that bootstrap.servers leads to your own brokers, and that nothing between changes what they say; then run "
    "the same command again"
)
_SERVE: Final = "from offsetwise.streams.client_process import serve; serve()"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    reports: bool
    """Whether it takes `progress`."""
    changes: bool
    """Whether the function changes something on the cluster."""
    environment: Mapping[str, str]
    lent: Mapping[str, str]

    @property
    def cluster(self) -> AddressedCluster:
        arguments = (*self.arguments, *self.named.values())
        return next(argument for argument in arguments if isinstance(argument, AddressedCluster))

    def unanswered(self, actual: str) -> ClusterError | LostReplyError:
        if not self.changes:
            return wrong_answer(self.cluster, _TAKEN, actual)
        return LostReplyError(
            f"{_named(self.cluster)}: expected {_TAKEN}, found {actual}. {_UNKNOWN}",
            fix=f"{_CHECK}: it looks first, and continues from there.",
        )


@dataclass(frozen=True, slots=True)
class _Report:
    step: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class _Freed:
    """The clients of the last request are freed.

    librdkafka waits without end for a client's pending requests, such as one to a coordinator that no broker names
    correctly. Then the parent no longer waits for this process.
    """


class _Process:
    """A process that answers requests, one at a time."""

    def __init__(self) -> None:
        self._connection, other = Pipe()
        self._errors = TemporaryFile()  # noqa: SIM115 - closed when the process ends
        with other:
            # In a separate session, Ctrl-C ends it only through this process.
            self._process = subprocess.Popen(  # noqa: S603 - the interpreter that runs this
                [sys.executable, "-P", "-c", _SERVE, str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
            )

    @property
    def is_ready(self) -> bool:
        try:
            freed = self._connection.poll(_FREED_S) and isinstance(self._connection.recv(), _Freed)
        except (EOFError, OSError):
            return False
        # If it has ended since, the end is visible in the pipe.
        return freed and self._process.poll() is None

    def ask(self, question: _Question, progress: Progress | None) -> _Outcome | None:
        """Send a request and pass on its progress; return None if the process ended meanwhile."""
        with suppress(OSError):  # its end is detected when its answers are read
            self._connection.send(question)
        while isinstance(message := self._message(), _Report):
            if progress is not None:
                progress(message.step, message.done, message.total)
        return message

    def _message(self) -> _Report | _Outcome | None:
        try:
            if not self._connection.poll(SILENCE_S):
                return None
            message: _Report | _Outcome = self._connection.recv()
        except (EOFError, OSError):
            return None
        return message

    def end(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def forget(self) -> None:
        self._connection.close()
        self._process.returncode = 0
        self._errors.close()

    def error(self, question: _Question) -> ClusterError | LostReplyError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_S)
        code = self._process.poll()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", errors="replace").splitlines()
        last = f" ({lines[-1][:200]})" if lines else ""
        self.end()
        if code is not None and code >= 0:
            kind, effect = (LostReplyError, _UNKNOWN) if question.changes else (ClusterError, _UNREAD)
            return kind(
                f"Cluster {question.cluster.name!r}: expected a process that asks it, but it ended with exit code "
                f"{code}{last}. {effect}",
                fix=f"See that this works: {shlex.quote(sys.executable)} -P -c 'import offsetwise'; then run the same "
                "command again.",
            )
        ended = "went silent" if code is None else f"ended with {signal.Signals(-code).name}{last}"
        return question.unanswered(f"that the process of the library {ended}, as it does over others")


_waiting: Final[list[_Process]] = []
_lock: Final = threading.Lock()


def in_a_process(function: Callable[P, Answer], *, changes: bool = False) -> Callable[P, Answer]:
    """Return a function that runs in a child process.

    Args:
        function: A module-level function with an `AddressedCluster` among its arguments, and maybe `progress`. It is
            called with a `PlainCluster`.
        changes: Whether it changes something on the cluster.

    Raises:
        ClusterError: The child process ended before there was an answer; and whatever the function raises.
        LostReplyError: The child process ended, and the function changes something: it may have been done.
    """

    @wraps(function)
    def in_process(*arguments: P.args, **named: P.kwargs) -> Answer:
        progress: Any = named.pop("progress", None)
        question = _Question(
            function=function,
            arguments=tuple(map(_plain, arguments)),
            named={name: _plain(value) for name, value in named.items()},
            reports=progress is not None,
            changes=changes,
            environment=dict(os.environ),
            lent=dict(lent_now()),
        )
        process = _waiting_process()
        try:
            outcome = process.ask(question, progress)
        except BaseException:
            process.end()
            raise
        if outcome is None:
            raise process.error(question)
        _give_back(process)
        if outcome.error is not None:
            raise outcome.error
        answer: Answer = outcome.value
        return answer

    return in_process


def serve() -> None:
    """Answer the requests of the parent process over the file descriptor that it named, until it ends."""
    # A core dump of a crashed client library would include passwords.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # if an answer makes it take all memory, it is this process that ends
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    with Connection(int(sys.argv[1])) as connection:
        # A hanging library would outlive the caller, and no change may be sent whose caller no longer waits.
        threading.Thread(target=_end_with, args=(connection.fileno(),), daemon=True).start()

        def report(step: str, done: int, total: int) -> None:
            connection.send(_Report(step, done, total))

        modules = 0
        while True:
            try:
                question = connection.recv()
                if len(sys.modules) != modules:  # modules are in use to the end, and collecting them takes longest
                    gc.freeze()
                    modules = len(sys.modules)
                connection.send(_outcome(question, report))
                del question  # with the secrets in it
                gc.collect()
                connection.send(_Freed())
            except (EOFError, ConnectionError):
                return


def _end_with(connection: int) -> None:
    hung_up = select.poll()
    hung_up.register(connection, 0)
    hung_up.poll()
    os._exit(1)


def _outcome(question: _Question, report: Progress) -> _Outcome:
    os.environ.clear()
    os.environ.update(question.environment)
    named = {**question.named, "progress": report} if question.reports else question.named
    try:
        with lent(question.lent):
            return _Outcome(question.function(*question.arguments, **named))
    except OffsetwiseError as error:
        return _Outcome(error=error)
    except Exception as error:  # noqa: BLE001 - raised again in the parent process
        if _is_librarys(error):
            result = f"one of which it makes {type(error).__name__}: {masked(str(error)[:200])}"
            return _Outcome(error=question.unanswered(result))
        error.add_note(f"In the process that asked the cluster:\n{traceback.format_exc()}")
        return _Outcome(error=error)


def _is_librarys(error: Exception) -> bool:
    """Return whether a client library raised an error, in its Python layer or its C code."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    raised_by = str(frame.f_globals.get("__name__")).partition(".")[0]
    return raised_by in _LIBRARIES or isinstance(error, (UnicodeError, SystemError))


def _plain(argument: object) -> object:
    return PlainCluster.of(argument) if isinstance(argument, AddressedCluster) else argument


def _waiting_process() -> _Process:
    while True:
        with _lock:
            process = _waiting.pop() if _waiting else None
        if process is None:
            return _Process()
        if process.is_ready:
            return process
        process.end()


def _give_back(process: _Process) -> None:
    with _lock:
        if len(_waiting) < RETAINED:
            _waiting.append(process)
            return
    process.end()


@atexit.register
def _end_all() -> None:
    with _lock:
        while _waiting:
            _waiting.pop().end()


def _forget_all() -> None:
    """Forget the child processes of the process that forked this one."""
    _lock._at_fork_reinit()  # type: ignore[attr-defined] # of threading, for this
    while _waiting:
        _waiting.pop().forget()


os.register_at_fork(after_in_child=_forget_all)


def wrong_answer(config: AddressedCluster, expected: str, actual: str) -> ClusterError:
    return ClusterError(f"{_named(config)}: expected {expected}, found {actual}. {_UNREAD}", fix=f"{_CHECK}.")


def _named(config: AddressedCluster) -> str:
    return f"Cluster {config.name!r} at {config.properties.get('bootstrap.servers')}"
