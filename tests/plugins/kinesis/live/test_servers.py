"""What real servers answer: shards that were split and merged, numbers that expired or are foreign, and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import ClusterAuthError, RunningQueryError, StalePlanError, StorageError
from offsetwise.model import Cluster, ShardRange, Snapshot
from offsetwise.plugins.kinesis.stream import client
from offsetwise.plugins.kinesis.stream.client import Asking
from offsetwise.plugins.kinesis.stream.shards import LAST_HASH_KEY
from offsetwise.plugins.kinesis.stream.spec import LATEST, SHARD_END, ShardPlace, after, at
from offsetwise.plugins.kinesis.targets.kcl.table import LeaseTable
from offsetwise.storage.dynamodb import tables_at
from offsetwise.streams.reader import read_cluster
from tests.apply.plans import context, journal
from tests.commands import Ran
from tests.integration.flink_cluster import wait_until
from tests.plugins.kinesis.live.servers import KEYS, Server, Stream
from tests.plugins.kinesis.streams import lease
from tests.plugins.kinesis.targets import test_kcl_leases as leases
from tests.plugins.kinesis.targets.kinesis_plans import CHAIN
from tests.plugins.kinesis.targets.test_kinesis_commands import Folder
from tests.plugins.kinesis.test_checkpoints import DATA, rows
from tests.storage.test_dynamodb import live, put

SPLIT_AT = 2**126
NAMED = "shardId-000000000000", "shardId-000000000001"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask with keys that these servers believe."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def job(folder: Path, stream: Stream, *kept: dict[str, Any]) -> Folder:
    """Return a migration of an application on a stream, whose leases a dump has."""
    folder.mkdir(exist_ok=True)
    dump = folder / "app.json"
    dump.write_text(json.dumps({"Items": kept}))
    return Folder(folder, dump, stream=stream.name, endpoint=stream.server.address)


def asking(folder: Folder) -> Asking:
    return client.asking(load_migration(folder.path / "m.yaml").source)


def snapshot(folder: Folder, stream: Stream) -> Snapshot:
    return read_cluster(load_migration(folder.path / "m.yaml"), Cluster.OLD, topics=(stream.name,), groups=())


def found(folder: Folder) -> dict[str, str]:
    """Compare, and give what was found: the message by its code."""
    ran = folder.run("compare", "--checkpoint", "app", "--json")
    return {each["code"]: each["message"] for each in json.loads(ran.out)["findings"]}


def position(stream: Stream, number: int) -> ShardPlace:
    return after(int(stream.places[number][1]))


@pytest.fixture
def resharded(kinesis_mock: Server) -> Stream:
    """A stream of which shard 0 was split into 2 and 3, and these were merged into 4; all but 4 have records."""
    stream = kinesis_mock.stream(2)
    stream.put(range(20))
    kinesis_mock.client.split_shard(StreamName=stream.name, ShardToSplit=NAMED[0], NewStartingHashKey=str(SPLIT_AT))
    stream.wait()
    stream.put(range(20, 60))
    kinesis_mock.client.merge_shards(
        StreamName=stream.name, ShardToMerge="shardId-000000000002", AdjacentShardToMerge="shardId-000000000003"
    )
    stream.wait()
    return stream


def test_split_and_merged_shards_are_read_with_hash_keys_parents_and_their_first_record(
    resharded: Stream, tmp_path: Path
) -> None:
    (topic,) = snapshot(job(tmp_path, resharded), resharded).topics

    born = {each.partition: each.first for each in topic.shards}
    middle = topic.shards[1].low
    assert abs(middle - 2**127) <= 1, "the server rounds"
    assert [replace(each, first=None) for each in topic.shards] == [
        ShardRange(partition=0, low=0, high=middle - 1, closed=True),
        ShardRange(partition=1, low=middle, high=LAST_HASH_KEY),
        ShardRange(partition=2, low=0, high=SPLIT_AT - 1, parents=(0,), closed=True),
        ShardRange(partition=3, low=SPLIT_AT, high=middle - 1, parents=(0,), closed=True),
        ShardRange(partition=4, low=0, high=middle - 1, parents=(2, 3)),
    ]
    assert [(each.log_start, each.hw) for each in topic.partitions] == [
        *(
            (at(int(resharded.places[resharded.of_shard(name)[0]][1])), end)
            for name, end in zip(
                (*NAMED, "shardId-000000000002", "shardId-000000000003"),
                (SHARD_END, LATEST, SHARD_END, SHARD_END),
                strict=True,
            )
        ),
        (at(int(str(born[4]))), LATEST),
    ]
    assert str(topic.id).startswith(f"arn:aws:kinesis:us-east-1:000000000000:stream/{resharded.name}@")


def test_shards_are_listed_page_by_page_to_the_last(resharded: Stream, tmp_path: Path) -> None:
    asked = asking(job(tmp_path, resharded))
    whole = asked.shards(resharded.name)

    def two(params: dict[str, Any], **_: Any) -> None:
        params["MaxResults"] = 2

    asked.client.meta.events.register("provide-client-params.kinesis.ListShards", two)
    before = asked.calls
    assert asked.shards(resharded.name) == whole
    assert (len(whole), asked.calls - before) == (5, 3)


def test_what_a_closed_shard_has_left_is_counted_to_its_end(resharded: Stream, tmp_path: Path) -> None:
    first, *left = resharded.of_shard(NAMED[0])
    kept = lease(0, resharded.places[first][1]), lease(1, resharded.places[resharded.of_shard(NAMED[1])[-1]][1])

    told = found(job(tmp_path, resharded, *kept))
    assert f"is closed, and {len(left)} records lie behind its position" in told["CLOSED_SHARD_UNREAD"]


def test_a_stream_and_a_shard_that_are_not_there_are_said(resharded: Stream, tmp_path: Path) -> None:
    asked = asking(job(tmp_path, resharded))

    for call in (
        lambda: asked.stream("nowhere"),
        lambda: asked.iterator(resharded.name, "shardId-000000000009", position(resharded, 0)),
    ):
        with pytest.raises(client.NotThereError, match="Kinesis says ResourceNotFoundException") as missing:
            call()
        assert "in its own region only" in missing.value.fix


def test_a_number_of_another_shard_or_another_stream_is_refused_in_the_words_of_the_server(
    kinesalite: Server, tmp_path: Path
) -> None:
    stream = kinesalite.stream(2)
    stream.put(range(20))
    crossed = [lease(0, stream.places[stream.of_shard(NAMED[1])[0]][1]), lease(1, "TRIM_HORIZON")]

    told = found(job(tmp_path / "a", stream, *crossed))
    assert "which the stream refuses" in told["SEQUENCE_FOREIGN"]
    assert "Kinesis says InvalidArgumentException" in told["SEQUENCE_FOREIGN"]
    assert "names shard 1" in told["SEQUENCE_OTHER_SHARD"]


def test_a_stream_made_again_is_told_by_the_number_alone_and_the_server_agrees(
    kinesalite: Server, tmp_path: Path
) -> None:
    old = kinesalite.stream(1)
    old.put(range(5))
    kept = position(old, 3)
    kinesalite.client.delete_stream(StreamName=old.name)
    names = kinesalite.client.list_streams
    wait_until(lambda: names()["StreamNames"] == [], "the stream is gone")
    kinesalite.move_clock()
    kinesalite.client.create_stream(StreamName=old.name, ShardCount=1)
    old.wait()
    folder = job(tmp_path, old, lease(0, str(kept.sequence)))

    assert "a number of a shard made at" in found(folder)["SEQUENCE_FOREIGN"]
    with pytest.raises(client.NotOfThisStreamError, match="did not come from this stream"):
        asking(folder).iterator(old.name, NAMED[0], kept)


@pytest.fixture
def expired(kinesalite: Server) -> Stream:
    """A stream whose first ten records were trimmed, and that has one new record."""
    stream = kinesalite.stream(1)
    stream.put(range(10))
    kinesalite.move_clock()

    def trimmed() -> bool:
        ask = kinesalite.client
        begin = ask.get_shard_iterator(StreamName=stream.name, ShardId=NAMED[0], ShardIteratorType="TRIM_HORIZON")
        try:
            return bool(ask.get_records(ShardIterator=begin["ShardIterator"])["Records"] == [])
        except ask.exceptions.ExpiredIteratorException:
            return False  # the clock was moved in between

    wait_until(trimmed, "the records are trimmed")
    stream.put([10])
    return stream


def test_an_expired_position_is_refused_with_the_time_lost_and_a_person_may_decide_it(
    expired: Stream, tmp_path: Path
) -> None:
    folder = job(tmp_path, expired, lease(0, expired.places[4][1]))
    kept = expired.text(4), f"at:{expired.places[10][1]}"

    refused = told(folder.draft("--target", "starting-position"))
    assert "SEQUENCE_EXPIRED" in refused
    assert f"{kept[0]} lies before the oldest record of the shard, {kept[1]}, 90,0" in refused
    decided = ("--override", f"{expired.name}:0=TRIM_HORIZON", "--reason", "nothing was written in between")
    assert folder.draft("--target", "starting-position", *decided).code == 0
    (row,) = json.loads((tmp_path / "plan.json").read_text())["positions"]
    assert (row["new_offset"], row["start"]) == ("TRIM_HORIZON", "specific")


def told(ran: Ran) -> str:
    assert ran.code == 1
    return " ".join(ran.err.split())


def test_who_says_nothing_of_himself_is_refused(kinesalite: Server, tmp_path: Path) -> None:
    import boto3  # noqa: PLC0415 - of an extra
    from botocore import UNSIGNED  # noqa: PLC0415 - as above
    from botocore.config import Config  # noqa: PLC0415 - as above

    stream = kinesalite.stream(1)
    asked = asking(job(tmp_path, stream))
    unsigned = Config(signature_version=UNSIGNED)
    asked.client = boto3.client("kinesis", endpoint_url=kinesalite.address, region_name="us-east-1", config=unsigned)

    with pytest.raises(ClusterAuthError, match="Kinesis says MissingAuthenticationTokenException") as refused:
        asked.stream(stream.name)
    assert "Grant kinesis:DescribeStreamSummary" in refused.value.fix


@pytest.fixture
def tables(dynamodb_local: Server) -> Iterator[Any]:
    """Yield a client of DynamoDB Local; the tables that were made are taken away again."""
    before = dynamodb_local.client.list_tables()["TableNames"]
    yield dynamodb_local.client
    for name in set(dynamodb_local.client.list_tables()["TableNames"]) - set(before):
        dynamodb_local.client.delete_table(TableName=name)


@pytest.mark.parametrize("name", ["2.7.2-two-shards.json", "3.5.1-single-table-split.json", "2.7.2-merged.json"])
def test_a_table_of_dynamodb_local_is_read_as_its_dump(name: str, tables: Any, dynamodb_local: Server) -> None:
    ((table, body),) = json.loads((DATA / "kcl" / name).read_text()).items()
    put(tables, table, body)

    read = read_checkpoint(live(dynamodb_local.address, table))
    of_dump = read_checkpoint(str(DATA / "kcl" / name))
    assert rows(read) == rows(of_dump)
    assert read.pins == of_dump.pins


def test_a_table_of_many_pages_is_read_in_segments_as_by_one_scan(tables: Any, dynamodb_local: Server) -> None:
    ((table, body),) = json.loads((DATA / "kcl" / "2.7.2-two-shards.json").read_text()).items()
    large = body["Items"][0] | {"pad": {"S": "x" * 10_000}}
    put(tables, table, body | {"Items": [large | {"leaseKey": {"S": f"shardId-{n:012}"}} for n in range(500)]})

    (read,) = tables_at(live(dynamodb_local.address, table))
    pages = list(tables.get_paginator("scan").paginate(TableName=table, ConsistentRead=True))
    assert len(pages) > 1
    wanted = [item for page in pages for item in page["Items"]]
    assert sorted(read.items, key=str) == sorted(wanted, key=str)
    assert tables_at(live(dynamodb_local.address, table)) == (read,)


def test_keys_that_dynamodb_local_does_not_take_are_named_as_refused_access(
    tables: Any, dynamodb_local: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tables is not None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "no-such-key!")

    with pytest.raises(StorageError, match=r"found access refused \(UnrecognizedClientException"):
        read_checkpoint(live(dynamodb_local.address, "orders-app"))


def test_leases_of_dynamodb_local_are_rewound_and_put_back_row_for_row(
    tables: Any, dynamodb_local: Server, tmp_path: Path
) -> None:
    app = leases.application(tables, dynamodb_local.address, CHAIN)
    before, plan = app.rows(), leases.rewound()

    step = leases.apply(app, plan, tmp_path)

    now = {key: json.loads(row) for key, row in app.rows().items()}
    assert [now[f"shardId-{one.partition:012}"]["checkpoint"]["S"] for one in plan.positions] == [
        str(one.new_offset)[4:] for one in plan.positions
    ]
    leases.take_back(app, plan, step, tmp_path)
    assert app.rows() == before


def test_dynamodb_local_refuses_all_leases_where_a_worker_takes_one_meanwhile(
    tables: Any, dynamodb_local: Server, tmp_path: Path
) -> None:
    app = leases.application(tables, dynamodb_local.address, CHAIN)
    plan, table = leases.rewound(), LeaseTable(leases.config(app.endpoint), app.name)
    whole = table.write

    def late(changes: Any) -> None:
        app.renew()
        whole(changes)

    table.write = late  # type: ignore[method-assign]
    with journal(tmp_path) as one, pytest.raises(StalePlanError, match=r"None of 3 leases was written"):
        replace(app.writer(), connect=lambda _: table).write(plan, leases.TARGET, context(tmp_path, journal=one))
    app.meanwhile = app.renew
    with pytest.raises(RunningQueryError, match="'worker-z' renews the lease shardId-000000000001"):
        leases.apply(app, plan, tmp_path)
    assert not any(str(each.new_offset)[4:] in row for each in plan.positions for row in app.rows().values())
