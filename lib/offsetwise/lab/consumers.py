from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from offsetwise.lab import progress
from offsetwise.lab.job_sinks import JobSink

AT_ONCE: Final = 4
_PAUSE_S: Final = 0.1
_NO_COORDINATOR: Final = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
"""The coordinator of a group may move or load for a moment after a broker has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerReading:
    group: str
    bootstrap: str
    topics: tuple[str, ...]
    """Names on the cluster that is read."""
    sink: JobSink
    most: int | None = None
    """Records after which it stops, once it has one of every partition; None: at the end of every log."""
    reset: str = "earliest"
    """`auto.offset.reset`: `error` if the group must have committed."""

    def run(self) -> None:
        """Read, write to the sink, and commit.

        Raises:
            LabError: The broker did not answer in time.
            KafkaException: It answered with an error, such as a partition without a commit.
        """
        with closing(Consumer(_settings(self.bootstrap, self.group, self.reset))) as consumer:
            consumer.subscribe(list(self.topics))
            serials = self._serials(consumer)
            if serials:
                self.sink.write(len(self.sink.numbers), serials)
                consumer.commit(asynchronous=False)

    def _serials(self, consumer: Consumer) -> list[str]:
        serials: list[str] = []
        ended: set[tuple[str | None, int | None]] = set()
        begun: set[tuple[str | None, int | None]] = set()
        limit = time.monotonic() + progress.TIMEOUT_S
        while self.most is None or len(serials) < self.most or len(begun) < len(consumer.assignment()):
            if time.monotonic() > limit:
                raise progress.silent(", ".join(self.topics), self.bootstrap)
            message = consumer.poll(1)
            if message is None:
                continue
            error, partition = message.error(), (message.topic(), message.partition())
            if error is None:
                begun.add(partition)
                serials.append(json.loads(message.value() or b"{}")["serial"])
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(partition)
                if len(ended) == len(consumer.assignment()):
                    break
            else:
                raise KafkaException(error)
        return serials


def run_all(readings: Iterable[ConsumerReading]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(ConsumerReading.run, readings):
            pass


def commit(bootstrap: str, group: str, positions: Mapping[tuple[str, int], int]) -> None:
    """Commit positions for a group without members, as a job does that keeps its positions elsewhere."""
    offsets = [TopicPartition(topic, partition, offset) for (topic, partition), offset in positions.items()]
    with closing(Consumer(_settings(bootstrap, group, "error"))) as consumer:
        consumer.commit(offsets=offsets, asynchronous=False)


def has_committed(bootstrap: str, group: str, topics: Sequence[str]) -> bool:
    with closing(Consumer(_settings(bootstrap, group, "error"))) as consumer:
        known = consumer.list_topics(timeout=progress.TIMEOUT_S).topics
        if not {*topics} <= known.keys():
            return False
        partitions = [TopicPartition(topic, partition) for topic in topics for partition in known[topic].partitions]
        return all(position.offset >= 0 for position in _committed(consumer, partitions))


def _committed(consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    limit = time.monotonic() + progress.TIMEOUT_S
    while True:
        try:
            return consumer.committed(partitions, timeout=progress.TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() not in _NO_COORDINATOR or time.monotonic() > limit:
                raise
            time.sleep(_PAUSE_S)


def last_serials(bootstrap: str, topics: Sequence[str]) -> set[str]:
    """Return the serial of the last committed record of every partition of the topics that has one.

    Raises:
        LabError: The broker did not answer in time.
        KafkaException: It answered with an error.
    """
    known = progress.partitions_of(topics, bootstrap=bootstrap)
    remaining: set[tuple[str | None, int | None]] = {*known}
    serials = {}
    with closing(Consumer(_settings(bootstrap, "lab-last-serials", "earliest"))) as consumer:
        consumer.assign([TopicPartition(*partition, OFFSET_BEGINNING) for partition in known])
        while remaining:
            message = consumer.poll(progress.TIMEOUT_S)
            if message is None:
                raise progress.silent(", ".join(topics), bootstrap)
            error, partition = message.error(), (message.topic(), message.partition())
            if error is None:
                serials[partition] = json.loads(message.value() or b"{}")["serial"]
            elif error.code() == KafkaError._PARTITION_EOF:
                remaining.discard(partition)
            else:
                raise KafkaException(error)
    return set(serials.values())


def _settings(bootstrap: str, group: str, reset: str) -> dict[str, str | int | bool]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": reset,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 10,
        "log_level": 2,
    }
