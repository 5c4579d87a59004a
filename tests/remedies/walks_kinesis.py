"""Remedies about Kinesis: lease tables, their dumps, and positions in shards."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Problem
from offsetwise.plugins.kinesis.kcl.kinesis import read_table
from offsetwise.storage import dynamodb
from offsetwise.storage.dynamodb import tables_at
from tests.plugins.kinesis.test_checkpoints import COMMITTER, DATA, PENDING, TABLE
from tests.plugins.kinesis.test_lease_tables import FIRST, leases
from tests.remedies.walk import Remembered, Scene, Steps, walk
from tests.remedies.walks_commands import run
from tests.storage.test_dynamodb_dialects import export
from tests.storage.test_dynamodb_files import OTHERS

Items = list[dict[str, Any]]
Call = Callable[[], object]
KCL = "plugins/kinesis/kcl/findings.py::"
FINDINGS = "plugins/kinesis/stream/findings.py::"


def dumped(scene: Scene, items: Items, name: str = "app") -> Call:
    """Write the dump of a lease table, and return a call that states what its reader finds."""
    path = scene.write(f"{name}.json", json.dumps({"Items": items, "Count": len(items)}))
    return lambda: read_checkpoint(str(path)).problems


def table(scope: str, words: str, before: Callable[[Items], Items], after: Callable[[Items], Items]) -> None:
    """Add a walk from one state of a lease table to another, in its dump."""

    @walk(scope, words, name=scope.rpartition("::")[2])
    def _(scene: Scene) -> Steps:
        command = dumped(scene, before(leases()))
        return Steps(command, lambda: dumped(scene, after(leases())))


def first(**changes: Mapping[str, Any]) -> Callable[[Items], Items]:
    return lambda items: [items[0] | changes, *items[1:]]


def same(items: Items) -> Items:
    return items


@cache
def split() -> dict[str, dict[str, Any]]:
    """Return the recorded leases of a shard that was split, by key."""
    body = json.loads((DATA / "kcl" / "3.5.1-single-table-split.json").read_text())["kcl3-orders"]["Items"]
    return {item["leaseKey"]["S"]: item for item in body}


PARENT, *CHILDREN = (f"shardId-{number:012}" for number in (0, 2, 3))
UNREAD = {"checkpoint": {"S": "TRIM_HORIZON"}}

table(KCL + "lease_at_latest", "Let the application make its first checkpoint", first(checkpoint={"S": "LATEST"}), same)
table(
    KCL + "lease_held",
    "Stop the application, and read the table again",
    first(checkpointOwner={"S": "a"}, leaseOwner={"S": "b"}),
    same,
)
table(
    KCL + "not_leases",
    "else name the lease table",
    lambda items: [*items, {"leaseKey": {"S": "odd"}, "entityType": {"S": "NEWS"}}],
    same,
)
table(FINDINGS + "state_empty", "Start from an earlier checkpoint", lambda _: [], same)
table(
    FINDINGS + "sequence_other_shard",
    "Restore the checkpoint from a copy",
    lambda items: [items[0], items[1] | {"checkpoint": {"S": FIRST}}],
    same,
)
table(FINDINGS + "sequence_layout", "else compare the number with the stream", first(checkpoint={"S": "3"}), same)
table(
    FINDINGS + "hash_range_gap",
    "Compare with the stream's shards",
    lambda items: items[:1],
    same,
)
table(
    FINDINGS + "child_missing",
    "the engine must find the children again",
    lambda _: [split()[PARENT]],
    lambda _: list(split().values()),
)
table(
    FINDINGS + "child_ahead",
    "else read the parent to its end first",
    lambda _: [split()[PARENT] | UNREAD, split()[CHILDREN[0]]],
    lambda _: list(split().values()),
)


@walk(KCL + "leases_in_part", "Read the folder of the export")
def leases_in_part(scene: Scene) -> Steps:
    items = [{name: value for name, value in item.items() if "HashKey" not in name} for item in leases()]
    (scene.folder / "elsewhere").mkdir()
    alone = scene.folder / "elsewhere" / "part0.json.gz"
    shutil.copy(export(scene.folder, [items[:1], items[1:]]) / alone.name, alone)
    return Steps(
        lambda: read_checkpoint(str(alone)).problems,
        lambda: None,
        lambda: read_checkpoint(str(scene.folder / "AWSDynamoDB")).problems,
    )


@walk(FINDINGS + "table_shared", "a table of its own")
def table_shared(scene: Scene) -> Steps:
    stream = "123456789012:clicks:1700000000"
    theirs = [
        lease
        | {
            "leaseKey": {"S": f"{stream}:{lease['leaseKey']['S']}"},
            "streamName": {"S": stream},
            "shardId": lease["leaseKey"],
        }
        for lease in leases()
    ]
    command = dumped(scene, [*theirs, *leases()])

    def apart() -> None:
        dumped(scene, leases())
        dumped(scene, theirs, "theirs")

    return Steps(command, apart, lambda: (*command_of(scene, "app"), *command_of(scene, "theirs")))


def command_of(scene: Scene, name: str) -> tuple[Problem, ...]:
    return read_checkpoint(str(scene.folder / f"{name}.json")).problems


@walk(KCL + "lease_table_migrates", "Finish the migration of the KCL")
def lease_table_migrates(_: Scene) -> Steps:
    def read(name: str) -> Call:
        return lambda: read_checkpoint(str(DATA / "kcl" / name)).problems

    return Steps(read("2.7.2-run-by-3.5.1-compatible.json"), lambda: None, read("3.5.1-single-table-split.json"))


@walk(FINDINGS + "positions_elsewhere", "Name the table of the DynamoDB committer")
def positions_elsewhere(_: Scene) -> Steps:
    return Steps(
        lambda: read_checkpoint(str(COMMITTER)).problems,
        lambda: None,
        lambda: read_checkpoint(str(COMMITTER), options={"committer": str(TABLE)}).problems,
    )


@walk(FINDINGS + "stream_differs", "Find out which stream the job shall read")
def stream_differs(scene: Scene) -> Steps:
    folder = shutil.copytree(PENDING, scene.folder / "query", ignore=shutil.ignore_patterns("*.crc"))
    line = folder / "offsets" / "1"
    right = line.read_text()
    line.write_text(right.replace('"spk"', '"other"'))
    return Steps(lambda: read_checkpoint(str(folder)).problems, lambda: line.write_text(right))


# The dump of a table.
STORAGE = "storage/dynamodb.py::"


@walk(STORAGE + "tables_at", "Name the table itself under checkpoint_roots", name="live_table_outside_the_roots")
def _(scene: Scene) -> Steps:
    serving(scene, lambda **_: {"Items": leases()})
    roots = [str(scene.folder)]
    live = "dynamodb://app?region=us-east-1"
    return Steps(lambda: tables_at(live, roots=roots), lambda: roots.append(live))


@walk(STORAGE + "_dump_in_file", "Read the table itself", name="large_dump")
def _(scene: Scene) -> Steps:
    serving(scene, lambda **_: {"Items": leases()})
    path = scene.write("app.json", json.dumps({"Items": leases()}))
    scene.patch.setattr(dynamodb, "MAX_DUMP_BYTES", 100)
    return Steps(lambda: tables_at(str(path)), lambda: None, lambda: tables_at("dynamodb://app?region=us-east-1"))


@walk(STORAGE + "_no_dump", "or take the dump again")
def half_a_dump(scene: Scene) -> Steps:
    whole = json.dumps({"Items": leases()})
    path = scene.write("app.json", whole[:-10])
    return Steps(lambda: tables_at(str(path)), lambda: path.write_text(whole))


def serving(scene: Scene, scan: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Put a client of DynamoDB in place whose scan is given; it can be changed later."""
    import boto3  # noqa: PLC0415 - of an extra

    scans = [scan]

    class Client:
        def scan(self, **asked: Any) -> Any:
            return scans[0](**asked)

        def get_paginator(self, _: str) -> Any:
            return self

        def paginate(self, **asked: Any) -> Any:
            return [scans[0](**asked)]

    class Session:
        def client(self, *_: Any, **__: Any) -> Client:
            return Client()

    scene.patch.setattr(boto3, "Session", Session)
    return scans


def answer(words: str, name: str, function: str, refused: Callable[[], Exception]) -> None:
    """Add a walk of a table that DynamoDB refuses first, and answers for as soon as the remedy was followed."""

    @walk(STORAGE + function, words, name=name)
    def _(scene: Scene) -> Steps:
        def scan(**_: Any) -> Any:
            raise refused()

        scans = serving(scene, scan)
        return Steps(
            lambda: tables_at("dynamodb://app?region=us-east-1"),
            lambda: scans.__setitem__(0, lambda **_: {"Items": leases()}),
        )


def of_aws(code: str) -> Callable[[], Exception]:
    def made() -> Exception:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - of an extra

        error: Exception = ClientError({"Error": {"Code": code, "Message": "as AWS says it"}}, "Scan")
        return error

    return made


def no_endpoint() -> Exception:
    from botocore.exceptions import EndpointConnectionError  # noqa: PLC0415 - of an extra

    error: Exception = EndpointConnectionError(endpoint_url="http://127.0.0.1:9")
    return error


answer("Check the table's name", "no_such_table", "_answered", of_aws("ResourceNotFoundException"))
answer("Allow dynamodb:Scan", "scan_refused", "_answered", of_aws("AccessDeniedException"))
answer("or give the table more read capacity", "throttled", "_answered", of_aws("ThrottlingException"))
answer("Check region, endpoint and the credentials", "other_answer", "_answered", of_aws("UnknownError"))
answer("Check region, endpoint, network", "no_endpoint", "_scanned", no_endpoint)


@walk(STORAGE + "_scanned", "or give a dump of the table, which needs nothing")
def boto3_not_installed(scene: Scene) -> Steps:
    path = scene.write("app.json", json.dumps({"Items": leases()}))
    scene.patch.setitem(sys.modules, "boto3", None)
    return Steps(lambda: tables_at("dynamodb://app?region=us-east-1"), lambda: None, lambda: tables_at(str(path)))


@walk(STORAGE + "_require_few", "Check that it is a lease table")
def large_table(scene: Scene) -> Steps:
    scene.patch.setattr(dynamodb, "MAX_ITEMS", 10)
    scans = serving(scene, lambda **_: {"Items": leases() * 20, "LastEvaluatedKey": {"a": 1}})
    return Steps(
        lambda: tables_at("dynamodb://events?region=us-east-1"),
        lambda: scans.__setitem__(0, lambda **_: {"Items": leases()}),
        lambda: tables_at("dynamodb://app?region=us-east-1"),
    )


TABLES = "plugins/kinesis/kcl/kinesis.py::read_table"
OTHER_TABLES = "plugins/kinesis/kcl/other_clients.py::no_lease_table"


@walk(OTHER_TABLES, "Name the lease table of the application")
def no_lease_table(scene: Scene) -> Steps:
    other = scene.write("other.json", json.dumps({"Items": [{"id": {"S": "1"}}]}))
    path = scene.write("app.json", json.dumps({"Items": leases()}))
    return Steps(run("inspect", other), lambda: None, run("inspect", path))


@walk(OTHER_TABLES, "Name the checkpoint of that query")
def committers_table(_: Scene) -> Steps:
    named = run("inspect", COMMITTER, "--committer-table", TABLE)
    return Steps(run("inspect", TABLE), lambda: None, named)


def table_of(client: str) -> None:
    @walk(OTHER_TABLES, "Write its positions to a JSON file", name=client)
    def _(scene: Scene) -> Steps:
        item = {name: {"S": value} for name, value in OTHERS[client].items()}
        command = Remembered(run("inspect", scene.write("table.json", json.dumps({"Items": [item]}))))

        def write() -> None:
            stated = re.search(r"the shard from (\w+)(.*?) and the number from (\w+),", command.remedy)
            assert stated
            shard, part, position = stated.groups()
            assert part in ("", ", what follows its last colon")
            key = item[shard]["S"]
            lease = {"leaseKey": {"S": key.rpartition(":")[2] if part else key}, "checkpoint": item[position]}
            scene.write("leases.json", json.dumps({"Items": [lease]}))

        return Steps(command, write, run("inspect", scene.folder / "leases.json"))


for client in OTHERS:
    table_of(client)


@walk(TABLES, "Name one of them: ", name="two_lease_tables")
def _(scene: Scene) -> Steps:
    keys = [{"AttributeName": "leaseKey", "KeyType": "HASH"}]
    body = {name: {"Items": leases(), "KeySchema": keys} for name in ("app-a", "app-b")}
    path = scene.write("dump.json", json.dumps(body))

    def named() -> object:
        try:
            read_table(str(path))
        except OffsetwiseError as error:
            return read_table(error.fix.rpartition(" ")[2])
        return (Problem(code="printed", message="", fix="Name one of them: "),)

    return Steps(lambda: read_table(str(path)), lambda: None, named)


@walk("plugins/spark/engine/engine.py::_table", "Give a dump of that table alone")
def dump_of_several_tables(scene: Scene) -> Steps:
    body = json.loads(TABLE.read_text())
    path = scene.write("table.json", json.dumps(body | {"other": next(iter(body.values()))}))
    return Steps(
        lambda: read_checkpoint(str(COMMITTER), options={"committer": str(path)}),
        lambda: path.write_text(TABLE.read_text()),
    )
