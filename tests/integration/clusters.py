"""What tests of the cluster reader do to a cluster, and ask of it."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # re-exported without saying so
    AdminClient,
    NewTopic,
)

from offsetwise.config import ClusterConfig
from offsetwise.model import Cluster, Snapshot
from offsetwise.plugins.kafka.stream import reader
from offsetwise.plugins.kafka.stream.client import RequestCounter
from offsetwise.plugins.kafka.stream.snapshot import read_whole

FIRST_MS = 1_700_000_000_000


def config(bootstrap: str, **properties: str) -> ClusterConfig:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap, **named})


def create(bootstrap: str, topic: NewTopic) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([topic])[topic.topic].result()


def fill(bootstrap: str, topic: str, records: dict[int, int]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition, count in records.items():
        for number in range(count):
            producer.produce(topic, f"{number}", partition=partition, timestamp=FIRST_MS + number * 1000)
    producer.flush()


def trim(bootstrap: str, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([KafkaPartition(topic, partition, offset)]).values():
        future.result()


def commit(bootstrap: str, group: str, topic: str, offsets: dict[int, int]) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[KafkaPartition(topic, *entry) for entry in offsets.items()], asynchronous=False)
    consumer.close()


def read(cluster: ClusterConfig, *topics: str, groups: tuple[str, ...] = (), timeout_s: float = 20) -> Snapshot:
    return take_snapshot(Cluster.OLD, cluster, topics=topics or None, groups=groups, timeout_s=timeout_s)


def read_apart(cluster: ClusterConfig, *topics: str, groups: tuple[str, ...] = (), timeout_s: float = 20) -> Snapshot:
    """Ask in a process of its own, as the product does: a late answer of a paused broker may abort that process."""
    whole = reader.read_whole(Cluster.OLD, cluster, topics=topics or None, groups=groups, timeout_s=timeout_s)
    return whole.snapshot(topics or None, groups)


def take_snapshot(
    side: Cluster,
    cluster: ClusterConfig,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...],
    mirror: bool = True,
    timeout_s: float = 20,
    counter: RequestCounter | None = None,
) -> Snapshot:
    whole = read_whole(side, cluster, topics=topics, groups=groups, mirror=mirror, timeout_s=timeout_s, counter=counter)
    return whole.snapshot(topics, groups)


def codes(snapshot: Snapshot) -> list[str]:
    return [problem.code for problem in snapshot.problems]
