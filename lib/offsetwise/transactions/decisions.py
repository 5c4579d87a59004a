from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from offsetwise.model import Count, OpenPartition, SeenTransaction, Time


class Decision(StrEnum):
    """What is to become of a transaction."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"
    NOTHING = "NOTHING"
    """Not held, of this job, and over."""
    SETTLED = "SETTLED"
    """Held, and committed."""
    LOST = "LOST"
    """Held, and aborted: its records are lost."""
    UNKNOWN = "UNKNOWN"
    FOREIGN = "FOREIGN"
    """Held with an id that another producer has now."""
    WAIT = "WAIT"
    """The broker is ending it."""
    LIVE = "LIVE"
    """The job still runs."""
    UNEXPLAINED = "UNEXPLAINED"
    """Open, and no checkpoint explains why: a person decides."""
    OTHER_JOB = "OTHER_JOB"
    SINK_WENT_ON = "SINK_WENT_ON"
    """Committed after the checkpoint: a start from it writes these records again."""
    NOT_NEWEST = "NOT_NEWEST"
    """A newer checkpoint may hold it."""
    WRONG_CLUSTER = "WRONG_CLUSTER"
    DENIED = "DENIED"
    HANGING = "HANGING"
    """Open on a partition only."""


Decided: TypeAlias = tuple[Decision, str]
"""With its reason."""
CLOSED: Final = (Decision.NOTHING, Decision.SETTLED, Decision.OTHER_JOB)
"""Decisions about transactions that are not open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTransaction:
    """One transaction, what it was found as, and what is to become of it."""

    transactional_id: str | None
    """None for one that only a partition knows."""
    producer_id: Count | None
    """None if only its name is held."""
    epoch: int | None
    """None if it was not read, because nothing depends on it."""
    held: bool
    """Whether the checkpoint holds it."""
    held_state: str | None
    """The state in the checkpoint; None if it is not held."""
    broker_state: str | None
    """Kafka's state of its id now; None if there is no such id, or no answer."""
    left_ms: Count | None
    """Milliseconds until the broker aborts it, negative once that is due; None if it is not open or has no time-out."""
    decision: Decision
    reason: str
    """One sentence or more."""
    deadline: Time | None = None
    """When the broker aborts it, by the broker's clock; None likewise."""
    partitions: tuple[OpenPartition, ...] = ()
    """The partitions that it holds open, as far as the user may see them; if it is over, those in the logs."""
    coordinator_epoch: int | None = None
    """For a hanging one, as its partition's leader has it."""
    newer_may_hold: bool = False
    """Whether it is to be aborted, and a newer checkpoint, which could not be searched for, may hold it."""

    @property
    def as_required(self) -> SeenTransaction:
        """The state that a plan requires to be unchanged."""
        return SeenTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            epoch=self.epoch,
            state=self.broker_state,
            decision=self.decision,
            partitions=self.partitions,
        )
