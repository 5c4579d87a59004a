"""A topic as what holds copies of another stream's records: the link copies their keys and data as keys and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple

from offsetwise.comparison import Scene
from offsetwise.comparison.matching import Identified, Run
from offsetwise.config import ClusterConfig, client_properties
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.model import IsolationLevel, LogRange, TopicPartition, TopicState
from offsetwise.ports.windows import Wanted, Window
from offsetwise.position import offset_of
from offsetwise.streams.kafka.client import consumer_configuration
from offsetwise.streams.kafka.ranges import Failure, Range, Reader, Unread
from offsetwise.streams.kafka.snapshot import offsets_for_times

_AT_FIRST: Final = 1_000
"""Offsets of each partition that are read at first; ever more follow, as long as their bytes allow it."""
_GROWTH: Final = 4


class _Record(NamedTuple):
    offset: int
    timestamp_ms: int
    identity: str
    key: int
    size: int


@dataclass(slots=True, kw_only=True)
class _Part:
    """What is to be read of one partition, and was read."""

    wanted: Wanted
    start: int
    end: int
    """Where reading stops at the latest."""
    whole: bool
    at_end: bool
    records: list[_Record]

    @property
    def window(self) -> Window:
        """Give it as it is compared."""
        return Window(
            numbers=tuple(each.offset for each in self.records),
            identities=tuple(each.identity for each in self.records),
            keys=tuple(each.key for each in self.records),
            oldest_ms=self.records[0].timestamp_ms if self.records else None,
            whole=self.whole,
            at_end=self.at_end,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCopies:
    """Reads copies in the partitions of a topic, which a link chooses as it likes."""

    called: ClassVar[str] = "partition"
    config: ClusterConfig
    isolation: IsolationLevel
    logs: Mapping[int, LogRange]
    """By partition, as they were when positions were read."""
    own_times: bool
    identified: Identified

    def read(self, tasks: Sequence[Wanted]) -> list[Window]:
        """Read windows from a time on, or from the log start, all partitions by one consumer; see `Copies`."""
        parts = {number: each for number, each in enumerate(self._parts(tasks)) if each is not None}
        reader = Reader(
            consumer_configuration(client_properties(self.config)) | {"isolation.level": self.isolation.value},
            self._record,
        )
        try:
            left, size = {number: each.start for number, each in parts.items()}, _AT_FIRST
            while left:
                ranges = [
                    Range(number, parts[number].wanted.topic, parts[number].wanted.partition, start, end)
                    for number, start in left.items()
                    for end in (min(start + size, parts[number].end),)
                ]
                reader.begin(ranges)
                given = reader.finish()
                _refuse(self.config.name, reader.unread.values())
                left = {}
                for each in ranges:
                    part = parts[each.task]
                    part.records += given[each.task]
                    spent = sum(record.size for record in part.records)
                    if each.end < part.end and spent < part.wanted.most_bytes:
                        left[each.task] = each.end
                    elif each.end < part.end:
                        part.at_end = False
                size *= _GROWTH
        finally:
            reader.close()
        return [parts[number].window if number in parts else _UNKNOWN for number in range(len(tasks))]

    def place(self, number: int, index: int, *, windows: Mapping[int, Window], since_ms: int | None) -> int:  # noqa: ARG002 - offsets tell everything
        """Give the offset of a record; behind the last one, the next offset."""
        window, start = windows[number], self.logs[number].log_start
        if start is not None and ((index == 0 and window.whole) or not window.numbers):
            return offset_of(start)
        return window.numbers[index] if index < len(window.numbers) else window.numbers[-1] + 1

    def _parts(self, tasks: Sequence[Wanted]) -> Iterator[_Part | None]:
        """Say what to read of each partition; None of one whose log is not known."""
        times = {TopicPartition(each.topic, each.partition): each.since_ms for each in tasks}
        found = offsets_for_times(self.config, {key: time for key, time in times.items() if time is not None})
        for each in tasks:
            log = self.logs.get(each.partition)
            first, final = (None, None) if log is None else (log.log_start, log.end(self.isolation))
            if first is None or final is None:
                yield None
                continue
            low, high = offset_of(first), offset_of(final)
            small = high - low <= each.whole_up_to
            # Without such a time, or an answer, it is read from its start.
            since = found.get(TopicPartition(each.topic, each.partition))
            start = low if small or since is None else min(max(low, since), high)
            end = high if small else min(high, start + each.most_records)
            yield _Part(wanted=each, start=start, end=end, whole=start == low, at_end=end == high, records=[])

    def _record(self, message: Any) -> _Record:
        key, value, offset = message.key(), message.value(), message.offset()
        identity, hashed = self.identified(key or b"", value or b"")
        return _Record(
            offset=offset,
            timestamp_ms=message.timestamp()[1],
            # What lacks a key or a value is a copy of nothing.
            identity=str(offset) if key is None or value is None else identity,
            key=hashed,
            size=len(key or b"") + len(value or b""),
        )


_UNKNOWN: Final = Window()
_UNREAD: Final = {
    Failure.REFUSED: (ClusterAuthError, "Grant READ on the topic to the user in the properties."),
    Failure.SILENT: (ClusterUnreachableError, "Check that the partition's leader is up and can be reached."),
}


def _refuse(name: str, unread: Iterable[Unread]) -> None:
    """Go on only where every partition was read.

    Raises:
        ClusterError: The cluster refuses to be read, or gives no answer.
    """
    for each in unread:
        kind, fix = _UNREAD.get(each.failure, (ClusterError, "Compare again: the topic changed while it was read."))
        raise kind(f"Cluster {name!r}: expected records, but {each.told}. No result was used.", fix=fix)


def copies_of(
    scene: Scene,
    topic: TopicState,
    run: Run,  # noqa: ARG001 - one consumer reads all partitions
    salt: bytes,  # noqa: ARG001 - `identified` has it
    identified: Identified,
) -> TopicCopies:
    """Give what reads a topic; see `CopiesOf`."""
    return TopicCopies(
        config=scene.migration.target,
        isolation=scene.migration.isolation_level,
        logs={each.partition: each.log for each in topic.partitions},
        own_times=dict(topic.config).get("message.timestamp.type") == "LogAppendTime",
        identified=identified,
    )
