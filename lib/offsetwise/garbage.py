"""Python's garbage collector, told to look seldom while many values are made that stay."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 50_000
"""New objects between two looks, instead of 700."""

_lock: Final = threading.Lock()
_thresholds: Final[list[tuple[int, int, int]]] = []
"""The thresholds that each of those within found: the first one those to go back to."""


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Let the collector look seldom, in all threads, until the last of those within has left.

    Each look goes through what is new, and ever again through what stays: a fifth of the time of a snapshot of 10,000
    partitions. Garbage in cycles is still found, only later.
    """
    with _lock:
        _thresholds.append(gc.get_threshold())
        newest, *older = _thresholds[-1]
        if 0 < newest < SELDOM:
            gc.set_threshold(SELDOM, *older)
    try:
        yield
    finally:
        with _lock:
            usual = _thresholds.pop()
            if not _thresholds:
                gc.set_threshold(*usual)
