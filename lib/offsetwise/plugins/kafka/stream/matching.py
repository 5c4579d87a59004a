"""A topic with copies of another stream's records: the link copies their keys and data as keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from offsetwise.comparison import Scene
from offsetwise.comparison.matching import Identified, Run
from offsetwise.config import ClusterConfig, client_properties
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.model import IsolationLevel, LogRange, TopicPartition, TopicState
from offsetwise.plugins.kafka.stream.logs import log_ranges, offsets_for_times
from offsetwise.ports.stretches import EDGE, MOST, ReadStretch, Stretch
from offsetwise.ports.windows import WantedRecords, Window
from offsetwise.position import offset_of, offset_or_none
from offsetwise.streams.ranges import Range, RangeFailure, RangeReader, Unread, consumer_configuration

_AT_FIRST: Final = 1_000
"""Offsets of each partition that are read at first; further ones follow within the limit of bytes."""
_GROWTH: Final = 4


class _MatchedRecord(NamedTuple):
    offset: int
    timestamp_ms: int
    identity: str
    key: int
    size: int


@dataclass(slots=True, kw_only=True)
class _PartitionRead:
    request: WantedRecords
    start: int
    end: int
    """Where reading stops at the latest."""
    whole: bool
    at_end: bool
    records: list[_MatchedRecord]

    @property
    def window(self) -> Window:
        return Window(
            numbers=tuple(record.offset for record in self.records),
            identities=tuple(record.identity for record in self.records),
            keys=tuple(record.key for record in self.records),
            oldest_ms=self.records[0].timestamp_ms if self.records else None,
            whole=self.whole,
            at_end=self.at_end,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCopies:
    """Reads copies in the partitions of a topic; the link chooses the partition of each copy."""

    part_label: ClassVar[str] = "partition"
    config: ClusterConfig
    isolation: IsolationLevel
    logs: Mapping[int, LogRange]
    """By partition, as they were when positions were read."""
    own_times: bool
    identified: Identified

    def read(self, tasks: Sequence[WantedRecords]) -> list[Window]:
        """Read windows from a time on, or from the log start, all partitions with one consumer; see `Copies`."""
        parts = {
            number: partition_read
            for number, partition_read in enumerate(self._parts(tasks))
            if partition_read is not None
        }
        reader = RangeReader(
            consumer_configuration(client_properties(self.config)) | {"isolation.level": self.isolation.value},
            self.record,
        )
        try:
            remaining, size = {number: partition_read.start for number, partition_read in parts.items()}, _AT_FIRST
            while remaining:
                ranges = [
                    Range(number, parts[number].request.topic, parts[number].request.partition, start, end)
                    for number, start in remaining.items()
                    for end in (min(start + size, parts[number].end),)
                ]
                reader.begin(ranges)
                given = reader.finish()
                _refuse(self.config.name, reader.unread.values())
                remaining = {}
                for span in ranges:
                    part = parts[span.task]
                    part.records += given[span.task]
                    spent = sum(record.size for record in part.records)
                    if span.end < part.end and spent < part.request.most_bytes:
                        remaining[span.task] = span.end
                    elif span.end < part.end:
                        part.at_end = False
                size *= _GROWTH
        finally:
            reader.close()
        return [parts[number].window if number in parts else _UNKNOWN for number in range(len(tasks))]

    def position_at(self, number: int, index: int, *, windows: Mapping[int, Window], since_ms: int | None) -> int:  # noqa: ARG002 - offsets suffice
        """Return the offset of a record; after the last one, the next offset."""
        window, start = windows[number], self.logs[number].log_start
        if start is not None and ((index == 0 and window.whole) or not window.numbers):
            return offset_of(start)
        return window.numbers[index] if index < len(window.numbers) else window.numbers[-1] + 1

    def before(self, number: int) -> int:
        return number

    def _parts(self, tasks: Sequence[WantedRecords]) -> Iterator[_PartitionRead | None]:
        """Yield what to read of each partition; None if its log is not known."""
        times = {TopicPartition(task.topic, task.partition): task.since_ms for task in tasks}
        results = offsets_for_times(self.config, {key: time for key, time in times.items() if time is not None})
        for records in tasks:
            log = self.logs.get(records.partition)
            first, final = (None, None) if log is None else (log.log_start, log.end(self.isolation))
            if first is None or final is None:
                yield None
                continue
            low, high = offset_of(first), offset_of(final)
            small = high - low <= records.whole_up_to
            # Without such a time, or an answer, it is read from its start.
            since = results.get(TopicPartition(records.topic, records.partition))
            start = low if small or since is None else min(max(low, since), high)
            end = high if small else min(high, start + records.most_records)
            yield _PartitionRead(
                request=records, start=start, end=end, whole=start == low, at_end=end == high, records=[]
            )

    def record(self, message: Any) -> _MatchedRecord:
        key, value, offset = message.key(), message.value(), message.offset()
        identity, hashed = self.identified(key or b"", value or b"")
        return _MatchedRecord(
            offset=offset,
            timestamp_ms=message.timestamp()[1],
            # A record without a key or a value is not a copy.
            identity=str(offset) if key is None or value is None else identity,
            key=hashed,
            size=len(key or b"") + len(value or b""),
        )


_UNKNOWN: Final = Window()
_UNREAD: Final = {
    RangeFailure.REFUSED: (ClusterAuthError, "Grant READ on the topic to the user in the properties."),
    RangeFailure.SILENT: (ClusterUnreachableError, "Check that the partition's leader is up and can be reached."),
}


def _refuse(name: str, unread: Iterable[Unread]) -> None:
    """Require that every partition was read.

    Raises:
        ClusterError: The cluster refuses to be read, or does not answer.
    """
    for unread_range in unread:
        kind, fix = _UNREAD.get(
            unread_range.failure, (ClusterError, "Compare again: the topic changed while it was read.")
        )
        raise kind(f"Cluster {name!r}: expected records, but {unread_range.message}. No result was used.", fix=fix)


def read_again(
    config: ClusterConfig, requests: Sequence[Stretch], *, isolation: IsolationLevel, identified: Identified
) -> list[ReadStretch]:
    """Read stretches of partitions, all with one consumer; see `streams.reader.ReadAgain`.

    A stretch whose first record is not known begins `EDGE` offsets below the position.
    """
    results = log_ranges(config, {stretch.topic_partition for stretch in requests})
    committed = isolation is IsolationLevel.READ_COMMITTED
    observed = (results[stretch.topic_partition] for stretch in requests)
    logs = [LogRange(log_start=log.log_start, lso=None, hw=log.lso if committed else log.hw) for log in observed]
    copies = TopicCopies(config=config, isolation=isolation, logs={}, own_times=False, identified=identified)
    reader = RangeReader(
        consumer_configuration(client_properties(config)) | {"isolation.level": isolation.value}, copies.record
    )
    try:
        ranges = [_range(number, stretch, logs[number]) for number, stretch in enumerate(requests)]
        reader.begin(ranges)
        given = reader.finish()
        _refuse(config.name, reader.unread.values())
    finally:
        reader.close()
    return [
        _read_stretch(stretch, ranges[number], given[number], logs[number]) for number, stretch in enumerate(requests)
    ]


def _range(number: int, stretch: Stretch, log: LogRange) -> Range:
    start, end = offset_or_none(log.log_start) or 0, offset_or_none(log.hw) or 0
    offset = offset_or_none(stretch.position)
    offset = end if offset is None else offset
    first, final = offset_or_none(stretch.first), offset_or_none(stretch.final)
    low = offset - EDGE if first is None else first
    high = offset + EDGE if final is None else final + 1
    high = min(high, low + MOST, end)
    low = min(max(low, start), high)
    return Range(number, stretch.topic, stretch.partition, low, high)


def _read_stretch(stretch: Stretch, read: Range, given: Sequence[_MatchedRecord], log: LogRange) -> ReadStretch:
    offset, final = offset_or_none(stretch.position), offset_or_none(stretch.final)
    ends = {position for position in (stretch.first, stretch.final) if isinstance(position, int)}
    enough = final is None or read.end > final or read.end == log.hw
    return ReadStretch(
        below=tuple((record.offset, record.identity) for record in given if offset is None or record.offset < offset),
        above=tuple(
            (record.offset, record.identity) for record in given if offset is not None and record.offset >= offset
        ),
        whole_below=enough,
        whole_above=enough,
        expired=frozenset(end for end in ends if log.log_start is not None and end < log.log_start),
    )


def copies_of(
    scene: Scene,
    topic: TopicState,
    run: Run,  # noqa: ARG001 - one consumer reads all partitions
    salt: bytes,  # noqa: ARG001 - `identified` has it
    identified: Identified,
) -> TopicCopies:
    return TopicCopies(
        config=scene.migration.target,
        isolation=scene.migration.isolation_level,
        logs={partition.partition: partition.log for partition in topic.partitions},
        own_times=dict(topic.config).get("message.timestamp.type") == "LogAppendTime",
        identified=identified,
    )
