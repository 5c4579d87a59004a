"""Topics with known records on the lab's clusters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

START_MS = 1_740_988_800_000
TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class Record:
    """One record to write. Equal serials make equal records."""

    serial: str
    prefix: bytes = b""
    headers: tuple[tuple[str, bytes], ...] = field(default=())

    @property
    def value(self) -> bytes:
        return self.prefix + json.dumps({"serial": self.serial}).encode()

    @property
    def time_ms(self) -> int:
        return START_MS + sum(self.serial.encode()) % 1_000 * 1_000


def copies(first: int, end: int) -> list[Record]:
    """Return the records `first` to `end` of the one log that every scenario mirrors."""
    return [Record(f"r{number}") for number in range(first, end)]


def natives(count: int) -> list[Record]:
    """Return records of another producer."""
    return [Record(f"native{number}") for number in range(count)]


def create(bootstrap: str, *topics: str, **config: str) -> None:
    """Create topics of one partition."""
    _create(bootstrap, [NewTopic(topic, 1, 1, config=config) for topic in topics])


def create_divided(bootstrap: str, topic: str, partitions: int) -> None:
    """Create a topic of several partitions."""
    _create(bootstrap, [NewTopic(topic, partitions, 1)])


def _create(bootstrap: str, topics: list[NewTopic]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for future in admin.create_topics(topics).values():
        future.result(TIMEOUT_S)


def produce(bootstrap: str, records: Mapping[str, Iterable[Record]], *, partition: int = 0) -> None:
    """Write records to one partition of topics, in order."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "enable.idempotence": True, "log_level": 2})
    for topic, wanted in records.items():
        for record in wanted:
            producer.produce(
                topic,
                value=record.value,
                key=record.serial[:3].encode(),
                partition=partition,
                timestamp=record.time_ms,
                headers=list(record.headers),
                on_delivery=_delivered,
            )
            producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0


def trim(bootstrap: str, topic: str, start: int, partition: int = 0) -> None:
    """Move a log start, as retention does."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    for future in admin.delete_records([TopicPartition(topic, partition, start)]).values():
        future.result(TIMEOUT_S)


def _delivered(error: KafkaError | None, _message: object) -> None:
    if error is not None:
        raise KafkaException(error)
