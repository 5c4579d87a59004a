from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from offsetwise.transactions.observed import NO_TIMEOUT_MS, Answer, Described, TransactionState
from offsetwise.wording import duration

CLEANUP_MS: Final = 10_000
"""How much later than its time-out a transaction may be aborted: the interval of the brokers' checks
(`transaction.abort.timed.out.transaction.cleanup.interval.ms`)."""
SOON_MS: Final = 900_000
DEFAULT_TIMEOUT_MS: Final = 3_600_000
"""KafkaSink's default for `transaction.timeout.ms` of its producer."""
PREPARED: Final = "FLIP-319"
"""The schema of committables whose transactions the broker has prepared (KIP-939): they do not time out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeout:
    stated_ms: int | None
    """The value in the migration file, for the job that is to start."""
    seen_ms: int | None = None
    """The value of the job's transactions at the coordinators; None if there are none."""

    @property
    def ms(self) -> int:
        return self.stated_ms or self.seen_ms or DEFAULT_TIMEOUT_MS

    @property
    def source(self) -> str:
        if self.stated_ms is not None:
            other = self.seen_ms is not None and self.seen_ms != self.stated_ms
            return f"stated; its transactions have {duration(self.seen_ms)}" if other else "stated"
        return "as its transactions have it" if self.seen_ms is not None else "KafkaSink's default, none is stated"


def seen_timeout_ms(answers: Iterable[Answer]) -> int | None:
    """Return the longest time-out of some transactions at their coordinators; None if none has one."""
    known = (answer.timeout_ms for answer in answers if isinstance(answer, Described))
    return max((timeout_ms for timeout_ms in known if timeout_ms != NO_TIMEOUT_MS), default=None)


def left_ms(answer: Answer, now_ms: int) -> int | None:
    """Return the time until an open transaction times out, in ms; negative once it has.

    Args:
        answer: The coordinator's answer.
        now_ms: The current time, epoch ms.

    Returns:
        None if nothing is open, or the transaction has no time-out.

    >>> begun = Described(producer_id=1, epoch=0, state="Ongoing", timeout_ms=60_000, start_ms=1_000)
    >>> left_ms(begun, 11_000)
    50000
    """
    if not isinstance(answer, Described) or answer.state != TransactionState.ONGOING or answer.start_ms is None:
        return None
    return None if answer.timeout_ms == NO_TIMEOUT_MS else answer.start_ms + answer.timeout_ms - now_ms


def deadline(answer: Described, now_ms: int) -> str:
    """Return a sentence about when the broker aborts an open transaction, if that is soon or never."""
    remaining = left_ms(answer, now_ms)
    later = f"up to {duration(CLEANUP_MS)} later"
    if remaining is None:
        return " It has no time-out (two-phase commit): only a person or the job ends it."
    if remaining <= 0:
        return f" Its time-out has passed: the broker aborts it, {later}."
    return f" The broker aborts it in {duration(remaining)}, {later}." if remaining <= SOON_MS else ""


def intervals_ms(written: Mapping[int, int | None]) -> list[int]:
    """Return the times between consecutive checkpoints of a job, in the order of their numbers, in ms.

    Args:
        written: When each was written, epoch ms, by its number.

    >>> intervals_ms({3: 1_000, 4: 61_000, 6: 190_000})
    [60000]
    """
    known = sorted((number, at) for number, at in written.items() if at is not None)
    return [later - at for (before, at), (number, later) in pairwise(known) if number == before + 1]
