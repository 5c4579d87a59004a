"""The timestamps of the records at given positions, read without committing anything: one record of each partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from offsetwise.client_properties import AddressedCluster, client_properties
from offsetwise.model import TopicPartition
from offsetwise.plugins.kafka.stream.client import LOGGER, Client, Deadline, reason
from offsetwise.streams.ranges import consumer_configuration

Place = tuple[TopicPartition, int]
"""A partition, and the next record to read there."""

_AT_ONCE: Final = 500
_POLL_S: Final = 0.2
_LITTLE_BYTES: Final = 65_536
"""Fetch size of each partition: only its first record is needed."""


def timestamps_at(
    config: AddressedCluster, positions: Iterable[Place], *, timeout_s: float = 20
) -> dict[Place, int | None]:
    """Return the timestamp (epoch ms) of the first record at or after each position.

    None if there is no record yet, the position is not in the log, or no record came in time.

    Raises:
        ClusterUnreachableError: No broker answered.
        ClusterAuthError: TLS, SASL or ACLs refused it.
    """
    requested = sorted(set(positions))
    results: dict[Place, int | None] = dict.fromkeys(requested)
    if not requested:
        return results
    Client(config, timeout_s=timeout_s).contact()
    deadline = Deadline(timeout_s)
    properties = client_properties(config)
    consumer = Consumer(
        consumer_configuration(properties)
        | {"fetch.message.max.bytes": _LITTLE_BYTES, "queued.max.messages.kbytes": 16_384},
        logger=LOGGER,
    )
    try:
        remaining = requested
        while remaining and not deadline.passed:
            # Several positions may be in one partition, and a consumer reads it at one position at a time.
            first = dict(reversed([(position[0], position) for position in remaining]))
            some = list(first.values())[-_AT_ONCE:]
            _read(consumer, some, results, deadline)
            remaining = sorted(set(remaining) - set(some))
    finally:
        consumer.close()
    return results


def _read(consumer: Consumer, positions: list[Place], timestamps: dict[Place, int | None], deadline: Deadline) -> None:
    waiting = {(at.topic, at.partition): (at, offset) for at, offset in positions}
    try:
        consumer.assign([KafkaPartition(at.topic, at.partition, offset) for at, offset in positions])
        while waiting and not deadline.passed:
            for message in consumer.consume(_AT_ONCE, timeout=min(_POLL_S, deadline.left_s())):
                key = message.topic() or "", message.partition() or 0
                position = waiting.get(key)
                if position is None:
                    continue
                error = message.error()
                if error is None:
                    kind, timestamp_ms = message.timestamp()
                    timestamps[position] = None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms
                elif error.retriable() and error.code() != KafkaError._PARTITION_EOF:
                    continue
                del waiting[key]
                consumer.incremental_unassign([KafkaPartition(*key)])
    except KafkaException as error:
        LOGGER.debug("reading timestamps failed: %s", reason(error))
