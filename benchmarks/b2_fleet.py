"""B2: 1,000 checkpoints of 20 partitions and 100 batches, read on Spark, one checkpoint per row.

Peers, in the same run and as warm, on a glob over the offset files of all checkpoints:

* Spark's own text reader, its lines collected and parsed no further;
* the same with the offsets of every batch and partition, by `from_json`, collected as Arrow: what ours gives, without
  checksums, commits, positions or problems.

Target: newest batch at most 3 s, all batches at most 10 s, at least 9 times as fast as the peer, linear.

CPU is that of this process, Spark's JVM and its Python workers together, so that figures of a busy machine can be read.

    python -m benchmarks.b2_fleet [checkpoints]
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from benchmarks.checkpoints import write_checkpoint
from benchmarks.processor import cpu_s
from offsetwise.config import SparkSettings
from offsetwise.model import Checkpoint
from offsetwise.pipeline.fleet import expand, inspect_many
from offsetwise.pipeline.session import close_session, open_session

PARTITIONS, BATCHES, WARM = 20, 100, 8


def main(count: int) -> None:
    spark = open_session(SparkSettings(), kafka=False)
    with tempfile.TemporaryDirectory() as directory:
        try:
            fleet = Path(directory)
            write_checkpoint(fleet / "c0000", partitions=PARTITIONS, batches=BATCHES)
            for number in range(1, count):
                shutil.copytree(fleet / "c0000", fleet / f"c{number:04}")
            uris = expand([f"{fleet}/*"])
            positions_of(spark, uris[:WARM], BATCHES)
            half = timed(f"offsetwise, {count // 2:,} checkpoints, restart", positions_of, spark, uris[: count // 2], 0)
            newest = timed(f"offsetwise, {count:,} checkpoints, restart", positions_of, spark, uris, 0)
            everything = timed(f"offsetwise, {count:,} checkpoints, all", positions_of, spark, uris, BATCHES)
            text_read(spark, f"{fleet}/c000[0-{WARM - 1}]/offsets")
            lines = timed("Spark glob over the same files, lines", text_read, spark, f"{fleet}/*/offsets")
            json_read(spark, f"{fleet}/c000[0-{WARM - 1}]/offsets")
            parsed = timed("Spark glob over the same files, parsed", json_read, spark, f"{fleet}/*/offsets")
        finally:
            close_session()
    for unit, at in (("wall", 0), ("CPU", 1)):
        for what, peer in (("lines", lines), ("parsed", parsed)):
            print(
                f"B2 {unit}, against Spark's glob, {what}: {peer[at] / everything[at]:.1f}x (all batches), "
                f"{peer[at] / newest[at]:.1f}x (restart)"
            )
        print(f"B2 {unit}: from half to all {newest[at] / half[at]:.2f} (2.00 is linear)")
    print("B2 targets: restart 3 s, all batches 10 s, 9x")


def positions_of(spark: SparkSession, uris: Sequence[str], batches: int) -> int:
    """Read checkpoints, and give the number of offsets in their batches."""
    read = [one for one in inspect_many(spark, uris, batches=batches) if isinstance(one, Checkpoint)]
    assert len(read) == len(uris)
    return sum(len(of.offsets) for one in read for batch in one.batches for s in batch.sources for of in s.offsets)


def text_read(spark: SparkSession, pattern: str) -> int:
    """Read the offset lines with Spark alone, and give the number of lines collected."""
    text = spark.read.text(pattern).withColumn("file", f.input_file_name())
    return len(text.where(f.col("value").startswith('{"orders"')).collect())


def json_read(spark: SparkSession, pattern: str) -> int:
    """Read the offsets per file, topic and partition with Spark alone, and give their number."""
    text = spark.read.text(pattern).withColumn("file", f.input_file_name())
    lines = text.where(f.col("value").startswith('{"orders"'))
    read = lines.select("file", f.from_json("value", "map<string, map<string, bigint>>").alias("offsets")).toArrow()
    topics = [offsets for line in read["offsets"].to_pylist() for _, offsets in line or ()]
    return sum(map(len, topics))


def timed(what: str, run: Callable[..., int], *given: object) -> tuple[float, float]:
    """Run once, print and give seconds of wall time and of CPU."""
    begun, cpu = time.perf_counter(), cpu_s(os.getpid())
    count = run(*given)
    taken, used = time.perf_counter() - begun, cpu_s(os.getpid()) - cpu
    print(f"B2 {what}: {taken:.1f} s ({used:.1f} s CPU); {count:,} offsets or lines", flush=True)
    return taken, used


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
