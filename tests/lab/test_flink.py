"""The folder of a Flink, and what is said of one that cannot run jobs of the lab."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from offsetwise.errors import LabError
from offsetwise.lab import Lab
from offsetwise.lab.flink import FlinkFolder
from offsetwise.lab.flink import jobs as flink_jobs
from offsetwise.lab.plan_of_jobs import jobs
from tests.commands import call
from tests.with_cases import with_cases

DIST = "flink-dist-2.2.0.jar"
CONNECTOR = "flink-connector-kafka-5.0.0-2.2.jar"
CLIENTS = "kafka-clients-4.2.0.jar"
WITH_CLIENTS = "flink-sql-connector-kafka-5.0.0-2.2.jar"


def folder_with(folder: Path, *jars: str) -> Path:
    """Make the folder of a Flink whose `lib` has these jars."""
    (folder / "lib").mkdir(parents=True)
    for jar in jars:
        (folder / "lib" / jar).touch()
    return folder


@with_cases("jars", [(DIST, CONNECTOR, CLIENTS), (DIST, WITH_CLIENTS), ("flink-dist-1.20.3.jar", WITH_CLIENTS)])
def test_a_flink_with_its_connector_is_taken(jars: tuple[str, ...], tmp_path: Path) -> None:
    path = folder_with(tmp_path / "flink", *jars)

    assert FlinkFolder.at(path).classpath == str(path / "lib" / "*")


@with_cases(
    ("jars", "lacking", "found"),
    [
        (None, "Flink itself", "found no such folder"),
        ((), "Flink itself", "found no jar"),
        ((CONNECTOR, CLIENTS), "expected in {lib} Flink itself (flink-dist-….jar); ", "found 2 jars"),
        ((DIST,), "its Kafka connector", "found 1 jar."),
        ((DIST, "flink-connector-kafka-base.jar", CLIENTS), "its Kafka connector", "found 3 jars"),
        ((DIST, CONNECTOR), "expected in {lib} Kafka's client", "found 2 jars"),
        (("flink-dist-1.19.1.jar", WITH_CLIENTS), "expected version 1.20 or later", "found 1.19"),
    ],
    ids=["no folder", "nothing", "no Flink", "no connector", "no connector of a version", "no client", "too old"],
)
def test_a_folder_that_cannot_run_jobs_is_refused_and_nothing_is_started(
    jars: tuple[str, ...] | None, lacking: str, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "flink" if jars is None else folder_with(tmp_path / "flink", *jars)

    with pytest.raises(LabError) as refused:
        FlinkFolder.at(path)

    assert lacking.format(lib=path / "lib") in refused.value.problem
    assert found in refused.value.problem
    assert refused.value.problem.endswith("Nothing was started.")


def test_a_migration_with_such_a_folder_starts_no_broker(tmp_path: Path) -> None:
    ran = call("lab", "migration", "--dir", tmp_path / "lab", "--flink", tmp_path / "no-flink")

    assert ran.code == 1
    assert "Nothing was started." in ran.err
    assert not (tmp_path / "lab").exists()


def test_a_lab_runs_its_jobs_with_the_folder_that_was_named_last(tmp_path: Path) -> None:
    lab, job = Lab(tmp_path), next(job for job in jobs(flink=True) if job.flink)
    first, second = (folder_with(tmp_path / name, DIST, WITH_CLIENTS) for name in ("first", "second"))
    flink_jobs.keep(lab, FlinkFolder.at(first))
    shutil.rmtree(first)

    with pytest.raises(LabError, match="found no such folder"):
        flink_jobs.moved_runs(lab, [job], tmp_path)
    flink_jobs.keep_again(lab, FlinkFolder.at(second))

    assert flink_jobs.is_kept(lab)
    assert flink_jobs.stored_flink(lab) == FlinkFolder(second)
