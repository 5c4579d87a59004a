"""Real Spark on repaired copies: it starts where the damaged original does not, and reads each record once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from uuid import UUID

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from offsetwise.config import SparkSettings
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.lab import Lab
from offsetwise.pipeline.session import open_session
from tests.commands import run
from tests.gates import of_all
from tests.plugins.spark.repair.flow import aged, drafted, repaired

Record = tuple[str, int]
"""Topic and offset; each topic has one partition."""


class Job:
    """A query on three topics, one batch a run."""

    def __init__(self, lab: Lab, spark: SparkSession, folder: Path, name: str) -> None:
        self.spark, self.bootstrap, self.folder = spark, lab.old_bootstrap, folder
        self.orders, self.legacy, self.clicks = (f"repair-{name}-{each}" for each in ("orders", "legacy", "clicks"))
        self.ends = dict.fromkeys((self.orders, self.legacy, self.clicks), 0)
        topics = [NewTopic(topic, 1, 1) for topic in self.ends]
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics(topics).values():
            made.result()

    def produce(self, count: int) -> None:
        """Write so many records to each topic."""
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for topic in self.ends:
            for _ in range(count):
                producer.produce(topic, value=b"x", partition=0)
            self.ends[topic] += count
        assert producer.flush(30) == 0

    def run(self, folder: Path | None = None, *, fails: bool = False) -> tuple[list[Record], str]:
        """Run all that is there; give the records of the batches, and the query's id."""
        read: list[Record] = []
        query = self._writing(read, self.ends, folder, fails=fails).trigger(availableNow=True).start()
        if fails:
            with pytest.raises(StreamingQueryException):
                query.awaitTermination()
        else:
            query.awaitTermination()
        return read, query.id

    def run_without_legacy(self, *, refuses: bool) -> list[Record]:
        """Run once with a subscription that one topic has left, as a query whose code was changed."""
        read: list[Record] = []
        topics = [topic for topic in self.ends if topic != self.legacy]
        query = self._writing(read, topics, fails_on_data_loss=refuses).start()
        if refuses:
            with pytest.raises(StreamingQueryException, match=f"{self.legacy}-0"):
                query.processAllAvailable()
        else:
            query.processAllAvailable()
            query.stop()
        return read

    def _writing(
        self,
        read: list[Record],
        topics: Iterable[str],
        folder: Path | None = None,
        *,
        fails: bool = False,
        fails_on_data_loss: bool = True,
    ) -> DataStreamWriter:
        def write(batch: DataFrame, _: int) -> None:
            read.extend((row["topic"], row["offset"]) for row in batch.select("topic", "offset").collect())
            if fails:
                raise RuntimeError("planned and not committed")

        return (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", ",".join(topics))
            .option("startingOffsets", "earliest")
            .option("failOnDataLoss", str(fails_on_data_loss).lower())
            .load()
            .writeStream.option("checkpointLocation", str(folder or self.folder))
            .foreachBatch(write)
        )

    def after(self, offset: int) -> Counter[Record]:
        """Return every record of all topics from an offset on, once."""
        return Counter((topic, number) for topic, end in self.ends.items() for number in range(offset, end))


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(master="local[2]"), kafka=True)


def _gone(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).unlink()
        (folder / path).with_name(f".{Path(path).name}.crc").unlink()


def _pending(job: Job) -> int:
    job.produce(10)
    job.run(fails=True)
    return 40


def _pending_and_half_written(job: Job) -> int:
    begins = _pending(job)
    _cut(job.folder, "offsets/4")
    return begins


def _cut(folder: Path, path: str) -> None:
    data = (folder / path).read_bytes()
    (folder / path).write_bytes(data[: len(data) // 2])
    (folder / path).with_name(f".{Path(path).name}.crc").unlink()


def _damaged_commit(job: Job) -> int:
    _cut(job.folder, "commits/3")
    return 30


def _two_damaged_commits(job: Job) -> int:
    _cut(job.folder, "commits/2")
    return _damaged_commit(job)


def _damaged_commit_before_a_pending_batch(job: Job) -> int:
    begins = _pending(job)
    _cut(job.folder, "commits/3")
    return begins


def _gap(job: Job) -> int:
    _pending(job)
    _gone(job.folder, "offsets/3", "commits/3")
    return 30


def _topic_gone(job: Job, *more: str) -> int:
    _pending(job)
    path = job.folder / "offsets/4"
    head, line = path.read_text().rsplit("\n", 1)
    offsets = json.loads(line)
    for topic in (job.legacy, *more):
        del offsets[topic]
    path.write_text(f"{head}\n{json.dumps(offsets, separators=(',', ':'))}")
    path.with_name(".4.crc").unlink()
    return 40


def _two_topics_gone(job: Job) -> int:
    return _topic_gone(job, job.clicks)


def _metadata_lost(job: Job) -> int:
    _gone(job.folder, "metadata")
    return 40


def _unfinished_repartition(job: Job) -> int:
    """Ask for another number of partitions of state that cannot be repartitioned: its batch is left behind."""
    manager = job.spark._jsparkSession.streamingCheckpointManager()
    with pytest.raises(Py4JJavaError):
        manager.repartition(str(job.folder), 7, True)
    assert (job.folder / "offsets" / "4").exists()
    return 40


DAMAGES: dict[str, tuple[str, Callable[[Job], int], bool]] = {
    "pending": ("drop-pending-batch", _pending, False),
    "pending-half-written": ("drop-pending-batch", _pending_and_half_written, True),
    "commit": ("remove-damaged-commit", _damaged_commit, True),
    "two-commits": ("remove-damaged-commit", _two_damaged_commits, True),
    "commit-before-pending": ("remove-damaged-commit", _damaged_commit_before_a_pending_batch, True),
    "repartition": ("drop-pending-batch", _unfinished_repartition, True),
    "gap": ("drop-batch-after-gap", _gap, True),
    "topic": ("restore-topic", _topic_gone, True),
    "two-topics": ("restore-topic", _two_topics_gone, True),
    "metadata": ("restore-metadata", _metadata_lost, False),
}
"""Kind of repair; what damages a checkpoint, and gives the offset that the copy reads from; and whether Spark fails."""


@pytest.mark.parametrize("name", DAMAGES)
def test_spark_starts_on_the_copy_and_reads_each_record_once(
    name: str, lab: Lab, spark: SparkSession, tmp_path: Path
) -> None:
    kind, damage, fails = DAMAGES[name]
    job = Job(lab, spark, tmp_path / "checkpoint", name)
    known: Counter[Record] = Counter()
    for _ in range(4):
        job.produce(10)
        read, query_id = job.run()
        known.update(read)
    assert known == job.after(0)
    begins = damage(job)
    gone = job.legacy if name == "topic" else f"{job.legacy},{job.clicks}"
    settings = {
        "restore-topic": ("--set", f"topic={gone}"),
        "restore-metadata": ("--set", f"query_id={UUID(query_id)}"),
    }
    copy, _ = repaired(aged(job.folder), kind, tmp_path / "work", *settings.get(kind, ()))
    if fails:
        with pytest.raises(StreamingQueryException):
            job.run()

    job.produce(5)
    read, id_there = job.run(copy)

    assert Counter(read) == job.after(begins)
    assert id_there == query_id
    assert job.run(copy) == ([], query_id)


@pytest.mark.parametrize("pending", of_all([True, False], [True]))
def test_a_topic_that_left_a_real_subscription_is_put_back_by_commands(
    lab: Lab, spark: SparkSession, tmp_path: Path, *, pending: bool
) -> None:
    job = Job(lab, spark, tmp_path / "checkpoint", f"left-{pending}".lower())
    known: Counter[Record] = Counter()
    for _ in range(3):
        job.produce(10)
        known.update(job.run()[0])
    job.produce(10)
    known.update(job.run_without_legacy(refuses=pending))
    (left,) = read_checkpoint(str(job.folder)).problems[:1]
    assert left.code == ("TOPIC_DROPPED" if pending else "TOPIC_LEFT")
    setting = f"topic={job.legacy}"
    assert f"--set repair=restore-topic --set {setting} " in left.fix

    copy, plan = repaired(aged(job.folder), "restore-topic", tmp_path / "work", "--set", setting, by=run)
    job.produce(5)
    read, _ = job.run(copy)

    assert known + Counter(read) == job.after(0), "every record of every topic, once"
    assert sum(1 for topic, _ in read if topic == job.legacy) == 15
    assert f"{job.legacy}-0 at 30" in plan["repair"]["costs"][0]


def test_the_reported_hole_is_refused_where_spark_would_not_start_either(
    lab: Lab, spark: SparkSession, tmp_path: Path
) -> None:
    job = Job(lab, spark, tmp_path / "checkpoint", "refused")
    for _ in range(3):
        job.produce(10)
        job.run()
    job.produce(10)
    job.run(fails=True)
    _gone(job.folder, "offsets/0", "offsets/2", "commits/2")

    ran = drafted(aged(job.folder), "drop-batch-after-gap", tmp_path / "plan.json")

    assert ran.code == 1
    assert "REPAIR_REFUSED" in ran.out
    _gone(job.folder, "offsets/3")
    with pytest.raises(StreamingQueryException, match="batch 0 doesn't exist"):
        job.run()
