"""A checkpoint of a real Kafka query: Spark restarts exactly where the reader says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab
from offsetwise.model import Checkpoint
from offsetwise.pipeline.session import open_session
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.engine.details import spark_details
from offsetwise.position import offset_of

TOPIC = "checkpoint-live"
Ranges = dict[int, tuple[int, int]]


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(master="local[2]"), kafka=True)  # as the sample says: one session for all


def _produce(bootstrap: str, first: int, second: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition, count in enumerate((first, second)):
        for number in range(count):
            producer.produce(TOPIC, key=str(number), value=b"x", partition=partition)
    assert producer.flush(30) == 0


def _run(spark: SparkSession, bootstrap: str, folder: Path, *, fails: bool = False) -> list[tuple[int, Ranges]]:
    """Run what is there, and give per batch the range of offsets it read of every partition."""
    seen: list[tuple[int, Ranges]] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        rows = batch.groupBy("partition").agg(F.min("offset").alias("first"), F.max("offset").alias("last")).collect()
        seen.append((batch_id, {row["partition"]: (row["first"], row["last"] + 1) for row in rows}))
        if fails:
            raise RuntimeError("planned and not committed")

    query = (
        spark.readStream.format("kafka")
        .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": TOPIC, "startingOffsets": "earliest"})
        .load()
        .writeStream.option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException:
        assert fails
    return seen


def _ranges(read: Checkpoint) -> Ranges:
    return {
        one.partition: (offset_of(one.offset), offset_of(one.planned_offset or -1)) for one in read.sources[0].positions
    }


def test_spark_restarts_exactly_where_the_reader_says(lab: Lab, spark: SparkSession, tmp_path: Path) -> None:
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    (made,) = admin.create_topics([NewTopic(TOPIC, 2, 1)]).values()
    made.result()
    folder = tmp_path / "checkpoint"

    _produce(lab.old_bootstrap, 30, 20)
    _run(spark, lab.old_bootstrap, folder, fails=True)
    first = read_checkpoint(str(folder))
    assert (first.details.progress.again, _ranges(first)) == (0, {0: (0, 30), 1: (0, 20)})

    _run(spark, lab.old_bootstrap, folder)
    done = read_checkpoint(str(folder))
    assert (done.details.progress.committed, done.details.progress.again, done.problems) == (0, None, ())
    assert _ranges(done) == {0: (30, -1), 1: (20, -1)}

    _produce(lab.old_bootstrap, 12, 7)
    _run(spark, lab.old_bootstrap, folder, fails=True)
    pending = read_checkpoint(str(folder))
    assert [problem.code for problem in pending.problems] == ["PENDING_BATCH"]

    _produce(lab.old_bootstrap, 3, 4)
    copy = shutil.copytree(folder, tmp_path / "copy")
    again, *_ = _run(spark, lab.old_bootstrap, copy)
    assert again == (pending.details.progress.again, _ranges(pending)) == (1, {0: (30, 42), 1: (20, 27)})

    caught_up = read_checkpoint(str(copy))
    assert _ranges(caught_up) == {0: (45, -1), 1: (31, -1)}


def test_the_sample_jobs_checkpoint_has_a_planned_batch(sample: Path) -> None:
    folder = sample.parent / "checkpoints" / "orders"
    read = read_checkpoint(str(folder))
    planned = json.loads((folder / "offsets" / str(read.details.progress.again)).read_text().split("\n")[2])
    start = json.loads((folder / "offsets" / str(read.details.progress.committed)).read_text().split("\n")[2])

    assert read.details.progress.again == (read.details.progress.committed or 0) + 1
    assert {one.topic_partition: (one.offset, one.planned_offset) for one in read.sources[0].positions} == {
        (topic, int(partition)): (offset, planned[topic][partition])
        for topic, partitions in start.items()
        for partition, offset in partitions.items()
    }
    assert [problem.code for problem in read.problems] == ["PENDING_BATCH"]
    assert spark_details(read).state[0].partitions == 2
