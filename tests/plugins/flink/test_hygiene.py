"""How a job takes its checkpoints, as far as the files tell."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from offsetwise.engines.checkpoint import newest_checkpoint, read_checkpoint, read_newest
from offsetwise.engines.registry import engines
from offsetwise.errors import MissingError, NotACheckpointError
from offsetwise.model import RetainedCheckpoint
from offsetwise.plugins.flink.engine.details import Saved
from offsetwise.plugins.flink.engine.hygiene import hygiene
from tests.plugins.flink.files import CHECKPOINT, codes, kafka_source, metadata, positions
from tests.plugins.spark.folders import FLINK_NAMES, SAMPLES, write
from tests.with_cases import with_cases

JOB = "0123456789abcdef0123456789abcdef"
SECOND = 1_000


def saved(*others: tuple[int, int | None], kind: str = "checkpoint", written_ms: int | None = 100 * SECOND) -> Saved:
    return Saved(
        kind=kind,
        id=12,
        format_version=6,
        format=None,
        written_ms=written_ms,
        aligned=True,
        compressed=False,
        retained=tuple(RetainedCheckpoint(uri=f"chk-{id_}", id=id_, written_ms=at) for id_, at in others),
    )


def told(made: Saved) -> str:
    (problem,) = hygiene(made, kept_when_cancelled=True)
    assert problem.code == "CHECKPOINT_INTERVAL"
    return problem.message


def test_the_interval_bounds_what_is_read_again() -> None:
    message = told(saved((11, 40 * SECOND), (10, 10 * SECOND)))

    assert "taken 30 s to 60 s apart: " in message
    assert "here up to 60 s" in message
    assert "less than" not in message


def test_an_interval_below_the_fields_ten_seconds_is_said_to_be_short() -> None:
    message = told(saved((11, 100 * SECOND - 1_500)))

    assert "1.5 s apart, less than the 10 s that a job should be given" in message


@with_cases(
    "made",
    [
        saved(),
        saved((10, 40 * SECOND)),
        saved((11, None)),
        saved((11, 100 * SECOND)),
        saved((11, 100 * SECOND - 3), (10, 40 * SECOND)),
        saved((11, 40 * SECOND), written_ms=None),
        saved((11, 40 * SECOND), kind="savepoint"),
    ],
    ids=["alone", "one between them is gone", "no time", "same time", "copied", "no time of its own", "savepoint"],
)
def test_what_the_files_do_not_tell_is_not_said(made: Saved) -> None:
    assert [*hygiene(made, kept_when_cancelled=True)] == []


def test_a_checkpoint_that_goes_with_its_job_is_said_and_an_unknown_one_is_not() -> None:
    (problem,) = hygiene(saved(), kept_when_cancelled=False)

    assert problem.code == "CHECKPOINT_NOT_RETAINED"
    assert "RETAIN_ON_CANCELLATION" in problem.fix
    assert [*hygiene(saved(), kept_when_cancelled=None)] == []
    assert [*hygiene(saved(kind="savepoint"), kept_when_cancelled=False)] == []


def test_whether_it_is_kept_is_read_from_the_recorded_properties(tmp_path: Path) -> None:
    """The properties of a real savepoint, with another kind: as Flink writes them for a checkpoint."""
    real = (SAMPLES / FLINK_NAMES[0] / "_metadata").read_bytes()
    properties = real[real.index(b"\xac\xed\x00\x05") :].replace(b".SavepointType\xa0", b".CheckpointType\xa0")
    flags = properties.index(b";xp") + 3
    assert properties[flags : flags + 2] == b"\0\0"
    assert b"CheckpointType" in properties
    discarded = properties[:flags] + b"\x01" + properties[flags + 1 :]

    for tail, expected in ((properties, []), (discarded, ["CHECKPOINT_NOT_RETAINED"])):
        folder = write({"_metadata": metadata(kafka_source({0: 5}), tail=tail)}, tmp_path / "chk-7")
        assert codes(read_checkpoint(str(folder))) == expected


def test_the_newest_checkpoint_of_a_jobs_folder_is_found_and_another_path_stays(tmp_path: Path) -> None:
    held = {n: metadata(kafka_source({0: 5}), checkpoint_id=n, tail=CHECKPOINT) for n in (9, 10)}
    files = {f"{JOB}/chk-{n}/_metadata": data for n, data in held.items()}
    job = write(files | {f"{JOB}/shared/x": b""}, tmp_path) / JOB
    (job / "chk-11").mkdir()
    for number, at in ((9, 1_000), (10, 1_060)):
        os.utime(job / f"chk-{number}" / "_metadata", (at, at))

    newest = newest_checkpoint(str(job), roots=[str(tmp_path)])

    assert newest == str(job / "chk-10")
    assert codes(read_checkpoint(newest)) == ["CHECKPOINT_INTERVAL"]
    services = (f"{scheme}://service/name" for engine in engines() for scheme in engine.schemes)
    for path in (newest, str(tmp_path), str(SAMPLES / "flink-1.20"), *services):
        assert newest_checkpoint(path) == path


class Accesses:
    """Calls a function right before the process opens or lists something in a folder for the so-many-th time."""

    def __init__(self) -> None:
        self._folder, self._left = "", 0
        self._call: Callable[[], object] = dict
        sys.addaudithook(self._heard)

    @contextmanager
    def before(self, folder: Path, number: int, call: Callable[[], object]) -> Iterator[None]:
        self._folder, self._left, self._call = str(folder), number, call
        try:
            yield
        finally:
            self._folder = ""

    def _heard(self, event: str, _: tuple[object, ...]) -> None:
        if self._folder and event in {"open", "os.scandir", "os.listdir"}:
            self._left -= 1
            if self._left == 0:
                self._folder = ""
                self._call()


@pytest.fixture(scope="module")
def accesses() -> Accesses:
    return Accesses()


def test_the_newest_checkpoint_is_read_whenever_the_job_replaces_it(tmp_path: Path, accesses: Accesses) -> None:
    """A job that retains one completes the next one before it removes the last, at any moment of a reading."""
    replaced = []
    for number in range(1, 1_000):
        job = tmp_path / f"{number}" / JOB

        def complete(at: int, job: Path = job) -> None:
            write({f"chk-{at}/_metadata": metadata(kafka_source({0: at}), checkpoint_id=at, tail=CHECKPOINT)}, job)

        def go_on(job: Path = job, complete: Callable[[int], None] = complete) -> None:
            complete(2)
            shutil.rmtree(job / "chk-1")

        complete(1)
        with accesses.before(job, number, go_on):
            read = read_newest(str(job))
        replaced.append((job / "chk-2").exists())
        assert positions(read) in ({("orders", 0): 1}, {("orders", 0): 2})
        if not replaced[-1]:
            break
    assert replaced[:5] == [True] * 5
    assert not replaced[-1], "every access was tried"


def test_another_path_than_a_jobs_folder_is_read_as_ever(tmp_path: Path) -> None:
    assert read_newest(str(SAMPLES / "flink-1.20")) == read_checkpoint(str(SAMPLES / "flink-1.20"))
    with pytest.raises(NotACheckpointError, match="an empty folder"):
        read_newest(str(tmp_path))
    with pytest.raises(MissingError):
        read_newest(str(tmp_path / "none"))
