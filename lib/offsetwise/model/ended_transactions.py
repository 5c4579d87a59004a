"""The transactions of a job's sinks that a plan ends, and what was seen of them when it was drafted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.offsets import Count, Offset, Time
from offsetwise.position import OfPartition


class Settlement(StrEnum):
    """How a plan ends a transaction."""

    COMMIT = "COMMIT"
    """Its records become visible. It cannot be taken back."""
    ABORT = "ABORT"
    """Its records are never visible. It cannot be taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPartition(OfPartition):
    """What an open transaction holds on one partition."""

    topic: str
    partition: int
    start_offset: Offset | None
    """Its first record, where read_committed readers stop; None where it has written nothing there."""
    records: Count | None = None
    """How many; None where they were not, or cannot be, counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTransaction:
    """One transaction that a plan ends, by exactly this id, producer id and epoch."""

    transactional_id: str | None
    """None for one that hangs: only its partition knows it, and markers end it there."""
    producer_id: Count
    epoch: int
    decision: Settlement
    version: int | None
    """Of the EndTxn request; None for one that hangs."""
    partitions: tuple[OpenPartition, ...]
    deadline: Time | None
    """When the broker aborts it by itself, up to 10 s later; ISO 8601, UTC. None where it never does."""
    reason: str
    """A sentence or more."""
    by: str | None = None
    """Who decided where nothing explained it; as recorded, not believed."""
    coordinator_epoch: int | None = None
    """Of the markers that end one that hangs; None for every other."""

    @property
    def name(self) -> str:
        """Name it for people."""
        of = "A hanging transaction" if self.transactional_id is None else self.transactional_id
        return f"{of} (producer {self.producer_id}, epoch {self.epoch})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTransaction:
    """What was seen of one transaction that counts when a plan is drafted."""

    transactional_id: str | None
    producer_id: Count | None
    epoch: int | None
    state: str | None
    """Kafka's word; None where the cluster has no such id."""
    decision: str
    """What is to become of it; see `offsetwise.transactions`."""
    partitions: tuple[OpenPartition, ...]
    """What it held open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkRequirement:
    """The cluster that the job's sinks write to, which must still be the same one and say the same."""

    name: str
    """What the migration file calls it."""
    cluster_id: str
    states: tuple[SeenTransaction, ...]
    """Of all transactions that are held or open, or speak against a start; what is over and not held is left out."""
    topics: tuple[str, ...] = ()
    """That were looked at beside those that open transactions name."""
