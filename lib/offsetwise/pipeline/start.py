"""The first step of all work on Spark, told to whoever waits."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Event, Thread
from traceback import walk_stack
from typing import Final

from pyspark.sql import SparkSession

from offsetwise.config import SparkSettings
from offsetwise.errors import OffsetwiseError
from offsetwise.pipeline.session import end_starting_jvm, open_session
from offsetwise.pipeline.shipping import ship
from offsetwise.progress import Progress, unheard

STEP: Final = "start Spark"
_PAUSE_S: Final = 0.01


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
        progress: Told the step, and several times a second while workers are asked; what it raises is raised here.
        records: Whether its workers will read Kafka's records: they get what that needs.
        packages: What its workers need to import to read others.
        given_up: Set when nobody waits for it any more; no JVM is started then.

    Raises:
        SparkError: Spark cannot be started, or its start was given up.
        WorkerError: The workers cannot run what they were sent.
    """
    progress(STEP, 0, 1)
    session = open_session(settings, kafka=records, given_up=given_up)
    if records or packages:
        ship(session, packages=packages, watch=partial(progress, STEP, 0, 1))
    progress(STEP, 1, 1)
    return session


@contextmanager
def starting_beside(settings: SparkSettings) -> Iterator[Callable[[], None]]:
    """Start Spark for reading records while the block reads other things; `start_spark` then finds it, or waits.

    What fails here is tried again, and told, by `start_spark`. The block is handed what gives the start up; where the
    block fails, that is done too. It keeps nobody waiting: a JVM that is being started is ended, one that has started
    ends with this process.
    """
    given_up = Event()

    def start() -> None:
        with suppress(OffsetwiseError):
            start_spark(settings, unheard, records=True, given_up=given_up)

    thread = Thread(target=start, name="offsetwise-start-spark", daemon=True)

    def give_up() -> None:
        given_up.set()
        while (frame := sys._current_frames().get(thread.ident or 0)) is not None:
            if not end_starting_jvm(each for each, _ in walk_stack(frame)):
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
    """Import what the first job needs, while the JVM starts on another core; whoever needs it tells what fails."""
    with suppress(ImportError):
        importlib.import_module("offsetwise.pipeline.content")
        for name in ("pandas", "pyarrow"):
            importlib.import_module(name)
