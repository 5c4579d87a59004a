"""The console's data, through the same verbs as the command line."""

from __future__ import annotations

import os
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from offsetwise.console.reader import MIGRATIONS_VARIABLE, Reader, reader_of_process
from offsetwise.errors import ConfigError, StorageError
from offsetwise.progress import no_progress
from tests.console.readers import ETL, ORDERS

SAMPLE = "orders-to-new (sample)"
FLINK = "order-counts-to-new (sample)"
KINESIS = "orders-to-frankfurt (sample)"
MIGRATION = """
name: {name}
source: {{name: prod-a, properties: {{bootstrap.servers: "127.0.0.1:1"}}}}
target: {{name: prod-b, properties: {{bootstrap.servers: "127.0.0.1:2"}}}}
checkpoint_roots: [./checkpoints]
checkpoints:
  - {{name: orders, uri: ./checkpoints/orders}}
  - {{name: gone, uri: ./checkpoints/gone}}
groups: [orders-etl]
"""


def migration(folder: Path, name: str = "mine") -> Path:
    made = folder / f"{name}.yaml"
    made.write_text(MIGRATION.format(name=name))
    shutil.copytree(str(files("offsetwise") / "sample" / "checkpoints"), folder / "checkpoints", dirs_exist_ok=True)
    return made


def test_the_samples_are_always_offered_and_recorded() -> None:
    offered = Reader(()).offered()
    assert [(one.name, one.recorded) for one in offered] == [(SAMPLE, True), (FLINK, True), (KINESIS, True)]
    assert ORDERS in offered[0].subjects


def test_every_checkpoint_of_the_samples_has_its_recorded_comparison() -> None:
    reader = Reader(())
    for one in reader.offered():
        assert all(reader.comparison(one.name, subject, no_progress).partitions for subject in one.subjects)


def test_the_sample_holds_1050_that_is_950() -> None:
    row = next(
        row
        for row in Reader(()).comparison(SAMPLE, ORDERS, no_progress).partitions
        if row.topic_partition == ("orders", 0)
    )
    assert (row.old_offset, row.new_offset, row.raw.skip) == (1050, 950, 100)


def test_migrations_are_offered_by_name_after_the_samples(tmp_path: Path) -> None:
    offered = Reader((migration(tmp_path),)).offered()
    assert [(one.name, one.old, one.new, one.recorded) for one in offered[3:]] == [("mine", "prod-a", "prod-b", False)]
    assert ETL in offered[3].subjects


def test_two_migrations_of_one_name_stay_apart(tmp_path: Path) -> None:
    file = migration(tmp_path)
    assert [one.name for one in Reader((file, file)).offered()[3:]] == ["mine", "mine (2)"]


def test_the_checkpoint_is_readable_without_a_cluster(tmp_path: Path) -> None:
    found = Reader((migration(tmp_path),)).checkpoint_reading("mine", "orders", None, no_progress).checkpoint
    assert found.details.progress.committed == 6


def test_a_checkpoint_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Reader((migration(tmp_path),)).checkpoint_reading("mine", "gone", None, no_progress)


def test_the_files_come_through_the_process_and_a_broken_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MIGRATIONS_VARIABLE, os.pathsep.join([str(migration(tmp_path))]))
    assert [one.name for one in reader_of_process().offered()] == [SAMPLE, FLINK, KINESIS, "mine"]
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [")
    monkeypatch.setenv(MIGRATIONS_VARIABLE, str(broken))
    with pytest.raises(ConfigError):
        reader_of_process()
