"""How a Flink job takes its checkpoints, as far as the files tell: how often, and whether they outlive the job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.model import Problem
from offsetwise.plugins.flink.engine.details import Saved
from offsetwise.plugins.flink.engine.findings import checkpoint_interval, checkpoint_not_retained
from offsetwise.transactions.timing import intervals_ms

LEAST_INTERVAL_MS: Final = 10_000
"""Below this interval, by common advice, a job is busy with its checkpoints, and the sink with its transactions."""
COPIED_MS: Final = 1_000
"""Files written closer together than this have the times of a copy, from which no interval follows."""


def hygiene(saved: Saved, *, kept_when_cancelled: bool | None) -> Iterator[Problem]:
    """Report problems of how a job takes its checkpoints; a savepoint tells nothing about that.

    Args:
        saved: The properties of the checkpoint, and the others that the job retains.
        kept_when_cancelled: Whether it outlives a cancelled job; None if its properties do not tell.
    """
    if saved.kind != "checkpoint":
        return
    if kept_when_cancelled is False:
        yield from checkpoint_not_retained(saved.id)
    yield from _interval(saved)


def _interval(saved: Saved) -> Iterator[Problem]:
    times = {saved.id: saved.written_ms, **{checkpoint.id: checkpoint.written_ms for checkpoint in saved.retained}}
    apart = intervals_ms(times)
    if not apart or min(apart) < COPIED_MS:
        return
    least, most = min(apart), max(apart)
    span = _seconds(most) if least == most else f"{_seconds(least)} to {_seconds(most)}"
    short = f", less than the {_seconds(LEAST_INTERVAL_MS)} that a job should be given" * (least < LEAST_INTERVAL_MS)
    yield from checkpoint_interval(f"{span} apart{short}", _seconds(most))


def _seconds(milliseconds: int) -> str:
    """Format a duration.

    >>> _seconds(60_000), _seconds(1_500)
    ('60 s', '1.5 s')
    """
    return f"{milliseconds / 1000:,.1f}".removesuffix(".0") + " s"
