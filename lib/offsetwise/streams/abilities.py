"""Optional abilities of clusters besides reading logs: each stream has some of them.

The module `reader` of a stream has an ability if it has all its functions. `streams.reader` checks that.
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
    """The record that a position is after, for a stream whose records may be aggregates."""

    position: AnyPosition
    """The exact position: inside the aggregate, or after the whole record."""
    aggregate: Count | None
    """How many user records it aggregates; None for a plain record, and for one that the stream has lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAt:
    """The result of reading at positions; empty for a stream whose snapshots are enough."""

    problems: tuple[Problem, ...] = ()
    lag_by_position: Mapping[Place, Behind] = field(default_factory=dict)
    """By the positions that were requested."""
    records: Mapping[Place, RecordAt] = field(default_factory=dict)
    """By position, for those whose record was read, or is known to be lost."""
    quota: QuotaUse | None = None


@runtime_checkable
class ReadsTimes(Protocol):
    """A stream whose records have times."""

    def offsets_for_times(
        self, config: ClusterConfig, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, AnyPosition | None]:
        """Return, by partition, the first position with a timestamp at or after the given one (epoch ms).

        None if there is no such record, or the cluster did not answer: it shows where to look, and is never an answer.
        """

    def timestamps_at(self, config: ClusterConfig, positions: Iterable[Place]) -> Mapping[Place, int | None]:
        """Return the timestamp (epoch ms) of the first record at or after each position; None if none was read."""


@runtime_checkable
class ReadsAtPositions(Protocol):
    """A stream whose records must be read to know what a position is after."""

    def read_at(self, config: ClusterConfig, positions: Iterable[Place], snapshot: Snapshot) -> ReadAt:
        """Read at positions, for problems and lags that no snapshot shows.

        Args:
            config: The cluster.
            positions: The positions, each in one partition.
            snapshot: The snapshot of the cluster.
        """


@runtime_checkable
class ReportsAccess(Protocol):
    """A cluster that reports the rights of a user, and how to grant them."""

    def try_connection(
        self, config: ClusterConfig, *, topic: str | None, groups: Sequence[str], progress: Progress
    ) -> tuple[Step, ...]:
        """Try to reach a cluster, step by step."""

    def read_permissions(
        self, cluster: Cluster, config: ClusterConfig, *, topics: Sequence[str], groups: Sequence[str]
    ) -> Permissions:
        """Read the rights of the user."""

    def minimum_acls(
        self, config: ClusterConfig, *, topics: Iterable[str], mirror_topics: Iterable[str], groups: Iterable[str]
    ) -> tuple[AclCommand, ...]:
        """Return the commands that grant the rights to read a migration."""


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
        """Observe the transactions of a job's sinks twice, without creating anything on a cluster that never had any.

        Args:
            config: The cluster that the sinks write to.
            pending: The transactions of the job's checkpoint.
            topics: Topics to search besides those that open transactions name.
            apart_s: The seconds between both observations, in which a running job proceeds.
            timeout_s: How long each observation may take; what is missing then is listed in `problems`.
        """

    def transaction_facts(self, config: ClusterConfig, *, timeout_s: float = 20) -> TransactionFacts:
        """Read from every broker its settings of transaction time-outs and two-phase commit."""

    def read_ends(
        self,
        config: ClusterConfig,
        transactions: Sequence[PlannedTransaction],
        *,
        count: bool = False,
        timeout_s: float = 20,
    ) -> Ends:
        """Read the state of planned transactions from coordinators and logs; nothing is written.

        Args:
            config: The cluster that the sinks write to.
            transactions: The planned transactions.
            count: Whether to count the records of each, which reads them up to a limit.
            timeout_s: How long it may take; what is not read by then is missing in the answer.
        """


@runtime_checkable
class LooksAtLogs(Protocol):
    """A cluster whose logs have ends that can be watched."""

    def look_at_logs(
        self, config: ClusterConfig, topics: tuple[str, ...], previous: Mapping[TopicPartition, int]
    ) -> LogsLook:
        """Observe the ends of logs once, and the producers of those that have grown.

        Args:
            config: The cluster.
            topics: The topics of the logs.
            previous: The ends at the previous observation; empty for the first one.
        """


@runtime_checkable
class KeepsMirrorTopics(Protocol):
    """A cluster on which a mirror keeps topics of its own."""

    def is_of_mirror(self, topic: str) -> bool:
        """Return whether a topic belongs to the mirror itself."""
