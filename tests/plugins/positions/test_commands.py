"""A positions file is compared as it lies there, from standard input, and as the migration file names it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

import offsetwise
from offsetwise.config import load_migration, schema
from offsetwise.errors import ConfigError, OutsideRootsError
from offsetwise.workflow import checkpoint_reading
from tests.commands import COMMAND, call
from tests.with_cases import with_cases

SAMPLE: Final = Path(offsetwise.__file__).parent / "sample"
SNAPSHOTS: Final = ("--snapshots", SAMPLE / "old.json", SAMPLE / "new.json", "--no-content")
CLUSTERS: Final = """\
name: orders-to-new
source: {name: old, properties: {bootstrap.servers: "127.0.0.1:19092"}}
target: {name: new, properties: {bootstrap.servers: "127.0.0.1:29092"}}
"""
HUDI: Final = "orders,0:1050"
TWO_SHAPES: Final = '{"orders":{"0":1050}}'


@pytest.fixture
def migration(tmp_path: Path) -> Path:
    path = tmp_path / "migration.yaml"
    path.write_text(CLUSTERS)
    return path


def written(folder: Path, text: str) -> Path:
    (folder / "offsets.txt").write_text(text)
    return folder / "offsets.txt"


def rows(document: dict[str, Any]) -> list[tuple[str, str, int, str]]:
    return [
        (row["source"], row["topic"], row["partition"], row["old_offset"])
        for row in document["partitions"]
        if row["old_offset"] is not None
    ]


def test_a_file_is_compared_as_it_lies_there(migration: Path) -> None:
    file = written(migration.parent, HUDI)
    document = call("compare", "--migration", migration, "--positions", file, *SNAPSHOTS, "--json").answered()

    assert rows(document) == [("hudi", "orders", 0, "1050")]
    assert document["checkpoint"]["engine"] == "positions"
    assert document["checkpoint"]["uri"] == f"{file}#positions"


def test_a_file_may_be_named_without_its_folder(migration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(migration.parent, HUDI)
    monkeypatch.chdir(migration.parent)

    named = call("compare", "--migration", migration.name, "--positions", file.name, *SNAPSHOTS, "--json").answered()

    assert rows(named) == [("hudi", "orders", 0, "1050")]


def test_a_first_line_of_column_names_is_recognised_and_refused(migration: Path) -> None:
    file = written(migration.parent, "topic,partition,offset\norders,0,5\n")

    error = call("inspect", file, "--json").refused()

    assert "(kafka-consumer-groups-csv)" in error["problem"]
    assert "found the names of the columns" in error["problem"]


def test_a_topic_that_neither_cluster_has_is_said_and_nothing_of_it_is_known(migration: Path) -> None:
    file = written(migration.parent, "nowhere,0:5")
    document = call("compare", "--migration", migration, "--positions", file, *SNAPSHOTS, "--json").answered()

    (row,) = document["partitions"]
    assert (row["old_offset"], row["new_offset"], row["exactness"]) == ("5", None, "UNKNOWN")
    said = {finding["code"]: finding for finding in document["findings"]}
    assert said["TOPIC_MISSING"]["severity"] == "blocks"
    assert "nowhere" in said["TOPIC_MISSING"]["message"]


def test_two_shapes_that_fit_are_named_until_one_is_chosen(migration: Path) -> None:
    file = written(migration.parent, TWO_SHAPES)
    compare = ("compare", "--migration", migration, "--positions", file, *SNAPSHOTS, "--json")

    error = call(*compare).refused()
    chosen = call(*compare, "--shape", "spark-starting-offsets").answered()

    assert "found one that offsets-json and spark-starting-offsets fit" in error["problem"]
    assert "--shape offsets-json" in error["fix"]
    assert rows(chosen) == [("spark-starting-offsets", "orders", 0, "1050")]


def test_positions_are_compared_from_standard_input(migration: Path) -> None:
    arguments = [str(each) for each in ("compare", "--migration", migration, "--positions", "-", *SNAPSHOTS, "--json")]
    done = subprocess.run([COMMAND, *arguments], input=HUDI.encode(), capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert rows(document) == [("hudi", "orders", 0, "1050")]
    assert not Path(document["checkpoint"]["uri"].partition("#")[0]).exists()


def test_what_is_wrong_with_standard_input_names_no_file(migration: Path) -> None:
    arguments = [str(each) for each in ("compare", "--migration", migration, "--positions", "-", *SNAPSHOTS, "--json")]
    done = subprocess.run([COMMAND, *arguments], input=TWO_SHAPES.encode(), capture_output=True, check=False)

    error = json.loads(done.stdout)
    assert done.returncode == 1
    assert error["problem"].startswith("standard input#positions: expected a file of one shape")
    assert "--shape offsets-json" in error["fix"]
    assert "stdin" not in error["problem"] + error["fix"]


@with_cases(
    "arguments",
    [("--shape", "hudi"), ("--positions", "a", "--group", "b"), ("--positions", "a", "--all")],
    ids=["a shape of nothing", "beside a group", "beside all"],
)
def test_a_file_is_compared_alone(arguments: tuple[str, ...], migration: Path) -> None:
    error = call("compare", "--migration", migration, *arguments, *SNAPSHOTS, "--json").refused()

    assert "expected --positions FILE alone" in error["problem"]
    assert "`positions` in the migration file" in error["fix"]


def test_a_file_that_is_not_there_is_said(migration: Path) -> None:
    file = migration.parent / "nothing"
    error = call("compare", "--migration", migration, "--positions", file, *SNAPSHOTS, "--json").refused()

    assert f"{file}: expected a file or folder, found nothing" in error["problem"]


def test_the_exit_code_tells_what_an_unedited_start_would_do(migration: Path) -> None:
    file = written(migration.parent, HUDI)
    compare = ("compare", "--migration", migration, "--positions", file, *SNAPSHOTS)

    assert call(*compare).code == 0
    assert call(*compare, "--detailed-exitcode").code == 2


NAMED: Final = CLUSTERS + "positions: [{name: exported, file: ./offsets.txt, shape: hudi, belongs_to: old}]\n"


def test_a_file_of_the_migration_is_a_checkpoint_by_its_name(migration: Path) -> None:
    written(migration.parent, HUDI)
    migration.write_text(NAMED)
    document = call("compare", "--migration", migration, "--checkpoint", "exported", *SNAPSHOTS, "--json").answered()
    every = call("compare", "--migration", migration, "--all", *SNAPSHOTS, "--json")

    assert rows(document) == [("hudi", "orders", 0, "1050")]
    assert document["belongs_to"]["cluster"] == "old"
    assert rows(json.loads(every.out)) == rows(document)
    read = checkpoint_reading(load_migration(migration), "exported").checkpoint
    assert (read.engine, read.uri) == ("positions", f"{migration.parent / 'offsets.txt'}#positions:hudi")


def test_a_file_that_the_migration_names_is_compared_by_that_name(migration: Path) -> None:
    file = written(migration.parent, HUDI)
    migration.write_text(CLUSTERS + f"positions: [{{name: {file}, file: {file}}}]\n")
    error = call("compare", "--migration", migration, "--positions", file, *SNAPSHOTS, "--json").refused()

    assert error["fix"] == f"Compare it by its name: --checkpoint {file}"
    assert call("compare", "--migration", migration, "--checkpoint", file, *SNAPSHOTS).code == 0


def test_two_of_one_name_are_refused_whichever_section_they_stand_in(migration: Path) -> None:
    migration.write_text(NAMED + "checkpoints: [{name: exported, uri: ./checkpoints/orders}]\n")

    with pytest.raises(ConfigError, match="found 'exported' twice"):
        load_migration(migration)


def test_a_file_outside_the_roots_that_are_stated_is_not_read(migration: Path) -> None:
    written(migration.parent, HUDI)
    (migration.parent / "checkpoints").mkdir()
    migration.write_text(NAMED + "checkpoint_roots: [./checkpoints]\n")

    with pytest.raises(OutsideRootsError, match="expected a path inside the configured roots"):
        checkpoint_reading(load_migration(migration), "exported")


def test_the_section_is_described_by_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    section = schema()["$defs"]["PositionsConfig"]

    assert section["required"] == ["name", "file"]
    assert {*section["properties"]} == {"name", "file", "shape", "job", "belongs_to"}
