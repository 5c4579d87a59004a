"""Holds positions against a stream by reading at them: numbers that it refuses, and how far each is behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from offsetwise.config import ClusterConfig
from offsetwise.model import Behind, Left, Problem, QuotaUse, ShardRange, Snapshot, TopicPartition
from offsetwise.streams.kinesis.client import (
    ALLOWED_BYTES_PER_SECOND,
    ALLOWED_READS_PER_SECOND,
    READS_PER_SECOND,
    Asking,
    BusyError,
    NotOfThisStreamError,
    NotThereError,
    Records,
    asking,
)
from offsetwise.streams.kinesis.findings import born_otherwise, closed_shard_unread, not_of_this_stream
from offsetwise.streams.kinesis.spec import (
    AT_UNKNOWN_TIME,
    LATEST,
    SHARD_END,
    Place,
    ShardPlace,
    evidence_of,
    shard_id,
)
from offsetwise.streams.reader import Place as AtPlace
from offsetwise.streams.reader import ReadAt

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

    @classmethod
    def of(cls, place: ShardPlace, shard: ShardRange) -> _At:
        """Give what is known before the stream is asked."""
        problems = tuple(born_otherwise(shard_id(shard.partition), place, shard.first))
        return cls(place=place, problems=problems, behind=Behind(left=Left.ENDED) if place == SHARD_END else None)

    @property
    def is_asked(self) -> bool:
        """Whether there is something to read at."""
        return not self.problems and self.place not in (LATEST, AT_UNKNOWN_TIME, SHARD_END)


@dataclass(slots=True, kw_only=True)
class _Shard:
    """One shard with the positions that are in it."""

    key: TopicPartition
    range: ShardRange
    at: dict[ShardPlace, _At] = field(default_factory=dict)
    reads: int = 0
    read_bytes: int = 0

    def ask(self, asked: Asking) -> None:
        """Read at each position."""
        name = shard_id(self.key.partition)
        for each in self.at.values():
            if not each.is_asked:
                continue
            try:
                iterator = asked.iterator(self.key.topic, name, each.place)
                if self.range.closed:
                    count, each.behind = self._counted(asked, iterator, each.place)
                    more = each.behind.records is None
                    each.problems = tuple(closed_shard_unread(name, each.place, count, more=more))
                else:
                    each.behind = self._next(asked, iterator, each.place)
            except NotOfThisStreamError as error:
                each.problems = tuple(not_of_this_stream(name, each.place, error.problem))
            except NotThereError:
                continue  # it went since the shards were listed

    def _next(self, asked: Asking, iterator: str, place: ShardPlace) -> Behind:
        """Read one record. With it the stream says how far behind it is, and 0 that there is no other."""
        try:
            read = self._read(asked, iterator, most=1)
        except BusyError:
            return Behind(left=Left.UNKNOWN)
        count = len(read.records)
        left = Left.RECORDS if count or read.behind_ms else Left.NOTHING
        records = None if read.behind_ms else count
        return Behind(left=left, ms=read.behind_ms, records=records, last_ms=_last_ms(place))

    def _counted(self, asked: Asking, iterator: str, place: ShardPlace) -> tuple[int, Behind]:
        """Count what a closed shard has left, up to a bound: the number read, and all of them if that was the end."""
        following, count, behind_ms = iterator, 0, 0
        for _ in range(_READS):
            read = self._read(asked, following, most=_COUNTED)
            behind_ms = max(behind_ms, read.behind_ms)
            count += len(read.records)
            if read.following is None:
                left = Left.RECORDS if count else Left.ENDED
                return count, Behind(left=left, ms=behind_ms if count else None, records=count, last_ms=_last_ms(place))
            following = read.following
            if count >= _COUNTED:
                break
        left = Left.RECORDS if count or behind_ms else Left.UNKNOWN
        return count, Behind(left=left, ms=behind_ms if left is Left.RECORDS else None, last_ms=_last_ms(place))

    def _read(self, asked: Asking, iterator: str, *, most: int) -> Records:
        self.reads += 1
        read = asked.records(self.key.topic, shard_id(self.key.partition), iterator, most=most)
        self.read_bytes += sum(len(each["Data"]) + len(str(each["PartitionKey"])) for each in read.records)
        return read


def read_at(config: ClusterConfig, places: Iterable[AtPlace], snapshot: Snapshot) -> ReadAt:
    """Hold positions against the stream: numbers that it refuses, what closed shards have left, how far each is behind.

    Raises:
        ClusterError: The stream refuses to be read.
    """
    listed = {
        TopicPartition(topic.name, each.partition): each
        for topic in snapshot.topics
        if topic.id is not None
        for each in topic.shards
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
    told = {(key, each.place): each for key, shard in shards.items() for each in shard.at.values()}
    return ReadAt(
        problems=tuple(problem for each in told.values() for problem in each.problems),
        behind={place: each.behind for place, each in told.items() if each.behind is not None},
        quota=_quota(to_ask),
    )


def _last_ms(place: ShardPlace) -> int | None:
    """Say when the last processed record arrived, as its number tells."""
    found = evidence_of(place.sequence) if place.place is Place.AFTER and place.sequence is not None else None
    return None if found is None else found.arrived_s * 1000


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
