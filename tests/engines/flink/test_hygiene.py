"""How a job takes its checkpoints, as far as the files tell."""

from __future__ import annotations

import os
from pathlib import Path

from offsetwise.engines.checkpoint import newest_checkpoint, read_checkpoint
from offsetwise.engines.flink.details import Saved
from offsetwise.engines.flink.hygiene import hygiene
from offsetwise.engines.registry import engines
from offsetwise.model import RetainedCheckpoint
from tests.engines.flink.files import CHECKPOINT, codes, kafka_source, metadata
from tests.engines.spark.folders import FLINK_NAMES, SAMPLES, write
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
