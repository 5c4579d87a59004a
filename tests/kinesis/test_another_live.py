"""Positions on another stream of a real server: a split shard with records left, two shards to three."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import offsetwise as ow
from offsetwise.model import Exactness
from tests.kinesis.servers import KEYS, Server
from tests.streams.kinesis.streams import lease

FIRST, SECOND = (f"shardId-{number:012}" for number in range(2))


def test_every_record_is_read_once_on_another_stream_after_a_split(
    kinesis_mock: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
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
