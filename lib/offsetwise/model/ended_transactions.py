"""The transactions of a job's sinks that a plan ends, and their state when it was drafted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.offsets import Count, Offset, Time
from offsetwise.position import OfPartition


class Settlement(StrEnum):
    """How a plan ends a transaction."""

    COMMIT = "COMMIT"
    """Its records become visible. It cannot be undone."""
    ABORT = "ABORT"
    """Its records never become visible. It cannot be undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPartition(OfPartition):
    """What an open transaction holds on one partition."""

    topic: str
    partition: int
    start_offset: Offset | None
    """Its first record, where read_committed readers stop; None if it has written nothing there."""
    records: Count | None = None
    """The number of records; None if they were not, or cannot be, counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTransaction:
    """One transaction that a plan ends, by exactly this id, producer id and epoch."""

    transactional_id: str | None
    """None for a hanging one: only its partition knows it, and markers end it there."""
    producer_id: Count
    epoch: int
    decision: Settlement
    version: int | None
    """The version of the EndTxn request; None for a hanging one."""
    partitions: tuple[OpenPartition, ...]
    deadline: Time | None
    """When the broker aborts it, up to 10 s later; ISO 8601, UTC. None if it never does."""
    reason: str
    """One sentence or more."""
    by: str | None = None
    """Who decided if nothing explained it; as recorded, not verified."""
    coordinator_epoch: int | None = None
    """The coordinator epoch of the markers that end a hanging one; None for all others."""

    @property
    def name(self) -> str:
        of = "A hanging transaction" if self.transactional_id is None else self.transactional_id
        return f"{of} (producer {self.producer_id}, epoch {self.epoch})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTransaction:
    """What was seen of one transaction that counts when a plan is drafted."""

    transactional_id: str | None
    producer_id: Count | None
    epoch: int | None
    state: str | None
    """Kafka's state; None if the cluster has no such id."""
    decision: str
    """The decision about it; see `offsetwise.transactions`."""
    partitions: tuple[OpenPartition, ...]
    """The partitions that it held open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRequirement:
    """The cluster that the job's sinks write to, which must still be the same one and say the same."""

    name: str
    """The name in the migration file."""
    cluster_id: str
    states: tuple[SeenTransaction, ...]
    """All transactions that are held or open, or are objections to a start; ended ones that are not held are left
    out."""
    topics: tuple[str, ...] = ()
    """Topics that were searched besides those that open transactions name."""
