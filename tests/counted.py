"""Counts what code does, where a promise is about its work and not about the seconds of one machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

R = TypeVar("R")


def calls(run: Callable[[], R]) -> tuple[R, int]:
    """Return what a function returns, and how many calls of Python functions it took, generators' steps included."""
    count = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG001 - as `sys.setprofile` calls it
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        result = run()
    finally:
        sys.setprofile(before)
    return result, count
