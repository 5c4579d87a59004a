"""Work on Spark that somebody stops."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from offsetwise.config import SparkSettings
from offsetwise.errors import StoppedError
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.session import open_session

LONGER_THAN_ANYBODY_WAITS = 10**15


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
