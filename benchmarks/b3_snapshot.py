"""B3: snapshots of two clusters of 10,000 partitions with 500 groups, against what people do today.

Peers, in the same run: `kafka-consumer-groups --describe --all-groups` (Java), and a loop over confluent-kafka's
`get_watermark_offsets`. Target: 5 times faster than both; the number of requests does not grow with partitions.

    python benchmarks/b3_snapshot.py [--partitions 200 --groups 20] [--tools FOLDER_WITH_KAFKA_TOOLS_JARS]
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.lab.jars import kafka_jars
from offsetwise.lab.java import find_java
from offsetwise.model import Cluster
from offsetwise.sources.kafka import read_cluster
from offsetwise.sources.kafka_client import RequestCounter

PARTITIONS_PER_TOPIC, ROUNDS = 100, 5
COMMIT_LIMIT_S = 180
PARTITIONS_PER_GROUP = 20
TARGET = 5
COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000, help="per cluster")
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--tools", type=Path, help="folder with the kafka-tools jar and what it needs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Lab.up(Path(folder)).no_longer_than_this_process() as lab:
        return run(lab, arguments.partitions, arguments.groups, arguments.tools)


def run(lab: Lab, partitions: int, groups: int, tools: Path | None) -> int:
    clusters = [(Cluster.OLD, lab.old_bootstrap), (Cluster.NEW, lab.new_bootstrap)]
    names = [f"group-{number}" for number in range(groups)]
    for _, bootstrap in clusters:
        fill(bootstrap, partitions, names)
    small = requests(clusters[0], ("topic-0",), ())
    wide = requests(clusters[0], None, ())

    took = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for side, bootstrap in clusters:
            config = ClusterConfig(name=side, properties={"bootstrap.servers": bootstrap})
            snapshot = read_cluster(side, config, topics=None, groups=tuple(names), timeout_s=120)
            if snapshot.problems or sum(len(topic.partitions) for topic in snapshot.topics) < partitions:
                raise SystemExit(f"the snapshot is not whole: {snapshot.problems}")
        took.append(time.perf_counter() - begun)
    ours_s = statistics.median(took)

    loop_s = sum(watermark_loop(bootstrap) for _, bootstrap in clusters)
    java_s = sum(filter(None, (java_command(bootstrap, tools) for _, bootstrap in clusters))) or None
    print(f"2 × {partitions:,} partitions, {groups} groups of {PARTITIONS_PER_GROUP} partitions")
    print(f"offsetwise, median of {ROUNDS}                         {ours_s:8.2f} s")
    print(f"get_watermark_offsets loop                    {loop_s:8.2f} s   {loop_s / ours_s:5.1f}×")
    if java_s is None:
        print("kafka-consumer-groups --describe --all-groups   not measured: give its jars with --tools")
    else:
        print(f"kafka-consumer-groups --describe --all-groups {java_s:8.2f} s   {java_s / ours_s:5.1f}×")
    print(f"requests for one topic:  {small}")
    print(f"requests for all topics: {wide}")
    same = small == wide
    met = same and loop_s / ours_s >= TARGET and (java_s is None or java_s / ours_s >= TARGET)
    print("target met" if met else "TARGET MISSED")
    return 0 if met else 1


def fill(bootstrap: str, partitions: int, groups: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [f"topic-{number}" for number in range(math.ceil(partitions / PARTITIONS_PER_TOPIC))]
    for name in topics:
        width = min(PARTITIONS_PER_TOPIC, partitions)
        admin.create_topics([NewTopic(name, width, 1)], operation_timeout=60, request_timeout=90)[name].result()
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(min(PARTITIONS_PER_GROUP, partitions)):
        producer.produce("topic-0", b"x", partition=partition)
    producer.flush()
    offsets = [TopicPartition("topic-0", number, 1) for number in range(min(PARTITIONS_PER_GROUP, partitions))]
    for group in groups:
        commit(bootstrap, group, offsets)


def commit(bootstrap: str, group: str, offsets: list[TopicPartition]) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    end = time.monotonic() + COMMIT_LIMIT_S
    while True:
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
            break
        except KafkaException as error:
            # The first commit of a cluster makes its offsets topic, which takes long beside 10,000 new partitions.
            if time.monotonic() > end or error.args[0].code() != KafkaError._WAIT_COORD:
                raise
    consumer.close()


def requests(cluster: tuple[Cluster, str], topics: tuple[str, ...] | None, groups: tuple[str, ...]) -> dict[str, int]:
    side, bootstrap = cluster
    counter = RequestCounter()
    config = ClusterConfig(name=side, properties={"bootstrap.servers": bootstrap})
    read_cluster(side, config, topics=topics, groups=groups, timeout_s=120, counter=counter)
    return {name: counter.by_type.get(name, 0) for name in ("Metadata", "ListOffsets", "DescribeConfigs")}


def watermark_loop(bootstrap: str) -> float:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "b3"})
    begun = time.perf_counter()
    for name, topic in consumer.list_topics(timeout=30).topics.items():
        if not name.startswith("__"):
            for partition in topic.partitions:
                consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=30)
    took = time.perf_counter() - begun
    consumer.close()
    return took


def java_command(bootstrap: str, tools: Path | None) -> float | None:
    classpath = f"{tools or kafka_jars()}/*"
    command = [find_java(), "-cp", classpath, COMMAND, "--bootstrap-server", bootstrap, "--describe", "--all-groups"]
    begun = time.perf_counter()
    ran = subprocess.run([*command, "--timeout", "120000"], capture_output=True, text=True, check=False)
    return time.perf_counter() - begun if ran.returncode == 0 and "group-0" in ran.stdout else None


if __name__ == "__main__":
    sys.exit(main())
