from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from offsetwise.model import MAX_TIME_MS, Finding, OpenPartition, Time, time_of
from offsetwise.model.offsets import Count, Offset
from offsetwise.position import OfPartition, TopicPartition
from offsetwise.transactions.deciding import decide
from offsetwise.transactions.decisions import CLOSED, Decision, SinkTransaction
from offsetwise.transactions.observed import Described, HeldTransactions, LogSearch, TransactionLook, TransactionState
from offsetwise.transactions.upgrade import Upgrade


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnds(OfPartition):
    """Where one partition of a sink ends."""

    topic: str
    partition: int
    last_stable_offset: Offset | None
    """Where read_committed readers stop; None if the leader did not answer."""
    log_end_offset: Count | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookPair:
    """Two looks at one cluster, and what was read once."""

    cluster_id: str | None
    brokers: frozenset[str]
    """HOST:PORT of each, lower case."""
    first: TransactionLook
    second: TransactionLook
    partitions: tuple[LogEnds, ...] = ()
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each."""
    end_txn_version: int | None = None
    """The highest version of EndTxn that the brokers take; None if they did not answer."""
    search: LogSearch | None = None
    """Of the sink's logs, after the second observation; None if nothing was searched for, or no topic is known."""

    @property
    def taken_at(self) -> Time:
        """When the second observation began, which decides."""
        return time_of(datetime.fromtimestamp(self.second.taken_ms / 1000, UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTransactions:
    """What a checkpoint's sinks have left on their cluster, and what is to become of it."""

    taken_at: Time
    """When the deciding observation began."""
    cluster_id: str | None
    complete: bool
    """Whether everything could be read: False if rights, or a coordinator, were missing."""
    transactions: tuple[SinkTransaction, ...]
    partitions: tuple[LogEnds, ...] = ()
    """Of the topics that open transactions name, and the requested ones."""
    problems: tuple[str, ...] = ()
    """Why it is not complete, a sentence each."""
    findings: tuple[Finding, ...] = ()
    """What is worth knowing before the job starts again."""
    upgrade: Upgrade | None = None
    """The steps between the job and two-phase commit; None if they were not requested."""
    end_txn_version: int | None = None
    """The highest version of EndTxn that the brokers take: 5 since Kafka 4.0. None if they did not answer."""

    @property
    def topics_of_ends(self) -> tuple[str, ...]:
        """The topics, sorted, whose logs have shown that held transactions are committed, to search them again."""
        settled = (row for row in self.transactions if row.decision is Decision.SETTLED)
        return tuple(sorted({at.topic for row in settled for at in row.partitions}))

    @property
    def open(self) -> tuple[SinkTransaction, ...]:
        """The transactions that must still be ended, or that are objections to a start."""
        return tuple(transaction for transaction in self.transactions if transaction.decision not in CLOSED)

    @property
    def counts(self) -> Mapping[Decision, int]:
        """The number of each decision, most pressing first as the decisions are defined."""
        decisions = [transaction.decision for transaction in self.transactions]
        return {decision: decisions.count(decision) for decision in Decision if decision in decisions}


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkAnswer:
    transactions: tuple[SinkTransaction, ...]
    timeout_ms: int | None
    """The longest time-out of the job's transactions there; None if none was seen."""


def report(pending: HeldTransactions, observations: LookPair, *, elsewhere: str | None = None) -> SinkTransactions:
    starts = {(write.partition, write.producer_id): write.start_offset for write in observations.second.writes}
    rows = tuple(
        _open(row, observations.second, starts)
        for row in decide(
            pending, observations.first, observations.second, search=observations.search, elsewhere=elsewhere
        )
    )
    return SinkTransactions(
        cluster_id=observations.cluster_id,
        complete=not observations.problems and all(row.decision is not Decision.DENIED for row in rows),
        transactions=rows,
        partitions=observations.partitions,
        problems=observations.problems,
        end_txn_version=observations.end_txn_version,
        taken_at=observations.taken_at,
    )


def _open(
    row: SinkTransaction, observation: TransactionLook, starts: Mapping[tuple[TopicPartition, int], int]
) -> SinkTransaction:
    answer = observation.answers.get(row.transactional_id or "")
    if not isinstance(answer, Described) or (answer.producer_id, answer.epoch) != (row.producer_id, row.epoch):
        return row
    if answer.state != TransactionState.ONGOING:
        return row
    ends_ms = None if row.left_ms is None else observation.taken_ms + row.left_ms
    return replace(
        row,
        deadline=None
        if ends_ms is None or not 0 <= ends_ms <= MAX_TIME_MS
        else time_of(datetime.fromtimestamp(ends_ms / 1000, UTC)),
        partitions=tuple(
            OpenPartition(topic=at.topic, partition=at.partition, start_offset=starts.get((at, answer.producer_id)))
            for at in answer.partitions
        ),
    )
