"""Read the clusters of a migration, whatever stream they hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from offsetwise.config import ClusterConfig, Migration
from offsetwise.errors import ClusterError
from offsetwise.model import (
    AnyPosition,
    Cluster,
    IsolationLevel,
    Snapshot,
    TopicPartition,
)
from offsetwise.ports.log_observations import LogsLook, SeenLog
from offsetwise.ports.stream import spec_of
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.progress import Progress, no_progress
from offsetwise.registry import MATCHING, READERS
from offsetwise.streams.abilities import (
    KeepsMirrorTopics,
    LooksAtLogs,
    Place,
    ReadsAtPositions,
    ReadsTimes,
    ReadsTransactions,
    ReportsAccess,
)


class WholeReading(Protocol):
    """A reading of one cluster, of which any part can be returned as a snapshot."""

    @property
    def name(self) -> str:
        """The name of the cluster in the migration file."""

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id; None if it did not return one."""

    def snapshot(
        self, topics: Collection[str] | None, groups: Collection[str] | None, *, if_there: Collection[str] = ()
    ) -> Snapshot:
        """Return a part of the reading as if nothing else had been requested; None means all.

        Raises:
            ClusterAuthError: The user may read none of the topics.
        """


class ClusterReader(Protocol):
    """The interface of the module `reader` of every stream; other functions are `abilities`. It writes nothing.

    Each method raises a `ClusterError` if the cluster does not answer, and a `ConfigError` if properties cannot be
    used.
    """

    def read_whole(
        self,
        cluster: Cluster,
        config: ClusterConfig,
        *,
        topics: tuple[str, ...] | None,
        groups: tuple[str, ...] | None,
        mirror: bool = True,
        timeout_s: float = 20,
    ) -> WholeReading:
        """Read a cluster once for all snapshots of parts of it.

        Args:
            cluster: The side of the migration.
            config: Its connection.
            topics: The requested topics; None for all that are not internal.
            groups: The requested consumer groups; None for all that the cluster lists.
            mirror: Whether to read the topics of the mirror itself, if the stream has such.
            timeout_s: When to stop waiting, for calls without a time-out of their own. What is missing by then is
                listed in the problems of the snapshots.
        """

    def log_ranges(
        self, config: ClusterConfig, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, SeenLog]:
        """Return the start and end of each partition's log now, and the identity of the log.

        None is unknown.
        """


class ReadAgain(Protocol):
    """The function `read_again` of the module `matching` of a stream that has such records, or copies of them."""

    def __call__(
        self,
        config: ClusterConfig,
        requests: Sequence[Stretch],
        *,
        isolation: IsolationLevel,
        identified: Callable[[bytes, bytes], tuple[str, int]],
    ) -> list[ReadStretch]:
        """Read stretches, in their order.

        Args:
            config: The cluster.
            requests: The stretches.
            isolation: The isolation level.
            identified: Returns the identity of a record from its key and data; see `comparison.matching.Identified`.

        Raises:
            ClusterError: The cluster rejects the read, or does not answer.
        """


def read_again(
    migration: Migration, cluster: Cluster, requests: Sequence[Stretch], *, salt: bytes
) -> list[ReadStretch]:
    """Read the records around positions again, as the matching of the old cluster's stream read them; see `ReadAgain`.

    Args:
        migration: The migration.
        cluster: The side to read.
        requests: The stretches.
        salt: Keys the identities, as in the proofs.
    """
    config = migration.cluster(cluster)
    if not spec_of(migration.source.stream).matches_records:
        return [ReadStretch() for _ in requests]  # the records at its positions are read in another way
    read: ReadAgain = MATCHING.load(config.stream).read_again
    identified = partial(MATCHING.load(migration.source.stream).identified, salt)
    return read(config, requests, isolation=migration.isolation_level, identified=identified)


def reader_of(config: ClusterConfig) -> ClusterReader:
    reader: ClusterReader = READERS.load(config.stream)
    return reader


def reads_at_positions(config: ClusterConfig) -> ReadsAtPositions | None:
    reader = reader_of(config)
    return reader if isinstance(reader, ReadsAtPositions) else None


def offsets_for_times(
    config: ClusterConfig, times: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, AnyPosition | None]:
    """Return the first position at or after a time; None if the stream has no times. See `ReadsTimes`."""
    reader = reader_of(config)
    return reader.offsets_for_times(config, times) if isinstance(reader, ReadsTimes) else dict.fromkeys(times)


def timestamps_at(config: ClusterConfig, positions: Iterable[Place]) -> Mapping[Place, int | None]:
    """Return the times of records; None if the stream has no times. See `ReadsTimes`."""
    reader = reader_of(config)
    return reader.timestamps_at(config, positions) if isinstance(reader, ReadsTimes) else dict.fromkeys(positions)


def access_of(config: ClusterConfig) -> ReportsAccess | None:
    reader = reader_of(config)
    return reader if isinstance(reader, ReportsAccess) else None


def has_mirror_topic(config: ClusterConfig, topic: str) -> bool:
    """Return whether a topic belongs to a mirror that keeps topics of its own on the cluster."""
    reader = reader_of(config)
    return isinstance(reader, KeepsMirrorTopics) and reader.is_of_mirror(topic)


def look_at_logs(migration: Migration, topics: tuple[str, ...], previous: Mapping[TopicPartition, int]) -> LogsLook:
    """Observe the ends of the old cluster's logs once; see `streams.abilities.LooksAtLogs`.

    Raises:
        ClusterError: The cluster does not answer, or its stream has no ends that can be watched.
    """
    config = migration.source
    reader = reader_of(config)
    if isinstance(reader, LooksAtLogs):
        return reader.look_at_logs(config, topics, previous)
    label = spec_of(config.stream).label
    raise ClusterError(
        f"{config.name!r}: expected a Kafka cluster, whose logs have ends that can be watched, found one of {label}. "
        "Nothing was read.",
        fix="Stop its producers, then compare: the lag of the job on the old stream says what it has not read.",
    )


def transactions_reader(config: ClusterConfig) -> ReadsTransactions:
    """Return the reader of transactions of a cluster.

    Raises:
        ClusterError: Its stream has none.
    """
    reader = reader_of(config)
    if isinstance(reader, ReadsTransactions):
        return reader
    label = spec_of(config.stream).label
    raise ClusterError(
        f"{config.name!r}: expected a cluster that has transactions, found one of {label}. Nothing was asked.",
        fix="Name the cluster that the job's sinks write to as `job.sink_cluster`.",
    )


def read_cluster(
    migration: Migration,
    cluster: Cluster,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...] | None,
    if_there: tuple[str, ...] = (),
    mirror: bool = True,
    progress: Progress = no_progress,
) -> Snapshot:
    """Read one cluster of a migration.

    Args:
        migration: The migration.
        cluster: The side to read.
        topics: The requested topics; None for all that are not internal.
        groups: The requested consumer groups; None for all that the cluster lists.
        if_there: Those of `topics` whose absence is no problem.
        mirror: Whether to read the topics of the mirror itself.
        progress: Called before and after.

    Raises:
        ClusterError: The cluster does not answer.
        ConfigError: Properties that cannot be used, or a missing secret.
    """
    read = read_whole(migration, cluster, topics=topics, groups=groups, mirror=mirror, progress=progress)
    return read.snapshot(topics, groups, if_there=if_there)


def read_whole(
    migration: Migration,
    cluster: Cluster,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...] | None,
    mirror: bool = True,
    progress: Progress,
) -> WholeReading:
    """Read one cluster of a migration, once for all jobs that need a part of it; see `read_cluster`."""
    config = migration.cluster(cluster)
    progress(f"read the {cluster} cluster", 0, 1)
    whole_reading = reader_of(config).read_whole(cluster, config, topics=topics, groups=groups, mirror=mirror)
    progress(f"read the {cluster} cluster", 1, 1)
    return whole_reading
