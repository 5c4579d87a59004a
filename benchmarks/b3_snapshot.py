"""B3: snapshots of two clusters of 10,000 partitions with 500 groups, against what people do today.

Peers, in the same run and in turn, round by round:

* the topics alone beside a loop over confluent-kafka's `get_watermark_offsets` for the same partitions, which gives
  only log start and high watermark;
* topics and groups beside `kafka-consumer-groups --describe --all-groups` (Java) for the same groups.

Target: 5 times faster than both; requests do not grow with partitions. A question goes out in shares, one for 500
partitions and never more than 16, so the benchmark counts them for one topic, for half and for all.

    python benchmarks/b3_snapshot.py [--partitions 200 --groups 20]
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.lab.jars import kafka_jars
from offsetwise.lab.java import find_java
from offsetwise.model import Cluster
from offsetwise.plugins.kafka.stream.client import RequestCounter
from offsetwise.plugins.kafka.stream.logs import CALLS
from offsetwise.plugins.kafka.stream.snapshot import read_whole

PARTITIONS_PER_TOPIC, PARTITIONS_PER_GROUP = 500, 20
LIMIT_S = 180
UNDER_WAY = 25
TARGET = 5
QUESTIONS = 3
"""Log start, high watermark, last stable offset."""
COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000, help="per cluster")
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    # The lab's brokers have little memory; this is the one setting that wins over their command line.
    os.environ["_JAVA_OPTIONS"] = "-Xmx1500m"
    with tempfile.TemporaryDirectory() as folder, Lab.up(Path(folder)).no_longer_than_this_process() as lab:
        del os.environ["_JAVA_OPTIONS"]
        return run(lab, arguments.partitions, arguments.groups, arguments.rounds)


def run(lab: Lab, partitions: int, groups: int, rounds: int) -> int:
    clusters = [(Cluster.OLD, lab.old_bootstrap), (Cluster.NEW, lab.new_bootstrap)]
    names = [f"group-{number}" for number in range(groups)]
    for _, bootstrap in clusters:
        fill(bootstrap, partitions, names)

    works: dict[str, Callable[[Cluster, str], None]] = {
        "offsetwise, topics": lambda side, bootstrap: snapshot(side, bootstrap, partitions, []),
        "get_watermark_offsets loop": lambda _, bootstrap: watermark_loop(bootstrap),
        "offsetwise, topics and groups": lambda side, bootstrap: snapshot(side, bootstrap, partitions, names),
        "kafka-consumer-groups": lambda _, bootstrap: java_command(bootstrap),
    }
    took: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            begun = time.perf_counter()
            for side, bootstrap in clusters:
                work(side, bootstrap)
            took[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(seconds) for name, seconds in took.items()}
    loop = medians["get_watermark_offsets loop"] / medians["offsetwise, topics"]
    java = medians["kafka-consumer-groups"] / medians["offsetwise, topics and groups"]

    print(f"2 × {partitions:,} partitions, {groups} groups of {PARTITIONS_PER_GROUP}; {rounds} rounds")
    print(f"{'':32}{'median':>9}{'least':>9}{'most':>9}")
    for name, seconds in took.items():
        print(f"{name:32}{medians[name]:7.2f} s{min(seconds):7.2f} s{max(seconds):7.2f} s")
    print(f"topics: {loop:.1f}× as fast as the loop; with groups: {java:.1f}× as fast as the Java command")
    topics = [f"topic-{number}" for number in range(math.ceil(partitions / PARTITIONS_PER_TOPIC))]
    bounded = True
    for some in dict.fromkeys((1, math.ceil(len(topics) / 2), len(topics))):
        counted = requests(clusters[0][1], tuple(topics[:some]))
        bounded &= counted["ListOffsets"] <= QUESTIONS * CALLS and counted["DescribeConfigs"] == 1
        print(f"requests for {min(some * PARTITIONS_PER_TOPIC, partitions):,} partitions: {counted}")
    print(f"the loop: {2 * partitions:,} requests")
    for met, target in ((loop >= TARGET, "loop"), (java >= TARGET, "Java command"), (bounded, "requests")):
        print(f"{target}: {'target met' if met else 'TARGET MISSED'}")
    return 0 if bounded and min(loop, java) >= TARGET else 1


def fill(bootstrap: str, partitions: int, groups: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for number in range(math.ceil(partitions / PARTITIONS_PER_TOPIC)):
        topic = NewTopic(f"topic-{number}", min(PARTITIONS_PER_TOPIC, partitions), 1)
        admin.create_topics([topic], operation_timeout=LIMIT_S, request_timeout=LIMIT_S)[topic.topic].result()
    width = min(PARTITIONS_PER_GROUP, partitions)
    # The first commit of a cluster makes its offsets topic, which takes long beside 10,000 new partitions.
    for some in [groups[:1], *(groups[first:][:UNDER_WAY] for first in range(1, len(groups), UNDER_WAY))]:
        left, end = some, time.monotonic() + LIMIT_S
        while left := commit(admin, left, width):
            if time.monotonic() > end:
                raise SystemExit(f"{left} could not commit")


def commit(admin: AdminClient, groups: list[str], width: int) -> list[str]:
    """Return those that could not commit."""
    offsets = [TopicPartition("topic-0", number, 0) for number in range(width)]
    futures = {
        group: admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, offsets)], request_timeout=5)
        for group in groups
    }
    failed = []
    for group, future in futures.items():
        try:
            answer = future[group].result()
        except KafkaException:
            failed.append(group)
            continue
        if any(partition.error for partition in answer.topic_partitions):  # not every broker knows a new topic yet
            failed.append(group)
    return failed


def snapshot(side: Cluster, bootstrap: str, partitions: int, groups: list[str]) -> None:
    config = ClusterConfig(name=side, properties={"bootstrap.servers": bootstrap})
    taken = read_whole(side, config, topics=None, groups=tuple(groups), timeout_s=120).snapshot(None, groups)
    read = [state for topic in taken.topics for state in topic.partitions if state.hw is not None]
    if taken.problems or len(read) < partitions or any(not group.offsets for group in taken.groups):
        raise SystemExit(f"the snapshot is not whole: {taken.problems}")


def requests(bootstrap: str, topics: tuple[str, ...]) -> dict[str, int]:
    counter = RequestCounter()
    config = ClusterConfig(name=Cluster.OLD, properties={"bootstrap.servers": bootstrap})
    read_whole(Cluster.OLD, config, topics=topics, groups=(), timeout_s=120, counter=counter)
    return {name: counter.by_type[name] for name in ("ListOffsets", "DescribeConfigs")}


def watermark_loop(bootstrap: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "b3"})
    for name, topic in consumer.list_topics(timeout=30).topics.items():
        if not name.startswith("__"):
            for partition in topic.partitions:
                consumer.get_watermark_offsets(TopicPartition(name, partition), timeout=30)
    consumer.close()


def java_command(bootstrap: str) -> None:
    classpath = f"{kafka_jars()}/*"
    command = [find_java(), "-cp", classpath, COMMAND, "--bootstrap-server", bootstrap, "--describe", "--all-groups"]
    ran = subprocess.run([*command, "--timeout", "120000"], capture_output=True, text=True, check=False)
    if ran.returncode != 0 or "group-0" not in ran.stdout:
        raise SystemExit(f"kafka-consumer-groups failed: {ran.stderr[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
