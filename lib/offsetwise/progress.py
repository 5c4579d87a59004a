from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and the total."""


def no_progress(_step: str, _done: int, _total: int) -> None:
    """Ignore the progress."""
