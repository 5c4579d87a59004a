"""What is at a path is recognised; both engines' checkpoints are read on disk, and travel from Spark's workers."""

from __future__ import annotations

import shutil
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from offsetwise import files
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.engine import ReadOption, ReadRequest
from offsetwise.engines.rows import encode, read_one
from offsetwise.errors import CheckpointError, NotACheckpointError
from offsetwise.model import Checkpoint
from offsetwise.pipeline.fleet_rows import decode
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.registry import ENGINES
from tests.plugins.flink.files import (
    Op,
    absolute,
    blob,
    enumerator_v2,
    kafka_source,
    metadata,
    operator_handle,
    positions,
    reader_element,
    subtask,
)
from tests.plugins.spark.folders import FLINK_NAMES, NAMES, SAMPLES, write
from tests.third_party.test_plugin import PLUGIN
from tests.toys.engine.engine import TOY
from tests.toys.test_engine import toy
from tests.with_cases import with_cases

JOB = "0123456789abcdef0123456789abcdef"


@with_cases("name", [*NAMES, *FLINK_NAMES])
def test_the_engine_is_recognised(name: str) -> None:
    assert read_checkpoint(str(SAMPLES / name)).engine == name.split("-", maxsplit=1)[0]


@with_cases("name", FLINK_NAMES)
def test_a_savepoint_comes_back_from_a_worker_and_from_its_file_as_it_was(name: str) -> None:
    read = read_checkpoint(str(SAMPLES / name))

    assert decode(encode(read), subject=name) == read
    assert read_one(str(SAMPLES / name), roots=None, batches=0) == read
    assert files.load(files.dump(read), "checkpoint", subject="it") == read


def test_the_folder_of_a_job_is_refused_with_what_can_be_chosen(tmp_path: Path) -> None:
    data = metadata(kafka_source({0: 5}))
    job = write({f"{JOB}/chk-{n}/_metadata": data for n in (8, 9, 10)} | {f"{JOB}/shared/x": b""}, tmp_path) / JOB

    with pytest.raises(NotACheckpointError, match=r"3 retained ones \(chk-10, chk-9, chk-8\)") as caught:
        read_checkpoint(str(job))
    assert caught.value.fix.endswith(f"{JOB}/chk-10")
    read = read_checkpoint(str(job / "chk-9"))
    assert read.job_id == JOB
    assert [one.id for one in flink_details(read).saved.retained] == [10, 8]
    assert positions(read_checkpoint(flink_details(read).saved.retained[0].uri)) == {("orders", 0): 5}


@with_cases("left", [[], ["chk-7/other"]], ids=["stopped", "a checkpoint under way"])
def test_the_folder_of_a_job_without_a_complete_checkpoint_is_called_that(left: list[str], tmp_path: Path) -> None:
    job = write({f"{JOB}/{name}": b"" for name in ("shared/x", "taskowned/y", *left)}, tmp_path) / JOB

    with pytest.raises(NotACheckpointError, match="the folder of a Flink job without a complete checkpoint") as caught:
        read_checkpoint(str(job))
    assert "the savepoint that it was stopped with" in caught.value.fix


def _with_absolute(path: Path, size: int, places: dict[str, list[int]]) -> bytes:
    managed = operator_handle(places, absolute(f"file:{path}", size))
    return metadata(Op(subtasks=[subtask(0, managed)], coordinator=enumerator_v2([("orders", 0, 0)])))


def test_state_outside_the_folder_is_read_below_the_folder_above_or_the_roots_only(tmp_path: Path) -> None:
    data, places = blob({"SourceReaderState": [reader_element("orders", 0, 5)]})
    shared, far = tmp_path / "job" / "shared" / "x", tmp_path / "far" / "x"
    for path in (shared, far):
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
    found = {}
    for name, path in (("chk-1", shared), ("chk-2", far)):
        folder = write({"_metadata": _with_absolute(path, len(data), places)}, tmp_path / "job" / name)
        found[name] = read_checkpoint(str(folder))
        within = read_checkpoint(str(folder), roots=[str(tmp_path)])
        assert positions(within) == {("orders", 0): 5}

    assert positions(found["chk-1"]) == {("orders", 0): 5}
    assert positions(found["chk-2"]) == {}
    assert "outside" in found["chk-2"].problems[0].message


def test_uids_are_refused_for_a_spark_checkpoint() -> None:
    with pytest.raises(CheckpointError, match="expected a Flink checkpoint or savepoint, since uids"):
        read_checkpoint(str(SAMPLES / NAMES[0]), options={"uids": ["x"]})


def _of_depth(request: ReadRequest) -> Checkpoint:
    assert TOY.reader is not None
    return replace(TOY.reader(request), job_id=str(DEPTH.of(request)))


DEPTH: Final[ReadOption[int]] = ReadOption(
    name="depth", clause="a depth was given", noun="the depth", default=3, parse=lambda given: int(str(given))
)
DEEP: Final = replace(TOY, what="a deep toy", reader=_of_depth, options=(DEPTH,))


def test_an_engine_has_options_of_its_own_which_others_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "toy", lambda: DEEP)
    folder = str(toy(tmp_path))

    assert read_checkpoint(folder).job_id == "3"
    assert read_checkpoint(folder, options={"depth": "5"}).job_id == "5"
    with pytest.raises(CheckpointError, match="expected a deep toy, since a depth was given, found a Flink") as caught:
        read_checkpoint(str(SAMPLES / "flink-1.20"), options={"depth": 5})
    assert caught.value.fix == "Omit the depth for a Flink checkpoint."


def test_an_option_that_no_engine_has_is_refused() -> None:
    with pytest.raises(CheckpointError, match="since 'dept' was requested, found the checkpoint folder of a Spark"):
        read_checkpoint(str(SAMPLES / NAMES[0]), options={"dept": 5})
    for names in (["one", "two", "three"], ["three", "two", "one"]):
        with pytest.raises(CheckpointError, match=f"since '{names[0]}' was requested"):
            read_checkpoint(str(SAMPLES / NAMES[0]), options=dict.fromkeys(names, 1))


def test_an_engine_that_was_built_before_there_were_options_is_asked_as_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setitem(ENGINES, "tally", lambda: import_module("offsetwise_bookmarks.engine").TALLY)
    folder = str(write({"positions.tally": b"orders 0 7\n"}, tmp_path / "tally"))

    assert positions(read_checkpoint(folder)) == {("orders", 0): 7}
    with pytest.raises(CheckpointError, match="since uids of operators were named, found the folder of a Tally job"):
        read_checkpoint(folder, options={"uids": ["x"]})


def test_a_savepoint_reads_the_same_after_it_was_moved(tmp_path: Path) -> None:
    before = read_checkpoint(str(SAMPLES / "flink-1.20"))
    shutil.copytree(SAMPLES / "flink-1.20", tmp_path / "elsewhere")

    assert positions(read_checkpoint(str(tmp_path / "elsewhere"))) == positions(before)
