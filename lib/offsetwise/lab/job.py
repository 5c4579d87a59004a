"""The sample job: a stateful Spark query on the old cluster, run one batch at a time.

`python -m offsetwise.lab.job` reads one command per line and answers each with one line:

    count    run one batch of the stateful query        -> done
    fail     plan the next batch and fail inside it     -> failed
    copy     run the stateless query to the log end     -> done

The stateful query counts records by topic and five minutes of event time. Each command is a run of its own
(`availableNow`), so a batch ends where the logs ended when it was planned.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from offsetwise.config import SparkSettings
from offsetwise.pipeline.session import close_session, open_session

WATERMARK_MS: Final = 600_000
SPARK: Final = SparkSettings(
    master="local[2]",
    conf={
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleJob:
    spark: SparkSession
    bootstrap: str
    topics: str
    """Topics of the stateful query, separated by commas."""
    copied_topic: str
    folder: Path
    """Folder for `checkpoints/orders`, `checkpoints/payments` and the queries' output."""

    def count(self, *, fails: bool) -> None:
        counts = (
            self._records(self.topics)
            .withWatermark("timestamp", f"{WATERMARK_MS} milliseconds")
            .groupBy(F.window("timestamp", "5 minutes"), "topic")
            .count()
        )
        try:
            self._run(counts, "orders", fails=fails)
        except StreamingQueryException:
            if not fails:
                raise

    def copy(self) -> None:
        self._run(self._records(self.copied_topic).select("topic", "value"), "payments", fails=False)

    def _records(self, topics: str) -> DataFrame:
        return (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", topics)
            .option("startingOffsets", "earliest")
            .load()
        )

    def _run(self, frame: DataFrame, name: str, *, fails: bool) -> None:
        output = str(self.folder / "output" / name)

        def write(batch: DataFrame, batch_id: int) -> None:
            if fails:
                raise RuntimeError("the sample stops here, with this batch planned and not committed")
            batch.coalesce(1).write.mode("overwrite").json(f"{output}/batch={batch_id}")

        query = (
            frame.writeStream.outputMode("update")
            .option("checkpointLocation", str(self.folder / "checkpoints" / name))
            .trigger(availableNow=True)
            .foreachBatch(write)
            .start()
        )
        query.awaitTermination()


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--bootstrap", required=True)
    options.add_argument("--topics", required=True)
    options.add_argument("--copied-topic", required=True)
    options.add_argument("--folder", required=True, type=Path)
    job = SampleJob(spark=open_session(SPARK, kafka=True), **vars(options.parse_args()))
    try:
        for line in sys.stdin:
            command = line.strip()
            if command == "copy":
                job.copy()
            else:
                job.count(fails=command == "fail")
            print("failed" if command == "fail" else "done", flush=True)
    finally:
        close_session()


if __name__ == "__main__":
    main()
