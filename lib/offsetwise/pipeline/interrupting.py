"""Work on Spark that somebody can stop."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, TypeVar
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

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
    jobs = _jobs_of(spark)

    def run() -> _T:
        jobs.begin(tag)
        try:
            return action()
        finally:
            jobs.end(tag)

    with ThreadPoolExecutor(1, thread_name_prefix="offsetwise-spark") as pool:
        running = pool.submit(run)
        try:
            while not wait((running,), timeout=POLL_S).done:
                watch()
        except BaseException:
            # Again and again: between two jobs there is none to interrupt.
            jobs.stop(tag)
            while not wait((running,), timeout=POLL_S).done:
                jobs.stop(tag)
            raise
        return running.result()


@dataclass(frozen=True, slots=True)
class _Jobs:
    """How a session lets a thread mark its jobs, and any thread stop what is so marked."""

    begin: Callable[[str], object]
    end: Callable[[str], object]
    stop: Callable[[str], object]


def _jobs_of(spark: SparkSession) -> _Jobs:
    if isinstance(spark, ConnectSession):
        return _Jobs(spark.addTag, spark.removeTag, spark.interruptTag)
    # A classic session looks up its tags per thread: its interruptTag, asked by another thread, stops nothing.
    context = spark.sparkContext
    return _Jobs(context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)
