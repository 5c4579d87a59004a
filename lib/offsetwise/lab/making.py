from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol

import yaml
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab.cluster import Lab
from offsetwise.lab.mirrors import Policy

TIMEOUT_S: Final = 90


class WritableRecord(Protocol):
    @property
    def topic(self) -> str:
        """Its topic."""

    @property
    def partition(self) -> int:
        """Its partition."""

    @property
    def timestamp_ms(self) -> int:
        """Its time, epoch ms."""

    @property
    def key(self) -> str | bytes | None:
        """Its key."""

    @property
    def value(self) -> str | bytes:
        """Its value."""


def admin_of(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})


def create_topics(requested: Mapping[str, Sequence[NewTopic]]) -> str | None:
    """Create topics, unless one of them exists already.

    Args:
        requested: By the bootstrap servers of a cluster, its new topics.

    Returns:
        The name of an existing topic; no topic was created then. None if all were created.
    """
    admins = {bootstrap: admin_of(bootstrap) for bootstrap in requested}
    for bootstrap, topics in requested.items():
        known = admins[bootstrap].list_topics(timeout=TIMEOUT_S).topics
        there = next((topic.topic for topic in topics if topic.topic in known), None)
        if there is not None:
            return there
    for bootstrap, topics in requested.items():
        for created in admins[bootstrap].create_topics([*topics]).values():
            created.result(TIMEOUT_S)
    return None


def send(producer: Producer, records: Iterable[WritableRecord]) -> None:
    for record in records:
        producer.produce(
            record.topic,
            key=record.key,
            value=record.value,
            partition=record.partition,
            timestamp=record.timestamp_ms,
            on_delivery=_delivered,
        )
        producer.poll(0)
    producer.flush(TIMEOUT_S)


def send_transaction(producer: Producer, records: Iterable[WritableRecord], *, aborted: bool) -> None:
    producer.begin_transaction()
    send(producer, records)
    (producer.abort_transaction if aborted else producer.commit_transaction)(TIMEOUT_S)


def _delivered(error: KafkaError | None, _message: object) -> None:
    if error is not None:
        raise KafkaException(error)


def delete_before(bootstrap: str, starts: Iterable[TopicPartition]) -> None:
    admin = admin_of(bootstrap)  # results arrive only as long as the client exists
    for deleted in admin.delete_records([*starts]).values():
        deleted.result(TIMEOUT_S)


def start_mirrors(
    lab: Lab,
    topics: Mapping[Policy, Sequence[str]],
    *,
    only_ended: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Start a mirror of each policy; see `Lab.start_mirror`.

    Args:
        lab: A running lab.
        topics: The topics of each.
        only_ended: Whether to leave running mirrors alone.
        settings: Additional configuration of each.
    """
    running = {service.name for service in lab.status() if service.running}
    for policy, names in topics.items():
        if not (only_ended and f"mirror-{policy}" in running):
            lab.start_mirror(policy, topics=names, settings=settings)


def write_migration(path: Path, body: Mapping[str, Any]) -> None:
    """Write a migration file atomically."""
    temporary_path = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary_path.write_text(yaml.safe_dump(dict(body), sort_keys=False), encoding="utf-8")
    temporary_path.replace(path)
