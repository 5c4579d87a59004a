"""B1: one checkpoint of 1,000 partitions and 100 batches, read and validated in-process.

Peer, in the same run and on warm Spark: the offset files read as text, parsed with `from_json` and collected as rows.
It checks nothing. Target: at most 100 ms, at least 30 times as fast as the peer.

    python -m benchmarks.b1_one_checkpoint
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from benchmarks.checkpoints import write_checkpoint
from offsetwise.config import SparkSettings
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint

PARTITIONS, BATCHES, ROUNDS = 1_000, 100, 9


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory) / "checkpoint"
        write_checkpoint(folder, topics={"orders": PARTITIONS}, batches=BATCHES)
        checkpoint = read_checkpoint(str(folder), batches=BATCHES)
        positions = sum(
            len(of.offsets) for batch in checkpoint.details.batches for source in batch.sources for of in source.offsets
        )
        ours = median_s(lambda: read_checkpoint(str(folder), batches=BATCHES), ROUNDS)
        cpu = median_s(lambda: read_checkpoint(str(folder), batches=BATCHES), ROUNDS, clock=time.process_time)
        newest = median_s(lambda: read_checkpoint(str(folder), batches=0), ROUNDS)
        spark = open_session(SparkSettings(), kafka=False)
        try:
            rows = text_read(spark, folder)
            peer = median_s(lambda: text_read(spark, folder), 5)
        finally:
            close_session()
    print(f"B1 positions read: {positions:,}; rows of the peer: {rows:,}")
    print(
        f"B1 offsetwise, all {BATCHES} batches validated: {ours * 1000:.0f} ms ({cpu * 1000:.0f} ms CPU); "
        f"restart only: {newest * 1000:.1f} ms"
    )
    print(f"B1 Spark text read, warm: {peer * 1000:.0f} ms; ratio {peer / ours:.0f}x (target 30x, 100 ms)")


def text_read(spark: SparkSession, folder: Path) -> int:
    """Read the same offsets with Spark alone, and give the number of rows collected."""
    shape = "map<string, map<string, bigint>>"
    text = spark.read.text(f"{folder}/offsets").where(f.col("value").startswith('{"orders"'))
    topics = text.select(f.input_file_name().alias("file"), f.explode(f.from_json("value", shape)))
    rows = topics.select("file", f.col("key").alias("topic"), f.explode("value"))
    return len(rows.collect())


def median_s(run: Callable[[], object], rounds: int, *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median of a few runs, in seconds of `clock`."""
    taken = []
    for _ in range(rounds):
        begun = clock()
        run()
        taken.append(clock() - begun)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
