"""The readers of `apply`, `rollback` and `verify`: clusters, checkpoints and files of a migration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from offsetwise.config import ClusterConfig, Migration
from offsetwise.engines.engine import CheckpointReading
from offsetwise.model import (
    Checkpoint,
    Cluster,
    Cutover,
    IsolationLevel,
    Plan,
    PlannedTransaction,
    Snapshot,
    TopicPartition,
)
from offsetwise.ports.stretches import ReadStretch, Stretch
from offsetwise.transactions.ended import Ends
from offsetwise.transactions.report import SinkTransactions
from offsetwise.translation.identify import Records

RecordPlace = tuple[TopicPartition, int]
"""Topic, partition, offset."""


class RecordReader(Protocol):
    def records(
        self, side: Cluster, positions: Sequence[RecordPlace], *, isolation: IsolationLevel, salt: bytes
    ) -> Mapping[RecordPlace, Records]:
        """Read single records as hashes under a salt; offsets without a record are left out.

        Raises:
            ClusterError: The cluster cannot be read.
            SparkError: Spark cannot read it.
        """


class StretchReader(Protocol):
    def stretches(self, side: Cluster, requests: Sequence[Stretch], *, salt: bytes) -> Sequence[ReadStretch]:
        """Read stretches, in their order.

        Raises:
            ClusterError: The cluster cannot be read.
        """


class Readers(RecordReader, StretchReader, Protocol):
    """Reads the current state of a migration: for the recheck before anything is written, and for a verification."""

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read a cluster.

        Raises:
            ClusterError: It does not answer.
        """

    def checkpoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def digests(self, checkpoint: Checkpoint, paths: tuple[str, ...]) -> Mapping[str, str]:
        """Read the SHA-256, in hex, of files of a checkpoint by path; unreadable files are left out.

        Raises:
            StorageError: The checkpoint cannot be opened.
        """

    def transactions(self, plan: Plan) -> SinkTransactions:
        """Read the transactions of the job's sinks twice, and decide about each.

        Raises:
            ClusterError: The cluster does not answer.
            ConfigError: The migration file does not state it.
            StorageError: The checkpoint cannot be read.
            CheckpointError: It is none.
        """

    def cutover(self, plan: Plan) -> Cutover:
        """Watch the old logs of a plan's topics and their copies for the time that the plan requires.

        Raises:
            ClusterError: A cluster does not answer, or is not the plan's.
            SparkError: Records cannot be read.
        """

    def with_times(self, uri: str) -> CheckpointReading:
        """Read a checkpoint, or a written copy, with the times of its files.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """Read files of a folder by path; unreadable files are left out.

        Raises:
            StorageError: The folder cannot be opened.
        """

    @property
    def migration(self) -> Migration:
        """The migration, which has the addresses of targets that are services."""

    @property
    def target(self) -> ClusterConfig:
        """The connection of the new cluster, for data that a target keeps there."""

    def ends(self, cluster: str, transactions: tuple[PlannedTransaction, ...]) -> Ends:
        """Read how transactions ended on a cluster, by its name in the migration file.

        Raises:
            ClusterError: It does not answer.
            ConfigError: The file has no such cluster.
        """
