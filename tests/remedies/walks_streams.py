"""Remedies about streams of Kinesis: what a comparison with the stream states, and the tables beside it."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from moto.kinesis.models import Shard

import offsetwise as ow
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.findings import findings
from offsetwise.model import Finding
from offsetwise.plugins.kinesis.stream.tables import DynamoTable
from tests.commands import call
from tests.plan.scene import comparison, drafted
from tests.plugins.kinesis.streams import Stream, lease
from tests.plugins.kinesis.targets import test_kcl_leases as kcl
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN
from tests.plugins.kinesis.test_aggregates import at, fill, packed
from tests.plugins.kinesis.test_checkpoints import DATA, PENDING
from tests.remedies.walk import Scene, Steps, walk

FINDINGS = "plugins/kinesis/stream/findings.py::"
TABLES = "plugins/kinesis/stream/tables.py::DynamoTable.__init__"
TRAITS = "{stream: chain, stateful: false}"
NOW_S = int(time.time())


def number(shard: int, *, born_s: int = NOW_S - 900_000, arrived_s: int = NOW_S) -> str:
    """Return a sequence number as Kinesis writes them."""
    return str(int(f"2{born_s:09x}{shard:x}{7:016x}00{arrived_s:09x}{shard:08x}2", 16))


def made(scene: Scene) -> Stream:
    stream: Stream = scene.request.getfixturevalue("stream")
    return stream


def compared(migration: Path) -> tuple[Finding, ...]:
    return ow.Migration.load(migration).checkpoint("app").compare().findings


def draft(migration: Path, target: str, *decided: str) -> None:
    """Draft a plan, which must not be refused."""
    choices = [part for each in decided for part in ("--override", each)]
    out = migration.parent / f"{target.partition(':')[0]}.json"
    reason = ("--reason", "looked up") if decided else ()
    given = ("--target", target, "--author", "ada", *choices, *reason)
    ran = call("draft", "--migration", migration, "--checkpoint", "app", "--out", out, *given)
    assert ran.code == 0, ran.err


@walk(FINDINGS + "shard_gone", "--override topic:shard=SHARD_END")
def shard_gone(scene: Scene) -> Steps:
    path = made(scene).migration(scene.folder, lease(0, "5"), lease(1, "9"), lease(7, "5"), job=TRAITS)

    def decide() -> None:
        for target in ("starting-position", "kcl-leases:app"):
            draft(path, target, "chain:7=SHARD_END")

    return Steps(lambda: compared(path), lambda: None, decide)


@walk(FINDINGS + "sequence_expired", "--override topic:shard=TRIM_HORIZON")
def sequence_expired(scene: Scene) -> Steps:
    late = number(0, arrived_s=NOW_S - 3 * 86_400)
    path = made(scene).migration(scene.folder, lease(0, late), lease(1, "9"), job=TRAITS)
    return Steps(lambda: compared(path), lambda: None, lambda: draft(path, "starting-position", "chain:0=TRIM_HORIZON"))


@walk(FINDINGS + "sequence_foreign", "name that one as the job's `stream`")
def sequence_foreign(scene: Scene) -> Steps:
    stream = made(scene)
    first = Shard.get_min_sequence_number
    # moto numbers the records of every stream from 1: here a stream of two shards has numbers as Kinesis gives them.
    born = {"shardId-000000000000": number(0, born_s=NOW_S - 90_000), "shardId-000000000001": number(1)}
    scene.patch.setattr(
        Shard, "get_min_sequence_number", lambda shard: first(shard) if shard.records else born[shard.shard_id]
    )
    stream.client.create_stream(StreamName="again", ShardCount=2)
    path = stream.migration(scene.folder, lease(0, number(0)), lease(1, "9"), job="{stream: again}")

    def name_it() -> None:
        path.write_text(path.read_text().replace("stream: again", "stream: chain"))

    scene.request.addfinalizer(lambda: stream.client.delete_stream(StreamName="again"))
    return Steps(lambda: compared(path), name_it)


@walk(FINDINGS + "parent_unread", "as soon as its query has deleted the batch before")
def parent_unread(scene: Scene) -> Steps:
    folder = shutil.copytree(PENDING, scene.folder / "query", ignore=shutil.ignore_patterns("*.crc"))

    def clean() -> None:
        """Delete the batch before, as Spark does with those that it does not retain."""
        for path in (folder / "offsets" / "0", folder / "commits" / "0"):
            path.unlink()
        shutil.rmtree(folder / "sources" / "0" / "shard-source" / "0")

    return Steps(lambda: read_checkpoint(str(folder)).problems, clean)


@walk(FINDINGS + "inside_aggregate", "--override topic:shard=at:NUMBER")
def inside_aggregate(scene: Scene) -> Steps:
    stream = made(scene)
    fill(stream, packed(3), b"more")
    path = stream.migration(scene.folder, at(1, 0), job=TRAITS)

    def write() -> None:
        draft(path, "kcl-leases:app")
        draft(path, "starting-position", "chain:0=at:1")

    return Steps(lambda: compared(path), lambda: None, write)


@walk(FINDINGS + "aggregated", "Stay with an engine that takes aggregates apart")
def aggregated(scene: Scene) -> Steps:
    stream = made(scene)
    fill(stream, packed(3), b"more")
    path = stream.migration(scene.folder, lease(0, "TRIM_HORIZON"), job=TRAITS)

    def stay() -> None:
        draft(path, "kcl-leases:app")
        draft(path, "starting-position")

    return Steps(lambda: compared(path), lambda: None, stay)


@walk(FINDINGS + "children_wait", "Nothing: they begin at their oldest record")
def children_wait(_: Scene) -> Steps:
    folder = str(DATA / "flink" / "streams-source-5.1.0-children-unassigned")

    def go_on() -> None:
        stated = [each for each in read_checkpoint(folder).problems if each.code == "CHILDREN_WAIT"]
        kind = findings()["CHILDREN_WAIT"]
        drafted(comparison(findings=tuple(kind.finding(each.message, fix=each.fix) for each in stated)))

    return Steps(lambda: read_checkpoint(folder).problems, lambda: None, go_on)


@walk(FINDINGS + "closed_shard_unread", "Write to what names every shard")
def closed_shard_unread(scene: Scene) -> Steps:
    stream = made(scene)
    stream.split()
    path = stream.migration(scene.folder, lease(0, "5"), lease(1, "9"), job=TRAITS)

    def write() -> None:
        draft(path, "starting-position")
        plan = json.loads((scene.folder / "starting-position.json").read_text())
        assert next((each["partition"], each["new_offset"]) for each in plan["positions"]) == (0, "seq:5")

    return Steps(lambda: compared(path), lambda: None, write)


@walk(FINDINGS + "stream_not_asked", "Give the environment credentials")
def stream_not_asked(scene: Scene) -> Steps:
    stream = made(scene)
    keys = {"startingHashKey": {"S": "0"}, "endingHashKey": {"S": str(2**128 - 1)}}
    path = stream.migration(scene.folder, lease(0, number(0), **keys))
    scene.patch.delenv("AWS_ACCESS_KEY_ID")
    scene.patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(scene.folder / "none"))
    scene.patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return Steps(lambda: compared(path), lambda: scene.patch.setenv("AWS_ACCESS_KEY_ID", "test"))


@walk("plugins/kinesis/kcl/findings.py::lease_drift", "let the one that is behind read on")
def lease_drift(scene: Scene) -> Steps:
    stream = made(scene)
    path = stream.migration(scene.folder, lease(0, "5"), lease(1, "9"))
    twin = scene.folder / "dumps" / "twin.json"
    twin.write_text(json.dumps({"Items": [lease(0, "7"), lease(1, "9")]}))
    text = path.read_text().replace("job: {stream: chain}", "job: {stream: chain, application: twin}")
    other = ", {name: twin, uri: ./dumps/twin.json, job: {stream: chain}}]"
    path.write_text(text.replace("application: twin}}]", "application: twin}}" + other))

    def read_on() -> None:
        (scene.folder / "dumps" / "app.json").write_text(twin.read_text())

    return Steps(lambda: compared(path), read_on)


def table(scene: Scene) -> Callable[[], object]:
    """Return a look at the table of an application, as the migration file names its cluster."""
    application = kcl.application(
        scene.request.getfixturevalue("dynamodb"), scene.request.getfixturevalue("moto"), CHAIN
    )
    given = f"stream: kinesis, properties: {{region: us-east-1, dynamodb_endpoint: '{application.endpoint}'"
    path = scene.write("migration.yaml", f"name: a\nsource: {{{given}}}}}\ntarget: {{{given}}}}}\n")
    return lambda: DynamoTable(load_migration(path).target, application.name).state()


@walk(TABLES, "pip install 'offsetwise[kinesis]'", name="boto3_for_a_table")
def _(scene: Scene) -> Steps:
    look = table(scene)
    scene.patch.setitem(sys.modules, "boto3", None)
    return Steps(look, lambda: scene.patch.delitem(sys.modules, "boto3"))
