"""Spark's JVM as tests start it, dozens of times for seconds each: compiled lightly, of classes loaded once.

`python -m tests.quick_spark` keeps the classes; a JVM that finds other jars than those leaves them alone. What is
measured in the full gates is Spark as everybody has it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from offsetwise.config import SparkSettings
from tests.sources.folders import FULL

CLASSES = Path(sys.prefix) / "spark.jsa"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
OPTIONS = "SPARK_SUBMIT_OPTS"
"""What Spark's own launcher reads."""


def use() -> None:
    """Let every JVM of Spark that this process or a child of it starts be a quick one."""
    if not FULL:
        os.environ.setdefault(OPTIONS, f"{LIGHT} -XX:SharedArchiveFile={CLASSES}" if CLASSES.exists() else LIGHT)


def main() -> None:
    """Keep what a session with Kafka loads, and a small query."""
    from offsetwise.pipeline.session import open_session  # noqa: PLC0415 - PySpark loads slowly, for all tests

    os.environ[OPTIONS] = f"{LIGHT} -XX:ArchiveClassesAtExit={CLASSES}"
    spark = open_session(SparkSettings(master="local[1]"), kafka=True)
    spark.range(10).selectExpr("id % 3 AS key").groupBy("key").count().toArrow()
    jvm = spark.sparkContext._gateway.proc  # type: ignore[union-attr] # py4j has no types, and a classic session has one
    spark.stop()
    jvm.stdin.close()
    jvm.wait()


if __name__ == "__main__":
    main()
