"""Reads ever larger windows of both streams' shards, until each shard, or partition, of the new one is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from offsetwise.comparison import Scene
from offsetwise.comparison.matching import Copies
from offsetwise.comparison.subjects import read_before
from offsetwise.config import ContentSettings
from offsetwise.digits import whole_number
from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.model import Cluster, ShardRange, TopicPartition, TopicState, epoch_ms
from offsetwise.plugins.kinesis.stream.matching.hash_keys import ShardWindow, is_explicit, met
from offsetwise.plugins.kinesis.stream.matching.shards import ShardCut, match
from offsetwise.plugins.kinesis.stream.spec import (
    AT_UNKNOWN_TIME,
    LATEST,
    SHARD_END,
    TRIM_HORIZON,
    ShardPlace,
    contradiction,
    in_shards,
    shard_id,
)
from offsetwise.ports.stream import spec_of
from offsetwise.ports.windows import ReadFailure, WantedRecords, Window
from offsetwise.progress import Progress
from offsetwise.translation.query import Query
from offsetwise.translation.search import GROWTH, ROUNDS, SMALL_LOGS

Read: TypeAlias = Callable[[Sequence[WantedRecords]], list[Window]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    old_name: str
    new_name: str
    copied_to: TopicState
    old: Mapping[int, ShardRange]
    new: Mapping[int, ShardRange]
    """Its shards; or its partitions, each with all hash keys."""
    by_hash: bool
    """Whether the hash of a record's key leads to its new shard, as it never does to a partition."""
    job_positions: Mapping[int, ShardPlace]
    """As confirmed by the records at them; before the rest of an aggregate if it was not read."""
    unlisted: tuple[int, ...]
    """Shards that the old stream no longer lists, and that were not read to their end."""
    trimmed: bool
    """Whether the old stream may have lost records."""
    stated: Mapping[int, ShardPlace] = field(default_factory=dict)
    """As the job's engine writes them, if that differs."""
    contradiction: str = ""
    """Why a position is impossible in the old stream, as a sentence; empty if nothing shows that."""

    @classmethod
    def of(cls, scene: Scene, positions: Sequence[Query]) -> Streams | None:
        """Combine both streams; None if the shards of one of them are not known."""
        first = positions[0]
        ours = scene.topics[Cluster.OLD].get(first.topic)
        theirs = scene.topics[Cluster.NEW].get(first.new_topic)
        by_hash = spec_of(scene.migration.target.stream).as_partition is not None
        if ours is None or theirs is None or not ours.shards or ours.id is None:
            return None
        new = theirs.shards if by_hash else _with_all_keys(theirs, ours.shards)
        if not new or (by_hash and theirs.id is None):
            return None
        stated = {
            position.partition: position.offset for position in positions if isinstance(position.offset, ShardPlace)
        }
        shown = {position.partition: position.exact or position.processed for position in positions}
        exact = {number: position for number, position in shown.items() if isinstance(position, ShardPlace)}
        passed = read_before(ours.shards, stated)
        listed = {shard.partition: shard for shard in ours.shards}
        defaults = {number: SHARD_END if number in passed else TRIM_HORIZON for number in listed}
        return cls(
            old_name=first.topic,
            new_name=first.new_topic,
            old=listed,
            copied_to=theirs,
            new={shard_range.partition: shard_range for shard_range in new},
            by_hash=by_hash,
            job_positions={number: (stated | exact).get(number) or defaults[number] for number in listed},
            stated=stated,
            unlisted=tuple(number for number, at in stated.items() if number not in listed and at != SHARD_END),
            contradiction=_contradiction(first.topic, stated, listed),
            trimmed=_may_have_lost(ours, epoch_ms(scene.old.taken_at)),
        )

    def met_by(self, number: int) -> tuple[int, ...]:
        return met(self.new[number], self.old)

    def place_in(self, number: int) -> ShardPlace:
        """Return the job's position in the unfinished old shards whose records a new shard gets."""
        positions = {old: self.stated.get(old, self.job_positions[old]) for old in self.met_by(number)}
        remaining = {old: position for old, position in positions.items() if position != SHARD_END}
        return in_shards(remaining or positions)


def _with_all_keys(topic: TopicState, shards: Sequence[ShardRange]) -> tuple[ShardRange, ...]:
    low, high = min(shard.low for shard in shards), max(shard.high for shard in shards)
    return tuple(ShardRange(partition=partition.partition, low=low, high=high) for partition in topic.partitions)


def _contradiction(stream: str, stated: Mapping[int, ShardPlace], listed: Mapping[int, ShardRange]) -> str:
    sentences = (
        contradiction(TopicPartition(stream, at), stated[at], listed[at]) for at in sorted(stated.keys() & listed)
    )
    return next(filter(None, sentences), "")


def _may_have_lost(topic: TopicState, now_ms: int) -> bool:
    born_s = whole_number((topic.id or "").rpartition("@")[2])
    kept_ms = whole_number(dict(topic.config).get("retention.ms", ""))
    return born_s is None or kept_ms is None or now_ms - born_s * 1000 > kept_ms


@dataclass(slots=True, kw_only=True)
class Search:
    streams: Streams
    copies: Copies
    content: ContentSettings
    read: Read
    """Reads the old stream."""
    progress: Progress
    old: dict[int, Window] = field(default_factory=dict)
    new: dict[int, Window] = field(default_factory=dict)
    since: dict[int, int | None] = field(default_factory=dict)
    explicit: bool = False
    from_start: bool = False
    """Whether the new side is read from its oldest record on, because its times cannot be used."""
    calls: int = 0

    def find(self, *, natives_excluded: bool) -> dict[int, ShardCut]:
        streams, results = self.streams, dict[int, ShardCut]()
        vague = {shard for shard, position in streams.job_positions.items() if position in (LATEST, AT_UNKNOWN_TIME)}
        if streams.unlisted or streams.contradiction:
            return results
        undecided = {shard for shard in streams.new if vague.isdisjoint(streams.met_by(shard))}
        for number in range(1, ROUNDS + 1):
            if not undecided:
                break
            self.progress("match records", number - 1, ROUNDS)
            self._read_around(undecided, self.content.window_records * GROWTH ** (number - 1))
            if self.explicit and vague:
                break
            cuts = match(
                [self._old_window(shard) for shard in self.old],
                [self._new_window(shard) for shard in self.new],
                explicit=self.explicit,
                apart=not streams.by_hash,
                natives_excluded=natives_excluded,
                trimmed=streams.trimmed,
                last=number == ROUNDS,
            )
            results |= {shard: cuts[shard] for shard in undecided if not self.unread(shard)}
            undecided = {shard for shard in undecided & results.keys() if results[shard].exactness is None}
        self.progress("match records", ROUNDS, ROUNDS)
        return results

    @property
    def previous_found(self) -> set[bool]:
        """For the positions after a record, whether that record was found."""
        positions = (
            (position.sequence, self.old.get(number)) for number, position in self.streams.job_positions.items()
        )
        return {
            sequence in window.numbers for sequence, window in positions if sequence is not None and window is not None
        }

    def unread(self, number: int) -> str:
        ours = {old: self.old[old] for old in self.olds(number) if old in self.old}
        failed = [(self.streams.old_name, old, window) for old, window in ours.items() if window.failure is not None]
        theirs = self.new.get(number)
        if theirs is not None and theirs.failure is not None:
            failed.append((self.streams.new_name, number, theirs))
        return f"{shard_id(failed[0][1])} of {failed[0][0]!r} gave no records: {failed[0][2].message}" if failed else ""

    def olds(self, number: int) -> Collection[int]:
        return self.streams.old if self.explicit else self.streams.met_by(number)

    def _read_around(self, undecided: Collection[int], reach: int) -> None:
        required = {old for number in undecided for old in self.olds(number)}
        self._read_old(required, reach)
        self._read_new(undecided, reach)
        if not self.explicit and is_explicit([*map(self._old_window, self.old), *map(self._new_window, self.new)]):
            self.explicit = True
            self._read_old(self.streams.old, reach)
            self._read_new(self.streams.new, reach)
        if not (self.copies.own_times or self.from_start) and self._lacks_copies():
            # The times are the producers' own: missing records may be before the window's begin.
            self.from_start = True
            self._read_new(self.streams.new, reach)

    def _lacks_copies(self) -> bool:
        copies = Counter(identity for window in self.new.values() for identity in window.identities)
        expected = Counter(h for window in self.old.values() for h in window.identities[max(0, window.read - 1) :])
        return bool(expected - copies)

    def _read_old(self, numbers: Iterable[int], reach: int) -> None:
        due = [number for number in sorted(numbers) if number not in self.old or not _is_whole(self.old[number])]
        tasks = [
            replace(self._task(self.streams.old_name, number), around=self.streams.job_positions[number], reach=reach)
            for number in due
        ]
        self.old |= dict(zip(due, self._given(self.read, tasks), strict=True))

    def _read_new(self, numbers: Iterable[int], reach: int) -> None:
        due = [number for number in sorted(numbers) if number not in self.new or not _is_whole(self.new[number])]
        tasks = []
        for shard in due:
            windows = [self.old[old] for old in self.olds(shard)]
            self.since[shard] = since = None if self.from_start else self._since(windows)
            parent = bool(self.streams.new[shard].parents) or self.streams.new[shard].closed
            scattered = parent or not self.streams.by_hash
            until = None if scattered or all(window.at_end for window in windows) else self._identities(shard, windows)
            # Both ends of a window, and foreign records between the copies.
            most = max(self.content.budget_records // GROWTH**2, 8 * reach)
            task = self._task(self.streams.new_name, shard)
            most = task.most_records if self.from_start else min(most, task.most_records)
            tasks.append(replace(task, since_ms=since, until=until, most_records=most))
        self.new |= dict(zip(due, self._given(self.copies.read, tasks), strict=True))

    def _since(self, windows: Sequence[Window]) -> int | None:
        """Return the earliest possible arrival of copies of the records in some windows; None for the oldest record."""
        if any(window.oldest_ms is None and not _is_whole(window) for window in windows):
            return None
        oldest = [window.oldest_ms for window in windows if window.oldest_ms is not None]
        return min(oldest) - self.content.clock_skew_s * 1000 if oldest else None

    def _task(self, name: str, number: int) -> WantedRecords:
        content = self.content
        return WantedRecords(
            topic=name,
            partition=number,
            whole_up_to=min(SMALL_LOGS * content.window_records, content.budget_records),
            most_records=content.budget_records,
            most_bytes=content.budget_bytes,
        )

    def _given(self, read: Read, tasks: Sequence[WantedRecords]) -> list[Window]:
        windows = read(tasks) if tasks else []
        self.calls += sum(window.calls for window in windows)
        for task, window in zip(tasks, windows, strict=True):
            refuse(task, window)
        return windows

    def _identities(self, number: int, windows: Iterable[Window]) -> frozenset[str]:
        shard = self.streams.new[number]
        return frozenset(
            identity
            for window in windows
            for identity, key in zip(window.identities, window.keys, strict=True)
            if self.explicit or shard.low <= key <= shard.high
        )

    def _old_window(self, number: int) -> ShardWindow:
        return _as_window(self.streams.old[number], self.old[number])

    def _new_window(self, number: int) -> ShardWindow:
        return _as_window(self.streams.new[number], self.new[number])


def _is_whole(window: Window) -> bool:
    return window.whole and window.at_end


def _as_window(shard: ShardRange, window: Window) -> ShardWindow:
    return ShardWindow(
        shard=shard,
        identities=window.identities,
        keys=window.keys,
        whole=window.whole,
        at_end=window.at_end,
        read=window.read,
    )


def refuse(task: WantedRecords, window: Window) -> None:
    """Accept a shard that does not exist, or that is not the position's; anything else ends the comparison.

    Raises:
        ClusterError: The stream refuses to be read, or does not answer.
    """
    shard = f"{shard_id(task.partition)} of stream {task.topic!r}"
    message = f"{shard}: expected its records, but {window.message}. No result was used."
    match window.failure:
        case ReadFailure.REFUSED:
            raise ClusterAuthError(
                message, fix="Grant kinesis:GetShardIterator and kinesis:GetRecords on both streams."
            )
        case ReadFailure.BUSY:
            raise ClusterError(message, fix="Other readers use up the quota of the stream: try again when they do not.")
        case ReadFailure.SILENT:
            raise ClusterUnreachableError(
                message, fix="Check the network, and that whatever reads reaches the endpoint."
            )
