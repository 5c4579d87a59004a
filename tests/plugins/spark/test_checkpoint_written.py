"""Checkpoints written by the Spark in use while the test runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.pipeline.session import open_session
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.engine.details import spark_details

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(), kafka=False)


def _run(words: DataFrame, folder: Path, *, fails: bool = False) -> str:
    def write(batch: DataFrame, _: int) -> None:
        batch.collect()
        if fails:
            raise RuntimeError("planned and not committed")

    query = (
        words.writeStream.outputMode("update")
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .foreachBatch(write)
        .start()
    )
    try:
        query.awaitTermination()
    except StreamingQueryException:
        assert fails
    return str(query.id)


def test_a_stateful_query_is_read_as_it_ran(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    folder, texts = tmp_path / "checkpoint", tmp_path / "texts"
    texts.mkdir()
    lines = spark.readStream.text(str(texts))
    counts = lines.groupBy(F.col("value")).count()
    try:
        for number, words in enumerate((["a", "b"], ["b", "c", "d"])):
            (texts / f"{number}.txt").write_text("\n".join(words))
            query_id = _run(counts, folder)
        committed = read_checkpoint(str(folder))
        (texts / "2.txt").write_text("e")
        _run(counts, folder, fails=True)
        pending = read_checkpoint(str(folder))
    finally:
        spark.conf.unset(PROVIDER)
        spark.conf.unset("spark.sql.shuffle.partitions")

    assert committed.job_id == pending.job_id == query_id
    assert (
        committed.details.progress.planned,
        committed.details.progress.committed,
        committed.details.progress.again,
    ) == (1, 1, None)
    assert committed.problems == ()
    assert [(one.kind, one.raw) for one in committed.sources] == [("other", '{"logOffset":1}')]
    assert committed.restart == (
        "Batch 1 is committed: batch 2 is the next. Where source 0 starts is not known from this checkpoint's lines: "
        "sources of its kind are not read."
    )
    assert [(one.operator, one.partitions, one.keys) for one in spark_details(committed).state] == [(0, 2, 4)]
    assert dict(spark_details(committed).configuration)["spark.sql.shuffle.partitions"] == "2"

    assert (pending.details.progress.planned, pending.details.progress.committed, pending.details.progress.again) == (
        2,
        1,
        2,
    )
    assert [problem.code for problem in pending.problems] == ["PENDING_BATCH"]
    assert pending.sources == committed.sources


def test_several_sources_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "0.txt").write_text("a")
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load()
    both = spark.readStream.text(str(texts)).union(ticks.select(F.col("value").cast("string")))

    _run(both, tmp_path / "checkpoint")
    read = read_checkpoint(str(tmp_path / "checkpoint"))

    assert [(one.index, one.id, one.kind) for one in read.sources] == [(0, "0", "other"), (1, "1", "other")]
    assert read.sources[0].raw == '{"logOffset":0}'
    assert '"offset":' in (read.sources[1].raw or "")
    assert read.problems == ()
