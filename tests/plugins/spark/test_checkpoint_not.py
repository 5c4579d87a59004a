"""What is no checkpoint is named for what it is, with the next step; never a traceback, never a number."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from offsetwise.engines.checkpoint import read_checkpoint as read_any
from offsetwise.errors import MissingError, NotACheckpointError, OffsetwiseError, StorageError
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from tests.commands import call
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.with_cases import with_cases

FLINK = {"_metadata": b"\x4a\x5b", "taskowned/x": b""}
DELTA = {"_delta_log/00000000000000000000.json": b"{}", "part-0.parquet": b"PAR1"}
SINK = {"_spark_metadata/0": b"v1", "part-0.parquet": b"PAR1"}
ICEBERG = {"metadata/v1.metadata.json": b"{}", "data/0.parquet": b"PAR1"}


@with_cases(
    ("files", "found"),
    [
        ({"x/.keep": b""}, "another folder"),
        (FLINK, "a Flink savepoint"),
        (DELTA, "a Delta table"),
        (SINK, "file sink"),
        (ICEBERG, "another folder ('data', 'metadata')"),
        ({"metadata": b"{}", "notes.txt": b""}, "another folder"),
        ({"0": b"v1\n{}\n7", ".0.crc": b"crc"}, "files named by batch (0), as inside offsets/ or commits/"),
        ({"0/0/1.delta": b""}, "another folder ('0')"),
        ({"orders/offsets/0": b"v1", "orders/metadata": b"{}"}, "a folder of checkpoints (orders)"),
    ],
    ids=[
        "other",
        "flink",
        "delta",
        "file sink",
        "iceberg",
        "a file called metadata",
        "offsets itself",
        "state",
        "parent",
    ],
)
def test_another_folder_is_named_for_what_it_is(files: dict[str, bytes], found: str, tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError) as caught:
        read_checkpoint(str(write(files, tmp_path)))

    assert found in caught.value.problem
    assert "expected the checkpoint folder of a Spark query" in caught.value.problem
    assert "No position was read." in caught.value.problem
    assert caught.value.fix


def test_a_folder_with_files_of_spark_and_of_flink_is_refused_by_both_names(tmp_path: Path) -> None:
    """Whichever of both was read, the job could be the other one."""
    folder = write({"offsets/0": b"v1", "commits/0": b"v1", "_metadata": b"\x4a\x5b"}, tmp_path)

    with pytest.raises(NotACheckpointError, match=r"the checkpoint folder of a Spark query and .* at once") as caught:
        read_any(str(folder))

    assert caught.value.fix == "Leave in it the files of one engine only."


def test_the_logs_of_a_real_checkpoint_are_told_from_the_checkpoint() -> None:
    with pytest.raises(NotACheckpointError, match="Give the folder above it"):
        read_checkpoint(str(SAMPLES / "spark-4.0.0-multi" / "offsets"))


def test_a_parent_folder_names_a_checkpoint_inside_it() -> None:
    with pytest.raises(NotACheckpointError, match=r"Give one of them, such as .*/spark-3.5.1-planned\."):
        read_checkpoint(str(SAMPLES))


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match="found an empty folder"):
        read_checkpoint(str(tmp_path))


def test_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "offsets").write_text("x")

    with pytest.raises(NotACheckpointError, match="found a file"):
        read_checkpoint(str(tmp_path / "offsets"))


def test_a_missing_path_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="expected a folder, found nothing"):
        read_checkpoint(str(tmp_path / "nowhere"))


def test_a_query_that_has_planned_nothing_yet_is_a_checkpoint(tmp_path: Path) -> None:
    read = read_checkpoint(str(write({"metadata": b'{"id":"a-b"}'}, tmp_path)))

    assert (read.job_id, read.details.progress.planned, read.sources) == ("a-b", None, ())
    assert [problem.code for problem in read.problems] == ["CHECKPOINT_DAMAGED"]


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A checkpoint, and this process without the rights of root, which may read anything."""
    with tempfile.TemporaryDirectory() as directory:
        folder = write(checkpoint({0: orders(1), 1: orders(2)}, (0, 1)), Path(directory) / "ckpt")
        for path in (Path(directory), folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        # Imports what a refusal needs: nobody may not read an interpreter that is below root's home.
        call("inspect", folder / "none", "--json").refused()
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        yield folder
        if before == 0:
            os.seteuid(0)
        for path in (folder, folder / "offsets"):
            path.chmod(0o755)


def _forbid(path: Path) -> None:
    before = os.geteuid()
    if before == 65534:
        os.seteuid(0)
    path.chmod(0)
    os.seteuid(before)


@with_cases("name", ["", "offsets", "commits"], ids=["the folder", "offsets", "commits"])
def test_a_folder_that_may_not_be_listed_is_an_error(name: str, as_nobody: Path) -> None:
    _forbid(as_nobody / name)

    with pytest.raises(StorageError, match="access refused") as caught:
        read_checkpoint(str(as_nobody))
    assert "read access" in caught.value.fix
    error = call("inspect", as_nobody, "--json").refused()
    assert (error["problem"], error["fix"]) == (caught.value.problem, caught.value.fix)


def test_a_folder_below_one_that_may_not_be_entered_is_an_error(as_nobody: Path) -> None:
    _forbid(as_nobody)

    with pytest.raises(StorageError, match="access refused"):
        read_checkpoint(str(as_nobody / "offsets"))


def test_a_file_that_may_not_be_read_is_damage_without_positions(as_nobody: Path) -> None:
    _forbid(as_nobody / "offsets" / "1")

    read = read_checkpoint(str(as_nobody))

    assert any("offsets/1 cannot be read" in problem.message for problem in read.problems)
    assert read.sources[0].positions == ()


@with_cases("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_something_else_in_place_of_a_file_is_damage_and_never_waited_for(
    make: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(make)
    write(checkpoint({0: orders(1), 1: orders(2)}, (0, 1)), tmp_path)
    (tmp_path / "offsets" / "1").unlink()
    make(tmp_path / "offsets" / "1")
    monkeypatch.chdir(tmp_path)

    read = read_checkpoint(".")

    assert any("offsets/1 cannot be read" in problem.message for problem in read.problems)
    assert read.sources[0].positions == ()


def test_a_log_file_above_the_limit_is_refused(tmp_path: Path) -> None:
    write(checkpoint({0: orders(1), 1: orders(2)}, (0, 1)), tmp_path)
    with (tmp_path / "offsets" / "1").open("r+b") as file:
        file.truncate(65 * 1024 * 1024)

    read = read_checkpoint(str(tmp_path))

    assert any("expected at most 67108864 bytes" in problem.message for problem in read.problems)
    assert read.sources[0].positions == ()


def test_every_error_says_the_next_step(tmp_path: Path) -> None:
    for uri in (str(tmp_path), str(tmp_path / "nowhere"), "ftp://x/y", ""):
        with pytest.raises(OffsetwiseError) as caught:
            read_checkpoint(uri)
        assert caught.value.fix.endswith(".")
        assert "Nothing was read" in caught.value.problem or "No position was read" in caught.value.problem
