"""Spark's JVM as tests start it, dozens of times for seconds each: compiled lightly, of classes that are kept.

`python -m tests.quick_spark` keeps the classes as the product does (`pipeline/class_archive.py`), but beside the
packages, and before the first test. What is measured in the full gates is Spark as everybody has it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.gates import FULL

CLASSES = Path(sys.prefix) / "spark.jsa"
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
OPTIONS = "SPARK_SUBMIT_OPTS"
"""What Spark's own launcher reads."""


def use() -> None:
    """Let every JVM of Spark that this process or a child of it starts be a quick one."""
    if not FULL:
        os.environ.setdefault(OPTIONS, f"{LIGHT} -XX:SharedArchiveFile={CLASSES}" if CLASSES.exists() else LIGHT)


if __name__ == "__main__":
    from offsetwise.pipeline.class_archive import make

    sys.exit(not make(CLASSES))
