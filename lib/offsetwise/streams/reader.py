"""The clusters of a migration, read as they are now, whatever stream they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from offsetwise.config import ClusterConfig, Migration
from offsetwise.model import (
    AnyPosition,
    Behind,
    Cluster,
    Count,
    IsolationLevel,
    LogRange,
    PlannedTransaction,
    Problem,
    QuotaUse,
    Snapshot,
    TopicPartition,
)
from offsetwise.ports.stream import spec_of
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.progress import Progress, unheard
from offsetwise.registry import STREAMS
from offsetwise.streams.access import AclCommand, Permissions, Step
from offsetwise.transactions.ended import Ends
from offsetwise.transactions.observed import Held
from offsetwise.transactions.report import Looks
from offsetwise.transactions.upgrade import Facts

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
    behind: Mapping[Place, Behind] = field(default_factory=dict)
    """By position, of those that were asked about."""
    records: Mapping[Place, RecordAt] = field(default_factory=dict)
    """By position, of those whose record was read, or is known to be lost."""
    quota: QuotaUse | None = None


class Reading(Protocol):
    """What one cluster said, of which any part can be told as a snapshot."""

    @property
    def name(self) -> str:
        """What the migration file calls the cluster."""

    @property
    def cluster_id(self) -> str | None:
        """What it calls itself; None where it did not say."""

    def snapshot(
        self, topics: Collection[str] | None, groups: Collection[str] | None, *, if_there: Collection[str] = ()
    ) -> Snapshot:
        """Tell of some of what was read, as if nothing else had been asked for; None is all.

        Raises:
            ClusterAuthError: The user may read none of the topics.
        """


class Reader(Protocol):
    """The module `reader` of a stream. It writes nothing.

    Each verb raises a `ClusterError` where the cluster gives no answer, and a `ConfigError` where properties cannot
    be used.
    """

    def read_cluster(
        self,
        cluster: Cluster,
        config: ClusterConfig,
        *,
        topics: tuple[str, ...] | None,
        groups: tuple[str, ...] | None,
        if_there: tuple[str, ...] = (),
        mirror: bool = True,
        timeout_s: float = 20,
    ) -> Snapshot:
        """Take a snapshot; see `read_cluster` below. What is missing after `timeout_s` is named in `problems`."""

    def read_whole(
        self,
        cluster: Cluster,
        config: ClusterConfig,
        *,
        topics: tuple[str, ...] | None,
        groups: tuple[str, ...] | None,
    ) -> Reading:
        """Read a cluster once for all who want a part of it; see `read_whole` below."""

    def offsets_for_times(
        self, config: ClusterConfig, times: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, AnyPosition | None]:
        """Give, per partition, the first position whose timestamp is at or after the given one (epoch ms).

        None where there is no such record, or the cluster gave no answer: this is where to look, never an answer.
        """

    def log_ranges(
        self, config: ClusterConfig, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, LogRange]:
        """Return where the log of each partition begins and ends now; None where the cluster gave no answer."""

    def timestamps_at(self, config: ClusterConfig, places: Iterable[Place]) -> Mapping[Place, int | None]:
        """Give the timestamp (epoch ms) of the first record at or after each place; None where nothing came."""

    def read_at(self, config: ClusterConfig, places: Iterable[Place], snapshot: Snapshot) -> ReadAt:
        """Hold positions against the cluster by reading at them, where no snapshot tells what is wrong or left.

        Args:
            config: The cluster.
            places: The positions, each in one partition.
            snapshot: What the cluster said before.
        """

    def try_connection(
        self, config: ClusterConfig, *, topic: str | None, groups: Sequence[str], progress: Progress
    ) -> tuple[Step, ...]:
        """Try to reach a cluster, step by step."""

    def read_permissions(
        self, cluster: Cluster, config: ClusterConfig, *, topics: Sequence[str], groups: Sequence[str]
    ) -> Permissions:
        """Ask what the user may do."""

    def principal_of(self, config: ClusterConfig) -> str:
        """Name the user as the cluster does."""

    def minimum_acls(
        self, config: ClusterConfig, *, topics: Iterable[str], mirror_topics: Iterable[str], groups: Iterable[str]
    ) -> tuple[AclCommand, ...]:
        """Give the commands that let the user read what a migration needs."""

    def look_at_transactions(
        self,
        config: ClusterConfig,
        held: Held,
        *,
        topics: Sequence[str] = (),
        apart_s: float = 2,
        timeout_s: float = 20,
    ) -> Looks:
        """Look twice at the transactions of a job's sinks; nothing is created on a cluster that never had any.

        Args:
            config: The cluster that the sinks write to.
            held: What the job's checkpoint holds.
            topics: Topics to look at beside those that open transactions name.
            apart_s: The time between both looks, in which a job that runs moves.
            timeout_s: How long each look may take; what is missing then is named in `problems`.
        """

    def transaction_facts(self, config: ClusterConfig, *, timeout_s: float = 20) -> Facts:
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

    def is_of_mirror(self, topic: str) -> bool:
        """Say whether a topic belongs to the mirror itself."""


class ReadAgain(Protocol):
    """The function `read_again` of the module `matching` of a stream that such records, or copies of them, are on."""

    def __call__(
        self,
        config: ClusterConfig,
        wanted: Sequence[Stretch],
        *,
        isolation: IsolationLevel,
        identified: Callable[[bytes, bytes], tuple[str, int]],
    ) -> list[ReadStretch]:
        """Read stretches, in their order.

        Args:
            config: The cluster.
            wanted: What is to be read.
            isolation: Which records of a log count.
            identified: How records are told apart, by their keys and data; see `comparison.matching.Identified`.

        Raises:
            ClusterError: The cluster refuses to be read, or gives no answer.
        """


def read_again(migration: Migration, cluster: Cluster, wanted: Sequence[Stretch], *, salt: bytes) -> list[ReadStretch]:
    """Read the records around places again, as the matching of the old cluster's stream read them; see `ReadAgain`.

    Args:
        migration: The migration.
        cluster: Which of the two.
        wanted: What is to be read.
        salt: Keys the identities, as in the proofs.
    """
    config = migration.cluster(cluster)
    if not spec_of(migration.source.stream).matches_records:
        return [ReadStretch() for _ in wanted]  # the records of its positions are read otherwise
    read: ReadAgain = STREAMS.load(config.stream, "matching").read_again
    identified = partial(STREAMS.load(migration.source.stream, "matching").identified, salt)
    return read(config, wanted, isolation=migration.isolation_level, identified=identified)


def reader_of(config: ClusterConfig) -> Reader:
    """Give what reads a cluster."""
    made: Reader = STREAMS.load(config.stream, "reader")
    return made


def read_cluster(
    migration: Migration,
    cluster: Cluster,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...] | None,
    if_there: tuple[str, ...] = (),
    mirror: bool = True,
    progress: Progress = unheard,
) -> Snapshot:
    """Read one cluster of a migration.

    Args:
        migration: The migration.
        cluster: Which of the two.
        topics: The topics wanted; None for all that are not internal.
        groups: The consumer groups wanted; None for all that the cluster lists.
        if_there: Those of `topics` whose absence is no problem.
        mirror: Whether to read what the mirror itself keeps there.
        progress: Told before and after.

    Raises:
        ClusterError: The cluster gave no answer.
        ConfigError: Properties that cannot be used, a secret that is not there.
    """
    config = migration.cluster(cluster)
    progress(f"read the {cluster} cluster", 0, 1)
    taken = reader_of(config).read_cluster(
        cluster, config, topics=topics, groups=groups, if_there=if_there, mirror=mirror
    )
    progress(f"read the {cluster} cluster", 1, 1)
    return taken


def read_whole(
    migration: Migration,
    cluster: Cluster,
    *,
    topics: tuple[str, ...],
    groups: tuple[str, ...],
    progress: Progress,
) -> Reading:
    """Read one cluster of a migration, once for all jobs that want a part of it; see `read_cluster`."""
    config = migration.cluster(cluster)
    progress(f"read the {cluster} cluster", 0, 1)
    taken = reader_of(config).read_whole(cluster, config, topics=topics, groups=groups)
    progress(f"read the {cluster} cluster", 1, 1)
    return taken
