"""B18: 100,000 leases read from DynamoDB Local, a Flink savepoint of 10,000 shards, positions in 100 shards proven.

Targets: 20 s, 300 ms and 60 s; a click among the leases on Checkpoint, p95 100 ms. Peers in the same run: a scan
with boto3 that keeps the items and checks nothing; Flink's State Processor API (`KinesisState.java`) reads the same
shards in a process of its own, the first time, and again in the same, warm Java; boto3 that reads all records of both
streams, 16 shards at a time, and compares nothing.
Servers, jars and Flink are those of the tests (`make proof` fetches them). A 0 leaves a part out.

    python -m benchmarks.b18_kinesis [--leases 100000] [--shards 10000] [--proven 100] [--records 1000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from streamlit.testing.v1 import AppTest

import offsetwise as ow
from benchmarks.b6_console import clicked
from benchmarks.b11_flink import FLINK
from offsetwise.console import answers
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.engine import CheckpointReading
from offsetwise.jars import locked_jars
from offsetwise.lab.brokers import LOG_CONFIGURATION, free_ports
from offsetwise.lab.java import find_java
from offsetwise.model import Checkpoint
from offsetwise.plugins.flink.engine.kinesis.splits import SplitFields
from offsetwise.plugins.flink.targets.kinesis.savepoint import Splits, made_savepoint
from offsetwise.plugins.kinesis.stream.spec import after
from tests.console.conftest import APP
from tests.console.readers import ValueReader
from tests.integration.flink_cluster import jvm
from tests.plugins.kinesis.live.servers import KEYS, REGION, dynamodb_command, kinesis_command
from tests.stores import served

HASH_KEYS, CLICKS = 2**128, 60
TABLE, SOURCE = "orders-app", "kinesis-src"
ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/orders"
BORN_S, ARRIVED_S = 1_795_000_000, 1_795_335_840


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leases", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=10_000)
    parser.add_argument("--proven", type=int, default=100)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    os.environ.update(KEYS)
    with tempfile.TemporaryDirectory() as directory:
        if given.leases:
            leases(given.leases, given.rounds, Path(directory))
        if given.shards:
            savepoint(given.shards, Path(directory))
        if given.proven:
            proof(given.proven, given.records, given.rounds, Path(directory))


def leases(count: int, rounds: int, folder: Path) -> None:
    """Measure a lease table, by turns with its peer."""
    (port,) = free_ports(1)
    with served(port, *dynamodb_command(port), cwd=folder) as running:
        client = boto3.client("dynamodb", endpoint_url=running.address, region_name=REGION)
        fill(client, count)
        uri = f"dynamodb://{TABLE}?region={REGION}&endpoint={running.address}"
        ours, peer, used = [], [], []
        for _ in range(rounds):
            cpu = time.process_time()
            took, read = timed(lambda: read_checkpoint(uri))
            used.append(time.process_time() - cpu)
            ours.append(took)
            if len(read.sources[0].shards) != count or read.problems:
                raise SystemExit(f"expected {count:,} leases without a problem, found {read.problems[:1]}")
            took, items = timed(lambda: scan(client))
            peer.append(took)
            if items != count:
                raise SystemExit(f"the peer found {items:,} items")
    print(
        f"B18 {count:,} leases: {told(ours)}, {statistics.median(used):.1f} s of processor time; boto3's scan alone "
        f"{told(peer)}; load {os.getloadavg()[0]:.1f}"
    )
    clicks = clicked(Shown(read).page(), CLICKS, "shard-rows")
    p95 = statistics.quantiles(clicks, n=20)[-1]
    print(f"B18 a click among them: median {statistics.median(clicks):.0f} ms, p95 {p95:.0f} ms of processor time")


class Shown(ValueReader):
    """Shows one checkpoint, which was read."""

    def __init__(self, read: Checkpoint) -> None:
        super().__init__()
        self._read = read

    def page(self) -> AppTest:
        """Return the page of the checkpoint."""
        answers.use(self)
        return AppTest.from_file(str(APP), default_timeout=120).switch_page("pages/explore/checkpoint.py")

    def checkpoint_reading(self, *_: object) -> CheckpointReading:
        """Return what was read."""
        return CheckpointReading(checkpoint=self._read, read_at_ms=0)


def fill(client: Any, count: int) -> None:
    """Make the table of an application that reads as many shards."""
    client.create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "leaseKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "leaseKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for start in range(0, count, 25):
        puts = [{"PutRequest": {"Item": lease(shard, count)}} for shard in range(start, min(start + 25, count))]
        client.batch_write_item(RequestItems={TABLE: puts})


def lease(shard: int, count: int) -> dict[str, dict[str, str]]:
    return {
        "leaseKey": {"S": f"shardId-{shard:012}"},
        "checkpoint": {"S": str(number(shard))},
        "checkpointSubSequenceNumber": {"N": "0"},
        "leaseCounter": {"N": "97"},
        "leaseOwner": {"S": "worker-b"},
        "ownerSwitchesSinceCheckpoint": {"N": "1"},
        "startingHashKey": {"S": str(HASH_KEYS * shard // count)},
        "endingHashKey": {"S": str(HASH_KEYS * (shard + 1) // count - 1)},
        "throughputKBps": {"N": "0"},
        "entityType": {"S": "LEASE"},
    }


def number(shard: int) -> int:
    """Return a sequence number as Kinesis lays it out: version, birth, shard, counter, arrival, shard."""
    return int(f"2{BORN_S:09x}{shard % 16:x}{7:016x}00{ARRIVED_S:09x}{shard:08x}2", 16)


def scan(client: Any) -> int:
    """Do what a script would: all pages, nothing looked at."""
    items: list[Any] = []
    for page in client.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True):
        items += page["Items"]
    return len(items)


def savepoint(count: int, folder: Path) -> None:
    """Measure a savepoint, and let Flink read the same."""
    splits = [
        SplitFields(
            version=2,
            arn=ARN,
            shard=f"shardId-{shard:012}",
            position=after(number(shard)),
            low=HASH_KEYS * shard // count,
            high=HASH_KEYS * (shard + 1) // count - 1,
        )
        for shard in range(count)
    ]
    made = folder / "savepoint"
    made.mkdir()
    (made / "_metadata").write_bytes(made_savepoint(SOURCE, Splits.of(splits), parallelism=16, max_parallelism=128))
    took, cpu = [], []
    for _ in range(9):
        used = time.process_time()
        took.append(timed(lambda: read_checkpoint(str(made)))[0] * 1000)
        cpu.append((time.process_time() - used) * 1000)
    read = read_checkpoint(str(made))
    found = [int(str(each.position).removeprefix("seq:")) for source in read.sources for each in source.shards]
    if read.problems:
        raise SystemExit(str(read.problems[0]))
    first, *warm = peer(made, (len(found), sum(found)))
    print(
        f"B18 {count:,} shards: {statistics.median(took):.0f} ms ({min(took):.0f} to {max(took):.0f} ms), "
        f"{statistics.median(cpu):.0f} ms of processor time; State Processor API of Flink {FLINK.version}: {first} ms "
        f"the first time, {statistics.median(warm):.0f} ms again; load {os.getloadavg()[0]:.1f}"
    )


def peer(made: Path, wanted: tuple[int, int]) -> list[int]:
    """Let Flink read it, and give the milliseconds of each round."""
    jars = locked_jars(f"flink-state-processor-{FLINK.version}", java=find_java)
    settings = made.with_name("settings")
    settings.mkdir()
    (settings / "config.yaml").touch()
    (settings / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
    main = str(Path(__file__).with_name("KinesisState.java"))
    *command, classpath, main, path, uid, rounds = jvm(FLINK, settings, main, str(made), SOURCE, "5")
    ran = subprocess.run(
        [*command, f"{classpath}:{jars / '*'}", main, path, uid, rounds], check=True, stdout=subprocess.PIPE, text=True
    )
    found = [tuple(map(int, line.split())) for line in ran.stdout.splitlines() if line[:1].isdigit()]
    if {each[:2] for each in found} != {wanted}:
        raise SystemExit(f"the peer found other positions: {found}")
    return [milliseconds for _, _, milliseconds in found]


def proof(shards: int, records: int, rounds: int, folder: Path) -> None:
    """Measure how long it takes to find a job in every shard of another stream, by turns with a peer that only reads.

    The job stands in the middle of each shard; of both streams every record around it is read.
    """
    with kinesis_server(folder) as address:
        client = boto3.client("kinesis", endpoint_url=address, region_name=REGION)
        for name in ("orders", "orders-copy"):
            client.create_stream(StreamName=name, ShardCount=shards)
            client.get_waiter("stream_exists").wait(StreamName=name, WaiterConfig={"Delay": 1})
        written = put(client, "orders", range(shards * records))
        by_shard: dict[str, list[tuple[int, str]]] = {}
        for number_, (shard, sequence) in written.items():
            by_shard.setdefault(shard, []).append((number_, sequence))
        middles = {shard: len(some) // 2 for shard, some in by_shard.items()}
        read = {number_ for shard, some in by_shard.items() for number_, _ in some[: middles[shard]]}
        put(client, "orders-copy", sorted(written, key=lambda each: (each not in read, each)))
        items = [
            {"leaseKey": {"S": shard}, "checkpoint": {"S": some[middles[shard] - 1][1]}, "leaseCounter": {"N": "7"}}
            | {"checkpointSubSequenceNumber": {"N": "0"}}
            for shard, some in sorted(by_shard.items())
        ]
        (folder / "app.json").write_text(json.dumps({"Items": items}))
        side = f'{{stream: kinesis, properties: {{region: {REGION}, endpoint: "{address}"}}}}'
        (folder / "migration.yaml").write_text(
            f"name: proof\nsource: {side}\ntarget: {side}\ntopics: {{map: {{orders: orders-copy}}}}\n"
            "checkpoints: [{name: app, uri: ./app.json, job: {stream: orders}}]\n"
        )
        job = ow.Migration.load(folder / "migration.yaml").checkpoint("app")
        ours, beside = [], []
        for _ in range(rounds):
            took, made = timed(job.compare)
            ours.append(took)
            if len(made) != shards or not all(row.exactness.proven for row in made):
                raise SystemExit("expected every shard to be proven")
            beside.append(timed(lambda: [read_whole(client, name) for name in ("orders", "orders-copy")])[0])
    print(
        f"B18 {shards} shards of {records:,} records on both streams: {told(ours)}, the first with Spark's start "
        f"{ours[0]:.1f} s; boto3 that only reads {told(beside)}; load {os.getloadavg()[0]:.1f}"
    )


def put(client: Any, stream: str, numbers: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Write records, and give shard and sequence number of each."""
    made: dict[int, tuple[str, str]] = {}
    every = list(numbers)
    for start in range(0, len(every), 500):
        some = every[start : start + 500]
        told = client.put_records(
            StreamName=stream, Records=[{"PartitionKey": f"k{each}", "Data": str(each).encode()} for each in some]
        )
        made |= {
            each: (answer["ShardId"], answer["SequenceNumber"])
            for each, answer in zip(some, told["Records"], strict=True)
        }
    return made


def read_whole(client: Any, stream: str) -> int:
    """Read a stream as a script would."""
    shards = [each["ShardId"] for each in client.list_shards(StreamName=stream)["Shards"]]

    def read(shard: str) -> int:
        asked = client.get_shard_iterator(StreamName=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        return len(client.get_records(ShardIterator=asked["ShardIterator"])["Records"])

    with ThreadPoolExecutor(16) as pool:
        return sum(pool.map(read, shards))


@contextmanager
def kinesis_server(folder: Path) -> Iterator[str]:
    """Start kinesis-mock with room for the shards, and give its address."""
    command, settings, port = kinesis_command()
    (folder / "kinesis").mkdir()
    with served(port, *command, cwd=folder / "kinesis", environment={**settings, "SHARD_LIMIT": "1000"}) as running:
        yield running.address


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def told(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.1f} s ({min(seconds):.1f} to {max(seconds):.1f} s)"


if __name__ == "__main__":
    main()
