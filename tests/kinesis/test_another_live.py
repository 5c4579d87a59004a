"""Positions on another stream of a real server: found there, and begun at by jobs whose state is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import offsetwise as ow
from offsetwise.model import Exactness
from tests.integration.flink_cluster import running
from tests.kinesis.engines import FLINK, Job, Query
from tests.kinesis.moving import approved, led, migrated, ready
from tests.kinesis.servers import Server, Stream
from tests.streams.kinesis.streams import lease

__all__ = ["ready"]

pytestmark = [pytest.mark.timeout(1200), pytest.mark.usefixtures("ready")]
FIRST, SECOND = (f"shardId-{number:012}" for number in range(2))


def test_every_record_is_read_once_on_another_stream_after_a_split(kinesis_mock: Server, tmp_path: Path) -> None:
    old, new = kinesis_mock.stream(2), kinesis_mock.stream(3)
    old.put(range(40))
    kinesis_mock.client.split_shard(StreamName=old.name, ShardToSplit=FIRST, NewStartingHashKey=str(2**126))
    old.wait()
    read = {0: old.of_shard(FIRST)[:5], 1: old.of_shard(SECOND)}
    old.put(range(40, 60))
    done = {number for some in read.values() for number in some}
    new.put([*sorted(done), *(number for number in range(60) if number not in done)])
    leases = [lease(shard, old.places[some[-1]][1]) for shard, some in read.items()]
    (tmp_path / "app.json").write_text(json.dumps({"Items": leases}))
    given = f'{{stream: kinesis, properties: {{region: us-east-1, endpoint: "{kinesis_mock.address}"}}}}'
    (tmp_path / "migration.yaml").write_text(
        f"name: live\nsource: {given}\ntarget: {given}\ntopics: {{map: {{{old.name}: {new.name}}}}}\n"
        f"checkpoints: [{{name: app, uri: ./app.json, job: {{stream: {old.name}}}}}]\n"
    )
    made = ow.Migration.load(tmp_path / "migration.yaml").checkpoint("app").compare()

    assert {row.exactness for row in made} <= {Exactness.EXACT, Exactness.POSITION_EXACT}
    for row in made:
        here = new.of_shard(f"shardId-{row.partition:012}")
        last = [number for number in here if number in done][-1]
        assert (str(row.target_offset), row.replay, row.skip) == (new.text(last), 0, 0)


def copied(old: Stream) -> Stream:
    """Give another stream of two shards, with 13 records of others in front of the old one's and 20 more."""
    new = old.server.stream(2)
    new.put(range(900, 913))
    old.put(range(40, 60))
    new.put(range(60))
    return new


def test_the_legacy_consumer_of_flink_goes_on_on_another_stream(
    kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    old = kinesis_mock.stream(2)
    old.put(range(40))
    with running(FLINK, tmp_path / "flink") as flink:
        job = Job(flink=flink, stream=old)
        begun = job.start()
        assert sorted(job.until(begun, 40)) == list(range(40))
        savepoint = flink.stop(begun, tmp_path / "savepoints")
        new = copied(old)

        folder = led(migrated(tmp_path / "there", old, savepoint, dynamodb_local), old, new)
        drafted = folder.draft("--target", "flink-savepoint")
        assert drafted.code == 0, drafted.err
        copy = folder.path / "out" / "copy"
        approved(folder, "--output", copy)
        assert folder.after("verify").code == 0

        job = Job(flink=flink, stream=new)
        begun = job.start(copy)
        job.until(begun, 60)
        new.put([60])
        assert sorted(job.until(begun, 61)) == list(range(61))


def test_a_query_of_qubole_goes_on_on_another_stream(
    kinesis_mock: Server, dynamodb_local: Server, tmp_path: Path
) -> None:
    old = kinesis_mock.stream(2)
    old.put(range(40))
    query = Query(folder=tmp_path / "query")
    assert sorted(each.number for each in query.read(old, 40)) == list(range(40))
    new = copied(old)

    folder = led(migrated(tmp_path / "there", old, query.checkpoint, dynamodb_local), old, new)
    drafted = folder.draft("--target", "spark-checkpoint")
    assert drafted.code == 0, drafted.err
    copy = Query(folder=folder.path / "out" / "query")
    approved(folder, "--output", copy.checkpoint)
    assert folder.after("verify").code == 0

    assert sorted(each.number for each in copy.read(new, 20)) == list(range(40, 60))
