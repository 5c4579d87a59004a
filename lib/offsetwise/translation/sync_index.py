"""All retained offset syncs, indexed, so that a position is bracketed as narrowly as the syncs topic allows.

MirrorMaker keeps 64 slots in memory; its topic holds more. Two events make earlier syncs worthless for a position, and
both begin a new *run*: MirrorMaker went back on the source (a smaller upstream), or its copies went back on the target
(the topic was recreated there). Within a run upstream and downstream rise together, so a run can be searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from offsetwise.model import OffsetSync, TopicPartition

Int64s: TypeAlias = NDArray[np.int64]


class SyncIndex:
    def __init__(
        self, partitions: Sequence[TopicPartition], ordinal: Int64s, upstream: Int64s, downstream: Int64s
    ) -> None:
        """Index syncs given as columns in log order.

        Args:
            partitions: (topic, partition) pairs.
            ordinal: For each sync, the index of its partition in `partitions`.
            upstream: For each sync, the offset on the source.
            downstream: For each sync, the offset on the target.
        """
        order = np.argsort(ordinal, kind="stable")
        self._number = {pair: number for number, pair in enumerate(partitions)}
        self._upstream, self._downstream = upstream[order], downstream[order]
        self._begin = np.searchsorted(ordinal[order], np.arange(len(partitions) + 1))
        self._runs = _runs(ordinal[order], self._upstream, self._downstream)

    @classmethod
    def of(cls, syncs: Iterable[OffsetSync]) -> SyncIndex:
        numbers: dict[TopicPartition, int] = {}
        rows = [
            (numbers.setdefault(sync.topic_partition, len(numbers)), sync.upstream, sync.downstream) for sync in syncs
        ]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(tuple(numbers), columns[:, 0], columns[:, 1], columns[:, 2])

    def survived(self, topic: str, partition: int) -> int:
        begin, end = self._slice(topic, partition)
        return end - begin

    def syncs(self, topic: str, partition: int) -> tuple[OffsetSync, ...]:
        begin, end = self._slice(topic, partition)
        return tuple(self._sync(topic, partition, at) for at in range(begin, end))

    def around(
        self, topic: str, partition: int, position: int
    ) -> tuple[tuple[OffsetSync | None, OffsetSync | None], ...]:
        """Return, of every run, the newest sync at or before a position and the first one after it, the last run first.

        Earlier runs describe older copies. They help if MirrorMaker went back and copied again from before the
        position, and mislead if the source topic was recreated; only records can show that.
        """
        begin, end = self._slice(topic, partition)
        pairs = []
        while end > begin:
            start = int(self._runs[end - 1])
            at = start + int(np.searchsorted(self._upstream[start:end], position, side="right")) - 1
            floor = self._sync(topic, partition, at) if at >= start else None
            ceiling = self._sync(topic, partition, at + 1) if at + 1 < end else None
            pairs.append((floor, ceiling))
            end = start
        return tuple(pairs)

    def _slice(self, topic: str, partition: int) -> tuple[int, int]:
        number = self._number.get(TopicPartition(topic, partition))
        return (0, 0) if number is None else (int(self._begin[number]), int(self._begin[number + 1]))

    def _sync(self, topic: str, partition: int, at: int) -> OffsetSync:
        return OffsetSync(
            topic=topic,
            partition=partition,
            upstream=int(self._upstream[at]),
            downstream=int(self._downstream[at]),
        )


def _runs(ordinal: Int64s, upstream: Int64s, downstream: Int64s) -> Int64s:
    starts = np.ones(len(ordinal), dtype=np.bool_)
    same_place = (upstream[1:] == upstream[:-1]) & (downstream[1:] == downstream[:-1])
    # Two records cannot share one downstream offset: one that does not rise was written to another log.
    went_back = (upstream[1:] < upstream[:-1]) | ((downstream[1:] <= downstream[:-1]) & ~same_place)
    starts[1:] = (ordinal[1:] != ordinal[:-1]) | went_back
    runs: Int64s = np.maximum.accumulate(np.where(starts, np.arange(len(ordinal)), 0)) if len(ordinal) else ordinal
    return runs
