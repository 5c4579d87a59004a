from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from offsetwise.errors import LabError

TIMEOUT_S: Final = 20
_NO_BROKER: Final = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT})
TopicAndPartition = tuple[str, int]


def partitions_behind(topics: Sequence[str], *, offsets_topic: str, old: str, new: str) -> set[str]:
    """Return the partitions, as `topic-0`, with records that the mirror has not recorded as copied.

    A partition whose log ends with transaction markers is not behind: markers are never copied.
    """
    partitions = partitions_of(topics, bootstrap=old)
    copied = _copied(offsets_topic, bootstrap=new)
    next_offsets = {
        partition: copied[partition] + 1 if partition in copied else OFFSET_BEGINNING for partition in partitions
    }
    return {f"{topic}-{partition}" for topic, partition in _with_records(next_offsets, bootstrap=old)}


def partitions_of(topics: Sequence[str], *, bootstrap: str) -> list[TopicAndPartition]:
    known = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=TIMEOUT_S).topics
    return [(topic, partition) for topic in topics for partition in sorted(known[topic].partitions)]


def _copied(offsets_topic: str, *, bootstrap: str) -> dict[TopicAndPartition, int]:
    """Read the last copied upstream offset of every partition from the mirror's Connect offsets topic.

    Keys are `["MirrorSourceConnector",{"cluster","partition","topic"}]`, values `{"offset":n}`.
    """
    results: dict[TopicAndPartition, int] = {}
    for key, value in read_to_end(offsets_topic, bootstrap=bootstrap):
        connector, source_partition = json.loads(key or b"[null, null]")
        if connector == "MirrorSourceConnector" and value:
            results[source_partition["topic"], source_partition["partition"]] = json.loads(value)["offset"]
    return results


def read_to_end(topic: str, *, bootstrap: str) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield key and value of every record of a small topic; nothing if there is no such topic.

    Raises:
        LabError: The broker does not answer, or stopped answering before the log end.
    """
    with _consumer(bootstrap) as consumer:
        try:
            partitions = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions
        except KafkaException as error:
            raise silent(topic, bootstrap) from error
        remaining = set(partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        while remaining:
            message = consumer.poll(TIMEOUT_S)
            if message is None:
                raise silent(topic, bootstrap)
            failure = message.error()
            if failure is None:
                yield message.key(), message.value()
            elif failure.code() == KafkaError._PARTITION_EOF:
                remaining.discard(message.partition() or 0)
            elif failure.code() in _NO_BROKER:
                raise silent(topic, bootstrap)
            else:
                raise KafkaException(failure)


def silent(topic: str, bootstrap: str) -> LabError:
    return LabError(
        f"{topic!r} on {bootstrap}: expected to reach the log end, but the broker did not answer for {TIMEOUT_S} s, or "
        "has ended. What was read is not complete, so it was not used.",
        fix="Run `offsetwise lab down`, then `offsetwise lab up`, each with --dir and the lab's folder, then the same "
        "command again: topics and records stay.",
    )


def _with_records(positions: Mapping[TopicAndPartition, int], *, bootstrap: str) -> set[TopicAndPartition]:
    if not positions:
        return set()
    results: set[TopicAndPartition] = set()
    with _consumer(bootstrap) as consumer:
        consumer.assign([TopicPartition(*partition, offset) for partition, offset in positions.items()])
        remaining = set(positions)
        while remaining:
            message = consumer.poll(TIMEOUT_S)
            if message is None:
                return results | remaining
            error, partition = message.error(), (message.topic() or "", message.partition() or 0)
            if partition in remaining and not (error is not None and error.code() == KafkaError._PARTITION_EOF):
                results.add(partition)
                consumer.pause([TopicPartition(*partition)])
            remaining.discard(partition)
    return results


def _consumer(bootstrap: str) -> closing[Consumer]:
    """Return a consumer that commits nothing and joins no group."""
    return closing(
        Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"offsetwise-lab-{uuid.uuid4()}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_uncommitted",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 10,
            }
        )
    )
