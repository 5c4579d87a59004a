"""Work on Spark that somebody stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.errors import SparkError, StoppedError
from offsetwise.pipeline import interrupting
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.session import open_session

LONGER_THAN_ANYBODY_WAITS = 10**15
LONG_S = 900


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(), kafka=False)


def test_what_nobody_stops_gives_its_result(spark: SparkSession) -> None:
    assert interruptible(spark, spark.range(5).count, lambda: None) == 5


def test_whoever_watches_can_stop_several_jobs_in_a_row_and_the_session_stays_usable(spark: SparkSession) -> None:
    asked = 0
    ends: list[str] = []

    def jobs() -> None:
        for _ in range(3):
            try:
                spark.range(LONGER_THAN_ANYBODY_WAITS).selectExpr("sum(id % 7)").collect()
            except Exception as end:  # noqa: BLE001 - what goes on although its job was taken away
                ends.append(str(end))

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise StoppedError("stopped", fix="again")

    with pytest.raises(StoppedError):
        interruptible(spark, jobs, stop)
    assert ["SPARK_JOB_CANCELLED" in each for each in ends] == [True] * 3
    assert spark.range(5).count() == 5


def test_a_job_is_stopped_by_whichever_way_it_was_started_and_none_is_left(
    spark: SparkSession, way: Callable[[SparkSession], object]
) -> None:
    seen = False

    def stop_what_runs() -> None:
        nonlocal seen
        seen = seen or bool(running(spark))
        if seen:
            raise StoppedError("stopped", fix="again")

    with pytest.raises(StoppedError):
        interruptible(spark, lambda: way(spark), stop_what_runs)
    assert running(spark) == []


def test_who_stops_in_vain_is_told_that_the_work_may_run_on_and_where(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interrupting, "STOP_LIMIT_S", 0.5)
    let_go = Event()

    def stop() -> None:
        raise StoppedError("stopped", fix="again")

    with pytest.raises(SparkError, match=r"Spark on local.*may run on") as caught:
        interruptible(spark, let_go.wait, stop)
    let_go.set()
    assert isinstance(caught.value.__cause__, StoppedError)


def running(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def endless(spark: SparkSession) -> DataFrame:
    return spark.range(LONGER_THAN_ANYBODY_WAITS).groupBy((F.col("id") % 7).alias("id")).count()


def asleep(spark: SparkSession) -> DataFrame:
    def sleep(rows: Iterator[Any]) -> Iterator[Any]:
        time.sleep(LONG_S)
        yield from rows

    return spark.range(4).mapInArrow(sleep, "id long")


def grouped_asleep(spark: SparkSession) -> DataFrame:
    def sleep(table: Any) -> Any:
        time.sleep(LONG_S)
        return table

    return spark.range(4).groupBy("id").applyInArrow(sleep, "id long")


def broadcast(spark: SparkSession) -> DataFrame:
    return spark.range(9).join(F.broadcast(endless(spark)), on="id", how="inner")


@pytest.fixture(
    params=[
        pytest.param(lambda spark: endless(spark).toArrow(), id="toArrow"),
        pytest.param(lambda spark: asleep(spark).toArrow(), id="mapInArrow"),
        pytest.param(lambda spark: grouped_asleep(spark).toArrow(), id="applyInArrow"),
        pytest.param(lambda spark: broadcast(spark).toArrow(), id="what is broadcast first"),
    ]
)
def way(request: pytest.FixtureRequest) -> Callable[[SparkSession], object]:
    made: Callable[[SparkSession], object] = request.param
    return made
