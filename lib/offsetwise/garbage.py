"""Make Python's garbage collector run less often while many long-lived values are created."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SELDOM: Final = 50_000
"""New objects between two collections, instead of 700."""

_lock: Final = threading.Lock()
_thresholds: Final[list[tuple[int, int, int]]] = []
"""The thresholds at each entry: the first one is to be restored."""


@contextmanager
def collected_seldom() -> Iterator[None]:
    """Let the collector run seldom, in all threads, until the last block has ended.

    Each collection visits what is new, and again and again what is long-lived: a fifth of the time of a snapshot of
    10,000 partitions. Cyclic garbage is still collected, only later.
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
