"""B2: 1,000 checkpoints of 20 partitions and 100 batches, read on Spark, one checkpoint per row.

Peers, in the same run and as warm, on a glob over the offset files of all checkpoints:

* Spark's own text reader, its lines collected and parsed no further;
* the same with the offsets of every batch and partition, by `from_json`, collected as Arrow: what ours gives, without
  checksums, commits, positions or problems.

The peers and ours run in turn, round by round, each after every file was read once more: what the system has dropped
from memory in the minutes of a peer is nobody's work. Target: newest batch at most 3 s, all batches at most 10 s, at
least 9 times as fast as the peer, linear.

CPU is that of this process, Spark's JVM and its Python workers together, so that figures of a busy machine can be read.

    python -m benchmarks.b2_fleet [--checkpoints 100 --rounds 1]
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
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
from offsetwise.pipeline.fleet import inspect_many
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.storage.patterns import expand

PARTITIONS, BATCHES, WARM = 20, 100, 8
HALF, NEWEST, ALL = "restart of half", "restart", "all batches"
LINES, PARSED = "Spark's glob, lines", "Spark's glob, parsed"


def main(count: int, rounds: int) -> None:
    spark = open_session(SparkSettings(), kafka=False)
    took: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        try:
            fleet = Path(directory)
            write_checkpoint(fleet / "c0000", topics={"orders": PARTITIONS}, batches=BATCHES)
            for number in range(1, count):
                shutil.copytree(fleet / "c0000", fleet / f"c{number:04}")
            uris = expand([f"{fleet}/*"])
            few, all_of_them = f"{fleet}/c000[0-{WARM - 1}]/offsets", f"{fleet}/*/offsets"
            works: dict[str, tuple[Callable[..., int], tuple[object, ...]]] = {
                HALF: (positions_of, (spark, uris[: count // 2], 0)),
                NEWEST: (positions_of, (spark, uris, 0)),
                ALL: (positions_of, (spark, uris, BATCHES)),
                LINES: (text_read, (spark, all_of_them)),
                PARSED: (json_read, (spark, all_of_them)),
            }
            positions_of(spark, uris[:WARM], BATCHES)
            text_read(spark, few)
            json_read(spark, few)
            for _ in range(rounds):
                for what, (run, given) in works.items():
                    hold_in_memory(fleet)
                    took.setdefault(what, []).append(timed(f"B2 {count:,} checkpoints, {what}", run, *given))
        finally:
            close_session()
    for at, unit in enumerate(("wall", "CPU")):
        median = {what: statistics.median(one[at] for one in taken) for what, taken in took.items()}
        shown = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in median.items())
        print(f"B2 {unit}, medians of {rounds}: {shown}")
        for peer in (LINES, PARSED):
            print(
                f"B2 {unit}, against {peer}: {median[peer] / median[ALL]:.1f}x (all batches), "
                f"{median[peer] / median[NEWEST]:.1f}x (restart)"
            )
        print(f"B2 {unit}: from half to all {median[NEWEST] / median[HALF]:.2f} (2.00 is linear)")
    print("B2 targets: restart 3 s, all batches 10 s, 9x")


def hold_in_memory(fleet: Path) -> None:
    """Let the system hold every file of the fleet in memory."""
    for folder, _, names in os.walk(fleet):
        for name in names:
            Path(folder, name).read_bytes()


def positions_of(spark: SparkSession, uris: Sequence[str], batches: int) -> int:
    """Read checkpoints, and give the number of offsets in their batches."""
    read = [one for one in inspect_many(spark, uris, batches=batches) if isinstance(one, Checkpoint)]
    assert len(read) == len(uris)
    kept = (batch for one in read for batch in one.details.batches)
    return sum(len(of.offsets) for batch in kept for source in batch.sources for of in source.offsets)


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
    print(f"{what}: {taken:.1f} s ({used:.1f} s CPU); {count:,} offsets or lines", flush=True)
    return taken, used


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoints", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    main(arguments.checkpoints, arguments.rounds)
