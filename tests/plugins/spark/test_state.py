"""Rows of state stores, counted by Spark's own readers, against the rows that real jobs held. Nothing is written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.errors import CheckpointError, OutsideRootsError, SparkError, StorageError
from offsetwise.model.state import StateRows
from offsetwise.pipeline.session import open_session
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.state.state import FORMAT, PROVIDER, check_state, read_state_rows
from offsetwise.plugins.spark.state.state_path import spark_path
from offsetwise.workflow import sample, state_rows
from tests.checkpoints import changed
from tests.plugins.spark.folders import SAMPLES
from tests.with_cases import with_cases

KEYS = 7
RECORDS = 50
PACKAGE = "org.apache.spark.sql.execution.streaming.state."


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(sample().spark, kafka=False)  # the session that the verb of the workflow uses as well


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    (folder / "first.json").write_text("".join(f'{{"k":{number % KEYS}}}\n' for number in range(RECORDS)))
    return folder


@pytest.fixture
def two_partitions(spark: SparkSession) -> Iterator[None]:
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name, "200")
    spark.conf.set(name, "2")
    yield
    spark.conf.set(name, before or "200")
    spark.conf.unset(PROVIDER)


def _run(frame: DataFrame, folder: Path, *, mode: str) -> list[int]:
    """Run what is there, and give how many rows every batch handed to the sink."""
    seen: list[int] = []
    query = (
        frame.writeStream.outputMode(mode)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .foreachBatch(lambda batch, _: seen.append(batch.count()))
        .start()
    )
    query.awaitTermination()
    return seen


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}


def _read(spark: SparkSession, folder: Path) -> StateRows:
    return read_state_rows(spark, spark_path(str(folder)), read_checkpoint(str(folder)))


@with_cases(
    ("provider", "kind"), [("RocksDBStateStoreProvider", "RocksDB"), ("HDFSBackedStateStoreProvider", "HDFS-backed")]
)
@pytest.mark.usefixtures("two_partitions")
def test_an_aggregate_holds_the_rows_its_sink_was_given(
    spark: SparkSession, records: Path, tmp_path: Path, provider: str, kind: str
) -> None:
    spark.conf.set(PROVIDER, PACKAGE + provider)
    counts = spark.readStream.schema("k int").json(str(records)).groupBy("k").count()
    folder = tmp_path / "checkpoint"
    given = _run(counts, folder, mode="complete")
    spark.conf.unset(PROVIDER)
    before = _files(folder)

    state = _read(spark, folder)

    (store,) = state.stores
    assert (state.kind, state.batch, store.problem) == (kind, 0, None)
    assert store.total == given[-1] == KEYS
    assert (store.operator_name, store.partitions, [partition for partition, _ in store.rows]) == (
        "stateStoreSave",
        2,
        [0, 1],
    )
    assert store.columns == "struct<k:int> → struct<count:bigint>"
    assert _files(folder) == before


@pytest.mark.usefixtures("two_partitions")
def test_a_join_after_a_deduplication_has_five_stores(spark: SparkSession, records: Path, tmp_path: Path) -> None:
    left = spark.readStream.schema("k int").json(str(records)).alias("left")
    right = spark.readStream.schema("k int").json(str(records)).dropDuplicates(["k"]).alias("right")
    given = _run(left.join(right, F.expr("left.k = right.k")), tmp_path / "checkpoint", mode="append")

    stores = {(one.operator_name, one.store): one.total for one in _read(spark, tmp_path / "checkpoint").stores}

    assert given[0] == RECORDS
    assert stores == {
        ("symmetricHashJoin", "left-keyToNumValues"): KEYS,
        ("symmetricHashJoin", "left-keyWithIndexToValue"): RECORDS,
        ("symmetricHashJoin", "right-keyToNumValues"): KEYS,
        ("symmetricHashJoin", "right-keyWithIndexToValue"): KEYS,
        ("dedupe", "default"): KEYS,
    }


@pytest.mark.usefixtures("spark")
def test_the_sample_holds_one_row_per_window_and_topic_it_read() -> None:
    steps: list[str] = []
    state = state_rows(sample(), "orders", progress=lambda step, *_: steps.append(step))

    assert [(one.store, one.total) for one in state.stores] == [("default", 24)]
    assert list(dict.fromkeys(steps)) == ["read the checkpoint", "start Spark", "list the state stores", "count rows"]


def test_state_of_format_2_that_an_older_spark_wrote_says_which_spark_could_not_read_it(spark: SparkSession) -> None:
    """Spark 4.0.0 fails on what it wrote itself, and 4.2.0 on the metadata that it left."""
    (store,) = _read(spark, SAMPLES / "spark-4.0.0-agg-rocksdb").stores

    assert store.total is None
    assert f"not readable with Spark {spark.version}, because its state has format 2" in (store.problem or "")
    assert spark.conf.get(FORMAT, None) in (None, "1")


def test_state_of_format_2_is_counted_by_the_spark_that_wrote_it(spark: SparkSession) -> None:
    (store,) = _read(spark, SAMPLES / "spark-4.2.0-agg-rocksdb").stores

    assert store.total == 4
    assert spark.conf.get(FORMAT, None) in (None, "1")


@with_cases("harm", ["garbled", "gone"])
def test_a_broken_store_is_that_stores_problem(spark: SparkSession, tmp_path: Path, harm: str) -> None:
    folder = shutil.copytree(Path(sample().checkpoint("orders").uri), tmp_path / "copy")
    for path in (folder / "state" / "0" / "1").glob("[0-9]*.delta"):
        if harm == "gone":
            path.unlink()
        else:
            path.write_bytes(b"garbage")
    for path in (folder / "state" / "0" / "1").glob(".*.crc"):
        path.unlink()

    (store,) = _read(spark, folder).stores

    words = {"garbled": "state files are damaged", "gone": "state files are missing"}[harm]
    assert words in (store.problem or "")
    assert "\tat " not in (store.problem or "")


def test_logs_that_spark_cannot_read_are_an_error_in_words(spark: SparkSession, tmp_path: Path) -> None:
    folder = shutil.copytree(Path(sample().checkpoint("orders").uri), tmp_path / "copy")
    read = read_checkpoint(str(folder))
    commit = folder / "commits" / str(read.details.progress.committed)
    commit.write_text('v9\n{"nextBatchWatermarkMs":0}')
    (commit.parent / f".{commit.name}.crc").unlink()

    with pytest.raises(SparkError, match="its logs have a version that this Spark does not read"):
        read_state_rows(spark, spark_path(str(folder)), read)


def test_a_count_that_is_stopped_ends_its_job_and_leaves_the_session_usable(spark: SparkSession) -> None:
    folder = sample().checkpoint("orders").uri
    asked = 0

    def stop(_step: str, _done: int, _total: int) -> None:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_state_rows(spark, spark_path(folder), read_checkpoint(folder), progress=stop)
    assert spark.range(5).count() == 5


def test_what_spark_cannot_be_asked_about_is_refused_before_it_is_asked() -> None:
    stateless = read_checkpoint(sample().checkpoint("payments").uri)
    with pytest.raises(CheckpointError, match="found none"):
        check_state(stateless)
    stateful = read_checkpoint(sample().checkpoint("orders").uri)
    with pytest.raises(CheckpointError, match="expected a committed batch"):
        check_state(changed(stateful, last_committed_batch=None))
    with pytest.raises(CheckpointError, match=r"java\.lang\.Runtime"):
        check_state(changed(stateful, configuration=((PROVIDER, "java.lang.Runtime"),)))


def test_a_path_that_spark_would_spell_differently_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a b#c"
    folder.mkdir()
    with pytest.raises(StorageError, match="it would look elsewhere"):
        spark_path(str(folder))


def test_a_link_out_of_the_roots_is_refused_before_spark_follows_it(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "checkpoint").mkdir(parents=True)
    outside.mkdir()
    assert spark_path(str(root / "checkpoint"), roots=(str(root),)) == f"file://{root / 'checkpoint'}"
    (root / "checkpoint" / "state").symlink_to(outside)
    with pytest.raises(OutsideRootsError, match="leads out of them"):
        spark_path(str(root / "checkpoint"), roots=(str(root),))
    with pytest.raises(OutsideRootsError):
        spark_path(str(outside), roots=(str(root),))


def test_an_object_store_is_named_as_spark_names_it() -> None:
    assert spark_path("s3://bucket/checkpoints/orders") == "s3a://bucket/checkpoints/orders"
