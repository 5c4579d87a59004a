"""Work on Spark that somebody can stop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar
from uuid import uuid4

from pyspark.sql import SparkSession

POLL_S: Final = 0.2

_T = TypeVar("_T")


def interruptible(spark: SparkSession, action: Callable[[], _T], watch: Callable[[], None]) -> _T:
    """Run Spark's jobs in a thread of their own, so that whoever watches can stop them.

    Args:
        spark: A session, classic or Connect.
        action: What runs the jobs.
        watch: Called several times a second; whatever it raises ends the jobs and is raised here.
    """
    tag = f"offsetwise-{uuid4().hex}"

    def run() -> _T:
        spark.addTag(tag)
        try:
            return action()
        finally:
            spark.removeTag(tag)

    with ThreadPoolExecutor(1, thread_name_prefix="offsetwise-spark") as pool:
        running = pool.submit(run)
        try:
            while not wait((running,), timeout=POLL_S).done:
                watch()
        except BaseException:
            # Again and again: between two jobs there is none to interrupt.
            spark.interruptTag(tag)
            while not wait((running,), timeout=POLL_S).done:
                spark.interruptTag(tag)
            raise
        return running.result()
