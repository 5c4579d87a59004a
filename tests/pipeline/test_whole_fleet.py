"""All checkpoints of a migration: each once, under its names, and no bad one ends the reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from offsetwise import workflow
from offsetwise.config import load_migration
from offsetwise.fleets import Fleet, FleetVerdict
from offsetwise.pipeline import whole_fleet
from tests.plugins.spark.folders import checkpoint, orders, write

ONE = checkpoint({0: orders(7)}, (0,))
MIGRATION = """
name: mine
source: {name: prod-a, properties: {bootstrap.servers: "127.0.0.1:1"}}
target: {name: prod-b, properties: {bootstrap.servers: "127.0.0.1:2"}}
"""


def read(folder: Path, lines: str, steps: list[tuple[str, int, int]] | None = None) -> Fleet:
    (folder / "m.yaml").write_text(MIGRATION + lines)
    heard = [] if steps is None else steps
    return workflow.fleet(load_migration(folder / "m.yaml"), progress=lambda *step: heard.append(step))


def test_a_named_checkpoint_that_is_also_found_is_one_row(tmp_path: Path) -> None:
    write(ONE, tmp_path / "ckpt" / "orders")
    write(ONE, tmp_path / "ckpt" / "other")
    (tmp_path / "link").symlink_to(tmp_path / "ckpt" / "orders")
    fleet = read(
        tmp_path,
        "checkpoint_roots: [./ckpt]\n"
        "checkpoints: [{name: a, uri: ./ckpt/orders}, {name: b, uri: ./ckpt/orders}, {name: c, uri: ./link}]\n",
    )
    assert [(Path(row.uri).name, row.names) for row in fleet.rows] == [("orders", ("a", "b", "c")), ("other", ())]


def test_without_roots_the_named_ones_are_all_and_a_gone_one_is_told_once(tmp_path: Path) -> None:
    write(ONE, tmp_path / "orders")
    fleet = read(tmp_path, "checkpoints: [{name: a, uri: ./orders}, {name: b, uri: ./gone}]\n")
    assert [row.verdict for row in fleet.rows] == [FleetVerdict.RESTARTABLE, FleetVerdict.UNREADABLE]
    assert fleet.troubles == ()


def test_a_root_that_is_gone_is_a_trouble_and_the_other_is_read(tmp_path: Path) -> None:
    write(ONE, tmp_path / "here" / "orders")
    (tmp_path / "file").touch()
    fleet = read(tmp_path, "checkpoint_roots: [./gone, ./file, ./here]\n")
    assert [Path(row.uri).name for row in fleet.rows] == ["orders"]
    assert [Path(one.root).name for one in fleet.troubles] == ["gone", "file"]
    assert all(one.problem and one.fix for one in fleet.troubles)


def test_copies_are_counted_by_query_id(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(ONE, tmp_path / name)
    write(ONE | {"metadata": b'{"id":"4af5d86a-37bb-4fe9-8d34-0a64a0d2ba68"}'}, tmp_path / "c")
    assert [row.same_query for row in read(tmp_path, "checkpoint_roots: [.]\n").rows] == [2, 2, 1]


def test_what_is_kept_of_each_is_small(tmp_path: Path) -> None:
    """A console holds a thousand of them."""
    write(checkpoint({batch: orders(batch) for batch in range(50)}, tuple(range(49))), tmp_path / "a")
    (row,) = read(tmp_path, "checkpoint_roots: [.]\n").rows
    assert row.checkpoint is not None
    assert [batch.id for batch in row.checkpoint.details.batches] == [48, 49]
    assert row.planned_at_ms == row.committed_at_ms == 1795229305292


def test_progress_is_told_as_spark_delivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_fleet, "WAVE_SIZE", 3)
    for number in range(7):
        write(checkpoint({0: orders(number)}, (0,)), tmp_path / f"c{number}")
    steps: list[tuple[str, int, int]] = []
    fleet = read(tmp_path, "checkpoint_roots: [.]\n", steps)
    assert [row.checkpoint.sources[0].positions[0].offset for row in fleet.rows if row.checkpoint] == list(range(7))
    assert steps[1:3] == [("find the checkpoints", 1, 1), ("start Spark", 0, 1)]
    told = [done for step, done, total in steps if step == "read them" and total == 7]
    assert told == sorted(told)
    assert set(told) == set(range(8))
