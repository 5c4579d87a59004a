"""Tables of something else under the name that a plan or a command gives: refused, and no row of them is touched."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.commands import call
from tests.plugins.kinesis.live.moving import migrated, ready
from tests.plugins.kinesis.live.servers import Server
from tests.plugins.kinesis.streams import lease
from tests.plugins.kinesis.test_checkpoints import COMMITTER
from tests.plugins.kinesis.test_checkpoints import TABLE as ENDS
from tests.storage.test_dynamodb import live, put
from tests.storage.test_dynamodb_files import OTHERS

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("ready")]
KEYS_OF: Final = {
    "vmware-go-kcl": ("ShardID",),
    "kinsumer": ("Shard",),
    "kinesis-consumer": ("namespace", "shard_id"),
    "Spring's metadata store": ("metadataKey",),
}
SHARDS: Final = 2


def table(keys: tuple[str, ...], items: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = zip(keys, ("HASH", "RANGE"), strict=False)
    return {"KeySchema": [{"AttributeName": name, "KeyType": kind} for name, kind in kinds], "Items": items}


def tables() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return tables that are no lease tables, by name, with what is said of each."""
    (ends,) = json.loads(ENDS.read_text()).values()
    made = {"committer": ("the table of a Spark query's DynamoDB committer", table(KEYS[0], ends["Items"]))}
    for client, row in OTHERS.items():
        item = {name: {"S": text} for name, text in row.items()}
        made[client.replace("'", "").replace(" ", "-")] = f"a table of {client}", table(KEYS_OF[client], [item])
    made["empty"] = "keyed by id", table(("id",), [])
    made["empty-committer"] = "the table of a Spark query's DynamoDB committer", table(KEYS[0], [])
    made["orders"] = "keyed by id", table(("id",), [{"id": {"S": "1"}, "leaseKey": {"S": "shardId-000000000000"}}])
    made["two-keys"] = "keyed by leaseKey and owner", table(KEYS[1], [lease(0, "77", owner={"S": "w"})])
    return made


REPLACED: Final = ("committer", "empty", "orders", "two-keys")
KEYS: Final = (("metadataKey", "metadataSortKey"), ("leaseKey", "owner"))


@pytest.fixture
def others(dynamodb_local: Server) -> Iterator[dict[str, str]]:
    """Put such tables on the server, and return what is said of each, by name."""
    client, made = dynamodb_local.client, {}
    for name, (said, body) in tables().items():
        put(client, name, body)
        made[name] = said
    before = {name: rows(client, name) for name in made}
    yield made
    assert {name: rows(client, name) for name in made} == before, "no row of them was touched"
    for name in made:
        client.delete_table(TableName=name)


def rows(client: Any, name: str) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in client.scan(TableName=name)["Items"])


def test_no_plan_is_drafted_for_a_table_of_something_else_and_the_remedy_leads_to_one(
    others: dict[str, str], kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    stream = kinesis_mock.stream(SHARDS)
    stream.put(range(12))
    dump = tmp_path / "app.json"
    leases = [lease(shard, stream.places[stream.of_shard(f"shardId-{shard:012}")[0]][1]) for shard in range(SHARDS)]
    dump.write_text(json.dumps({"Items": leases}))
    folder = migrated(tmp_path / "move", stream, dump, dynamodb_local)

    for name, said in others.items():
        refused = folder.draft("--target", f"kcl-leases:{name}", "--json").refused()
        assert "expected a lease table of the KCL, keyed by leaseKey" in refused["problem"], name
        assert said in refused["problem"], name
        assert "Correct the row" not in refused["fix"]
        assert not (folder.path / "plan.json").exists()
    new = ("--target", f"kcl-leases:new-{stream.name}", "--set", "create_table=true", "--set", "kcl=2")
    assert "--set create_table=true --set kcl=2" in refused["fix"]
    drafted = folder.draft(*new)
    assert drafted.code == 0, drafted.err


def test_a_table_of_something_else_in_the_place_of_the_planned_one_is_not_written_to(
    kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    """Somebody deletes the application's table after the review, and gives its name to another one."""
    stream, client = kinesis_mock.stream(SHARDS), dynamodb_local.client
    stream.put(range(12))
    firsts = [stream.of_shard(f"shardId-{shard:012}") for shard in range(SHARDS)]
    for number, name in enumerate(REPLACED):
        app = f"app-{name}"
        put(client, app, table(("leaseKey",), [lease(at, stream.places[of[1]][1]) for at, of in enumerate(firsts)]))
        folder = migrated(tmp_path / str(number), stream, live(dynamodb_local.address, app), dynamodb_local)
        back = [
            part
            for at, of in enumerate(firsts)
            for part in ("--override", f"{stream.name}:{at}={stream.text(of[0])}", "--reason", "read it again")
        ]
        drafted = folder.draft("--target", f"kcl-leases:{app}", *back)
        assert drafted.code == 0, drafted.err
        client.delete_table(TableName=app)
        put(client, app, tables()[name][1])
        before = rows(client, app)

        refused = folder.apply("--execute", "--json")

        assert refused.code != 0
        assert "Nothing was written" in refused.out + refused.err, name
        assert rows(client, app) == before, name
        client.delete_table(TableName=app)


def test_a_committers_table_is_read_and_a_table_of_something_else_named_as_one_is_refused(
    others: dict[str, str], dynamodb_local: Server
) -> None:
    for name in others:
        ran = call("inspect", COMMITTER, "--committer-table", live(dynamodb_local.address, name), "--json")
        if name == "committer":
            assert len(ran.answered()["sources"][0]["positions"]) == SHARDS
        else:
            refused = ran.refused()
            assert "expected the table of a DynamoDB committer" in refused["problem"]
            assert "--committer-table" in refused["fix"]


def test_the_leases_of_another_streams_application_with_the_same_shards_are_not_written_over(
    kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    client = dynamodb_local.client
    stream = kinesis_mock.stream(SHARDS)
    time.sleep(1.1)  # a number says in which second its shard was made
    other = kinesis_mock.stream(SHARDS)
    leases = {}
    for each in (stream, other):
        each.put(range(12))
        firsts = [each.of_shard(f"shardId-{shard:012}") for shard in range(SHARDS)]
        leases[each.name] = [lease(at, each.places[of[1]][1]) for at, of in enumerate(firsts)]
    app, theirs = f"app-{stream.name}", f"app-{other.name}"
    for name, items in ((app, leases[stream.name]), (theirs, leases[other.name])):
        put(client, name, table(("leaseKey",), items))
    before = rows(client, theirs)
    folder = migrated(tmp_path / "move", stream, live(dynamodb_local.address, app), dynamodb_local)

    refused = folder.draft("--target", f"kcl-leases:{theirs}", "--json").refused()
    assert "TABLE_SHARED" in refused["problem"]
    assert "the table is of another stream's application" in refused["problem"]

    back = [
        part
        for at in range(SHARDS)
        for first in stream.of_shard(f"shardId-{at:012}")[:1]
        for part in ("--override", f"{stream.name}:{at}={stream.text(first)}", "--reason", "read it again")
    ]
    drafted = folder.draft("--target", f"kcl-leases:{app}", *back)
    assert drafted.code == 0, drafted.err
    for item in leases[other.name]:  # somebody starts the other stream's application under this name
        client.put_item(TableName=app, Item=item)
    stale = folder.apply("--execute", "--json")
    assert stale.code != 0
    assert "Nothing was written" in stale.out + stale.err
    assert rows(client, app) == rows(client, theirs) == before
    for name in (app, theirs):
        client.delete_table(TableName=name)
