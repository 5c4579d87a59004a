"""Every retained offset sync, indexed, so that a position is bracketed as narrowly as the syncs topic allows.

MirrorMaker keeps 64 slots in memory; its topic holds more. Two things make a sync worthless for a position, and both
begin a new *run*: MirrorMaker went back on the source (a smaller upstream), or its copies went back on the target
(the topic was recreated there). Within a run upstream and downstream rise together, so a run can be searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsetwise.model import LogRange, OffsetSync

Int64s: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Between which offsets of the new log a position lies, if its two syncs are right."""

    lo: int | None
    """The lowest place; None where the new log start would be it and is unknown."""
    hi: int | None
    """The highest place; None where the new high watermark would be it and is unknown."""
    floor: OffsetSync | None
    """The newest sync at or before the position."""
    ceiling: OffsetSync | None
    """The first sync after the position."""
    survived: int
    """Syncs of the partition that the topic still holds, in all runs."""
    width: int | None
    """`hi - lo`; 0 when a sync stands at the position itself."""
    linear: int | None
    """The place found by counting on from the floor, where both syncs have the same distance; else None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Brackets:
    """The brackets of many positions, one entry each. Entries without a bound are 0 and flagged."""

    lo: Int64s
    hi: Int64s
    has_floor: Flags
    has_ceiling: Flags
    linear: Int64s
    has_linear: Flags


class SyncIndex:
    """All retained syncs of a syncs topic, by topic and partition."""

    def __init__(
        self, partitions: Sequence[tuple[str, int]], ordinal: Int64s, upstream: Int64s, downstream: Int64s
    ) -> None:
        """Index syncs given as columns in log order.

        Args:
            partitions: (topic, partition) pairs.
            ordinal: Per sync, which of `partitions` it belongs to.
            upstream: Per sync, the offset on the source.
            downstream: Per sync, the offset on the target.
        """
        order = np.argsort(ordinal, kind="stable")
        self.partitions = tuple(partitions)
        self._number = {pair: number for number, pair in enumerate(self.partitions)}
        self._upstream, self._downstream = upstream[order], downstream[order]
        self._begin = np.searchsorted(ordinal[order], np.arange(len(self.partitions) + 1))
        self._runs = _runs(ordinal[order], self._upstream, self._downstream)

    @classmethod
    def of(cls, syncs: Iterable[OffsetSync]) -> SyncIndex:
        """Index syncs in log order."""
        numbers: dict[tuple[str, int], int] = {}
        rows = [
            (numbers.setdefault((sync.topic, sync.partition), len(numbers)), sync.upstream, sync.downstream)
            for sync in syncs
        ]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(tuple(numbers), columns[:, 0], columns[:, 1], columns[:, 2])

    def survived(self, topic: str, partition: int) -> int:
        """Count the retained syncs of one partition."""
        begin, end = self._slice(topic, partition)
        return end - begin

    def syncs(self, topic: str, partition: int) -> tuple[OffsetSync, ...]:
        """Give the retained syncs of one partition in log order."""
        begin, end = self._slice(topic, partition)
        return tuple(self._sync(topic, partition, at) for at in range(begin, end))

    def bracket(self, topic: str, partition: int, position: int, new: LogRange) -> Bracket | None:
        """Bracket one position by the last run; None where there is no sync for the partition."""
        return next(iter(self.brackets_by_run(topic, partition, position, new)), None)

    def brackets_by_run(self, topic: str, partition: int, position: int, new: LogRange) -> tuple[Bracket, ...]:
        """Bracket one position by every run, the last run first.

        Earlier runs describe older copies. They help where MirrorMaker went back and copied again from behind the
        position, and mislead where the source topic was recreated; only records can tell.
        """
        begin, end = self._slice(topic, partition)
        made = []
        while end > begin:
            start = int(self._runs[end - 1])
            at = start + int(np.searchsorted(self._upstream[start:end], position, side="right")) - 1
            floor = self._sync(topic, partition, at) if at >= start else None
            ceiling = self._sync(topic, partition, at + 1) if at + 1 < end else None
            made.append(_bracket(position, floor, ceiling, self.survived(topic, partition), new))
            end = start
        return tuple(made)

    def bracket_many(self, ordinal: Int64s, position: Int64s, log_start: Int64s, hw: Int64s) -> Brackets:
        """Bracket many positions by the last runs.

        Args:
            ordinal: Per position, which of `partitions` it belongs to.
            position: Offsets on the source.
            log_start: Per position, the new log start.
            hw: Per position, the new high watermark.
        """
        if not len(self._upstream):
            nothing, no = np.zeros_like(position), np.zeros(len(position), dtype=np.bool_)
            return Brackets(lo=log_start, hi=hw, has_floor=no, has_ceiling=no, linear=nothing, has_linear=no)
        first, at, last = self._locate(ordinal, position)
        below, above = np.maximum(at, 0), np.minimum(at + 1, len(self._upstream) - 1)
        u1, d1, u2, d2 = self._upstream[below], self._downstream[below], self._upstream[above], self._downstream[above]
        has_floor, has_ceiling = (at >= first) & (d1 < hw), at + 1 < last
        exact = has_floor & (u1 == position)
        lo = np.where(has_floor, np.maximum(np.where(exact, d1, d1 + 1), log_start), log_start)
        hi = np.where(exact, lo, np.where(has_ceiling, np.maximum(np.minimum(d2, hw), log_start), hw))
        linear = d1 + (position - u1)
        has_linear = has_floor & (exact | (has_ceiling & (u2 - u1 == d2 - d1))) & (linear >= lo) & (linear <= hi)
        return Brackets(
            lo=lo,
            hi=hi,
            has_floor=has_floor,
            has_ceiling=has_ceiling,
            linear=linear * has_linear,
            has_linear=has_linear,
        )

    def _locate(self, ordinal: Int64s, position: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Give, per position, where the last run begins, the last sync at or before it, and where the run ends."""
        order = np.argsort(ordinal.astype(np.int32), kind="stable")
        edges = np.searchsorted(ordinal[order], np.arange(len(self.partitions) + 1))
        grouped = position[order]
        found = np.zeros((3, len(position)), dtype=np.int64)
        for number in np.flatnonzero(np.diff(edges)):
            rows, begin, end = slice(edges[number], edges[number + 1]), self._begin[number], self._begin[number + 1]
            start = self._runs[end - 1] if end > begin else end
            at = start - 1 + np.searchsorted(self._upstream[start:end], grouped[rows], side="right")
            found[0, rows], found[1, rows], found[2, rows] = start, at, end
        located = np.empty_like(found)
        located[:, order] = found
        return located[0], located[1], located[2]

    def _slice(self, topic: str, partition: int) -> tuple[int, int]:
        number = self._number.get((topic, partition))
        return (0, 0) if number is None else (int(self._begin[number]), int(self._begin[number + 1]))

    def _sync(self, topic: str, partition: int, at: int) -> OffsetSync:
        return OffsetSync(
            topic=topic,
            partition=partition,
            upstream=int(self._upstream[at]),
            downstream=int(self._downstream[at]),
        )


def _bracket(
    position: int, floor: OffsetSync | None, ceiling: OffsetSync | None, survived: int, new: LogRange
) -> Bracket:
    start, end = new.log_start, new.hw
    if floor is not None and end is not None and floor.downstream >= end:
        floor = None  # its record is not on the new log, so it bounds nothing
    hi = end if ceiling is None else _at_most(ceiling.downstream, end)
    if floor is None:
        lo = start
    elif floor.upstream == position:
        lo = hi = _at_least(floor.downstream, start)
    else:
        lo = _at_least(floor.downstream + 1, start)
    hi = None if hi is None else _at_least(hi, start)
    linear = _linear(position, floor, ceiling)
    if linear is not None and not ((lo is None or lo <= linear) and (hi is None or linear <= hi)):
        linear = None
    return Bracket(
        lo=lo,
        hi=hi,
        floor=floor,
        ceiling=ceiling,
        survived=survived,
        width=None if lo is None or hi is None else hi - lo,
        linear=linear,
    )


def _linear(position: int, floor: OffsetSync | None, ceiling: OffsetSync | None) -> int | None:
    if floor is None:
        return None
    same = ceiling is not None and ceiling.upstream - floor.upstream == ceiling.downstream - floor.downstream
    return floor.downstream + position - floor.upstream if same or floor.upstream == position else None


def _at_least(offset: int, bound: int | None) -> int:
    return offset if bound is None else max(offset, bound)


def _at_most(offset: int, bound: int | None) -> int:
    return offset if bound is None else min(offset, bound)


def _runs(ordinal: Int64s, upstream: Int64s, downstream: Int64s) -> Int64s:
    """Give, per sync, where its run begins."""
    starts = np.ones(len(ordinal), dtype=np.bool_)
    same_place = (upstream[1:] == upstream[:-1]) & (downstream[1:] == downstream[:-1])
    # Two records cannot share one downstream offset: a downstream that does not rise was written to another log.
    went_back = (upstream[1:] < upstream[:-1]) | ((downstream[1:] <= downstream[:-1]) & ~same_place)
    starts[1:] = (ordinal[1:] != ordinal[:-1]) | went_back
    runs: Int64s = np.maximum.accumulate(np.where(starts, np.arange(len(ordinal)), 0)) if len(ordinal) else ordinal
    return runs
