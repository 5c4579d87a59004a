"""Spark kept warm for the pages: started when a migration with clusters is opened, freed when idle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offsetwise.config import SparkSettings
from offsetwise.errors import OffsetwiseError
from offsetwise.pipeline.start import SESSION_OPEN, can_be_installed, start_spark
from offsetwise.progress import no_progress

IDLE_S: Final = 900.0
"""Idle time after which Spark is freed."""


class Warmth(StrEnum):
    ABSENT = "absent"
    """Not installed yet: the first user installs it."""
    COLD = "cold"
    """Not started yet."""
    STARTING = "starting"
    WARM = "warm"
    FREED = "freed"
    """Freed after being idle; the next user starts it again."""
    FAILED = "failed"
    """It could not be started ahead; the next user tries again, and reports the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkNow:
    warmth: Warmth
    why: str = ""


def _start(settings: SparkSettings) -> None:
    start_spark(settings, no_progress, records=True)


def _end() -> None:
    from offsetwise.pipeline.session import close_session  # noqa: PLC0415 - as above

    close_session()


def _is_there() -> bool:
    return SESSION_OPEN.is_set()


class WarmSpark:
    """The one Spark session of this process, as the pages see it.

    Args:
        start: Starts Spark with these settings; returns when it is up.
        end: Ends it.
        is_there: Returns whether it is up, whoever started it.
        is_missing: Returns whether PySpark is not installed yet; the first user installs it.
        idle_s: Idle time in seconds after which it is freed.
    """

    def __init__(
        self,
        start: Callable[[SparkSettings], None] = _start,
        end: Callable[[], None] = _end,
        is_there: Callable[[], bool] = _is_there,
        *,
        is_missing: Callable[[], bool] = can_be_installed,
        idle_s: float = IDLE_S,
    ) -> None:
        self._start, self._end, self._is_there, self._idle_s = start, end, is_there, idle_s
        self._is_missing = is_missing
        self._changed = threading.Condition()
        self._state = SparkNow(warmth=Warmth.COLD)
        self._users = 0
        self._freeing = False
        self._last = time.monotonic()
        self._watched = False

    def open(self, settings: SparkSettings) -> SparkNow:
        """Start Spark in the background if this process never had it, and return its state. Returns at once."""
        if self._is_missing():
            return SparkNow(warmth=Warmth.ABSENT)
        with self._changed:
            if self._state.warmth is Warmth.COLD and not self._is_there():
                self._state = SparkNow(warmth=Warmth.STARTING)
                threading.Thread(
                    target=self._start_now, args=(settings,), name="offsetwise-warm-spark", daemon=True
                ).start()
            elif self._state.warmth is not Warmth.STARTING and self._is_there():
                return SparkNow(warmth=Warmth.WARM)
            return self._state

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep Spark while the block may need it. If it is just being freed, wait for that."""
        with self._changed:
            self._changed.wait_for(lambda: not self._freeing)
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._note_there()

    def free_if_idle(self) -> bool:
        """End Spark if it was idle for long enough, and return whether it was ended. Pages do not wait for it."""
        with self._changed:
            if self._busy() or self._left_s() > 0:
                return False
            self._freeing = there = self._is_there()
        try:
            if there:
                self._end()
        finally:
            with self._changed:
                self._freeing = False
                self._state = SparkNow(warmth=Warmth.FREED) if there else self._state
                self._changed.notify_all()
        return True

    def _start_now(self, settings: SparkSettings) -> None:
        why = ""
        try:
            self._start(settings)
        except OffsetwiseError as error:
            why = error.problem
        except Exception as error:  # noqa: BLE001 - the next user of Spark tries again and reports it
            why = type(error).__name__
        with self._changed:
            self._state = SparkNow(warmth=Warmth.FAILED, why=why) if why else SparkNow(warmth=Warmth.WARM)
            self._note_there()

    def _note_there(self) -> None:
        self._last = time.monotonic()
        if self._is_there() and not self._watched:
            self._watched = True
            threading.Thread(target=self._watch, name="offsetwise-idle-spark", daemon=True).start()
        self._changed.notify_all()

    def _left_s(self) -> float:
        return self._last + self._idle_s - time.monotonic()

    def _busy(self) -> bool:
        return self._users > 0 or self._freeing or self._state.warmth is Warmth.STARTING

    def _watch(self) -> None:
        while not self.free_if_idle():
            with self._changed:
                if self._busy():
                    self._changed.wait()
                else:
                    self._changed.wait(timeout=max(self._left_s(), 0))
        with self._changed:
            self._watched = False
