"""Which checkpoints are found below a root, and what that costs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from offsetwise.engines import discovery
from offsetwise.engines.discovery import MAX_DEPTH, find_checkpoints
from offsetwise.errors import MissingError, OutsideRootsError
from tests.plugins.spark.folders import FLINK_NAMES, NAMES, SAMPLES, checkpoint, orders, write
from tests.with_cases import with_cases

ONE = checkpoint({0: orders(7)}, (0,))


def below(root: Path) -> list[str]:
    found = find_checkpoints(str(root), roots=(str(root),))
    assert found.complete
    return [os.path.relpath(uri, root) for uri in found.uris]


def test_every_recorded_checkpoint_is_found() -> None:
    assert below(SAMPLES) == sorted((*NAMES, *FLINK_NAMES))


def test_of_what_a_flink_job_retains_the_newest_is_found_and_no_spark_checkpoint_is_hidden(tmp_path: Path) -> None:
    for number in (9, 10, 11):
        write({"_metadata": b""} if number < 11 else {"5e2c": b"not finished"}, tmp_path / "job" / f"chk-{number}")
        write(ONE, tmp_path / "queries" / f"chk-{number}")
    write({"x": b""}, tmp_path / "job" / "shared")
    write({"_metadata": b""}, tmp_path / "savepoint-1")
    queries = [f"queries/chk-{number}" for number in (10, 11, 9)]
    assert below(tmp_path) == ["job/chk-10", *queries, "savepoint-1"]


def test_a_root_that_is_a_checkpoint_is_found_itself(tmp_path: Path) -> None:
    assert below(write(ONE, tmp_path / "orders")) == ["."]


def test_checkpoints_are_found_at_any_depth_up_to_the_bound(tmp_path: Path) -> None:
    for depth in range(1, MAX_DEPTH + 2):
        write(ONE, tmp_path.joinpath(*(f"level-{level}" for level in range(depth - 1)), f"c{depth}"))
    assert sorted(Path(one).name for one in below(tmp_path)) == [f"c{depth}" for depth in range(1, MAX_DEPTH + 1)]


def test_what_is_no_checkpoint_is_left_out_and_looked_into(tmp_path: Path) -> None:
    write({"a.parquet": b"", "_delta_log/0.json": b"{}", "_delta_log/offsets/0": b""}, tmp_path / "table")
    write(ONE, tmp_path / "table" / "_checkpoints" / "query")
    write(ONE, tmp_path / ".trash" / "orders")
    (tmp_path / "empty").mkdir()
    (tmp_path / "offsets").touch()
    assert below(tmp_path) == ["table/_checkpoints/query"]


def test_a_query_that_has_only_begun_is_found(tmp_path: Path) -> None:
    write({"metadata": b"{}"}, tmp_path / "begun")
    assert below(tmp_path) == ["begun"]


def test_what_stands_inside_a_checkpoint_is_not_looked_at(tmp_path: Path) -> None:
    write(ONE | {f"state/{path}": data for path, data in ONE.items()}, tmp_path / "orders")
    found = find_checkpoints(str(tmp_path))
    assert ([Path(uri).name for uri in found.uris], found.folders) == (["orders"], 2)


def test_links_are_not_followed(tmp_path: Path) -> None:
    write(ONE, tmp_path / "elsewhere" / "orders")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "root" / "loop").symlink_to(tmp_path / "root")
    assert below(tmp_path / "root") == []


@with_cases("name", ["=cmd()", "<img src=x onerror=alert(1)>", "a|b*c_d[e](f)", "or\u202eders", "\udcff"])
def test_a_hostile_name_is_found_as_it_is(name: str, tmp_path: Path) -> None:
    write(ONE, tmp_path / name)
    assert below(tmp_path) == [name]


def test_a_root_that_is_gone_or_outside_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingError):
        find_checkpoints(str(tmp_path / "gone"))
    with pytest.raises(OutsideRootsError):
        find_checkpoints("/etc", roots=(str(tmp_path),))


def test_more_than_the_bounds_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        write(ONE, tmp_path / f"{number}")
    monkeypatch.setattr(discovery, "MAX_FOLDERS", 5)
    found = find_checkpoints(str(tmp_path))
    assert (len(found.uris), found.complete, found.folders) == (4, False, 5)
    monkeypatch.setattr(discovery, "MAX_FOLDERS", 100)
    monkeypatch.setattr(discovery, "MAX_CHECKPOINTS", 5)
    found = find_checkpoints(str(tmp_path))
    assert (len(found.uris), found.complete) == (5, False)
