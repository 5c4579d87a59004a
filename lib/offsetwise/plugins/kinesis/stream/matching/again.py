"""Reads the records around places again, by their sequence numbers: what a plan's proof is held against."""

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
"""Records of the first read: most proofs are those of neighbours. Each further one is of ten times as many."""
_GROWTH: Final = 10


def read_again(
    config: ClusterConfig,
    wanted: Sequence[Stretch],
    *,
    isolation: IsolationLevel,  # noqa: ARG001 - a stream has no transactions
    identified: Identified,
) -> list[ReadStretch]:
    """Read stretches of shards; see `ReadAgain`. Those of one shard are read one after the other, for its quota."""
    access = access_of(config)
    shards: dict[TopicPartition, dict[Stretch, ReadStretch]] = {}
    for each in wanted:
        shards.setdefault(each.topic_partition, {})[each] = ReadStretch()

    def read(key: TopicPartition) -> None:
        shard = ShardReader(client=client_of(access), stream=key.topic, id=shard_id(key.partition), salt=b"")
        reading = _ShardReading(shard=shard, number=key.partition, identified=identified)
        for stretch in shards[key]:
            shards[key][stretch] = reading.stretch(stretch)

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="offsetwise-again") as pool:
        list(pool.map(read, shards))
    return [shards[stretch.topic_partition][stretch] for stretch in wanted]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShardReading:
    """One shard, and how its records are told apart."""

    shard: ShardReader
    number: int
    identified: Identified

    def stretch(self, wanted: Stretch) -> ReadStretch:
        """Read one stretch, and say which of its ends retention took.

        Raises:
            ClusterError: The stream refuses to be read, or gives no answer.
        """
        ends = frozenset(position for position in (wanted.first, wanted.final) if isinstance(position, ShardPlace))
        try:
            stretch = self._from_first(wanted)
            missing = ends - {place for place, _ in (*stretch.below, *stretch.above)}
            return replace(stretch, gone=self._gone(missing)) if missing else stretch
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            refuse(
                WantedRecords(topic=self.shard.stream, partition=self.number),
                Window(failure=failure, told=str(error)[:300]),
            )
            return ReadStretch(gone=ends if failure is ReadFailure.GONE else frozenset())

    def _from_first(self, wanted: Stretch) -> ReadStretch:
        if isinstance(wanted.first, ShardPlace):
            try:
                return self._read(wanted.first, wanted) if wanted.first.place is Place.AT else ReadStretch()
            except Exception as error:
                if failure_of(error) is not ReadFailure.FOREIGN:
                    raise
                return ReadStretch()  # it is no number of this shard, or one that it has lost
        stretch = self._read(TRIM_HORIZON, wanted)
        if stretch.whole_below:
            return stretch
        place = wanted.place
        if isinstance(place, ShardPlace) and (place.sequence is not None or place.at_ms is not None):
            # Too many lie below: those above are read from the place on.
            begin = at_time(place.at_ms or 0) if place.sequence is None else at(place.sequence)
            stretch = self._read(begin, wanted)
        return replace(stretch, whole_below=False)

    def _read(self, begin: ShardPlace, wanted: Stretch) -> ReadStretch:
        below: list[tuple[ShardPlace, str]] = []
        above: list[tuple[ShardPlace, str]] = []
        final = wanted.final.sequence if isinstance(wanted.final, ShardPlace) else None
        size, enough = 0, True
        for record in self._records(begin):
            number, key, data = (
                int(record["SequenceNumber"]),
                str(record["PartitionKey"]).encode(),
                bytes(record["Data"]),
            )
            is_below = _is_below(wanted.place, number, record, data)
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

    def _gone(self, missing: Collection[ShardPlace]) -> frozenset[ShardPlace]:
        """Return those older than the oldest record that the shard has; the others were never there."""
        oldest = next((int(record["SequenceNumber"]) for record in self._records(TRIM_HORIZON)), None)
        return frozenset(each for each in missing if self._may_have_been(each, oldest))

    def _may_have_been(self, place: ShardPlace, oldest: int | None) -> bool:
        if place.sequence is None or (oldest is not None and place.sequence >= oldest):
            return False
        evidence = evidence_of(place.sequence)
        return evidence is None or evidence.shard == self.number


def _is_below(place: object, number: int, record: Mapping[str, Any], data: bytes) -> bool:
    """Return whether a record lies below a place; of an aggregate that is processed in part, the rest does not."""
    if not isinstance(place, ShardPlace) or place.place in (Place.SHARD_END, Place.LATEST):
        return True
    if place.sequence is None:
        arrived_ms = int(record["ApproximateArrivalTimestamp"].timestamp() * 1000)
        return place.at_ms is not None and arrived_ms < place.at_ms
    if number != place.sequence or place.sub is None:
        return number < place.sequence + (place.place is Place.AFTER)
    count = user_records(data)
    return count is None or place.sub >= count - 1
