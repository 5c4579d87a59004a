"""What a cluster can be asked about beside its logs: each stream has some of these abilities.

The module `reader` of a stream has an ability where it has all its functions. `streams.reader` finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from offsetwise.config import ClusterConfig
from offsetwise.model import (
    AnyPosition,
    Behind,
    Cluster,
    Count,
    PlannedTransaction,
    Problem,
    QuotaUse,
    Snapshot,
    TopicPartition,
)
from offsetwise.ports.log_observations import LogsLook
from offsetwise.progress import Progress
from offsetwise.streams.access import AclCommand, Permissions, Step
from offsetwise.transactions.ended import Ends
from offsetwise.transactions.observed import HeldTransactions
from offsetwise.transactions.report import LookPair
from offsetwise.transactions.upgrade import TransactionFacts

Place = tuple[TopicPartition, AnyPosition]
"""A partition, and the next record to read there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordAt:
    """The record that a position is after, of a stream whose records may be aggregates of several."""

    position: AnyPosition
    """The position, exact: inside the aggregate, or after the whole record."""
    aggregate: Count | None
    """How many user records it packs together; None of a plain record, and of one that the stream has lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAt:
    """What reading at positions told; nothing of a stream whose snapshots tell everything."""

    problems: tuple[Problem, ...] = ()
    lag_by_position: Mapping[Place, Behind] = field(default_factory=dict)
    """By position, of those that were asked about."""
    records: Mapping[Place, RecordAt] = field(default_factory=dict)
    """By position, of those whose record was read, or is known to be lost."""
    quota: QuotaUse | None = None


@runtime_checkable
class ReadsTimes(Protocol):
    """A stream whose records have times."""

    def offsets_for_times(
        self, config: ClusterConfig, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, AnyPosition | None]:
        """Return, per partition, the first position whose timestamp is at or after the given one (epoch ms).

        None where there is no such record, or the cluster gave no answer: this is where to look, never an answer.
        """

    def timestamps_at(self, config: ClusterConfig, positions: Iterable[Place]) -> Mapping[Place, int | None]:
        """Return the timestamp (epoch ms) of the first record at or after each place; None where nothing came."""


@runtime_checkable
class ReadsAtPositions(Protocol):
    """A stream whose records have to be read to know what a position is after."""

    def read_at(self, config: ClusterConfig, positions: Iterable[Place], snapshot: Snapshot) -> ReadAt:
        """Hold positions against the cluster by reading at them, where no snapshot tells what is wrong or left.

        Args:
            config: The cluster.
            positions: The positions, each in one partition.
            snapshot: What the cluster said before.
        """


@runtime_checkable
class ReportsAccess(Protocol):
    """A cluster that says what a user may do, and how to grant it."""

    def try_connection(
        self, config: ClusterConfig, *, topic: str | None, groups: Sequence[str], progress: Progress
    ) -> tuple[Step, ...]:
        """Try to reach a cluster, step by step."""

    def read_permissions(
        self, cluster: Cluster, config: ClusterConfig, *, topics: Sequence[str], groups: Sequence[str]
    ) -> Permissions:
        """Ask what the user may do."""

    def minimum_acls(
        self, config: ClusterConfig, *, topics: Iterable[str], mirror_topics: Iterable[str], groups: Iterable[str]
    ) -> tuple[AclCommand, ...]:
        """Return the commands that let the user read what a migration needs."""


@runtime_checkable
class ReadsTransactions(Protocol):
    """A cluster that jobs write to in transactions."""

    def look_at_transactions(
        self,
        config: ClusterConfig,
        pending: HeldTransactions,
        *,
        topics: Sequence[str] = (),
        apart_s: float = 2,
        timeout_s: float = 20,
    ) -> LookPair:
        """Look twice at the transactions of a job's sinks; nothing is created on a cluster that never had any.

        Args:
            config: The cluster that the sinks write to.
            pending: What the job's checkpoint holds.
            topics: Topics to look at beside those that open transactions name.
            apart_s: The time between both looks, in which a job that runs moves.
            timeout_s: How long each look may take; what is missing then is named in `problems`.
        """

    def transaction_facts(self, config: ClusterConfig, *, timeout_s: float = 20) -> TransactionFacts:
        """Ask every broker what it says of time-outs of transactions, and of two-phase commit."""

    def read_ends(
        self,
        config: ClusterConfig,
        transactions: Sequence[PlannedTransaction],
        *,
        count: bool = False,
        timeout_s: float = 20,
    ) -> Ends:
        """Read what coordinators and logs say of transactions that a plan ends; nothing is written.

        Args:
            config: The cluster that the sinks write to.
            transactions: What is planned.
            count: Whether to count the records that each holds, which reads them up to a bound.
            timeout_s: How long it may take; what is missing then is not in the answer.
        """


@runtime_checkable
class LooksAtLogs(Protocol):
    """A cluster whose logs have ends that can be watched."""

    def look_at_logs(
        self, config: ClusterConfig, topics: tuple[str, ...], previous: Mapping[TopicPartition, int]
    ) -> LogsLook:
        """Look once where logs end, and who wrote to those that have grown.

        Args:
            config: The cluster.
            topics: Whose logs.
            previous: The ends of the look before; empty for a first one.
        """


@runtime_checkable
class KeepsMirrorTopics(Protocol):
    """A cluster on which a mirror keeps topics of its own."""

    def is_of_mirror(self, topic: str) -> bool:
        """Return whether a topic belongs to the mirror itself."""
