"""Jobs whose groups are not consumer groups: a share group, an application of Kafka Streams; and a broker for them.

`python -m tests.plugins.kafka.live.group_jobs` fetches the library of Kafka Streams, as `make proof` does, so that no
test needs a network.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from offsetwise.errors import OffsetwiseError
from offsetwise.jars import locked_jars
from offsetwise.lab.brokers import LOG_CONFIGURATION, cluster_id, configuration, free_ports, jvm
from offsetwise.lab.jars import KAFKA_VERSION, kafka_jars
from offsetwise.lab.java import find_java
from offsetwise.lab.processes import start, stop
from tests.integration.secured_broker import wait_for_port
from tests.integration.topics import TIMEOUT_S, create

JARS: Final = f"kafka-streams-{KAFKA_VERSION}"
"""The set in the lock: what the lab's jars lack. The stores of the tests are in memory, so it needs no RocksDB."""
WANTED: Final = (f"org.apache.kafka:kafka-streams:{KAFKA_VERSION}",)
_HERE: Final = Path(__file__).parent
_FEATURES: Final = ("--feature", "share.version=1")
"""Which 4.1 has by this only; later ones have it, and streams groups, without it too."""
_OF_GROUPS: Final = (
    "share.coordinator.state.topic.num.partitions=1",
    "share.coordinator.state.topic.replication.factor=1",
    "share.coordinator.state.topic.min.isr=1",
    "group.share.min.heartbeat.interval.ms=500",
    "group.share.heartbeat.interval.ms=500",
    "group.streams.initial.rebalance.delay.ms=0",
)


@contextmanager
def broker(folder: Path, version: str = KAFKA_VERSION, *more: str) -> Iterator[str]:
    """Run one broker that has share groups and streams groups inside the block; give its address.

    Args:
        folder: An empty folder.
        version: A Kafka of the lock, 4.1.1 or later.
        more: Lines of its configuration.
    """
    port, controller_port = free_ports(2)
    (folder / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
    properties = folder / "server.properties"
    lines = (configuration(folder, port=port, controller_port=controller_port), *_OF_GROUPS, *more, "")
    properties.write_text("\n".join(lines), encoding="utf-8")
    given = ("format", "-t", cluster_id(), "-c", str(properties), *_FEATURES)
    subprocess.run(jvm(folder, "kafka.tools.StorageTool", *given, version=version), check=True, capture_output=True)
    command = jvm(folder, "kafka.Kafka", str(properties), heap="320m", version=version)
    process = start(command, log=folder / "broker.log")
    try:
        wait_for_port(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        stop(process, grace_s=0)


def read_shared(bootstrap: str, group: str, topic: str, count: int, *, accepted: Iterable[int]) -> dict[int, str]:
    """Let a share group read so many records, accept those at some offsets, and release the others.

    Returns:
        What it read, by offset.
    """
    offsets = ",".join(map(str, accepted))
    ran = _run(_java("ShareJob", "read", bootstrap, group, topic, str(count), offsets))
    lines = (line.split(" ", maxsplit=1) for line in ran.splitlines() if line != "END")
    return {int(offset): value for offset, value in lines}


def begin_shared(bootstrap: str, group: str, topic: str, offset: int) -> None:
    """Set where a share group begins in partition 0 of a topic, with Java's client."""
    _run(_java("ShareJob", "begin", bootstrap, group, topic, str(offset)))


@contextmanager
def application(
    bootstrap: str, name: str, topic: str, folder: Path, *, counted: int, protocol: str = "classic"
) -> Iterator[None]:
    """Run an application of Kafka Streams that counts so many records, and leaves later ones in its repartition topic.

    The block begins when they are counted. It ends at once behind the block, as by a failure of its machine.
    """
    command = _java("StreamsJob", bootstrap, name, topic, str(folder / "state"), protocol, str(counted))
    pipe = subprocess.PIPE
    log = folder / f"{name}.log"
    with log.open("w") as errors, subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=errors) as job:
        try:
            assert job.stdout is not None
            for line in job.stdout:
                if line == "COUNTED\n":
                    break
            else:
                raise AssertionError(f"expected COUNTED, the application ended: {log.read_text()[-4000:]}")
            yield
            job.communicate(timeout=60)
        finally:
            job.kill()


def records(bootstrap: str, topic: str) -> list[tuple[bytes, bytes]]:
    """Read all records of a topic of one partition: keys and values."""
    return [(bytes(each.key() or b""), bytes(each.value() or b"")) for each in _messages(bootstrap, topic)]


def copy(old: str, new: str, topic: str) -> None:
    """Create a topic of one partition on another cluster, and copy all its records, as a mirror does."""
    create(new, topic)
    producer = Producer({"bootstrap.servers": new, "log_level": 2})
    for each in _messages(old, topic):
        producer.produce(topic, each.value(), each.key(), 0, timestamp=each.timestamp()[1], headers=each.headers())
    assert producer.flush(TIMEOUT_S) == 0


def _messages(bootstrap: str, topic: str) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reads-all", "enable.auto.commit": False})
    try:
        start, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_S)
        consumer.assign([TopicPartition(topic, 0, start)])
        return consumer.consume(end - start, timeout=TIMEOUT_S) if end > start else []
    finally:
        consumer.close()


def _run(command: list[str]) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert ran.stdout.endswith("END\n"), ran.stderr[-4000:]
    return ran.stdout


def _java(main: str, *arguments: str) -> list[str]:
    """Return the command line of one source file, compiled once."""
    small = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
    classes = _compiled(main)
    quiet = f"-Dlog4j2.configurationFile={classes}/log4j2.properties"
    return [find_java(), *small, quiet, "-cp", f"{classes}:{_class_path()}", main, *arguments]


def _class_path() -> str:
    return f"{kafka_jars()}/*:{locked_jars(JARS, java=find_java)}/*"


@cache
def _compiled(main: str) -> str:
    """Compile one source file; return the folder of its classes, which this process removes."""
    classes = tempfile.mkdtemp(prefix=f"{main.lower()}-")
    atexit.register(shutil.rmtree, classes, ignore_errors=True)
    compiler = shutil.which("javac")
    assert compiler, "expected a JDK, found no javac on the PATH. Nothing was run."
    (Path(classes) / "log4j2.properties").write_text(f"{LOG_CONFIGURATION}appender.stdout.target=SYSTEM_ERR\n", "utf-8")
    subprocess.run([compiler, "-nowarn", "-cp", _class_path(), "-d", classes, str(_HERE / f"{main}.java")], check=True)
    return classes


def main() -> None:
    """Fetch the jar."""
    try:
        locked_jars(JARS, java=find_java)
    except OffsetwiseError as error:
        sys.exit(f"What the tests of Kafka Streams run could not be fetched. No test was run. {error}")


if __name__ == "__main__":
    main()
