"""Holds positions against a stream by reading at them: numbers that it refuses, and how far each is behind."""

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
"""How many records are counted of what a closed shard has left."""
_READS: Final = 3
"""How many reads may come back empty before what is left counts as unknown."""
_AT_ONCE: Final = 16
"""Shards that are asked at the same time."""


@dataclass(slots=True, kw_only=True)
class _At:
    """One position in one shard, and what reading there told."""

    place: ShardPlace
    problems: tuple[Problem, ...]
    behind: Behind | None
    record: RecordAt | None = None
    """The record that it is after; None where it is after none, or nothing was read."""

    @classmethod
    def of(cls, place: ShardPlace, shard: ShardRange) -> _At:
        """Return what is known before the stream is asked."""
        problems = tuple(born_otherwise(shard_id(shard.partition), place, shard.first))
        ended = place == SHARD_END and shard.closed
        return cls(place=place, problems=problems, behind=Behind(left=Left.ENDED) if ended else None)

    @property
    def is_asked(self) -> bool:
        """Whether there is something to read at."""
        return not self.problems and self.place not in (LATEST, AT_UNKNOWN_TIME, SHARD_END)

    @property
    def begins(self) -> ShardPlace:
        """Where it is read at: the record that it is after comes first, so that one read shows both."""
        return at(self.place.sequence) if self.is_after and self.place.sequence is not None else self.place

    @property
    def is_after(self) -> bool:
        """Whether there is a record that it is after."""
        return self.place.place is Place.AFTER

    def unread(self, records: Sequence[Mapping[str, Any]], *, to_end: bool) -> Sequence[Mapping[str, Any]]:
        """Return the records of its first read that it has not processed, one in part included.

        Args:
            records: What was read from `begins` on.
            to_end: Whether that is all there is.
        """
        if not self.is_after or (not records and not to_end):
            return records
        first = next(
            (record for record in records[:1] if record.get("SequenceNumber") == str(self.place.sequence)), None
        )
        count = None if first is None else user_records(bytes(first["Data"]))
        inside = self.place.sub is not None and count is not None and self.place.sub < count - 1
        exact = self.place if inside else replace(self.place, sub=None)
        self.record = RecordAt(position=exact, aggregate=count)
        return records if inside or first is None else records[1:]


@dataclass(slots=True, kw_only=True)
class _Shard:
    """One shard with the positions that are in it."""

    key: TopicPartition
    range: ShardRange
    at: dict[ShardPlace, _At] = field(default_factory=dict)
    reads: int = 0
    read_bytes: int = 0
    is_packed: bool = False
    """Whether a record that was read is an aggregate."""

    def ask(self, asked: Asking) -> None:
        """Read at each position."""
        name = shard_id(self.key.partition)
        for each in self.at.values():
            if not each.is_asked:
                continue
            try:
                iterator = asked.iterator(self.key.topic, name, each.begins)
                if self.range.closed:
                    count, each.behind = self._counted(asked, iterator, each)
                    more = each.behind.records is None
                    each.problems = tuple(closed_shard_unread(name, each.place, count, more=more))
                else:
                    each.behind = self._next(asked, iterator, each)
                each.problems += tuple(_inside(name, each))
            except NotOfThisStreamError as error:
                each.problems = tuple(not_of_this_stream(name, each.place, error.problem))
            except NotThereError:
                continue  # it went since the shards were listed

    def _next(self, asked: Asking, iterator: str, place: _At) -> Behind:
        """Read one unread record. With it the stream says how far behind it is, and 0 that there is no other."""
        following: str | None = iterator
        for _ in range(_READS):
            try:
                read = self._read(asked, following or iterator, most=1 + place.is_after)
            except BusyError:
                return Behind(left=Left.UNKNOWN)
            following = read.following
            if read.records or not read.behind_ms or place.place.sub is None or following is None:
                break
        count = len(place.unread(read.records, to_end=not read.behind_ms))
        left = Left.RECORDS if count or read.behind_ms else Left.NOTHING
        records = None if read.behind_ms else count
        return Behind(left=left, ms=read.behind_ms, records=records, last_ms=_last_ms(place.place))

    def _counted(self, asked: Asking, iterator: str, place: _At) -> tuple[int, Behind]:
        """Count what a closed shard has left, up to a bound: the number read, and all of them if that was the end."""
        following, count, behind_ms, last_ms = iterator, 0, 0, _last_ms(place.place)
        for _ in range(_READS):
            read = self._read(asked, following, most=_COUNTED)
            behind_ms = max(behind_ms, read.behind_ms)
            ended = read.following is None
            count += len(read.records if count or place.record else place.unread(read.records, to_end=ended))
            if read.following is None:
                left = Left.RECORDS if count else Left.ENDED
                return count, Behind(left=left, ms=behind_ms if count else None, records=count, last_ms=last_ms)
            following = read.following
            if len(read.records) >= _COUNTED:
                break
        left = Left.RECORDS if count or behind_ms else Left.UNKNOWN
        return count, Behind(left=left, ms=behind_ms if left is Left.RECORDS else None, last_ms=last_ms)

    def _read(self, asked: Asking, iterator: str, *, most: int) -> RecordPage:
        self.reads += 1
        read = asked.records(self.key.topic, shard_id(self.key.partition), iterator, most=most)
        self.read_bytes += sum(len(record["Data"]) + len(str(record["PartitionKey"])) for record in read.records)
        self.is_packed = self.is_packed or any(is_packed(bytes(record["Data"])) for record in read.records)
        return read


def read_at(config: ClusterConfig, places: Iterable[AtPlace], snapshot: Snapshot) -> ReadAt:
    """Hold positions against the stream: numbers that it refuses, what closed shards have left, how far each is behind.

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
    for key, place in places:
        if key in listed and isinstance(place, ShardPlace) and not place.of:
            shard = shards.setdefault(key, _Shard(key=key, range=listed[key]))
            shard.at.setdefault(place, _At.of(place, shard.range))
    to_ask = [shard for shard in shards.values() if any(each.is_asked for each in shard.at.values())]
    if to_ask:
        asked = asking(config)
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="offsetwise-positions") as pool:
            list(pool.map(lambda shard: shard.ask(asked), to_ask))
    read = [(key, each) for key, shard in shards.items() for each in shard.at.values()]
    exact = {(key, each.record.position): each for key, each in read if each.record is not None}
    results = exact | {(key, each.place): each for key, each in read}
    return ReadAt(
        problems=(
            *(problem for _, each in read for problem in each.problems),
            *_aggregated(snapshot, [shard for shard in to_ask if shard.is_packed]),
        ),
        behind={place: each.behind for place, each in results.items() if each.behind is not None},
        records={place: each.record for place, each in results.items() if each.record is not None},
        quota=_quota(to_ask),
    )


def _inside(shard: str, place: _At) -> Iterator[Problem]:
    if place.record is not None and isinstance(exact := place.record.position, ShardPlace) and exact.sub is not None:
        yield from inside_aggregate(shard, exact, place.record.aggregate)


def _aggregated(snapshot: Snapshot, shards: Sequence[_Shard]) -> Iterator[Problem]:
    """Report which streams have aggregates, where the oldest records did not show it."""
    if any(problem.code == aggregated.code for problem in snapshot.problems):
        return
    for stream in sorted({shard.key.topic for shard in shards}):
        packed = [shard_id(shard.key.partition) for shard in shards if shard.key.topic == stream]
        yield from aggregated(stream, packed, "records at positions")


def _last_ms(place: ShardPlace) -> int | None:
    """Return when the last processed record arrived, as its number tells."""
    evidence = evidence_of(place.sequence) if place.place is Place.AFTER and place.sequence is not None else None
    return None if evidence is None else evidence.arrived_s * 1000


def _quota(shards: Sequence[_Shard]) -> QuotaUse | None:
    """Sum up what reading took; None where nothing was read."""
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
