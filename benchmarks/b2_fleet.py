"""B2: 1,000 checkpoints of 20 partitions and 100 batches, read on Spark, one checkpoint per row.

Peer, in the same run: Spark's own text reader on a glob over the offset files of all checkpoints, parsed no further.
Target: newest batch at most 3 s, all batches at most 10 s, at least 9 times as fast as the peer, linear.

    python -m benchmarks.b2_fleet [checkpoints]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import functions as f

from benchmarks.checkpoints import write_checkpoint
from offsetwise.config import SparkSettings
from offsetwise.model import Checkpoint
from offsetwise.pipeline.fleet import expand, inspect_many
from offsetwise.pipeline.session import close_session, open_session

PARTITIONS, BATCHES = 20, 100


def main(count: int) -> None:
    spark = open_session(SparkSettings(), kafka=False)
    with tempfile.TemporaryDirectory() as directory:
        try:
            fleet = Path(directory)
            write_checkpoint(fleet / "c0000", partitions=PARTITIONS, batches=BATCHES)
            for number in range(1, count):
                shutil.copytree(fleet / "c0000", fleet / f"c{number:04}")
            uris = expand([f"{fleet}/*"])
            for _ in inspect_many(spark, uris[:8]):
                pass

            def ours(some: tuple[str, ...], batches: int) -> float:
                begun = time.perf_counter()
                read = [one for one in inspect_many(spark, some, batches=batches) if isinstance(one, Checkpoint)]
                taken = time.perf_counter() - begun
                positions = sum(len(s.positions) for one in read for batch in one.batches for s in batch.sources)
                print(
                    f"B2 offsetwise, {len(read):,} checkpoints, batches={batches}: {taken:.1f} s; "
                    f"{positions:,} positions"
                )
                return taken

            half = ours(uris[: count // 2], 0)
            newest = ours(uris, 0)
            everything = ours(uris, BATCHES)
            begun = time.perf_counter()
            text = spark.read.text(f"{fleet}/*/offsets").withColumn("file", f.input_file_name())
            rows = text.where(f.col("value").startswith('{"orders"')).collect()
            peer = time.perf_counter() - begun
        finally:
            close_session()
    print(f"B2 Spark glob over the same files: {peer:.1f} s; {len(rows):,} lines, parsed no further")
    print(f"B2 ratio {peer / everything:.1f}x (all batches), {peer / newest:.1f}x (newest); targets 10 s, 3 s, 9x")
    print(f"B2 growth from half to all: {newest / half:.2f} (2.00 is linear)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
