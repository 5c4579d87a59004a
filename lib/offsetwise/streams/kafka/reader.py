"""Reads Kafka clusters: what `streams.reader.Reader` asks for."""

from __future__ import annotations

from collections.abc import Iterable

from offsetwise.config import ClusterConfig
from offsetwise.model import Snapshot
from offsetwise.streams.kafka.connection import try_connection
from offsetwise.streams.kafka.mirror_topics import recognise
from offsetwise.streams.kafka.permissions import minimum_acls, principal_of, read_permissions
from offsetwise.streams.kafka.record_times import timestamps_at
from offsetwise.streams.kafka.snapshot import log_ranges, offsets_for_times, read_cluster, read_whole
from offsetwise.streams.kafka.transaction_ends import read_ends
from offsetwise.streams.kafka.transactions import look_at_transactions
from offsetwise.streams.reader import Place, ReadAt
from offsetwise.transactions.upgrade import Facts

__all__ = [
    "is_of_mirror",
    "log_ranges",
    "look_at_transactions",
    "minimum_acls",
    "offsets_for_times",
    "principal_of",
    "read_at",
    "read_cluster",
    "read_ends",
    "read_permissions",
    "read_whole",
    "timestamps_at",
    "transaction_facts",
    "try_connection",
]


def is_of_mirror(topic: str) -> bool:
    """Say whether a topic is one of MirrorMaker's own."""
    return recognise(topic) is not None


def read_at(
    config: ClusterConfig,  # noqa: ARG001 - snapshots and records tell everything
    places: Iterable[Place],  # noqa: ARG001 - as above
    snapshot: Snapshot,  # noqa: ARG001 - as above
) -> ReadAt:
    """Read nothing."""
    return ReadAt()


def transaction_facts(config: ClusterConfig, *, timeout_s: float = 20) -> Facts:
    """Ask every broker; see `streams.reader.Reader`."""
    from offsetwise.streams.kafka.facts import read_facts  # noqa: PLC0415 - imports a second client

    return read_facts(config, timeout_s=timeout_s)
