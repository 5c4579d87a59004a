"""One stream's jobs moved by plans: a migration for each, drafted, signed and applied by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plugins.kinesis.live.servers import KEYS, Server, Stream
from tests.plugins.kinesis.targets.test_kinesis_commands import Folder


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask with keys that the servers believe, and look at leases as far apart as these applications renew them."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(
        "offsetwise.plugins.kinesis.targets.kcl.leases.APART_S", 4.0
    )  # two times the applications' failover time


def migrated(path: Path, stream: Stream, checkpoint: str | Path, dynamodb: Server) -> Folder:
    """Return a migration of a job that stays on its stream."""
    path.mkdir()
    endpoints = {"endpoint": stream.server.address, "dynamodb_endpoint": dynamodb.address}
    return Folder(path, checkpoint, stream=stream.name, **endpoints)


def led(folder: Folder, old: Stream, new: Stream) -> Folder:
    """Lead a migration to another stream."""
    body = json.loads((folder.path / "m.yaml").read_text())
    body["topics"] = {"map": {old.name: new.name}}
    (folder.path / "m.yaml").write_text(json.dumps(body))
    return folder


def approved(folder: Folder, *options: str | Path) -> None:
    """Sign the plan, and apply it."""
    applied = folder.apply(*options, "--execute")
    assert applied.code == 0, applied.err
