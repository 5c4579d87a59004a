"""A watch of the jobs goes on with the migration file as people edit it, and finds the newest checkpoint of a job."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

import offsetwise as ow
from offsetwise import load_snapshots
from offsetwise.api.status_watch import requested, watch_status
from offsetwise.model import JobState, Status
from tests.with_cases import with_cases

SAMPLE: Final = Path(ow.__file__).parent / "sample_flink"
JOB: Final = "0ff5e70f11e00000000000000000beef"
SAVEPOINT: Final = "savepoint-0ff5e7-dddebceac2d3"
COUNTS: Final = "checkpoint order-counts"


class _SeenEnoughError(Exception):
    """Ends a watch."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The migration of a Flink job that runs: its checkpoint is the folder in which Flink retains some."""
    folder = tmp_path / "migration"
    shutil.copytree(SAMPLE, folder)
    job_at(folder, f"./checkpoints/{JOB}")
    return folder


def job_at(folder: Path, uri: str) -> None:
    """Let the migration file say where the checkpoint of its one job is."""
    path = folder / "migration.yaml"
    body: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    job = next(each for each in body["checkpoints"] if each["name"] == "order-counts")
    replaced(path, yaml.safe_dump(body | {"checkpoints": [job | {"uri": uri}], "groups": []}, sort_keys=False))


def replaced(path: Path, text: str) -> None:
    """Write a file anew, as editors do."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def watch(folder: Path, *edits: Callable[[], object]) -> tuple[list[Status], list[str]]:
    """Look, edit, look again, until all edits are made; return the looks, and what was noted."""
    path = folder / "migration.yaml"
    looks: list[Status] = []
    notes: list[str] = []
    left = list(edits)

    def wait(_: float) -> None:
        if not left:
            raise _SeenEnoughError
        left.pop(0)()

    request = requested(
        ow.Migration.load(path).settings,
        path,
        None,
        wave=None,
        trust=(),
        lag_at_most=0,
        snapshots=load_snapshots(folder / "old.json", folder / "new.json"),
    )
    with pytest.raises(_SeenEnoughError):
        watch_status(request, every_s=0, records=False, heard=looks.append, note=notes.append, wait=wait)
    return looks, notes


def test_a_job_runs_until_the_migration_file_names_its_savepoint(folder: Path) -> None:
    newest = folder / "checkpoints" / JOB / "chk-6" / "_metadata"
    os.utime(newest, (time.time(), time.time()))

    looks, notes = watch(folder, lambda: None, lambda: job_at(folder, f"./checkpoints/{SAVEPOINT}"))

    assert [look.jobs[0].state for look in looks] == [JobState.RUNNING, JobState.RUNNING, JobState.STOPPED]
    assert "with a savepoint when its wave begins, and enter the savepoint's path" in str(looks[0].jobs[0].next)
    assert notes == []


def test_a_checkpoint_that_the_job_replaces_is_no_fault(folder: Path) -> None:
    """Flink removes a checkpoint as soon as a newer one stands."""
    retained = folder / "checkpoints" / JOB

    def go_on() -> None:
        shutil.copytree(retained / "chk-6", retained / "chk-7")
        shutil.rmtree(retained / "chk-4")
        shutil.rmtree(retained / "chk-6")

    looks, notes = watch(folder, go_on)

    assert {look.jobs[0].state for look in looks} <= {JobState.RUNNING, JobState.STOPPED}
    assert notes == []


@with_cases("edit", ["name: [", "name: other\n", ""], ids=["no YAML", "half of it", "empty"])
def test_a_migration_file_that_cannot_be_used_is_named_once_and_what_was_read_last_counts(
    edit: str, folder: Path
) -> None:
    path = folder / "migration.yaml"
    before = path.read_text(encoding="utf-8")

    looks, notes = watch(
        folder,
        lambda: replaced(path, edit),
        lambda: None,
        path.unlink,
        lambda: replaced(path, before.replace("order-counts-to-new", "renamed")),
    )

    assert [look.migration for look in looks] == ["order-counts-to-new", "order-counts-to-new", "renamed"]
    assert [COUNTS in {job.job for job in look.jobs} for look in looks] == [True] * 3
    assert len(notes) == 2, notes
    assert str(path) in notes[0]


def test_jobs_that_are_added_are_seen_at_the_next_look(folder: Path) -> None:
    path = folder / "migration.yaml"
    body = yaml.safe_load(path.read_text(encoding="utf-8"))

    looks, _ = watch(folder, lambda: replaced(path, yaml.safe_dump(body | {"groups": ["order-counts"]})))

    assert [[job.job for job in look.jobs] for look in looks] == [[COUNTS], [COUNTS, "group order-counts"]]


def test_a_plan_needs_one_checkpoint_by_name(folder: Path) -> None:
    job = ow.Migration.load(folder / "migration.yaml").checkpoint("order-counts")

    with pytest.raises(ow.OffsetwiseError, match="the folder of a Flink job with 3 retained ones"):
        job.compare(snapshots=load_snapshots(folder / "old.json", folder / "new.json"))
