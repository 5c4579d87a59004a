"""Start Spark for a command or page: install PySpark if `make console` left it out, and open a session."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from threading import Event, Lock, Thread
from traceback import walk_stack
from typing import TYPE_CHECKING, Final

from offsetwise.errors import OffsetwiseError, SparkError
from offsetwise.progress import Progress, no_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from offsetwise.config import SparkSettings  # it loads YAML, which `inspect` does without

PYSPARK: Final = "pyspark"
STEP: Final = "start Spark"
INSTALL_STEP: Final = "install PySpark, once: half a minute or more"
_PAUSE_S: Final = 0.01
_POLL_S: Final = 0.2
_INSTALL_S: Final = 30
"""The usual duration, for the progress report."""
_LAST_LINES: Final = 3
_one_at_a_time: Final = Lock()
SESSION_OPEN: Final = Event()
"""Set while this process has a session, for code that must not import PySpark or wait."""


def start_spark(
    settings: SparkSettings,
    progress: Progress,
    *,
    records: bool = False,
    packages: tuple[str, ...] = (),
    given_up: Event | None = None,
) -> SparkSession:
    """Open the session of a migration.

    Args:
        settings: Where Spark runs.
        progress: Called with the step, and several times a second while workers are checked; its exception is raised
            here.
        records: Whether its workers will read Kafka records: they get the code and packages for that.
        packages: The packages that its workers need to read records of other streams.
        given_up: Set when nobody waits for it any more; no JVM is started then.

    Raises:
        SparkError: Spark cannot be started, or its start was given up.
        WorkerError: The workers cannot run the shipped code.
    """
    install_pyspark(progress)
    from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - it needs PySpark
    from offsetwise.pipeline.shipping import ship  # noqa: PLC0415 - as above

    progress(STEP, 0, 1)
    session = open_session(settings, kafka=records, given_up=given_up)
    if records or packages:
        ship(session, packages=packages, watch=partial(progress, STEP, 0, 1))
    progress(STEP, 1, 1)
    return session


@contextmanager
def starting_beside(settings: SparkSettings) -> Iterator[Callable[[], None]]:
    """Start Spark for reading records while the block does other work; `start_spark` then finds it, or waits.

    A failure here is retried, and reported, by `start_spark`. The block receives a function that gives up the start; it
    is also called if the block fails. It does not wait: a JVM that is starting is ended, one that has started ends with
    this process.
    """
    from offsetwise.pipeline.session import end_starting_jvm  # noqa: PLC0415 - it needs PySpark

    given_up = Event()

    def start() -> None:
        with suppress(OffsetwiseError):
            start_spark(settings, no_progress, records=True, given_up=given_up)

    thread = Thread(target=start, name="offsetwise-start-spark", daemon=True)

    def give_up() -> None:
        given_up.set()
        while (frame := sys._current_frames().get(thread.ident or 0)) is not None:
            if not end_starting_jvm(frame_type for frame_type, _ in walk_stack(frame)):
                break
            thread.join(_PAUSE_S)

    thread.start()
    Thread(target=_import_meanwhile, name="offsetwise-imports", daemon=True).start()
    try:
        yield give_up
    except BaseException:
        give_up()
        raise


def _import_meanwhile() -> None:
    """Import what the first job needs while the JVM starts on another core; errors appear at the regular import."""
    with suppress(ImportError):
        import offsetwise.pipeline.content  # noqa: F401, PLC0415 - for the next import
    with suppress(ImportError):
        import pandas  # noqa: F401, PLC0415 - as above
        import pyarrow  # noqa: F401, PLC0415 - as above


def can_be_installed() -> bool:
    return _checkout() is not None and find_spec(PYSPARK) is None


def install_pyspark(progress: Progress) -> None:
    """Install PySpark if `make console` left it out; do nothing elsewhere.

    Args:
        progress: Called with the step and the elapsed seconds of the usual duration. Its exception ends the
            installation, which the next call starts again.

    Raises:
        SparkError: The installation failed.
    """
    with _one_at_a_time:
        checkout = _checkout()
        if checkout is None or find_spec(PYSPARK) is not None:
            return
        goal = str(Path(sys.prefix, ".pyspark").relative_to(checkout))
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            code = _run(["make", "--directory", str(checkout), goal], log.fileno(), progress)
            log.seek(0)
            lines = [line.strip() for line in log if line.strip()]
        if code != 0:
            raise SparkError(
                f"PySpark: expected to install it, found that it failed: {' '.join(lines[-_LAST_LINES:])} No record "
                "was read.",
                fix=f"Run: make --directory {quote(str(checkout))} {goal}",
            )
        importlib.invalidate_caches()
        progress(INSTALL_STEP, _INSTALL_S, _INSTALL_S)


def _checkout() -> Path | None:
    environment = Path(sys.prefix)
    set_up = (environment / ".console").is_file() and (environment.parent / "locks" / "spark.txt").is_file()
    return environment.parent if set_up else None


def _run(command: list[str], output: int, progress: Progress) -> int:
    start = time.monotonic()
    # A process group of its own: giving up also ends the processes that make started.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    process = subprocess.Popen(  # noqa: S603 - our own Makefile
        command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
    )
    try:
        while process.poll() is None:
            progress(INSTALL_STEP, min(int(time.monotonic() - start), _INSTALL_S - 1), _INSTALL_S)
            time.sleep(_POLL_S)
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise
    return process.returncode
