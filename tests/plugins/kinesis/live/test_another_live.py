"""Positions on another stream of a real server: found there, and begun at by jobs whose state is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

import offsetwise as ow
from offsetwise.model import Exactness
from tests.integration.flink_cluster import running
from tests.plugins.kinesis.live.engines import FLINK, Job, Query
from tests.plugins.kinesis.live.moving import approved, led, migrated, ready
from tests.plugins.kinesis.live.servers import Server, Stream
from tests.plugins.kinesis.streams import lease

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
    made = compared(tmp_path, old, new, {shard: some[-1] for shard, some in read.items()})

    assert {row.exactness for row in made} <= {Exactness.EXACT, Exactness.POSITION_EXACT}
    for row in made:
        here = new.of_shard(f"shardId-{row.partition:012}")
        last = [number for number in here if number in done][-1]
        assert (str(row.target_offset), row.replay, row.skip) == (new.text(last), 0, 0)


def compared(folder: Path, old: Stream, new: Stream, last: Mapping[int, int]) -> ow.Comparison:
    """Compare an application that has read up to these records, by shard."""
    leases = [lease(shard, old.places[number][1]) for shard, number in last.items()]
    (folder / "app.json").write_text(json.dumps({"Items": leases}))
    given = f'{{stream: kinesis, properties: {{region: us-east-1, endpoint: "{old.server.address}"}}}}'
    (folder / "migration.yaml").write_text(
        f"name: live\nsource: {given}\ntarget: {given}\ntopics: {{map: {{{old.name}: {new.name}}}}}\n"
        f"checkpoints: [{{name: app, uri: ./app.json, job: {{stream: {old.name}}}}}]\n"
    )
    return ow.Migration.load(folder / "migration.yaml").checkpoint("app").compare()


def behind(stream: Stream, shard: int, place: str) -> list[int]:
    """Read a shard from a place on, as an application does."""
    client, number = stream.server.client, place.removeprefix("seq:")
    begin = {"ShardIteratorType": "TRIM_HORIZON"}
    if number != place:
        begin = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": number}
    iterator = client.get_shard_iterator(StreamName=stream.name, ShardId=f"shardId-{shard:012}", **begin)
    found = client.get_records(ShardIterator=iterator["ShardIterator"])
    assert found["MillisBehindLatest"] == 0
    return [int(record["Data"]) for record in found["Records"]]


def test_records_of_others_between_the_copies_are_counted_and_every_unread_record_is_read(
    kinesis_mock: Server, tmp_path: Path
) -> None:
    """Others write in front of, between and behind the last copies that were read and the first that were not."""
    exactness = set()
    for seed in range(4):
        chosen = Random(seed)
        old, new = kinesis_mock.stream(2), kinesis_mock.stream(chosen.choice([2, 3]))
        old.put(range(30))
        shards = [old.of_shard(name) for name in (FIRST, SECOND)]
        last = {shard: chosen.choice(some[2:-2]) for shard, some in enumerate(shards)}
        done = {number for shard, some in enumerate(shards) for number in some if number <= last[shard]}
        copies = [*sorted(done), *(number for number in range(30) if number not in done)]
        for other in range(900, 912):
            copies.insert(chosen.randint(len(done) - 4, len(done) + 4), other)
        new.put(copies)
        (tmp_path / str(seed)).mkdir()

        for row in compared(tmp_path / str(seed), old, new, last):
            exactness.add(row.exactness)
            assert row.target_offset is not None, (seed, row.partition)
            here = {number for number in new.of_shard(f"shardId-{row.partition:012}") if number < 900}
            got = [number for number in behind(new, row.partition, str(row.target_offset)) if number < 900]
            assert len(got) == len(set(got))
            assert here - done <= set(got), (seed, row.partition, "an unread record is skipped")
            assert len(set(got) & done) == row.replay, (seed, row.partition)
    assert exactness <= {Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.BOUNDED}


def copied(old: Stream) -> Stream:
    """Return another stream of two shards, with 13 records of others in front of the old one's and 20 more."""
    new = old.server.stream(2)
    new.put(range(900, 913))
    old.put(range(40, 60))
    new.put(range(60))
    return new


@pytest.mark.gates
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


@pytest.mark.gates
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
