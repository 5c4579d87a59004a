"""Records of real brokers, read by Spark and, beside it, by a plain consumer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import SparkSession

from offsetwise.config import SparkSettings
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.lab import Lab
from offsetwise.model import Cluster, IsolationLevel
from offsetwise.pipeline.reconcile import TopicLog, reconcile
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.spark_errors import spark_errors
from offsetwise.translation.identity import content_hash, header_hash, masked_hash, record_size, schema_id

SALT = b"live"
COMMITTED = IsolationLevel.READ_COMMITTED
UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED
START_MS = 1_790_000_000_000

Headers = list[tuple[str, str | bytes | None]]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(master="local[2]"), kafka=True)  # as the sample says: one session for all


def create(bootstrap: str, topic: str, partitions: int = 1, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    named = {name.replace("_", "."): value for name, value in config.items()} | {"retention.ms": "-1"}
    for made in admin.create_topics([NewTopic(topic, partitions, 1, config=named)]).values():
        made.result()


def read(spark: SparkSession, bootstrap: str, ranges: Sequence[OffsetRange], isolation: IsolationLevel) -> list[Any]:
    with spark_errors():
        frame = read_records(spark, {"bootstrap.servers": bootstrap}, ranges, isolation=isolation, salt=SALT)
        return sorted(frame.toArrow().to_pylist(), key=lambda row: (row["topic"], row["partition"], row["offset"]))


def window(topic: str, start: int, end: int, partition: int = 0) -> OffsetRange:
    return OffsetRange(topic=topic, partition=partition, start=start, end=end)


def consumed(bootstrap: str, topic: str, count: int) -> Iterator[dict[str, Any]]:
    """Partition 0 as a plain consumer sees it, hashed in Python."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    for message in consumer.consume(count, timeout=30):
        key, value = message.key(), message.value()
        headers: Any = message.headers()
        yield {
            "topic": topic,
            "partition": 0,
            "offset": message.offset(),
            "timestamp": message.timestamp()[1],
            "log_append": message.timestamp()[0] == 2,
            "content": content_hash(SALT, key, value),
            "masked": masked_hash(SALT, key, value),
            "key_schema": schema_id(key),
            "value_schema": schema_id(value),
            "headers": [{"name": n, "hash": header_hash(SALT, n, v)} for n, v in headers] if headers else None,
            "origin": None,
            "size": record_size(key, value, headers),
        }
    consumer.close()


@pytest.fixture(scope="module")
def transactions(lab: Lab) -> str:
    """Offsets 0-9 committed, 10 the marker, 11-15 aborted, 16 the marker, 17-19 committed, 20 the marker."""
    create(lab.old_bootstrap, "live-transactions")
    producer = Producer({"bootstrap.servers": lab.old_bootstrap, "transactional.id": "live"})
    producer.init_transactions()
    for count, commit in ((10, True), (5, False), (3, True)):
        producer.begin_transaction()
        for number in range(count):
            producer.produce("live-transactions", key=b"%d" % number, value=b"v", partition=0)
        assert producer.flush(30) == 0
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    return "live-transactions"


def test_spark_and_a_plain_consumer_see_the_same_records(spark: SparkSession, lab: Lab) -> None:
    create(lab.old_bootstrap, "live-mixed")
    sent: list[tuple[bytes | None, bytes | None, Headers]] = [
        (None, b"v", []),
        (b"", b"", [("a", b"1"), ("a", None), ("naïve", b"")]),
        (b"\0\0\0\0\x07k", b"\0\xff\xff\xff\xff", []),
        (b"tombstone", None, []),
        (b"k", b"x" * 100_000, []),
    ]
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    for number, (key, value, headers) in enumerate(sent):
        producer.produce("live-mixed", key=key, value=value, headers=headers, partition=0, timestamp=START_MS + number)
    assert producer.flush(30) == 0

    rows = read(spark, lab.old_bootstrap, [window("live-mixed", 0, 5)], COMMITTED)

    assert rows == list(consumed(lab.old_bootstrap, "live-mixed", 5))
    assert [row["timestamp"] for row in rows] == [START_MS + number for number in range(5)]


@pytest.mark.parametrize(
    ("isolation", "start", "end", "offsets"),
    [
        (UNCOMMITTED, 0, 21, [*range(10), *range(11, 16), *range(17, 20)]),
        (COMMITTED, 0, 21, [*range(10), *range(17, 20)]),
        (COMMITTED, 10, 11, []),
        (COMMITTED, 11, 16, []),
        (COMMITTED, 12, 18, [17]),
        (UNCOMMITTED, 16, 17, []),
        (UNCOMMITTED, 20, 21, []),
    ],
    ids=["all", "committed", "a marker", "only aborted", "from aborted", "an abort marker", "the last marker"],
)
def test_a_read_sees_what_the_jobs_isolation_level_shows(
    spark: SparkSession,
    lab: Lab,
    transactions: str,
    isolation: IsolationLevel,
    start: int,
    end: int,
    offsets: list[int],
) -> None:
    rows = read(spark, lab.old_bootstrap, [window(transactions, start, end)], isolation)

    assert [row["offset"] for row in rows] == offsets


def test_two_windows_of_one_partition_and_one_of_another_come_from_one_call(
    spark: SparkSession, lab: Lab, transactions: str
) -> None:
    create(lab.old_bootstrap, "live-append", message_timestamp_type="LogAppendTime")
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    for number in range(4):
        producer.produce("live-append", value=b"%d" % number, partition=0, timestamp=START_MS)
    assert producer.flush(30) == 0
    ranges = [window(transactions, 2, 4), window(transactions, 17, 19), window("live-append", 1, 3)]

    rows = read(spark, lab.old_bootstrap, ranges, COMMITTED)

    assert [(row["topic"], row["offset"]) for row in rows] == [
        *(("live-append", offset) for offset in (1, 2)),
        *((transactions, offset) for offset in (2, 3, 17, 18)),
    ]
    assert [row["log_append"] for row in rows] == [True, True, False, False, False, False]


def test_reading_leaves_no_group_and_no_topic_behind(spark: SparkSession, lab: Lab, transactions: str) -> None:
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})

    def seen() -> tuple[set[str], set[str]]:
        groups = {group.group_id for group in admin.list_consumer_groups().result().valid}
        return groups, set(admin.list_topics(timeout=20).topics)

    before = seen()
    read(spark, lab.old_bootstrap, [window(transactions, 0, 10)], COMMITTED)
    with pytest.raises(ClusterError, match="does not have"):
        read(spark, lab.old_bootstrap, [window("live-never-created", 0, 10)], COMMITTED)

    assert seen() == before


def test_a_range_that_retention_passed_comes_back_shorter(spark: SparkSession, lab: Lab) -> None:
    create(lab.old_bootstrap, "live-trimmed")
    producer = Producer({"bootstrap.servers": lab.old_bootstrap})
    for number in range(10):
        producer.produce("live-trimmed", value=b"%d" % number, partition=0)
    assert producer.flush(30) == 0
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    for done in admin.delete_records([TopicPartition("live-trimmed", 0, 6)]).values():
        done.result()

    rows = read(spark, lab.old_bootstrap, [window("live-trimmed", 2, 8)], COMMITTED)

    assert [row["offset"] for row in rows] == [6, 7]


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "2000"}, ClusterUnreachableError),
        ({"bootstrap.servers": "no-such-host.invalid:9092"}, ClusterUnreachableError),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
                'username="u" password="canary";',
            },
            ClusterAuthError,
        ),
    ],
    ids=["nobody listens", "no such host", "SASL where the broker has none"],
)
def test_a_cluster_that_gives_no_records_is_one_sentence_without_secrets(
    spark: SparkSession, lab: Lab, properties: dict[str, str], error: type[ClusterError]
) -> None:
    given = {"bootstrap.servers": lab.old_bootstrap, "request.timeout.ms": "1500"} | properties

    with pytest.raises(error) as caught, spark_errors():
        read_records(spark, given, [window("any", 0, 1)], isolation=COMMITTED, salt=SALT).toArrow()

    assert "\n" not in str(caught.value)
    assert "\tat " not in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_topic_is_reconciled_by_partition_and_range(spark: SparkSession, lab: Lab) -> None:
    """Partition 0: two lost, one twice, one native; 1: LogAppendTime on the new cluster; 2: nothing differs."""
    create(lab.old_bootstrap, "live-reconciled", partitions=3)
    create(lab.new_bootstrap, "old.live-reconciled", partitions=3)
    create(lab.new_bootstrap, "live-appended", partitions=3, message_timestamp_type="LogAppendTime")
    old, new = (Producer({"bootstrap.servers": each}) for each in (lab.old_bootstrap, lab.new_bootstrap))
    ends = {0: 0, 1: 0, 2: 0}
    for number in range(90):
        partition = number % 3
        own: dict[str, Any] = {"key": b"%d" % (number // 2), "partition": partition, "timestamp": START_MS + number}
        copied: Headers = [("h", b"1"), ("x-original-offset", b"%d" % (number // 3)), ("trace", b"%d" % number)]
        old.produce("live-reconciled", value=b"v", headers=[("h", b"1")], **own)
        new.produce("live-appended", value=b"v", headers=copied, **own)
        for _ in range({3: 0, 60: 0, 6: 2}.get(number, 1)):
            new.produce("old.live-reconciled", value=b"v", headers=copied, **own)
            ends[partition] += 1
    new.produce("old.live-reconciled", key=b"native", value=b"v", partition=0)
    ends[0] += 1
    assert (old.flush(30), new.flush(30)) == (0, 0)
    old_log = TopicLog(
        properties={"bootstrap.servers": lab.old_bootstrap},
        topic="live-reconciled",
        ranges=tuple(window("live-reconciled", 0, 30, partition) for partition in range(3)),
    )

    def new_log(topic: str, ends: Mapping[int, int]) -> TopicLog:
        return TopicLog(
            properties={"bootstrap.servers": lab.new_bootstrap},
            topic=topic,
            ranges=tuple(window(topic, 0, end, partition) for partition, end in ends.items()),
        )

    renamed = reconcile(
        spark, old_log, new_log("old.live-reconciled", ends), isolation=COMMITTED, salt=SALT, range_offsets=10
    )
    appended = reconcile(
        spark, old_log, new_log("live-appended", dict.fromkeys(range(3), 30)), isolation=COMMITTED, salt=SALT
    )

    first, *others = renamed.partitions
    assert (first.both, first.missing, first.duplicated, first.foreign, first.timed) == (28, 2, 1, 1, True)
    assert [(each.both, each.missing, each.duplicated, each.foreign) for each in others] == [(30, 0, 0, 0)] * 2
    assert [(d.cluster, d.start, d.end, d.missing, d.duplicated, d.foreign) for d in renamed.differences] == [
        (Cluster.OLD, 0, 10, 1, 0, 0),
        (Cluster.OLD, 20, 30, 1, 0, 0),
        (Cluster.NEW, 0, 10, 0, 1, 0),
        (Cluster.NEW, 20, 30, 0, 0, 1),
    ]
    assert renamed.ignored_headers == ("trace", "x-original-offset")
    assert appended.agrees
    assert [each.timed for each in appended.partitions] == [False] * 3
