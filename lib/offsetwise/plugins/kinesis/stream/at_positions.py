"""Checks positions against a stream by reading at them: numbers that it refuses, and how far each is behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from offsetwise.config import ClusterConfig
from offsetwise.model import Behind, Left, Problem, QuotaUse, ShardRange, Snapshot, TopicPartition
from offsetwise.plugins.kinesis.stream.aggregates import is_packed, user_records
from offsetwise.plugins.kinesis.stream.client import (
    ALLOWED_BYTES_PER_SECOND,
    ALLOWED_READS_PER_SECOND,
    READS_PER_SECOND,
    Asking,
    BusyError,
    NotOfThisStreamError,
    NotThereError,
    RecordPage,
    asking,
)
from offsetwise.plugins.kinesis.stream.findings import (
    aggregated,
    born_otherwise,
    closed_shard_unread,
    inside_aggregate,
    not_of_this_stream,
)
from offsetwise.plugins.kinesis.stream.numbers import evidence_of
from offsetwise.plugins.kinesis.stream.spec import AT_UNKNOWN_TIME, LATEST, SHARD_END, Place, ShardPlace, at, shard_id
from offsetwise.streams.abilities import Place as AtPlace
from offsetwise.streams.abilities import ReadAt, RecordAt

_COUNTED: Final = 1_000
"""Maximum number of unread records that are counted in a closed shard."""
_READS: Final = 3
"""Empty reads after which the remaining records count as unknown."""
_AT_ONCE: Final = 16
"""Shards that are read concurrently."""


@dataclass(slots=True, kw_only=True)
class _At:
    position: ShardPlace
    problems: tuple[Problem, ...]
    lag: Behind | None
    record: RecordAt | None = None
    """The record that the position is after; None if there is none, or nothing was read."""

    @classmethod
    def of(cls, position: ShardPlace, shard: ShardRange) -> _At:
        problems = tuple(born_otherwise(shard_id(shard.partition), position, shard.first))
        ended = position == SHARD_END and shard.closed
        return cls(position=position, problems=problems, lag=Behind(left=Left.ENDED) if ended else None)

    @property
    def is_asked(self) -> bool:
        return not self.problems and self.position not in (LATEST, AT_UNKNOWN_TIME, SHARD_END)

    @property
    def begins(self) -> ShardPlace:
        """Where reading begins: the record before the position comes first, so that one read shows both."""
        return at(self.position.sequence) if self.is_after and self.position.sequence is not None else self.position

    @property
    def is_after(self) -> bool:
        return self.position.place is Place.AFTER

    def unread(self, records: Sequence[Mapping[str, Any]], *, to_end: bool) -> Sequence[Mapping[str, Any]]:
        """Return the unprocessed records of the first read, including one processed in part.

        Args:
            records: What was read from `begins` on.
            to_end: Whether there are no more.
        """
        if not self.is_after or (not records and not to_end):
            return records
        first = next(
            (record for record in records[:1] if record.get("SequenceNumber") == str(self.position.sequence)), None
        )
        count = None if first is None else user_records(bytes(first["Data"]))
        inside = self.position.sub is not None and count is not None and self.position.sub < count - 1
        exact = self.position if inside else replace(self.position, sub=None)
        self.record = RecordAt(position=exact, aggregate=count)
        return records if inside or first is None else records[1:]


@dataclass(slots=True, kw_only=True)
class _Shard:
    key: TopicPartition
    range: ShardRange
    at: dict[ShardPlace, _At] = field(default_factory=dict)
    reads: int = 0
    read_bytes: int = 0
    is_packed: bool = False
    """Whether a record that was read is an aggregate."""

    def ask(self, client: Asking) -> None:
        name = shard_id(self.key.partition)
        for reading in self.at.values():
            if not reading.is_asked:
                continue
            try:
                iterator = client.iterator(self.key.topic, name, reading.begins)
                if self.range.closed:
                    count, reading.lag = self._counted(client, iterator, reading)
                    more = reading.lag.records is None
                    reading.problems = tuple(closed_shard_unread(name, reading.position, count, more=more))
                else:
                    reading.lag = self._next(client, iterator, reading)
                reading.problems += tuple(_inside(name, reading))
            except NotOfThisStreamError as error:
                reading.problems = tuple(not_of_this_stream(name, reading.position, error.problem))
            except NotThereError:
                continue  # it expired since the shards were listed

    def _next(self, client: Asking, iterator: str, reading: _At) -> Behind:
        """Read one unread record. With it the stream returns how far behind it is; 0 means that there is no other."""
        following: str | None = iterator
        for _ in range(_READS):
            try:
                read = self._read(client, following or iterator, most=1 + reading.is_after)
            except BusyError:
                return Behind(left=Left.UNKNOWN)
            following = read.following
            if read.records or not read.behind_ms or reading.position.sub is None or following is None:
                break
        count = len(reading.unread(read.records, to_end=not read.behind_ms))
        remaining = Left.RECORDS if count or read.behind_ms else Left.NOTHING
        records = None if read.behind_ms else count
        return Behind(left=remaining, ms=read.behind_ms, records=records, last_ms=_last_ms(reading.position))

    def _counted(self, client: Asking, iterator: str, reading: _At) -> tuple[int, Behind]:
        following, count, behind_ms, last_ms = iterator, 0, 0, _last_ms(reading.position)
        for _ in range(_READS):
            read = self._read(client, following, most=_COUNTED)
            behind_ms = max(behind_ms, read.behind_ms)
            ended = read.following is None
            count += len(read.records if count or reading.record else reading.unread(read.records, to_end=ended))
            if read.following is None:
                remaining = Left.RECORDS if count else Left.ENDED
                return count, Behind(left=remaining, ms=behind_ms if count else None, records=count, last_ms=last_ms)
            following = read.following
            if len(read.records) >= _COUNTED:
                break
        remaining = Left.RECORDS if count or behind_ms else Left.UNKNOWN
        return count, Behind(left=remaining, ms=behind_ms if remaining is Left.RECORDS else None, last_ms=last_ms)

    def _read(self, client: Asking, iterator: str, *, most: int) -> RecordPage:
        self.reads += 1
        read = client.records(self.key.topic, shard_id(self.key.partition), iterator, most=most)
        self.read_bytes += sum(len(record["Data"]) + len(str(record["PartitionKey"])) for record in read.records)
        self.is_packed = self.is_packed or any(is_packed(bytes(record["Data"])) for record in read.records)
        return read


def read_at(config: ClusterConfig, positions: Iterable[AtPlace], snapshot: Snapshot) -> ReadAt:
    """Check positions against the stream: refused numbers, unread records of closed shards, and how far each is behind.

    Raises:
        ClusterError: The stream refuses to be read.
    """
    listed = {
        TopicPartition(topic.name, shard_range.partition): shard_range
        for topic in snapshot.topics
        if topic.id is not None
        for shard_range in topic.shards
    }
    shards: dict[TopicPartition, _Shard] = {}
    for key, position in positions:
        if key in listed and isinstance(position, ShardPlace) and not position.of:
            shard = shards.setdefault(key, _Shard(key=key, range=listed[key]))
            shard.at.setdefault(position, _At.of(position, shard.range))
    to_ask = [shard for shard in shards.values() if any(reading.is_asked for reading in shard.at.values())]
    if to_ask:
        client = asking(config)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="offsetwise-positions") as pool:
            list(pool.map(lambda shard: shard.ask(client), to_ask))
    read = [(key, reading) for key, shard in shards.items() for reading in shard.at.values()]
    exact = {(key, reading.record.position): reading for key, reading in read if reading.record is not None}
    results = exact | {(key, reading.position): reading for key, reading in read}
    return ReadAt(
        problems=(
            *(problem for _, reading in read for problem in reading.problems),
            *_aggregated(snapshot, [shard for shard in to_ask if shard.is_packed]),
        ),
        lag_by_position={position: reading.lag for position, reading in results.items() if reading.lag is not None},
        records={position: reading.record for position, reading in results.items() if reading.record is not None},
        quota=_quota(to_ask),
    )


def _inside(shard: str, reading: _At) -> Iterator[Problem]:
    if (
        reading.record is not None
        and isinstance(exact := reading.record.position, ShardPlace)
        and exact.sub is not None
    ):
        yield from inside_aggregate(shard, exact, reading.record.aggregate)


def _aggregated(snapshot: Snapshot, shards: Sequence[_Shard]) -> Iterator[Problem]:
    if any(problem.code == aggregated.code for problem in snapshot.problems):
        return
    for stream in sorted({shard.key.topic for shard in shards}):
        packed = [shard_id(shard.key.partition) for shard in shards if shard.key.topic == stream]
        yield from aggregated(stream, packed, "records at positions")


def _last_ms(position: ShardPlace) -> int | None:
    evidence = (
        evidence_of(position.sequence) if position.place is Place.AFTER and position.sequence is not None else None
    )
    return None if evidence is None else evidence.arrived_s * 1000


def _quota(shards: Sequence[_Shard]) -> QuotaUse | None:
    read = [shard for shard in shards if shard.reads]
    if not read:
        return None
    return QuotaUse(
        partitions=len(read),
        reads=sum(shard.reads for shard in read),
        most_reads=max(shard.reads for shard in read),
        read_bytes=sum(shard.read_bytes for shard in read),
        reads_per_second=READS_PER_SECOND,
        allowed_per_second=ALLOWED_READS_PER_SECOND,
        allowed_bytes_per_second=ALLOWED_BYTES_PER_SECOND,
    )
