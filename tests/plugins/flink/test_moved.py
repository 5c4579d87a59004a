"""A Flink job moved by the commands alone: compared, drafted, signed, applied, verified and taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import offsetwise
from offsetwise import approval, files, workflow
from offsetwise.api import live
from offsetwise.api.readers import LiveReaders
from offsetwise.apply.run import Tools
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Cluster
from tests.apply.plans import tree_hash
from tests.apply.worlds import Groups, World, writers_of
from tests.commands import call
from tests.plugins.flink.files import kafka_source, metadata, positions
from tests.plugins.spark.folders import write
from tests.subjects import checkpoint
from tests.with_cases import with_cases

SAMPLE = Path(offsetwise.__file__).parent / "sample"
OLD, NEW = SAMPLE / "old.json", SAMPLE / "new.json"


def _migration(folder: Path, second: int) -> Path:
    write({"savepoints/savepoint-1/_metadata": metadata(kafka_source({0: 1050, 1: second}), version=6)}, folder)
    body = yaml.safe_load((SAMPLE / "migration.yaml").read_text())
    uri = str(folder / "savepoints" / "savepoint-1")
    body["checkpoints"] = [{"name": "orders", "uri": uri, "belongs_to": "old"}]
    body["checkpoint_roots"], body["write_roots"] = [str(folder / "savepoints")], [str(folder / "moved")]
    (folder / "moved").mkdir()
    (folder / "m.yaml").write_text(yaml.safe_dump(body))
    return folder / "m.yaml"


@with_cases("second", [1050, -1, -2, -3], ids=["an offset", "latest", "earliest", "committed"])
def test_the_whole_way_of_a_savepoint_by_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: int
) -> None:
    file = _migration(tmp_path, second)
    migration, snapshots = load_migration(file), workflow.load_snapshots(OLD, NEW)
    compared = workflow.compare(migration, checkpoint("orders"), snapshots=snapshots)
    (tmp_path / "comparison.json").write_text(files.dump(compared))
    world = World(
        live=LiveReaders(migration=migration, progress=lambda *_: None),
        clusters=dict(zip((Cluster.OLD, Cluster.NEW), snapshots, strict=True)),
        groups=Groups(),
    )
    monkeypatch.setattr(live, "tools_for", lambda *_: Tools(readers=world, writers=writers_of(Groups())))
    before = tree_hash(tmp_path / "savepoints")
    approval.write_keys(tmp_path / "rea", approval.keygen(subject="rea"))
    plan, receipt, copy = tmp_path / "plan.json", tmp_path / "receipt.json", tmp_path / "moved" / "savepoint-2"

    drafted = call(
        *("draft", "--migration", file, "--checkpoint", "orders", "--target", "flink-savepoint", "--author", "ada"),
        *("--comparison", tmp_path / "comparison.json", "--snapshots", OLD, NEW, "--out", plan),
        *("--override", "orders:0=950", "--override", "orders:1=951", "--reason", "Counted by hand."),
    )
    assert drafted.code == 0, drafted.err
    signed = call("sign", plan, "--key", tmp_path / "rea", "--as", "rea", "--out", tmp_path / "rea.approval.json")
    assert signed.code == 0, signed.err

    given = ("apply", plan, "--migration", file, "--output", copy, "--receipt", receipt)
    dry = call(*given, width=200)
    assert dry.code == 0, dry.err
    assert "_metadata" in dry.out
    assert "1,050" in dry.out
    assert not copy.exists()

    trusted = ("--approval", tmp_path / "rea.approval.json", "--trust", tmp_path / "rea.pub", "--execute")
    applied = call(*given, *trusted, width=200)
    assert applied.code == 0, applied.err
    assert positions(read_checkpoint(str(copy))) == {("orders", 0): 950, ("orders", 1): 951}

    verified = call("verify", receipt, "--migration", file, "--json")
    assert verified.code == 0, verified.err
    assert [(each["found"], each["turnout"]) for each in json.loads(verified.out)["positions"]] == [
        ("950", "CONFIRMED"),
        ("951", "CONFIRMED"),
    ]

    back = call("rollback", receipt, "--migration", file, "--trust", tmp_path / "rea.pub", "--execute", width=200)
    assert back.code == 0, back.err
    assert not copy.exists()
    assert tree_hash(tmp_path / "savepoints") == before
