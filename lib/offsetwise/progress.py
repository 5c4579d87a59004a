from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told the name of a step, how much of it is done, and how much there is in all."""


def no_progress(_step: str, _done: int, _total: int) -> None:
    """Take progress and say nothing."""
