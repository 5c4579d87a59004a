from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from offsetwise.config import SparkSettings
from offsetwise.lab.job_sinks import JobSink
from offsetwise.lab.plan_of_jobs import LabJob
from offsetwise.pipeline.session import open_session

AT_ONCE: Final = 4
SETTINGS: Final = SparkSettings(master="local[2]")
"""As in the migration file, so that one process needs one session."""
PER_BATCH: Final = 130
"""Records per batch; every query has several batches before it stops."""
_CONF: Final = {"spark.sql.shuffle.partitions": "1", "spark.sql.streaming.noDataMicroBatches.enabled": "false"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabQuery:
    """One run of a query, to the ends of the logs at its start."""

    job: LabJob
    bootstrap: str
    topics: tuple[str, ...]
    """Names on the cluster that is read."""
    checkpoint: Path
    sink: JobSink
    fails_in: int | None = None
    """The batch inside which it stops, planned and not committed."""

    def run(self, spark: SparkSession) -> None:
        """Run it.

        Raises:
            StreamingQueryException: It ended in an unexpected way.
        """
        rows = self._rows(spark)
        query = (
            rows.writeStream.outputMode("update" if self.job.stateful else "append")
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .foreachBatch(self._write)
            .start()
        )
        try:
            query.awaitTermination()
        except StreamingQueryException:
            if self.fails_in is None:
                raise

    def _rows(self, spark: SparkSession) -> DataFrame:
        """Return the query's output: `key` and `serials`, by key if it has state; else of each record.

        One row for each key that a batch changes; or one for each record.
        """
        records = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("kafka.isolation.level", "read_committed")
            .option("subscribe", ",".join(self.topics))
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", PER_BATCH)
            .load()
            .select(
                F.col("key").cast("string").alias("key"),
                F.get_json_object(F.col("value").cast("string"), "$.serial").alias("serial"),
            )
        )
        if self.job.stateful:
            return records.groupBy("key").agg(F.collect_list("serial").alias("serials"))
        return records.select("key", F.array("serial").alias("serials"))

    def _write(self, batch: DataFrame, batch_id: int) -> None:
        rows = batch.collect()
        if batch_id == self.fails_in:
            raise RuntimeError("the lab stops this query here, with a batch that is planned and not committed")
        if self.job.stateful:
            self.sink.write(batch_id, {row["key"]: row["serials"] for row in rows})
        else:
            self.sink.write(batch_id, [serial for row in rows for serial in row["serials"]])


def run_all(queries: list[LabQuery]) -> None:
    """Run queries, several at once.

    Raises:
        StreamingQueryException: A query ended in an unexpected way.
    """
    if not queries:
        return
    spark = open_session(SETTINGS, kafka=True)
    with _configured(spark), ThreadPoolExecutor(AT_ONCE) as pool:
        run: Callable[[LabQuery], None] = lambda query: query.run(spark)  # noqa: E731 - names what the pool does
        for _ in pool.map(run, queries):
            pass


def committed_positions(checkpoint: Path) -> dict[tuple[str, int], int]:
    """Return the positions of the last committed batch by topic and partition, from an offset log of version 1."""
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    _, _, *sources = (checkpoint / "offsets" / str(last)).read_text(encoding="utf-8").splitlines()
    return {
        (topic, int(partition)): offset
        for source in sources
        for topic, offsets in json.loads(source).items()
        for partition, offset in offsets.items()
    }


@contextmanager
def _configured(spark: SparkSession) -> Iterator[None]:
    """Set the configuration for small queries within the block: a query keeps the values from its start."""
    before = {key: spark.conf.get(key, None) for key in _CONF}
    for key, value in _CONF.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, earlier in before.items():
            if earlier is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, earlier)
