"""How a Flink job takes its checkpoints, as far as the files tell: how often, and whether they outlive the job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from offsetwise.model import Problem, Saved

NOT_RETAINED: Final = "CHECKPOINT_NOT_RETAINED"
INTERVAL: Final = "CHECKPOINT_INTERVAL"
LEAST_INTERVAL_MS: Final = 10_000
"""Below it, the field says, a job is busy with its checkpoints, and the sink with its transactions."""
COPIED_MS: Final = 1_000
"""Files written closer together than this bear the times of a copy, or as good as: they tell no interval."""


def hygiene(saved: Saved, *, kept_when_cancelled: bool | None) -> Iterator[Problem]:
    """Say what is worth knowing about a job's checkpoints; a savepoint tells nothing of them.

    Args:
        saved: What the checkpoint says of itself, and the others that the job retains.
        kept_when_cancelled: Whether it outlives a job that is cancelled; None where its properties do not tell.
    """
    if saved.kind != "checkpoint":
        return
    if kept_when_cancelled is False:
        yield Problem(
            code=NOT_RETAINED,
            message=f"Flink deletes checkpoint {saved.id} when its job is cancelled: nothing would be left to move.",
            fix="Stop the job with a savepoint; and set execution.checkpointing.externalized-checkpoint-retention to "
            "RETAIN_ON_CANCELLATION.",
        )
    yield from _interval(saved)


def _interval(saved: Saved) -> Iterator[Problem]:
    """Tell the interval from checkpoints that follow each other by number, by the times of their files."""
    times = {saved.id: saved.written_ms, **{each.id: each.written_ms for each in saved.retained}}
    known = sorted((number, written) for number, written in times.items() if written is not None)
    apart = [later - written for (before, written), (number, later) in pairwise(known) if number == before + 1]
    if not apart or min(apart) < COPIED_MS:
        return
    least, most = min(apart), max(apart)
    span = _seconds(most) if least == most else f"{_seconds(least)} to {_seconds(most)}"
    short = f", less than the {_seconds(LEAST_INTERVAL_MS)} that a job should be given" * (least < LEAST_INTERVAL_MS)
    yield Problem(
        code=INTERVAL,
        message=f"By the times of their files the retained checkpoints were taken {span} apart{short}: after a "
        f"failure the job reads again what came since the last one, here up to {_seconds(most)}.",
        fix="Keep execution.checkpointing.interval at 10 s or more, and set execution.checkpointing.min-pause, so that "
        "the job works between two of them.",
    )


def _seconds(milliseconds: int) -> str:
    """Say a span of time.

    >>> _seconds(60_000), _seconds(1_500)
    ('60 s', '1.5 s')
    """
    return f"{milliseconds / 1000:,.1f}".removesuffix(".0") + " s"
