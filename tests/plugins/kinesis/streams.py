"""A stream on moto's server, and an application of the KCL that reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from offsetwise.plugins.kinesis.stream.client import PACE

STREAM = "chain"
MIDDLE = 2**127


def lease(shard: int, checkpoint: str, **more: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "leaseKey": {"S": f"shardId-{shard:012}"},
        "checkpoint": {"S": checkpoint},
        "checkpointSubSequenceNumber": {"N": "0"},
        "leaseCounter": {"N": "7"},
        **more,
    }


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of two shards: 11 records in the first one, 9 in the second, numbered from 1."""

    address: str
    client: Any

    def split(self) -> None:
        """Split the first shard into two, numbers 2 and 3."""
        self.client.split_shard(
            StreamName=STREAM, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(MIDDLE // 2)
        )

    def migration(self, folder: Path, *leases: dict[str, Any], job: str = "{stream: chain}") -> Path:
        """Write the dump of a lease table, and a migration file whose clusters are both this one."""
        (folder / "dumps").mkdir()
        (folder / "dumps" / "app.json").write_text(json.dumps({"Items": leases}))
        given = f'{{stream: kinesis, properties: {{region: us-east-1, endpoint: "{self.address}"}}}}'
        (folder / "migration.yaml").write_text(
            f"name: chain\nsource: {given}\ntarget: {given}\n"
            f"checkpoints: [{{name: app, uri: ./dumps/app.json, job: {job}}}]\n"
            "write_roots: [./out]\n"
        )
        return folder / "migration.yaml"


@pytest.fixture
def stream(moto: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stream]:
    """Yield the stream, made anew."""
    boto3 = pytest.importorskip("boto3")
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_MAX_ATTEMPTS": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(PACE, "apart_s", 0.0)
    client = boto3.client("kinesis", endpoint_url=moto, region_name="us-east-1")
    with suppress(client.exceptions.ResourceNotFoundException):
        client.delete_stream(StreamName=STREAM)
    client.create_stream(StreamName=STREAM, ShardCount=2)
    for number in range(20):
        client.put_record(StreamName=STREAM, PartitionKey=f"k{number}", Data=b"x")
    yield Stream(moto, client)
    client.delete_stream(StreamName=STREAM)
