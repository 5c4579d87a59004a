"""What applying, taking back and verifying read: the clusters, checkpoints and files that a migration names."""

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
        """Read single records as hashes under a salt; a place without a record is left out.

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
    """What is read of a migration, as it is now: by a recheck before anything is written, and by a verification."""

    def cluster(self, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        """Read a cluster.

        Raises:
            ClusterError: It gave no answer.
        """

    def checkpoint(self, uri: str) -> Checkpoint:
        """Read a checkpoint.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def digests(self, checkpoint: Checkpoint, paths: tuple[str, ...]) -> Mapping[str, str]:
        """Read the SHA-256, in hex, of files of a checkpoint; one that cannot be read is left out.

        Raises:
            StorageError: The checkpoint cannot be opened.
        """

    def transactions(self, plan: Plan) -> SinkTransactions:
        """Look twice at the transactions of the job's sinks, and decide about each.

        Raises:
            ClusterError: The cluster gave no answer.
            ConfigError: The migration file does not state it.
            StorageError: The checkpoint cannot be read.
            CheckpointError: It is none.
        """

    def cutover(self, plan: Plan) -> Cutover:
        """Watch the old logs of a plan's topics, for as long as it requires that they stand still, and their copies.

        Raises:
            ClusterError: A cluster gave no answer, or is another one than the plan's.
            SparkError: Records cannot be read.
        """

    def with_times(self, uri: str) -> CheckpointReading:
        """Read a checkpoint, or a copy that was written, with the times of its files.

        Raises:
            StorageError: It cannot be read.
            CheckpointError: It is none.
        """

    def files(self, folder: str, paths: tuple[str, ...]) -> Mapping[str, bytes]:
        """Read files of a folder; one that cannot be read is left out.

        Raises:
            StorageError: The folder cannot be opened.
        """

    @property
    def migration(self) -> Migration:
        """The migration that is read, for what it says of targets that are services."""

    @property
    def target(self) -> ClusterConfig:
        """How the new cluster is reached, for what a target keeps there itself."""

    def ends(self, cluster: str, transactions: tuple[PlannedTransaction, ...]) -> Ends:
        """Read what became of transactions on a cluster, by its name in the migration file.

        Raises:
            ClusterError: It gave no answer.
            ConfigError: The file names no such cluster.
        """
