"""The records of both streams' shards, and the ranges of their hash keys that are judged separately."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from offsetwise.model import ShardRange


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardWindow:
    """Consecutive records of one shard, in order."""

    shard: ShardRange
    identities: Sequence[str] = ()
    keys: Sequence[int] = ()
    """The hash of each record's partition key."""
    whole: bool = True
    """Whether they begin at the shard's oldest record. In any case, windows of the new stream begin early enough that
    no earlier record can be a copy of a record in a window of the old one."""
    at_end: bool = True
    """Whether they end at the shard's newest record."""
    read: int = 0
    """In the old stream: how many of them the job has read."""


@dataclass(frozen=True, slots=True)
class IndexStretch:
    window: ShardWindow
    at: Sequence[int]

    @property
    def split(self) -> int:
        """How many of them the job has read."""
        return bisect_left(self.at, self.window.read)

    def identities(self, start: int, end: int) -> list[str]:
        return [self.window.identities[index] for index in self.at[start:end]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One range of the hash keys, and the lines of shards that cover it; parents precede children."""

    old: tuple[IndexStretch, ...]
    new: tuple[IndexStretch, ...]


def cells(old: Sequence[ShardWindow], new: Sequence[ShardWindow]) -> Iterator[Cell]:
    for stretches in _lines((*old, *new)):
        yield Cell(
            old=_in_line(stretch for at, stretch in stretches.items() if at < len(old)),
            new=_in_line(stretch for at, stretch in stretches.items() if at >= len(old)),
        )


def _lines(windows: Sequence[ShardWindow]) -> Iterator[dict[int, IndexStretch]]:
    lows = sorted({low for window in windows for low in (window.shard.low, window.shard.high + 1)})
    lines: dict[tuple[int, ...], list[int]] = {}
    for number, low in enumerate(lows[:-1]):
        line = tuple(at for at, window in enumerate(windows) if window.shard.low <= low <= window.shard.high)
        lines.setdefault(line, []).append(number)
    inside = [_by_stretch(window, lows) for window in windows]
    for line, numbers in lines.items():
        yield {
            at: IndexStretch(windows[at], sorted(index for number in numbers for index in inside[at].get(number, ())))
            for at in line
        }


def _by_stretch(window: ShardWindow, lows: Sequence[int]) -> dict[int, list[int]]:
    results: dict[int, list[int]] = {}
    for index, key in enumerate(window.keys):
        # A record with an explicit hash key is outside its shard's keys: the nearest range of the shard takes it.
        nearest = min(max(key, window.shard.low), window.shard.high)
        results.setdefault(bisect_right(lows, nearest) - 1, []).append(index)
    return results


def _in_line(stretches: Iterable[IndexStretch]) -> tuple[IndexStretch, ...]:
    """Order shards along their lineage: a stream gives a child a higher number than its parents."""
    return tuple(sorted(stretches, key=lambda stretch: stretch.window.shard.partition))


def unkeyed(old: Sequence[ShardWindow], new: Sequence[ShardWindow], *, explicit: bool) -> Iterator[Cell]:
    """Yield a cell for each new shard and line of old ones: the records of the line that the new shard has copies of.

    Of the new shard's records, those whose keys the line covers. With explicit hash keys, which lead to no line either:
    all except those that only other old shards are known to have.
    """
    identities = [set(window.identities) for window in new]
    if not explicit:
        for stretches in _lines((*old, *new)):
            line = _in_line(stretch for at, stretch in stretches.items() if at < len(old))
            for at, here in enumerate(identities, start=len(old)):
                yield Cell(old=_copied(line, here), new=(stretches[at],))
        return
    known = {identity for window in old for identity in window.identities}
    for old_window in old:
        others = known.difference(old_window.identities)
        line = (IndexStretch(old_window, range(len(old_window.identities))),)
        for shard_window, here in zip(new, identities, strict=True):
            its = [at for at, identity in enumerate(shard_window.identities) if identity not in others]
            yield Cell(old=_copied(line, here), new=(IndexStretch(shard_window, its),))


def _copied(line: Iterable[IndexStretch], here: Collection[str]) -> tuple[IndexStretch, ...]:
    return tuple(IndexStretch(of.window, [at for at in of.at if of.window.identities[at] in here]) for of in line)


def is_explicit(windows: Sequence[ShardWindow]) -> bool:
    """Return whether a record is in a shard that its partition key does not lead to."""
    return any(not window.shard.low <= key <= window.shard.high for window in windows for key in window.keys)


def met(shard: ShardRange, others: Mapping[int, ShardRange]) -> tuple[int, ...]:
    return tuple(
        number
        for number, shard_range in others.items()
        if shard_range.low <= shard.high and shard.low <= shard_range.high
    )
