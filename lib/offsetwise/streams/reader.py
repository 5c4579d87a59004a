"""The clusters of a migration, read as they are now, whatever stream they hold."""

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
        """Return a part of what was read, as if nothing else had been asked for; None is all.

        Raises:
            ClusterAuthError: The user may read none of the topics.
        """


class ClusterReader(Protocol):
    """What the module `reader` of every stream has; whatever else it can do is one of `abilities`. It writes nothing.

    Each verb raises a `ClusterError` where the cluster gives no answer, and a `ConfigError` where properties cannot
    be used.
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
        """Read a cluster once for all who want a snapshot of a part of it.

        Args:
            cluster: Which side of the migration it is.
            config: How to reach it.
            topics: The topics wanted; None for all that are not internal.
            groups: The consumer groups wanted; None for all that the cluster lists.
            mirror: Whether to read what the mirror itself keeps there, of a stream that has such a thing.
            timeout_s: When to stop waiting, where calls have no time-out of their own. What is missing by then is named
                in the problems of the snapshots.
        """

    def log_ranges(
        self, config: ClusterConfig, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, SeenLog]:
        """Return where the log of each partition begins and ends now, and which log it is.

        None is what the cluster did not tell.
        """


class ReadAgain(Protocol):
    """The function `read_again` of the module `matching` of a stream that such records, or copies of them, are on."""

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
            requests: What is to be read.
            isolation: Which records of a log count.
            identified: How records are told apart, by their keys and data; see `comparison.matching.Identified`.

        Raises:
            ClusterError: The cluster refuses to be read, or gives no answer.
        """


def read_again(
    migration: Migration, cluster: Cluster, requests: Sequence[Stretch], *, salt: bytes
) -> list[ReadStretch]:
    """Read the records around places again, as the matching of the old cluster's stream read them; see `ReadAgain`.

    Args:
        migration: The migration.
        cluster: Which of the two.
        requests: What is to be read.
        salt: Keys the identities, as in the proofs.
    """
    config = migration.cluster(cluster)
    if not spec_of(migration.source.stream).matches_records:
        return [ReadStretch() for _ in requests]  # the records of its positions are read otherwise
    read: ReadAgain = MATCHING.load(config.stream).read_again
    identified = partial(MATCHING.load(migration.source.stream).identified, salt)
    return read(config, requests, isolation=migration.isolation_level, identified=identified)


def reader_of(config: ClusterConfig) -> ClusterReader:
    """Return what reads a cluster."""
    reader: ClusterReader = READERS.load(config.stream)
    return reader


def reads_at_positions(config: ClusterConfig) -> ReadsAtPositions | None:
    """Return what reads at positions of a cluster; None where its snapshots and records tell everything."""
    reader = reader_of(config)
    return reader if isinstance(reader, ReadsAtPositions) else None


def offsets_for_times(
    config: ClusterConfig, times: Mapping[TopicPartition, int]
) -> Mapping[TopicPartition, AnyPosition | None]:
    """Return the first position at or after a time; none where the stream keeps no times. See `ReadsTimes`."""
    reader = reader_of(config)
    return reader.offsets_for_times(config, times) if isinstance(reader, ReadsTimes) else dict.fromkeys(times)


def timestamps_at(config: ClusterConfig, positions: Iterable[Place]) -> Mapping[Place, int | None]:
    """Return the times of records; none where the stream keeps no times. See `ReadsTimes`."""
    reader = reader_of(config)
    return reader.timestamps_at(config, positions) if isinstance(reader, ReadsTimes) else dict.fromkeys(positions)


def access_of(config: ClusterConfig) -> ReportsAccess | None:
    """Return what says who may do what on a cluster; None where that is not asked."""
    reader = reader_of(config)
    return reader if isinstance(reader, ReportsAccess) else None


def has_mirror_topic(config: ClusterConfig, topic: str) -> bool:
    """Whether a topic belongs to a mirror that keeps topics of its own on the cluster."""
    reader = reader_of(config)
    return isinstance(reader, KeepsMirrorTopics) and reader.is_of_mirror(topic)


def look_at_logs(migration: Migration, topics: tuple[str, ...], previous: Mapping[TopicPartition, int]) -> LogsLook:
    """Look once where the logs of the old cluster end; see `streams.abilities.LooksAtLogs`.

    Raises:
        ClusterError: The cluster gave no answer, or its stream has no ends that can be watched.
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
    """Return what reads the transactions of a cluster.

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
    """Read one cluster of a migration, once for all jobs that want a part of it; see `read_cluster`."""
    config = migration.cluster(cluster)
    progress(f"read the {cluster} cluster", 0, 1)
    whole_reading = reader_of(config).read_whole(cluster, config, topics=topics, groups=groups, mirror=mirror)
    progress(f"read the {cluster} cluster", 1, 1)
    return whole_reading
