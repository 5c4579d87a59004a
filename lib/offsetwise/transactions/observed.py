from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from offsetwise.model import Count, NamingStrategy, Offset, TimeMs, Transaction
from offsetwise.position import OfPartition, TopicPartition
from offsetwise.transactions.names import parse

NO_TIMEOUT_MS: Final = 2**31 - 1
"""The time-out of a transaction that was begun for two-phase commit: the broker never aborts it."""
PROBE: Final = "-offsetwise-0-0"
"""A suffix for an unused id, to check whether ids with a prefix may be described."""


class TransactionState(StrEnum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


FINISHING: Final = (
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.PREPARE_EPOCH_FENCE,
)
"""The coordinator has decided, and is writing its markers."""
OPEN: Final = (TransactionState.ONGOING, *FINISHING)


class Missing(StrEnum):
    """Why a coordinator did not describe an id."""

    ABSENT = "absent"
    """It has no such id (error 105)."""
    DENIED = "denied"
    """The user may not describe it (error 53)."""
    UNAVAILABLE = "unavailable"
    """There was no coordinator, or it did not answer in time."""
    NOT_ASKED = "not asked"
    """The cluster has no `__transaction_state`, which the request would have created."""
    UNSUPPORTED = "unsupported"
    """The brokers are too old for the request."""


class UnsupportedBrokerError(Exception):
    """A broker does not know the requests about transactions: it is older than Kafka 3.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTransaction:
    """A transactional id in a broker's list."""

    producer_id: Count
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a coordinator says of a transactional id."""

    producer_id: Count
    epoch: int
    state: str
    timeout_ms: int
    start_ms: TimeMs | None
    """When its newest transaction began, by the broker's clock; None if it never had one."""
    partitions: tuple[TopicPartition, ...] = ()
    """The partitions of the open transaction that the user may see."""

    def __post_init__(self) -> None:
        """Raise for values that no broker returns: Kafka's protocol has 32 bits for them."""
        if not -NO_TIMEOUT_MS <= self.timeout_ms <= NO_TIMEOUT_MS:
            raise ValueError(f"expected at most {NO_TIMEOUT_MS} as timeout_ms, found {self.timeout_ms}")


Answer: TypeAlias = Described | Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWrite:
    """A transaction that the leader of a partition holds open."""

    partition: TopicPartition
    producer_id: Count
    epoch: int
    start_offset: Offset
    """The first record of the transaction there, which read_committed readers do not pass."""
    last_sequence: int
    last_timestamp_ms: Count
    """The producer's timestamp of the newest record; -1 without one."""
    coordinator_epoch: int = -1
    """The epoch of the coordinator that last ended a transaction of the producer there; -1 if none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTransaction(OfPartition):
    """What the log of one partition shows of a transaction: its records, and the control record that ends it."""

    topic: str
    partition: int
    producer_id: Count
    epoch: int
    start_offset: Offset
    """Its first record there."""
    records: Count
    """How many records it has there."""
    last_timestamp_ms: int
    """The producer's timestamp of its newest record there; -1 without one."""
    committed: bool | None
    """According to the control record; None if none follows in what was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSearch:
    """What a search of the sink's logs for transactions that their coordinator no longer describes has shown."""

    topics: tuple[str, ...]
    """The searched topics, sorted."""
    transactions: tuple[LoggedTransaction, ...] = ()
    unread: tuple[str, ...] = ()
    """The parts of the logs that were not read, each a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionLook:
    """What a cluster said at one moment."""

    taken_ms: TimeMs
    """When it was read, by the clock of this machine."""
    listed: Mapping[str, ListedTransaction] = field(default_factory=dict)
    """By transactional id, those that the user may see."""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """By transactional id, of those that were described."""
    writes: tuple[OpenWrite, ...] = ()
    sees_all: bool | None = None
    """Whether the user may describe every transactional id; None if no coordinator was asked, or answered."""
    unlisted: bool | None = None
    """True if a broker did not list the transactions that it coordinates; else None."""
    silent: tuple[TopicPartition, ...] = ()
    """The sink's partitions whose leader did not return its open transactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTransactions:
    checkpoint_id: int
    """The number of the checkpoint."""
    written_ms: int | None
    """When it was written; None if the file system has no times."""
    prefixes: tuple[str, ...]
    """The transactional id prefixes of its sinks."""
    transactions: tuple[Transaction, ...] = ()
    pooled: tuple[str, ...] = ()
    """The prefixes whose names are reused (POOLING), by the writers' states, even if nothing is held."""
    newer: int | None = None
    """The newest retained checkpoint of the job, if it is not this one."""
    searched: bool = False
    """Whether the job's folder of retained checkpoints was searched, so that without `newer` there is none."""

    def strategies(self) -> Mapping[str, NamingStrategy | None]:
        """Return the strategy of each prefix; None if the checkpoint does not record it."""
        results: dict[str, NamingStrategy | None] = dict.fromkeys(self.prefixes)
        for transaction in self.transactions:
            name = parse(transaction.transactional_id)
            if name is not None and transaction.strategy is not None:
                results[name.prefix] = transaction.strategy
        return results | dict.fromkeys(self.pooled, NamingStrategy.POOLING)

    def written_before(self, at_ms: int | None) -> bool:
        return at_ms is not None and self.written_ms is not None and at_ms > self.written_ms

    def own(self, names: Iterable[str]) -> list[str]:
        """Return those of the transactional ids that are held or belong to a sink of this job."""
        pending_ids, prefixes = {transaction.transactional_id for transaction in self.transactions}, set(self.prefixes)
        return [
            name
            for name in names
            if name in pending_ids or ((parts := parse(name)) is not None and parts.prefix in prefixes)
        ]


def together(many: Iterable[HeldTransactions]) -> HeldTransactions:
    """Return the transactions of several checkpoints as one, so that one observation answers for all of them."""
    observations = tuple(many)
    times = [transactions.written_ms for transactions in observations]
    return HeldTransactions(
        checkpoint_id=max(transactions.checkpoint_id for transactions in observations),
        written_ms=None if None in times else min(times),  # type: ignore[type-var] # no None is left
        prefixes=tuple(dict.fromkeys(prefix for transactions in observations for prefix in transactions.prefixes)),
        transactions=tuple(transaction for transactions in observations for transaction in transactions.transactions),
        pooled=tuple(dict.fromkeys(prefix for transactions in observations for prefix in transactions.pooled)),
    )


def is_past(transaction: Transaction, answer: Answer | None) -> bool:
    """Return whether a held transaction is over, by what its coordinator describes now.

    Then the logs are searched: the coordinator keeps only the newest transaction of an id, and is not trusted alone.
    """
    if not isinstance(answer, Described) or answer.producer_id != transaction.producer_id or transaction.epoch is None:
        return False
    later = answer.epoch - transaction.epoch
    if answer.state == TransactionState.ONGOING:
        return later > 0
    ending = answer.state == TransactionState.PREPARE_EPOCH_FENCE or (answer.state in FINISHING and later <= 1)
    return later >= 0 and not ending


def to_search(pending: HeldTransactions, answers: Mapping[str, Answer]) -> frozenset[tuple[int, int]]:
    """Return producer id and epoch of each transaction whose end is searched for in the logs."""
    return frozenset(
        (transaction.producer_id, transaction.epoch)
        for transaction in pending.transactions
        if transaction.producer_id is not None
        and transaction.epoch is not None
        and is_past(transaction, answers.get(transaction.transactional_id))
    )


def to_describe(pending: HeldTransactions, listed: Mapping[str, ListedTransaction]) -> frozenset[str]:
    """Return the ids whose epoch and times matter: those held, and those of this job that are not over.

    If names are used once, the list alone decides about those that are over, so that a job's many old ids cost nothing.
    """
    strategies = pending.strategies()
    transactional_ids = {transaction.transactional_id for transaction in pending.transactions}
    for transactional_id, entry in listed.items():
        name = parse(transactional_id)
        if name is None or name.prefix not in strategies:
            continue
        reused = strategies[name.prefix] is NamingStrategy.POOLING
        if entry.state in OPEN or (reused and entry.state == TransactionState.COMPLETE_COMMIT):
            transactional_ids.add(transactional_id)
    return frozenset(transactional_ids)
