"""Reads Kafka clusters, as `streams.reader.ClusterReader` requires.

All requests to brokers run in a separate process: some answers end the process that librdkafka is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from offsetwise.config import ClusterConfig
from offsetwise.model import TopicPartition
from offsetwise.plugins.kafka.stream import connection, logs, permissions, record_times, transaction_ends, transactions
from offsetwise.plugins.kafka.stream import snapshot as snapshots
from offsetwise.plugins.kafka.stream.permissions import minimum_acls
from offsetwise.ports.log_observations import SeenLog
from offsetwise.streams.client_process import in_a_process
from offsetwise.streams.mirror_topics import recognise
from offsetwise.transactions.upgrade import TransactionFacts

__all__ = [
    "is_of_mirror",
    "log_ranges",
    "look_at_logs",
    "look_at_transactions",
    "minimum_acls",
    "offsets_for_times",
    "read_ends",
    "read_permissions",
    "read_whole",
    "timestamps_at",
    "transaction_facts",
    "try_connection",
]

look_at_logs = in_a_process(logs.look_at_logs)
look_at_transactions = in_a_process(transactions.look_at_transactions)
offsets_for_times = in_a_process(logs.offsets_for_times)
read_ends = in_a_process(transaction_ends.read_ends)
read_permissions = in_a_process(permissions.read_permissions)
read_whole = in_a_process(snapshots.read_whole)
try_connection = in_a_process(connection.try_connection)
_log_ranges = in_a_process(logs.log_ranges)
_timestamps_at = in_a_process(record_times.timestamps_at)


def log_ranges(config: ClusterConfig, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, SeenLog]:
    return _log_ranges(config, tuple(partitions))


def timestamps_at(
    config: ClusterConfig, positions: Iterable[record_times.Place]
) -> Mapping[record_times.Place, int | None]:
    return _timestamps_at(config, tuple(positions))


def is_of_mirror(topic: str) -> bool:
    return recognise(topic) is not None


def _facts(config: ClusterConfig, *, timeout_s: float = 20) -> TransactionFacts:
    from offsetwise.plugins.kafka.stream.facts import read_facts  # noqa: PLC0415 - imports a second client

    return read_facts(config, timeout_s=timeout_s)


transaction_facts = in_a_process(_facts)
