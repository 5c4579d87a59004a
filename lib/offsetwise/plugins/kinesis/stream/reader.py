"""Reads streams of Kinesis, as `streams.reader.ClusterReader` requires.

A stream has no groups, ACLs and transactions. Its records are read at positions, as they may be aggregates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from offsetwise.config import ClusterConfig
from offsetwise.findings.logs import topic_missing
from offsetwise.model import (
    AnyPosition,
    Cluster,
    PartitionState,
    Problem,
    ShardRange,
    Snapshot,
    TopicPartition,
    TopicState,
    time_of,
)
from offsetwise.plugins.kinesis.stream.aggregates import is_packed
from offsetwise.plugins.kinesis.stream.at_positions import read_at
from offsetwise.plugins.kinesis.stream.client import Asking, NoAnswerError, NotThereError, asking, cluster_id
from offsetwise.plugins.kinesis.stream.findings import aggregated, stream_not_asked
from offsetwise.plugins.kinesis.stream.spec import (
    LATEST,
    SHARD_END,
    TRIM_HORIZON,
    Place,
    ShardPlace,
    at,
    at_time,
    sequence_number,
    shard_id,
    shard_number,
)
from offsetwise.ports.log_observations import SeenLog, seen_log
from offsetwise.streams.abilities import Place as AtPlace

__all__ = [
    "log_ranges",
    "offsets_for_times",
    "read_at",
    "read_whole",
    "timestamps_at",
]

_OLDEST: Final = 10
"""How many of the oldest records of a shard are examined: producers may not all aggregate."""
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReading:
    whole: Snapshot

    @property
    def name(self) -> str:
        return self.whole.name

    @property
    def cluster_id(self) -> str | None:
        """Account and region, as far as the migration file distinguishes them."""
        return self.whole.cluster_id

    def snapshot(
        self,
        topics: Collection[str] | None,
        groups: Collection[str] | None,  # noqa: ARG002 - there are none
        *,
        if_there: Collection[str] = (),
    ) -> Snapshot:
        states = tuple(topic for topic in self.whole.topics if topics is None or topic.name in topics)
        missing = tuple(
            _missing(self.whole.name, name)
            for name in sorted(topics or ())
            if name not in if_there and name not in {topic.name for topic in states}
        )
        return replace(self.whole, topics=states, problems=(*self.whole.problems, *missing))


def read_whole(
    cluster: Cluster,
    config: ClusterConfig,
    *,
    topics: tuple[str, ...] | None,
    groups: tuple[str, ...] | None,  # noqa: ARG001 - there are none
    mirror: bool = True,  # noqa: ARG001 - likewise
    timeout_s: float = 20,  # noqa: ARG001 - each call has its own
) -> StreamReading:
    """Read streams by their names; an account is never read as a whole."""
    snapshot = Snapshot(
        cluster=cluster,
        name=config.name,
        alias=config.alias,
        cluster_id=cluster_id(config.properties),
        taken_at=time_of(datetime.now(UTC)),
    )
    states: list[TopicState] = []
    problems: list[Problem] = []
    try:
        client = asking(config)
        for name in sorted(topics or ()):
            try:
                state, aggregates = _stream(client, name)
                states.append(state)
                problems += aggregated(name, aggregates)
            except NotThereError:
                continue  # `snapshot` reports it if it was requested
    except NoAnswerError as error:
        # A topic without an id means that the stream did not answer.
        silent = tuple(TopicState(name=name) for name in sorted(topics or ()))
        return StreamReading(whole=replace(snapshot, topics=silent, problems=tuple(stream_not_asked(error.problem))))
    return StreamReading(whole=replace(snapshot, topics=tuple(states), problems=tuple(problems)))


def offsets_for_times(
    config: ClusterConfig,  # noqa: ARG001 - a time is a position here
    times: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, AnyPosition | None]:
    """Return the position of each time: Kinesis begins at the first record that arrived then."""
    return {key: at_time(time_ms) for key, time_ms in times.items()}


def log_ranges(config: ClusterConfig, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, SeenLog]:
    """Return the current begin and end of each shard; None if it is no longer listed."""
    requested = tuple(partitions)
    names = tuple(sorted({key.topic for key in requested}))
    snapshot = read_whole(Cluster.OLD, config, topics=names, groups=()).whole
    topics, there = {topic.name: topic for topic in snapshot.topics}, snapshot.partitions()
    return {key: seen_log(snapshot, topics.get(key.topic), there.get(key)) for key in requested}


def timestamps_at(config: ClusterConfig, positions: Iterable[AtPlace]) -> Mapping[AtPlace, int | None]:
    """Return when the first record at or after each position arrived; None if there is none."""
    client = asking(config)
    timestamps: dict[AtPlace, int | None] = {}
    for key, position in positions:
        results = _first(client, key.topic, shard_id(key.partition), position)
        timestamps[key, position] = (
            None if results is None else int(results["ApproximateArrivalTimestamp"].timestamp() * 1000)
        )
    return timestamps


def _stream(client: Asking, name: str) -> tuple[TopicState, list[str]]:
    results = client.stream(name)
    born_s = int(results["StreamCreationTimestamp"].timestamp())
    hours = int(results.get("RetentionPeriodHours") or 24)
    partitions, ranges, aggregates = [], [], []
    for shard in client.shards(name):
        number = shard_number(str(shard["ShardId"]))
        if number is None:
            continue
        key_range = _range(number, shard)
        oldest = _read(client, name, str(shard["ShardId"]), TRIM_HORIZON, most=_OLDEST)
        if any(is_packed(bytes(record["Data"])) for record in oldest):
            aggregates.append(str(shard["ShardId"]))
        first = sequence_number(str(oldest[0]["SequenceNumber"] if oldest else key_range.first))
        end = SHARD_END if key_range.closed else LATEST
        start = TRIM_HORIZON if first is None else at(first)
        partitions.append(PartitionState(partition=number, log_start=start, hw=end, lso=end))
        ranges.append(key_range)
    state = TopicState(
        name=name,
        id=f"{results['StreamARN']}@{born_s}",
        partitions=tuple(sorted(partitions, key=lambda partition_state: partition_state.partition)),
        config=(("retention.ms", str(hours * _HOUR_MS)),),
        shards=tuple(sorted(ranges, key=lambda shard_range: shard_range.partition)),
    )
    return state, sorted(aggregates)


def _range(number: int, shard: Mapping[str, Any]) -> ShardRange:
    keys, numbers = shard["HashKeyRange"], shard["SequenceNumberRange"]
    parents = (shard_number(str(shard.get(name) or "")) for name in ("ParentShardId", "AdjacentParentShardId"))
    return ShardRange(
        partition=number,
        low=int(keys["StartingHashKey"]),
        high=int(keys["EndingHashKey"]),
        parents=tuple(sorted(parent for parent in parents if parent is not None)),
        first=str(numbers["StartingSequenceNumber"]),
        closed=numbers.get("EndingSequenceNumber") is not None,
    )


def _first(client: Asking, stream: str, shard: str, position: AnyPosition) -> Mapping[str, Any] | None:
    if not isinstance(position, ShardPlace) or position.place in (Place.SHARD_END, Place.LATEST):
        return None
    return next(iter(_read(client, stream, shard, position, most=1)), None)


def _read(client: Asking, stream: str, shard: str, position: ShardPlace, *, most: int) -> Sequence[Mapping[str, Any]]:
    return client.records(stream, shard, client.iterator(stream, shard, position), most=most).records


def _missing(cluster: str, name: str) -> Problem:
    return topic_missing.problem(
        f"Stream {name!r} does not exist at {cluster!r}, in the region that the migration file names.",
        fix="Check the stream's name and the region.",
    )
