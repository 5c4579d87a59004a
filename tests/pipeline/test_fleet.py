"""Many checkpoints on Spark give what one alone gives."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from offsetwise.config import SparkSettings
from offsetwise.engines.checkpoint import read_checkpoint as read_any
from offsetwise.engines.flat import flat_type, flatten
from offsetwise.engines.rows import FailedCheckpoint, encode
from offsetwise.errors import OutsideRootsError, StorageError
from offsetwise.model import Checkpoint
from offsetwise.pipeline import fleet
from offsetwise.pipeline.fleet import inspect_many
from offsetwise.pipeline.fleet_rows import decode
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.shipping import keep_archive
from offsetwise.plugins.flink.engine.details import FlinkDetails
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.storage.patterns import expand
from tests.plugins.spark.folders import NAMES, SAMPLES, checkpoint, orders, write
from tests.with_cases import with_cases


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return open_session(SparkSettings(), kafka=False)


@with_cases("name", NAMES)
def test_a_row_carries_a_checkpoint_whole(name: str) -> None:
    read = read_checkpoint(str(SAMPLES / name))

    assert decode(encode(read), subject="it") == read


def test_a_row_carries_every_field() -> None:
    """A field added to the model and forgotten in the row would be lost in silence."""
    samples = (
        "checkpoints/spark-4.0.0-agg-rocksdb",
        "checkpoints/flink-2.3-pending-transaction",
        "kinesis/kcl/2.7.2-merged.json",
    )
    both = [read_any(str(SAMPLES.parent / name)) for name in samples]
    both[0] = dataclasses.replace(both[0], endpoint="http://127.0.0.1:9000")
    assert isinstance(both[1].details, FlinkDetails)
    both[1] = dataclasses.replace(both[1], details=dataclasses.replace(both[1].details, pooled_prefixes=("pooled",)))
    flat = [flatten(one) for one in both]
    unlike = {field.name: [getattr(one, field.name) for one in flat] for field in dataclasses.fields(flat_type())}

    assert [name for name, values in unlike.items() if all(value in ((), None) for value in values)] == ["reruns_batch"]
    assert [decode(encode(one), subject="it") for one in both] == both


@with_cases("batches", [0, 100])
def test_checkpoints_read_on_spark_are_those_read_here(batches: int, spark: SparkSession) -> None:
    uris = [str(SAMPLES / name) for name in NAMES]

    read = list(inspect_many(spark, uris, batches=batches))

    assert read == [read_checkpoint(uri, batches=batches) for uri in uris]


def test_one_bad_checkpoint_is_a_row_with_its_error(spark: SparkSession, tmp_path: Path) -> None:
    good = str(write(checkpoint({0: orders(7)}, (0,)), tmp_path / "good"))
    uris = [good, str(tmp_path / "missing"), str(SAMPLES), "ftp://x/y", str(SAMPLES / NAMES[0]), good]

    read = list(inspect_many(spark, uris, roots=(str(tmp_path), str(SAMPLES))))

    assert [type(one).__name__ for one in read] == ["Checkpoint", *["FailedCheckpoint"] * 3, "Checkpoint", "Checkpoint"]
    failed = [one for one in read if isinstance(one, FailedCheckpoint)]
    assert [one.error for one in failed] == ["MissingError", "NotACheckpointError", "OutsideRootsError"]
    assert [one.uri for one in failed] == uris[1:4]
    assert all(one.problem and one.fix for one in failed)


def test_the_roots_hold_on_the_workers_too(spark: SparkSession, tmp_path: Path) -> None:
    (only,) = inspect_many(spark, [str(SAMPLES / NAMES[0])], roots=(str(tmp_path),))

    assert isinstance(only, FailedCheckpoint)
    assert only.error == "OutsideRootsError"


def test_a_fleet_larger_than_a_wave_comes_back_in_order(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "WAVE", 10)
    for number in range(25):
        write(checkpoint({0: orders(number)}, (0,)), tmp_path / f"{number:02}")

    read = list(inspect_many(spark, expand([f"{tmp_path}/*"])))

    assert [one.sources[0].positions[0].offset for one in read if isinstance(one, Checkpoint)] == list(range(25))


def test_no_checkpoint_needs_no_job(spark: SparkSession) -> None:
    assert list(inspect_many(spark, [])) == []


def test_an_archive_for_workers_stays_and_another_content_gets_another_name() -> None:
    """Executors fetch it when their first task starts, which may be long after it was sent."""
    first = keep_archive({"a.py": b"A = 1"})
    second = keep_archive({"a.py": b"A = 2"})

    assert keep_archive({"a.py": b"A = 1"}) == first
    assert first != second
    assert [ZipFile(path).read("offsetwise/a.py") for path in (first, second)] == [b"A = 1", b"A = 2"]


def test_archives_for_workers_are_gone_when_the_process_ends() -> None:
    program = "from offsetwise.pipeline.shipping import keep_archive; print(keep_archive({'a.py': b''}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert Path(ran.stdout.strip()).suffix == ".zip"
    assert not Path(ran.stdout.strip()).parent.exists()


class TestExpand:
    def test_keeps_plain_paths_as_they_are_and_each_once(self) -> None:
        assert expand(["/nowhere/a", "s3://bucket/a", "/nowhere/a"]) == ("/nowhere/a", "s3://bucket/a")

    def test_matches_folders_only(self, tmp_path: Path) -> None:
        for name in ("orders-1", "orders-2", ".orders-3", "payments"):
            (tmp_path / name).mkdir()
        (tmp_path / "orders.txt").touch()
        (tmp_path / "orders-link").symlink_to(tmp_path / "payments")

        assert [Path(one).name for one in expand([f"{tmp_path}/orders*"])] == ["orders-1", "orders-2", "orders-link"]
        assert [Path(one).name for one in expand([f"{tmp_path}/orders-[12]", f"{tmp_path}/*2"])] == [
            "orders-1",
            "orders-2",
        ]

    @with_cases("name", ["a[1]", "a*", "a?", "[", "*"])
    def test_takes_a_folder_of_exactly_this_name_before_what_the_pattern_matches(
        self, name: str, tmp_path: Path
    ) -> None:
        for other in ("a1", "ab", name):
            write(checkpoint({0: orders(7)}, (0,)), tmp_path / other)

        (only,) = expand([f"{tmp_path}/{name}"])

        assert only == f"{tmp_path}/{name}"
        assert read_checkpoint(only).details.progress.committed == 0

    def test_never_takes_a_name_with_pattern_characters_inside_roots(self, tmp_path: Path) -> None:
        for name in ("a1", "a[1]"):
            (tmp_path / name).mkdir()

        assert expand([f"{tmp_path}/a[1]"], roots=(str(tmp_path),)) == (f"{tmp_path}/a1",)

    def test_matches_relative_patterns(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        monkeypatch.chdir(tmp_path)

        assert [os.path.relpath(one) for one in expand(["a/*", "*"])] == ["a/b", "a"]

    def test_that_matches_nothing_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match="matches folders, found none"):
            expand([f"{tmp_path}/*"])

    @with_cases("pattern", ["/etc/*", "{root}/../*", "{root}-evil/*", "{root}/*/../../x", "http://x/*"])
    def test_stays_inside_the_roots(self, pattern: str, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()

        with pytest.raises(OutsideRootsError):
            expand([pattern.format(root=tmp_path / "root")], roots=(str(tmp_path / "root"),))
