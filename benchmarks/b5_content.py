"""B5: exact positions by content, and a topic reconciled, against joining both topics whole on Spark.

Topics of 1, 4 and 10 million records on each of two real clusters, the old one without its first 100 records' copies.
The content match reads windows, so its cost should not depend on the topics' size; the join reads everything, as
`reconcile` does. What the driver took during the match is printed: its Python process, and its JVM, which is the
executor of a local master too.

With `--partitions`, one position in each of so many partitions of a few records instead: what many answers cost, in
time and on the driver; with several numbers, whether the cost of a partition stays the same. With `--standalone`, the
same positions by turns on `local[2]` and on a standalone master with two workers of one core.

    .venv/bin/python -m benchmarks.b5_content [--millions 1 4 10 [--rounds 5] | --partitions 2500 10000 [--standalone]]
                                              [--heap 1g] [--dir FOLDER]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import pyspark
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from benchmarks.processor import cpu_s
from offsetwise.config import ClusterConfig, SparkSettings, client_properties
from offsetwise.lab import Lab
from offsetwise.lab.brokers import free_ports
from offsetwise.model import Cluster, Exactness, IsolationLevel, Reconciliation, TopicPartition
from offsetwise.pipeline.content import ContentMatch, FoundPosition
from offsetwise.pipeline.reconcile import TopicLog, reconcile
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.pipeline.window_reader import Ask, WindowReader
from offsetwise.plugins.kafka.stream import reader as kafka
from offsetwise.translation.search import SearchTarget, Span

PARTITIONS = 2
SHIFT = 100
FIRST_MS = 1_790_000_000_000
QUEUE = 1_000_000
PER_TOPIC, FEW, FEW_SHIFT = 500, 8, 3
POSITIONS = 8
REPEATS = 3
WARMING = 200
MILLION = 1_000_000
Result = TypeVar("Result")


def main() -> None:
    """Produce the topics, find the positions both ways, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 4, 10])
    parser.add_argument("--rounds", type=int, default=1, help="of the join and `reconcile`, by turns; their medians")
    parser.add_argument(
        "--partitions", type=int, nargs="*", help="positions in so many partitions, and no topics of millions"
    )
    parser.add_argument("--standalone", action="store_true", help="with --partitions: on a standalone master, too")
    parser.add_argument("--heap", default="1g", help="the most that the driver's JVM may use")
    parser.add_argument("--dir", type=Path, default=None, help="the lab's folder; a temporary one by default")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.partitions:
            # The lab's brokers have little memory; this is the one setting that wins over their command line.
            os.environ["_JAVA_OPTIONS"] = "-Xmx1500m"
        lab = Lab.up(given.dir or Path(folder))
        os.environ.pop("_JAVA_OPTIONS", None)
        try:
            local = SparkSettings(master="local[2]", conf={"spark.driver.memory": given.heap})
            if given.partitions:
                asked = [_few(lab, partitions) for partitions in given.partitions]
                with _masters(local) if given.standalone else nullcontext((local,)) as masters:
                    for settings in masters:
                        spark = open_session(settings, kafka=True)
                        for asks in asked:
                            _many(spark, lab, asks)
                        close_session()
                return
            spark = open_session(local, kafka=True)
            rows = [_measure(spark, lab, millions * MILLION, given.rounds) for millions in given.millions]
        finally:
            if given.dir is None:
                lab.down()
    print("\n| records per cluster | content match | offsets read | full Spark join | factor | false | reconcile |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(row)


def _measure(spark: SparkSession, lab: Lab, records: int, rounds: int) -> str:
    topic = f"b5-{records}"
    _produce(lab, topic, records)
    asks = _asks(topic, records)
    match = _match(spark, lab)
    match.find(asks[:1])
    found: dict[Ask, FoundPosition] = {}
    ours = []
    for _ in range(REPEATS):
        took, found = _timed(lambda: match.find(asks))
        ours.append(took)
    print(_memory(spark), flush=True)
    joining, counting = [], []
    for _ in range(rounds):
        took, joined = _timed(lambda: _join(spark, lab, topic, records, asks))
        joining.append(took)
        took, counted = _timed(lambda: _reconcile(spark, lab, topic, records))
        counting.append(took)
        assert all(each.both == each.old_records == each.new_records for each in counted.partitions), counted
    print(
        "join", [f"{took:.1f} s" for took in joining], "reconcile", [f"{took:.1f} s" for took in counting], flush=True
    )
    theirs = statistics.median(joining)
    wrong = 0
    for ask, each in found.items():
        cut = each.answer.cut
        assert cut is not None
        right = ask.target.position - SHIFT
        wrong += cut.exactness in (Exactness.EXACT, Exactness.POSITION_EXACT) and cut.offset != right
        known = joined[ask.partition.partition, ask.target.position]
        assert cut.offset == right == known, f"{ask}: {each.answer} instead of {right}, by the join {known}"
    read = sum(each.old_offsets_read + each.new_offsets_read for each in found.values())
    median = statistics.median(ours)
    figures = f"{theirs:.1f} s | {theirs / median:.1f} | {wrong} | {statistics.median(counting):.1f} s"
    return f"| {records:,} | {median:.1f} s | {read:,} | {figures} |"


@contextmanager
def _masters(local: SparkSettings) -> Iterator[tuple[SparkSettings, ...]]:
    """Start a standalone master with two workers of one core; give the sessions to open on it and locally by turns."""
    port, *pages = free_ports(4)
    address = f"spark://127.0.0.1:{port}"
    launcher = [str(Path(pyspark.__file__).parent / "bin" / "spark-class")]
    deploy = "org.apache.spark.deploy"
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(pages[0])],
        *(
            [f"{deploy}.worker.Worker", address, "--cores", "1", "--memory", "1g", "--webui-port", str(page)]
            for page in pages[1:]
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": folder}
        running = [
            subprocess.Popen([*launcher, *each], env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for each in commands
        ]
        own_host = {"spark.driver.host": "127.0.0.1", "spark.pyspark.python": sys.executable}
        standalone = SparkSettings(master=address, conf={**local.conf, **own_host})
        try:
            yield (local, standalone) * REPEATS
        finally:
            for each in running:
                each.terminate()
                each.wait(timeout=60)


def _few(lab: Lab, partitions: int) -> list[Ask]:
    """Make topics of few records with so many partitions on both clusters; give a position to find in each."""
    topics = [f"many-{partitions}-{number}" for number in range(-(-partitions // PER_TOPIC))]
    width = min(PER_TOPIC, partitions)
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, FEW_SHIFT)):
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for topic in topics:
            made = admin.create_topics([NewTopic(topic, width, 1)], operation_timeout=180, request_timeout=180)
            made[topic].result()
        for topic in topics:
            _write(bootstrap, topic, range(width), range(first, FEW))
    span, old = Span(start=0, end=FEW - FEW_SHIFT), Span(start=0, end=FEW)
    return [
        Ask(
            partition=TopicPartition(topic, partition),
            new_topic=topic,
            target=SearchTarget(position=FEW_SHIFT + partition % (FEW - FEW_SHIFT), old=old, new=span, budget=50_000),
        )
        for topic in topics
        for partition in range(width)
    ]


def _many(spark: SparkSession, lab: Lab, asks: list[Ask]) -> None:
    """Find one position in each of many partitions, and say what it took; first in some, so that all workers began."""
    match = _match(spark, lab)
    match.find(asks[:WARMING])
    before = _cpu_s(spark)
    took, found = _timed(lambda: match.find(asks))
    if match.reader.unread:
        raise SystemExit(f"not read: {next(iter(match.reader.unread.values()))}")
    used = _cpu_s(spark) - before
    right = sum(
        each.answer.cut is not None and each.answer.cut.offset == ask.target.position - FEW_SHIFT
        for ask, each in found.items()
    )
    classes = Counter(each.answer.cut.exactness if each.answer.cut else None for each in found.values())
    each_ms = f"{took / len(asks) * 1000:.1f} ms ({used / len(asks) * 1000:.1f} ms CPU)"
    where = (spark.sparkContext.master or "").partition(":")[0]
    print(
        f"{len(asks):,} partitions on {where}: {took:.1f} s, {each_ms} each, {right:,} right; {dict(classes)}; at most",
        end=" ",
    )
    print(f"{max(each.rounds for each in found.values())} rounds")
    print(_memory(spark), flush=True)


def _write(bootstrap: str, topic: str, partitions: range, numbers: range) -> None:
    """Write a record of each number to each partition, a millisecond apart."""
    # Without idempotence a batch that is sent again, as the first to a new topic, may stand behind a later one.
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 50,
            "queue.buffering.max.messages": QUEUE,
            "enable.idempotence": True,
        }
    )
    for partition in partitions:
        for number in numbers:
            if len(producer) >= QUEUE:
                producer.flush(180)
            value = f"{topic}-{partition}-{number}".encode()
            producer.produce(topic, value, str(number).encode(), partition, timestamp=FIRST_MS + number)
    if left := producer.flush(180):
        raise SystemExit(f"{left} records were not written to {bootstrap}")


def _cpu_s(spark: SparkSession) -> float:
    """Return the CPU seconds of the driver and of Spark with its workers; the lab's brokers are not in them."""
    jvm: Any = spark._jvm  # PySpark's own door to Spark's JVM
    return time.process_time() + cpu_s(jvm.java.lang.ProcessHandle.current().pid())


def _memory(spark: SparkSession) -> str:
    """Describe what the driver took, in MiB. With garbage, a JVM takes what it is allowed."""
    jvm: Any = spark._jvm  # PySpark's own door to Spark's JVM
    java = jvm.java.lang
    java.System.gc()
    live = java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    most = java.Runtime.getRuntime().maxMemory()
    python, process = os.getpid(), java.ProcessHandle.current().pid()
    return (
        f"driver: Python at most {_peak_mib(python)} MiB resident; JVM's heap {live >> 20} MiB in use after the match, "
        f"of {most >> 20} MiB allowed, the JVM in all at most {_peak_mib(process)} MiB resident"
    )


def _peak_mib(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmHWM"))


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def _produce(lab: Lab, topic: str, records: int) -> None:
    """Write the same records to both clusters, the first ones to the old cluster only, and trim those there.

    A copy has the time of its record, as mirrors keep it. A record's offset on the old cluster is its number.
    """
    each = records // PARTITIONS
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, SHIFT)):
        admin = AdminClient({"bootstrap.servers": bootstrap})
        for created in admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values():
            created.result(30)
        _write(bootstrap, topic, range(PARTITIONS), range(first, each + SHIFT))
        if first == 0:
            moved = [Place(topic, partition, SHIFT) for partition in range(PARTITIONS)]
            for deleted in admin.delete_records(moved).values():
                deleted.result(30)


def _spans(records: int) -> tuple[Span, Span]:
    each = records // PARTITIONS
    return Span(start=SHIFT, end=each + SHIFT), Span(start=0, end=each)


def _asks(topic: str, records: int) -> list[Ask]:
    old, new = _spans(records)
    step = len(old) // (POSITIONS + 1)
    return [
        Ask(
            partition=TopicPartition(topic, partition),
            new_topic=topic,
            target=SearchTarget(position=old.start + step * number, old=old, new=new, budget=50_000),
        )
        for partition in range(PARTITIONS)
        for number in range(1, POSITIONS + 1)
    ]


def _match(spark: SparkSession, lab: Lab) -> ContentMatch:
    configs = {
        Cluster.OLD: ClusterConfig(name="old", properties={"bootstrap.servers": lab.old_bootstrap}),
        Cluster.NEW: ClusterConfig(name="new", properties={"bootstrap.servers": lab.new_bootstrap}),
    }
    reader = WindowReader(
        spark=spark,
        properties={side: dict(config.properties) for side, config in configs.items()},
        clients={side: client_properties(config) for side, config in configs.items()},
        isolation=IsolationLevel.READ_UNCOMMITTED,
        progress=lambda *_: None,
        salt=os.urandom(16),
    )
    return ContentMatch(
        reader=reader,
        offsets_for_times=lambda times: kafka.offsets_for_times(configs[Cluster.NEW], times),
        log_ranges=lambda side, wanted: kafka.log_ranges(configs[side], wanted),
    )


def _logs(lab: Lab, topic: str, records: int) -> list[TopicLog]:
    """Return what is read of the topic on the old cluster and on the new one."""
    return [
        TopicLog(
            properties={"bootstrap.servers": bootstrap},
            topic=topic,
            ranges=tuple(
                OffsetRange(topic=topic, partition=partition, start=span.start, end=span.end)
                for partition in range(PARTITIONS)
            ),
        )
        for bootstrap, span in zip((lab.old_bootstrap, lab.new_bootstrap), _spans(records), strict=True)
    ]


def _reconcile(spark: SparkSession, lab: Lab, topic: str, records: int) -> Reconciliation:
    old, new = _logs(lab, topic, records)
    return reconcile(spark, old, new, isolation=IsolationLevel.READ_UNCOMMITTED, salt=os.urandom(16))


def _join(spark: SparkSession, lab: Lab, topic: str, records: int, asks: list[Ask]) -> dict[tuple[int, int], int]:
    """Join both topics on the identity of their records: what one would write without windows."""
    salt = os.urandom(16)
    frames: list[DataFrame] = []
    for log in _logs(lab, topic, records):
        frames.append(
            read_records(
                spark,
                log.properties,
                log.ranges,
                isolation=IsolationLevel.READ_UNCOMMITTED,
                salt=salt,
                max_records_per_task=250_000,
            ).select("partition", "content", "offset")
        )
    old, new = frames
    pairs = old.withColumnRenamed("offset", "old_offset").join(new, on=["partition", "content"], how="inner")
    wanted = spark.createDataFrame(
        [(ask.partition.partition, ask.target.position) for ask in asks], "wanted_partition int, position long"
    )
    at_or_after = (F.col("partition") == F.col("wanted_partition")) & (F.col("old_offset") >= F.col("position"))
    found = (
        pairs.join(F.broadcast(wanted), on=at_or_after, how="inner")
        .groupBy("wanted_partition", "position")
        .agg(F.min("offset").alias("offset"))
        .toArrow()
        .to_pylist()
    )
    return {(row["wanted_partition"], row["position"]): row["offset"] for row in found}


if __name__ == "__main__":
    main()
