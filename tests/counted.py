"""Counts what code does, where a promise is about its work and not about the seconds of one machine."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(work: Callable[[], object]) -> int:
    """Count the calls of functions, Python's own included: what a list is asked once for each of its elements shows."""
    counted = 0

    def count(*_: object) -> None:
        nonlocal counted
        counted += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted
