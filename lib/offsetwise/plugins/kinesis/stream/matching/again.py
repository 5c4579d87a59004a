"""Reads the records around positions again, by their sequence numbers, to check a plan's proof."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from offsetwise.config import ClusterConfig
from offsetwise.model import IsolationLevel, TopicPartition
from offsetwise.plugins.kinesis.stream.aggregates import user_records
from offsetwise.plugins.kinesis.stream.client import access_of
from offsetwise.plugins.kinesis.stream.matching.search import refuse
from offsetwise.plugins.kinesis.stream.numbers import evidence_of
from offsetwise.plugins.kinesis.stream.records import AT_ONCE, EMPTY, MOST_AT_ONCE, ShardReader, client_of, failure_of
from offsetwise.plugins.kinesis.stream.spec import TRIM_HORIZON, Place, ShardPlace, at, at_time, shard_id
from offsetwise.ports.stretches import EDGE, MOST, MOST_BYTES, ReadStretch, Stretch
from offsetwise.ports.windows import ReadFailure, WantedRecords, Window

Identified: TypeAlias = Callable[[bytes, bytes], tuple[str, int]]

_AT_FIRST: Final = 100
"""Records of the first read: most proofs are those of neighbours. Each further one reads ten times as many."""
_GROWTH: Final = 10


def read_again(
    config: ClusterConfig,
    requests: Sequence[Stretch],
    *,
    isolation: IsolationLevel,  # noqa: ARG001 - a stream has no transactions
    identified: Identified,
) -> list[ReadStretch]:
    """Read stretches of shards; see `ReadAgain`. Those of one shard are read one after another, for its quota."""
    access = access_of(config)
    shards: dict[TopicPartition, dict[Stretch, ReadStretch]] = {}
    for request in requests:
        shards.setdefault(request.topic_partition, {})[request] = ReadStretch()

    def read(key: TopicPartition) -> None:
        shard = ShardReader(client=client_of(access), stream=key.topic, id=shard_id(key.partition), salt=b"")
        reading = _ShardReading(shard=shard, number=key.partition, identified=identified)
        for stretch in shards[key]:
            shards[key][stretch] = reading.stretch(stretch)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="offsetwise-again") as pool:
        list(pool.map(read, shards))
    return [shards[stretch.topic_partition][stretch] for stretch in requests]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShardReading:
    shard: ShardReader
    number: int
    identified: Identified

    def stretch(self, request: Stretch) -> ReadStretch:
        """Read one stretch, and report which of its ends have expired.

        Raises:
            ClusterError: The stream refuses to be read, or does not answer.
        """
        ends = frozenset(position for position in (request.first, request.final) if isinstance(position, ShardPlace))
        try:
            stretch = self._from_first(request)
            missing = ends - {position for position, _ in (*stretch.below, *stretch.above)}
            return replace(stretch, expired=self._expired(missing)) if missing else stretch
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            refuse(
                WantedRecords(topic=self.shard.stream, partition=self.number),
                Window(failure=failure, message=str(error)[:300]),
            )
            return ReadStretch(expired=ends if failure is ReadFailure.GONE else frozenset())

    def _from_first(self, request: Stretch) -> ReadStretch:
        if isinstance(request.first, ShardPlace):
            try:
                return self._read(request.first, request) if request.first.place is Place.AT else ReadStretch()
            except Exception as error:
                if failure_of(error) is not ReadFailure.FOREIGN:
                    raise
                return ReadStretch()  # it is not a number of this shard, or one that has expired
        stretch = self._read(TRIM_HORIZON, request)
        if stretch.whole_below:
            return stretch
        position = request.position
        if isinstance(position, ShardPlace) and (position.sequence is not None or position.at_ms is not None):
            # Too many records precede it: those after it are read from the position on.
            begin = at_time(position.at_ms or 0) if position.sequence is None else at(position.sequence)
            stretch = self._read(begin, request)
        return replace(stretch, whole_below=False)

    def _read(self, begin: ShardPlace, request: Stretch) -> ReadStretch:
        below: list[tuple[ShardPlace, str]] = []
        above: list[tuple[ShardPlace, str]] = []
        final = request.final.sequence if isinstance(request.final, ShardPlace) else None
        size, enough = 0, True
        for record in self._records(begin):
            number, key, data = (
                int(record["SequenceNumber"]),
                str(record["PartitionKey"]).encode(),
                bytes(record["Data"]),
            )
            is_below = _is_below(request.position, number, record, data)
            (below if is_below else above).append((at(number), self.identified(key, data)[0]))
            size += len(key) + len(data)
            if len(above) >= EDGE if final is None else number >= final:
                break
            if len(below) + len(above) >= MOST or size >= MOST_BYTES:
                enough = False
                break
        return ReadStretch(
            below=tuple(below), above=tuple(above), whole_below=enough or bool(above), whole_above=enough
        )

    def _records(self, begin: ShardPlace) -> Iterator[Mapping[str, Any]]:
        following: str | None = self.shard.begin(begin)
        limit, empty = _AT_FIRST, 0
        while following is not None:
            given = self.shard.records(following, limit)
            following = given.get("NextShardIterator")
            yield from given["Records"]
            count, behind_ms = len(given["Records"]), int(given.get("MillisBehindLatest") or 0)
            empty = 0 if count else empty + 1
            if (behind_ms == 0 and count < limit) or empty > EMPTY:
                return
            limit = min(MOST_AT_ONCE, limit * _GROWTH)

    def _expired(self, missing: Collection[ShardPlace]) -> frozenset[ShardPlace]:
        """Return the positions older than the shard's oldest record; the others never existed."""
        oldest = next((int(record["SequenceNumber"]) for record in self._records(TRIM_HORIZON)), None)
        return frozenset(position for position in missing if self._may_have_been(position, oldest))

    def _may_have_been(self, position: ShardPlace, oldest: int | None) -> bool:
        if position.sequence is None or (oldest is not None and position.sequence >= oldest):
            return False
        evidence = evidence_of(position.sequence)
        return evidence is None or evidence.shard == self.number


def _is_below(position: object, number: int, record: Mapping[str, Any], data: bytes) -> bool:
    """Return whether a record is below a position; an aggregate that is processed in part is not."""
    if not isinstance(position, ShardPlace) or position.place in (Place.SHARD_END, Place.LATEST):
        return True
    if position.sequence is None:
        arrived_ms = int(record["ApproximateArrivalTimestamp"].timestamp() * 1000)
        return position.at_ms is not None and arrived_ms < position.at_ms
    if number != position.sequence or position.sub is None:
        return number < position.sequence + (position.place is Place.AFTER)
    count = user_records(data)
    return count is None or position.sub >= count - 1
