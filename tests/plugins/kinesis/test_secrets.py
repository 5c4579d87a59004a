"""Credentials of AWS stand in nothing that is kept, printed or shown: no comparison, plan, log, or text of Spark's."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import offsetwise as ow
from offsetwise import files
from offsetwise.plan import options
from tests.plugins.kinesis.streams import stream
from tests.plugins.kinesis.test_another_stream import Copy, copy, read_first

__all__ = ["copy", "stream"]

CANARIES = {
    "AWS_ACCESS_KEY_ID": "AKIACANARYOFACCESS01",
    "AWS_SECRET_ACCESS_KEY": "canary-of-the-secret-key",
    "AWS_SESSION_TOKEN": "canary-of-the-session-token",
}


def texts_of_spark() -> str:
    """Return what Spark's status store shows of every query and stage: descriptions, plans, details."""
    spark = SparkSession.builder.getOrCreate()  # the one that runs; it is active in the thread that opened it only
    queries = spark._jsparkSession.sharedState().statusStore().executionsList()
    none = spark.sparkContext._gateway.new_array(spark._jvm.double, 0)  # type: ignore[union-attr]
    stages = spark._jsc.sc().statusStore().stageList(None, False, False, none, None)
    shown = [queries.apply(at) for at in range(queries.size())]
    made = [f"{each.description()}\n{each.details()}\n{each.physicalPlanDescription()}" for each in shown]
    made += [f"{each.name()}\n{each.details()}" for each in (stages.apply(at) for at in range(stages.size()))]
    return "\n".join(made)


def test_credentials_stand_in_no_text(
    copy: Copy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    copy.make(3, read_first(copy.records))
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("offsetwise.plugins.kinesis.stream.matching.AT_ONCE", 2)
    caplog.set_level(logging.INFO)

    path = copy.migration(job="{stream: chain, stateful: false}")
    job = ow.Migration.load(path).checkpoint("app")
    made = job.compare()
    job.draft(options.target("starting-position"), author="ada").save(tmp_path / "plan.json")

    of_spark, printed = texts_of_spark(), capfd.readouterr()
    assert "MapInArrow" in of_spark
    kept = {
        "Spark": of_spark,
        "comparison": files.dump(made),
        "snapshots": files.dump(made.snapshots[0]) + files.dump(made.snapshots[1]),
        "plan": (tmp_path / "plan.json").read_text(),
        "log": caplog.text + printed.out + printed.err,
    }
    found = [(name, canary) for name, text in kept.items() for canary in CANARIES.values() if canary in text]
    assert found == []
