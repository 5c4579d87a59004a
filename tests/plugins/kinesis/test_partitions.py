"""Shards as partitions: their numbers, their hash keys, and what files say of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.comparison.subjects import positions_of
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.errors import CheckpointError, FileError, PlanError
from offsetwise.model import Cluster, PartitionState, ShardRange, Snapshot, SourcePosition, TopicState
from offsetwise.plugins.kinesis.stream.shards import LAST_HASH_KEY
from offsetwise.plugins.kinesis.stream.spec import LATEST, at
from offsetwise.plugins.spark.targets.rewind import rewound
from tests.with_cases import with_cases

KINESIS = Path(__file__).parents[2] / "data" / "kinesis"
MIDDLE = 2**127
SPLIT = (
    ShardRange(partition=0, low=0, high=LAST_HASH_KEY, first="49", closed=True),
    ShardRange(partition=1, low=0, high=MIDDLE - 1, parents=(0,)),
    ShardRange(partition=2, low=MIDDLE, high=LAST_HASH_KEY, parents=(0,)),
)


def snapshot(*topics: TopicState) -> Snapshot:
    return Snapshot(
        cluster=Cluster.OLD, name="old", alias="old", cluster_id="a", taken_at="2026-11-23T11:00:00.000Z", topics=topics
    )


@with_cases(
    ("name", "stated", "stream"),
    [
        ("kcl/2.7.2-two-shards.json", "chain", "chain"),
        ("spark/awslabs-2.0.0-committed", None, "spk"),
        ("flink/streams-source-5.1.0-two-shards", None, "fl"),
        ("flink/legacy-consumer-4.3.0-two-shards", None, "lg"),
    ],
)
def test_a_shard_is_a_partition_of_the_stream_that_the_checkpoint_or_the_migration_names(
    name: str, stated: str | None, stream: str
) -> None:
    (source,) = read_checkpoint(str(KINESIS / name)).sources

    found = positions_of(source, stated)

    assert found == tuple(
        SourcePosition(
            topic=stream, partition=int(each.shard[-12:]), offset=each.position, planned_offset=each.planned_position
        )
        for each in source.shards
    )


def test_without_a_name_of_the_stream_nothing_is_guessed() -> None:
    (source,) = read_checkpoint(str(KINESIS / "kcl/2.7.2-two-shards.json")).sources

    with pytest.raises(CheckpointError, match=r"found the stream None and the shard 'shardId-000000000000'") as caught:
        positions_of(source)
    assert "`job.stream`" in caught.value.fix


def test_a_checkpoint_keeps_hash_keys_and_parents_that_its_file_carries() -> None:
    read = read_checkpoint(str(KINESIS / "kcl/2.7.2-merged.json"))
    (source,) = read.sources

    assert [(each.partition, each.parents, each.closed) for each in source.ranges] == [
        (0, (), True),
        (1, (), True),
        (2, (0, 1), False),
    ]
    assert (source.ranges[2].low, source.ranges[2].high) == (0, LAST_HASH_KEY)
    assert files.load(files.dump(read), "checkpoint", subject="it") == read


def test_a_file_says_of_shards_what_is_known_and_else_nothing() -> None:
    state = PartitionState(partition=0, log_start=at(49), hw=LATEST, lso=LATEST)
    with_shards = snapshot(TopicState(name="orders", partitions=(state,), shards=SPLIT))
    text = files.dump(with_shards)

    assert files.load(text, "snapshot", subject="it") == with_shards
    assert json.loads(text)["topics"][0]["shards"][2]["high"] == str(LAST_HASH_KEY)
    (topic,) = with_shards.topics
    assert '"shards"' not in files.dump(snapshot(replace(topic, shards=())))


@with_cases("key", ["-1", "007", str(2**128), "1e3", ""])
def test_a_hash_key_has_one_spelling_and_128_bits(key: str) -> None:
    text = files.dump(snapshot(TopicState(name="orders", shards=SPLIT)))

    with pytest.raises(FileError, match=r"topics\.0\.shards\.[02]\.high is wrong"):
        files.load(text.replace(str(LAST_HASH_KEY), key), "snapshot", subject="it")


def test_shards_are_not_taken_back_to_an_earlier_batch_whose_ends_nobody_read() -> None:
    read = read_checkpoint(str(KINESIS / "spark/awslabs-2.0.0-aggregated"))

    with pytest.raises(PlanError, match="found shards, whose positions are read after the last batch only"):
        rewound(read, 0, files=())
