"""Counts the rows of each state store of a Spark query with Spark's own `state-metadata` and `statestore` readers.

They read a checkpoint and write nothing into it. Which checkpoints they can read depends on the Spark that runs them: a
store that cannot be read is reported. Keys and values stay in Spark; only their number and their types are returned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from offsetwise.errors import CheckpointError, SparkError
from offsetwise.model import Checkpoint
from offsetwise.model.state import StateRows, StoreRows
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.spark_errors import cause_of, spark_errors
from offsetwise.plugins.spark.engine.details import spark_details
from offsetwise.progress import Progress, no_progress

PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
PROVIDERS: Final = {
    "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider": "HDFS-backed",
    "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider": "RocksDB",
}
FORMAT: Final = "spark.sql.streaming.stateStore.checkpointFormatVersion"
"""Spark 4.0 and 4.1 read a commit log of exactly this version."""

_WORDS: Final = (
    (
        re.compile(r"INVALID_LOG_VERSION|UnsupportedLogVersion|only supported log version"),
        "its logs have a version that this Spark does not read",
    ),
    (re.compile(r"ChecksumException"), "a file does not fit its checksum"),
    (re.compile(r"No FileSystem for scheme|ClassNotFoundException: \S*FileSystem"), "Spark lacks its file system"),
    (
        re.compile(r"CANNOT_READ_(MISSING_)?(DELTA_FILE|SNAPSHOT)\w*NOT_EXISTS|FileNotFoundException|does not exist"),
        "state files are missing",
    ),
    (re.compile(r"NoSuchElementException: None\.get"), "an offset log v2 lacks what Spark reads state by"),
    (
        re.compile(r'NumberFormatException: For input string: "\d+_|metadata\. Expected v1, but found v2'),
        "its state has format 2",
    ),
    (re.compile(r"CANNOT_READ_|EOFException|Stream is corrupted|ZipException|MALFORMED"), "state files are damaged"),
)


def read_state_rows(
    spark: SparkSession, path: str, checkpoint: Checkpoint, *, progress: Progress = no_progress
) -> StateRows:
    """Count the rows of every state store after the last committed batch.

    Args:
        spark: A session, classic or Connect.
        path: The checkpoint's folder as Spark spells it; see `spark_path`.
        checkpoint: The same checkpoint, as it was read here.
        progress: Called at each step; an exception from it stops the running job.

    Raises:
        CheckpointError: It has no state, no batch is committed, or its state stores are not Spark's own.
        SparkError: Spark cannot read the checkpoint's state metadata, or finds none. A single store that cannot be read
            is a `problem` of that store.
    """
    kind, batch = check_state(checkpoint)
    before = spark.conf.get(FORMAT, None)
    try:
        if (spark_details(checkpoint).commit_log_version or 1) > 1:
            spark.conf.set(FORMAT, "2")
        progress("list the state stores", 0, 1)
        rows = _listed(spark, path, checkpoint.uri, progress)
        progress("list the state stores", 1, 1)
        stores = []
        for done, row in enumerate(rows):
            progress("count rows", done, len(rows))
            watched = _reporter(progress, done, len(rows))
            stores.append(_counted(spark, path, row, batch, watched))
        progress("count rows", len(rows), len(rows))
    finally:
        with spark_errors():
            _put_back(spark, before)
    return StateRows(batch=batch, spark=spark.version, kind=kind, stores=tuple(stores))


def check_state(checkpoint: Checkpoint) -> tuple[str, int]:
    """Return the kind of state store and the batch to read, if Spark's own readers can read the state.

    Raises:
        CheckpointError: They cannot read it.
    """
    if not spark_details(checkpoint).state:
        raise CheckpointError(
            f"{checkpoint.uri}: expected state of a stateful operator, found none. There are no rows to count.",
            fix="Count the rows of a query that keeps state; this one loses nothing without.",
        )
    batch = checkpoint.details.progress.committed
    if batch is None:
        raise CheckpointError(
            f"{checkpoint.uri}: expected a committed batch, found none. Spark reads state only as a batch left it.",
            fix="Let the query commit a batch first.",
        )
    named = dict(spark_details(checkpoint).configuration).get(PROVIDER)
    if named is None:
        return "HDFS-backed", batch
    if named not in PROVIDERS:
        raise CheckpointError(
            f"{checkpoint.uri}: expected one of Spark's own state stores, found {named!r}. No state was read.",
            fix="Read it with the Spark distribution that brings this state store.",
        )
    return PROVIDERS[named], batch


def _listed(spark: SparkSession, path: str, uri: str, progress: Progress) -> list[Row]:
    try:
        # State is read through a coordinator, which since Spark 4.1 a session starts only when its queries are
        # accessed.
        _ = spark.streams.active
        metadata = spark.read.format("state-metadata").load(path)
        stores = interruptible(spark, metadata.collect, _reporter(progress, 0, 1, "list the state stores"))
    except (PySparkException, Py4JError) as error:
        raise SparkError(
            f"{uri}: not readable with Spark {spark.version}, because {_why(error)}. No state was read.",
            fix="Go on without the number of rows, which no plan needs. To have it, set spark.master or spark.remote "
            "in the migration file to a Spark that reads this checkpoint: of the release that wrote it, with its file "
            "system.",
        ) from error
    if not stores:
        raise SparkError(
            f"{uri}: expected the state stores of each stateful operator in state/OPERATOR/_metadata, found none that "
            f"Spark {spark.version} reads: the files are missing or damaged. No state was read.",
            fix="Restore the folder state with every _metadata below it from a copy of the checkpoint, or go on "
            "without the number of rows, which no plan needs.",
        )
    return stores


def _counted(spark: SparkSession, path: str, row: Row, batch: int, watch: Callable[[], None]) -> StoreRows:
    results: dict[str, Any] = {
        "operator": row.operatorId,
        "operator_name": row.operatorName,
        "store": row.stateStoreName,
        "partitions": row.numPartitions,
    }
    if row.operatorProperties:
        return StoreRows(
            **results, problem="not counted: it keeps named state variables, which Spark reads one by one."
        )
    try:
        frame = _store(spark, path, row, batch)
        counted = interruptible(spark, frame.groupBy("partition_id").count().collect, watch)
        columns = f"{_type(frame, 'key')} → {_type(frame, 'value')}"
    except (PySparkException, Py4JError) as error:
        return StoreRows(**results, problem=f"not readable with Spark {spark.version}, because {_why(error)}.")
    rows = tuple(sorted((row_count["partition_id"], row_count["count"]) for row_count in counted))
    return StoreRows(**results, rows=rows, columns=columns)


def _store(spark: SparkSession, path: str, row: Row, batch: int) -> DataFrame:
    """Return the rows of one store after a batch: key struct, value struct, partition_id int; none is null."""
    return (
        spark.read.format("statestore")
        .option("operatorId", row.operatorId)
        .option("storeName", row.stateStoreName)
        .option("batchId", batch)
        .load(path)
    )


def _reporter(progress: Progress, done: int, total: int, step: str = "count rows") -> Callable[[], None]:
    return lambda: progress(step, done, total)


def _put_back(spark: SparkSession, before: str | None) -> None:
    if before is None:
        spark.conf.unset(FORMAT)
    else:
        spark.conf.set(FORMAT, before)


def _type(frame: DataFrame, column: str) -> str:
    return frame.schema[column].dataType.simpleString()


def _why(error: PySparkException | Py4JError) -> str:
    known = next((words for pattern, words in _WORDS if pattern.search(str(error))), None)
    return cause_of(error) if known is None else f"{known} ({cause_of(error)})"
