"""Record the bundled Kinesis sample anew: `make sample-kinesis`.

On local servers (kinesis-mock, DynamoDB Local) a query of Spark with qubole's connector and an application of the KCL
read stream `orders` of us-east-1. The query stops first; then the first shard is split, and the application reads on
and stops in mid-stream. Meanwhile all records are copied to stream `orders` of eu-central-1, which has three shards and
begins with five foreign records. The results of the library are written to lib/offsetwise/sample_kinesis: the
application's table, the query's checkpoint, snapshots of both streams, the comparisons with their evidence, and the lag
over a minute. The servers' address is replaced by one that never resolves.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from record_lag import say
from record_sample import relative

from offsetwise import files, workflow
from offsetwise.config import Migration, load_migration
from offsetwise.model import Cluster, LagSample, Subject, SubjectKind
from offsetwise.watch.reading import take_samples
from offsetwise.watch.sampler import subjects_of
from tests.plugins.kinesis.live.engines import Application, Query
from tests.plugins.kinesis.live.servers import KEYS, Server, Stream, client_of, dynamodb, mocked

SAMPLE: Final = Path(__file__).parent.parent / "lib" / "offsetwise" / "sample_kinesis"
ADDRESS: Final = "http://kinesis.sample.invalid"
"""Names under `invalid` never resolve: RFC 6761. The demo key approves plans of these clusters."""
NAME: Final = "orders"
REGIONS: Final = {"source": "us-east-1", "target": "eu-central-1"}
MIDDLE: Final = 2**127
REST_S: Final = 20
"""Pause between writes, so that the times differ."""
LAG_EVERY_S: Final = 4
LAG_MOMENTS: Final = 16


def main() -> None:
    os.environ |= KEYS
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "kinesis").mkdir()
        (folder / "dynamodb").mkdir()
        with mocked(folder / "kinesis") as kinesis, dynamodb(folder / "dynamodb") as tables:
            source, target = (
                _stream(kinesis, REGIONS[side], shards) for side, shards in (("source", 2), ("target", 3))
            )
            for number in range(5):
                target.server.client.put_record(StreamName=NAME, PartitionKey=f"beat{number}", Data=b"beat")
            _read(folder, (source, target), tables)
            _record(folder, _migration(folder, kinesis), (source, target))


def _stream(server: Server, region: str, shards: int) -> Stream:
    there = Server(server.address, client_of("kinesis", server.address, region), server.pid)
    there.client.create_stream(StreamName=NAME, ShardCount=shards)
    made = Stream(there, NAME)
    made.wait()
    return made


def _put(streams: Sequence[Stream], numbers: Iterable[int]) -> None:
    """Write records, which are copied at once."""
    for number in numbers:
        for stream in streams:
            stream.put([number])


def _read(folder: Path, streams: Sequence[Stream], tables: Server) -> None:
    """Let both engines read the first of the streams, and keep their checkpoints."""
    kept, stream = folder / "checkpoints", streams[0]
    kept.mkdir()
    _put(streams, range(40))
    query = Query(folder=folder / "query")
    say(f"the query read {len(query.read(stream, 40))} records")
    time.sleep(REST_S)
    _put(streams, range(40, 60))
    app = Application(version="2.7.2", name="orders-app", dynamodb=tables, folder=folder)
    say(f"the application read {len(app.read(stream, 60))} records")
    stream.server.client.split_shard(
        StreamName=NAME, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(MIDDLE // 2)
    )
    stream.wait()
    time.sleep(REST_S)
    _put(streams, range(60, 100))
    say(f"the application read {len(app.read(stream, 30))} records after the split")
    shutil.copytree(query.checkpoint, kept / "orders-query")
    rows = tables.client.scan(TableName=app.name, ConsistentRead=True)["Items"]
    rows.sort(key=lambda row: str(row["leaseKey"]))
    (kept / "orders-app.json").write_text(json.dumps({"Items": rows}, indent=1, sort_keys=True) + "\n")


def _migration(folder: Path, server: Server) -> Path:
    sides: dict[str, Any] = {
        side: {
            "name": {"source": "old", "target": "new"}[side],
            "alias": {"source": "old", "target": "new"}[side],
            "stream": "kinesis",
            "properties": {"region": region, "endpoint": server.address},
        }
        for side, region in REGIONS.items()
    }
    job = {"stateful": False, "sink": "kafka", "tolerates_replay": False}
    body = {
        "name": "orders-to-frankfurt",
        **sides,
        "link": "other",
        "topics": {"policy": "identity"},
        "checkpoint_roots": ["./checkpoints"],
        "checkpoints": [
            {
                "name": "orders-app",
                "uri": "./checkpoints/orders-app.json",
                "job": {**job, "stream": NAME, "tolerates_replay": True},
            },
            {
                "name": "orders-query",
                "uri": "./checkpoints/orders-query",
                "job": {**job, "stream": NAME, "application": "orders-app"},
            },
        ],
        "write_roots": ["./applied"],
    }
    path = folder / "migration.yaml"
    path.write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    return path


def _record(folder: Path, path: Path, streams: Sequence[Stream]) -> None:
    migration, texts = load_migration(path), {}
    for each in migration.checkpoints:
        seen = workflow.compare(migration, Subject(kind=SubjectKind.CHECKPOINT, name=each.name))
        texts[f"comparison-{each.name}.json"] = files.dump(relative(seen, folder))
        say(f"{each.name}: {[(str(row.new_offset), row.exactness.value) for row in seen.partitions]}")
    for side in Cluster:
        texts[f"{side}.json"] = files.dump(workflow.snapshot(migration, side, topics=(NAME,)))
    lag = "".join(files.dump(each, indent=None) for each in _lag(migration, streams))
    address = migration.source.properties["endpoint"]
    shutil.rmtree(SAMPLE, ignore_errors=True)
    SAMPLE.mkdir(parents=True)
    shutil.copytree(folder / "checkpoints", SAMPLE / "checkpoints")
    texts["migration.yaml"] = path.read_text(encoding="utf-8")
    for name, text in texts.items():
        (SAMPLE / name).write_text(text.replace(address, ADDRESS), encoding="utf-8")
    (SAMPLE / "lag.jsonl.gz").write_bytes(gzip.compress(lag.replace(address, ADDRESS).encode(), 9, mtime=0))
    say(f"{sum(each.stat().st_size for each in SAMPLE.rglob('*') if each.is_file()):,} bytes")


def _lag(migration: Migration, streams: Sequence[Stream]) -> Iterable[LagSample]:
    """Sample the lag while records continue to be written, and nobody reads."""
    subjects = subjects_of(migration, [each.name for each in migration.checkpoints])
    before: dict[Any, LagSample] = {}
    began = time.monotonic()
    for moment in range(LAG_MOMENTS):
        time.sleep(max(0.0, began + moment * LAG_EVERY_S - time.monotonic()))
        _put(streams, range(1_000 + moment * 4, 1_004 + moment * 4))
        made = take_samples(
            migration, subjects, sampled_by="the recording", interval_ms=LAG_EVERY_S * 1000, before=before
        )
        before = dict(zip(subjects, made, strict=True))
        yield from made


if __name__ == "__main__":
    main()
