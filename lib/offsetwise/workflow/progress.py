"""What is told of a reading while it goes on."""

from __future__ import annotations


def unheard(_step: str, _done: int, _total: int) -> None:
    """Take progress and say nothing."""
