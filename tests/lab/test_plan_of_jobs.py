"""The jobs of the lab's migration: 40, in three waves, of every kind that a migration has to deal with."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from offsetwise.config import load_migration
from offsetwise.lab import making, migration
from offsetwise.lab import plan_of_jobs as of
from offsetwise.lab.cluster import Lab
from offsetwise.lab.flink import FlinkFolder
from offsetwise.lab.flink import jobs as flink_jobs
from offsetwise.lab.job_sinks import FlinkSink, JobSink
from offsetwise.lab.plan_of_jobs import TOPICS, JobKind, Stop, jobs
from offsetwise.model import Subject
from offsetwise.plugins.flink.job_keys import FlinkJob
from tests.lab.readable import readable


def test_there_are_40_jobs_of_different_names_and_each_reads_topics_that_there_are() -> None:
    subjects = [job.subject for job in jobs()]

    assert len({*subjects}) == len(subjects) == 40
    assert Counter(job.kind for job in jobs()) == {JobKind.CHECKPOINT: 24, JobKind.GROUP: 16}
    assert {topic for job in jobs() for topic in job.topics} == {*TOPICS}
    for job in jobs():
        assert job.topics


def test_flink_runs_a_job_of_every_wave_that_spark_runs_without_it() -> None:
    of_flink = [job for job in jobs(flink=True) if job.flink]

    assert [job.subject for job in jobs(flink=True)] == [job.subject for job in jobs()]
    assert not any(job.flink for job in jobs())
    assert [job.wave for job in of_flink] == [*of.WAVES]
    assert {job.kind for job in of_flink} == {JobKind.CHECKPOINT}
    assert {job.stateful for job in of_flink} == {True, False}
    assert {job.stop for job in of_flink} == {Stop.DONE}, "the only way in which Flink stops a job with a savepoint"
    assert any(len(job.topics) > 1 for job in of_flink)
    for case in ("renamed", "transactions"):
        assert any(getattr(TOPICS[topic], case) for job in of_flink for topic in job.topics), case


def test_every_case_is_among_them() -> None:
    queries = [job for job in jobs() if job.kind is JobKind.CHECKPOINT]

    assert {job.stateful for job in queries} == {True, False}
    assert {(job.kind, job.stop) for job in jobs()} == {
        (JobKind.CHECKPOINT, Stop.DONE),
        (JobKind.CHECKPOINT, Stop.PENDING),
        (JobKind.CHECKPOINT, Stop.BEHIND),
        (JobKind.GROUP, Stop.DONE),
        (JobKind.GROUP, Stop.BEHIND),
    }
    assert any(len(job.topics) > 1 for job in jobs())
    readers = Counter(topic for job in jobs() for topic in job.topics)
    assert all(count > 1 for count in readers.values()), "every topic is shared"
    for case in ("renamed", "transactions", "polluted"):
        assert [topic for topic in TOPICS.values() if getattr(topic, case)], case
    shared = {job.commits_to for job in queries} - {None}
    assert shared == {job.name for job in jobs()} & shared == {of.SHARED_GROUP}


@pytest.mark.parametrize("flink", [False, True], ids=["without Flink", "with Flink"])
def test_a_migration_file_names_every_job_in_one_wave(
    flink: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if flink:
        stopped(tmp_path)
    for side in ("old", "new"):
        monkeypatch.setattr(Lab, f"{side}_bootstrap", f"{side}.invalid:9092")
    path = tmp_path / "migration.yaml"
    making.write_migration(path, migration.migration_of(Lab(tmp_path)))
    loaded = load_migration(path)

    named = [str(job) for wave in loaded.waves for job in wave.jobs_of(loaded.all_jobs)]
    assert sorted(named) == sorted(job.subject for job in jobs()) == sorted(map(str, loaded.all_jobs))
    assert [(wave.name, wave.after) for wave in loaded.waves] == [
        ("pilot", ()),
        ("core", ("pilot",)),
        ("rest", ("core",)),
    ]
    assert {loaded.new_topic(topic.name) for topic in TOPICS.values()} == {topic.copy for topic in TOPICS.values()}
    assert isinstance(loaded.all_jobs[0], Subject)
    assert migration.is_made(path)
    of_flink = {each.name: each for each in loaded.checkpoints if each.job.part(FlinkJob).sql}
    assert {*of_flink} == {job.name for job in jobs(flink=flink) if job.flink}
    for name, each in of_flink.items():
        assert each.uri == str(tmp_path / of.ROOT / name / "savepoint-1c854b-670a03101f94")
        assert each.job.new_checkpoint == str(tmp_path / of.MOVED / f"checkpoint-{name}")
        assert str(tmp_path / of.MOVED) in loaded.checkpoint_roots


def stopped(folder: Path) -> None:
    """Lay out what jobs of Flink leave when they are stopped on the old cluster."""
    flink_jobs.keep(Lab(folder), FlinkFolder(folder))
    for job in jobs(flink=True):
        if job.flink:
            (folder / of.ROOT / job.name / "savepoint-1c854b-670a03101f94").mkdir(parents=True)


def test_the_sample_of_the_lab_is_not_taken_for_the_migration_of_40_jobs(tmp_path: Path) -> None:
    (tmp_path / "migration.yaml").write_text("name: orders-to-new\n", encoding="utf-8")

    assert not migration.is_made(tmp_path / "migration.yaml")
    assert not migration.is_made(tmp_path / "none.yaml")


def test_what_a_job_counts_is_neither_deleted_nor_aborted() -> None:
    payments = TOPICS["payments"]
    written = [record for record in of.records_of(payments, 0, 60) if not record.aborted]
    counted = [*readable(payments, 60)]

    assert len({*counted}) == len(counted) == len(written) - sum(payments.deleted)
    assert [record.serial for record in of.records_of(payments, 30, 40) if not record.aborted] == []
    assert payments.starts == (22, 11), "two transactions of 10 records, each with a marker"
    assert json.loads(next(of.records_of(payments, 0, 1)).value) == {"serial": "payments-0-00000"}


def test_what_a_batch_wrote_is_replaced_when_it_runs_again(tmp_path: Path) -> None:
    sink = JobSink(tmp_path / "output")
    sink.write(0, ["a"])
    sink.write(1, ["b"])
    sink.write(1, ["b", "c"])
    by_key = JobSink(tmp_path / "by-key")
    by_key.write(0, {"k1": ["a"], "k2": ["b"]})
    by_key.write(1, {"k1": ["a", "c"]})

    assert (sink.numbers, sink.serials()) == ((0, 1), ("a", "b", "c"))
    assert sorted(by_key.serials()) == ["a", "b", "c"]
    assert JobSink(tmp_path / "none").serials() == ()


def test_what_flink_wrote_is_counted_line_by_line_and_what_it_has_not_committed_is_not(tmp_path: Path) -> None:
    (tmp_path / "part-1-0").write_text('{"serial":"a"}\n{"serial":"b"}\n', encoding="utf-8")
    (tmp_path / "part-2-0").write_text('{"serial":"b"}\n', encoding="utf-8")
    (tmp_path / ".part-2-1.inprogress.3f").write_text('{"serial":"c"}\n', encoding="utf-8")

    assert sorted(FlinkSink(tmp_path).serials()) == ["a", "b", "b"]
    assert FlinkSink(tmp_path / "none").serials() == ()


@pytest.mark.parametrize(
    ("counts", "counted"),
    [
        ((("a", "k", 1), ("b", "k", 2), ("c", "l", 1)), ["a", "b", "c"]),
        ((("a", "k", 1), ("a", "k", 2)), ["a", "a"]),
        ((("a", "k", 1), ("b", "k", 1)), ["b"]),
    ],
    ids=["each once", "one twice", "after its state was lost"],
)
def test_of_a_flink_job_with_state_its_own_counts_are_held_against_what_it_wrote(
    counts: tuple[tuple[str, str, int], ...], counted: list[str], tmp_path: Path
) -> None:
    lines = [json.dumps({"serial": serial, "key": key, "nth": nth}) for serial, key, nth in counts]
    (tmp_path / "part-1-0").write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert sorted(FlinkSink(tmp_path).serials()) == counted
