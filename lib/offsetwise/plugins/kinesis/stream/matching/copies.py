from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from offsetwise.model import ShardRange
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, ShardPlace, after, at, at_time
from offsetwise.ports.windows import WantedRecords, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCopies:
    part_label: ClassVar[str] = "shard"
    own_times: ClassVar[bool] = True
    shards: Mapping[int, ShardRange]
    read: Callable[[Sequence[WantedRecords]], list[Window]]

    def position_at(
        self, number: int, index: int, *, windows: Mapping[int, Window], since_ms: int | None
    ) -> ShardPlace:
        """Return the place before a record of a window, in the words of engines: after the one before it."""
        window, shard = windows[number], self.shards[number]
        if shard.closed and window.at_end and index == len(window.numbers):
            return SHARD_END
        if index:
            return after(window.numbers[index - 1])
        parents = (windows.get(parent) for parent in shard.parents)
        begins = window.whole or any(parent is not None and parent.numbers for parent in parents)
        return TRIM_HORIZON if begins or since_ms is None else at_time(since_ms)

    def before(self, number: int) -> ShardPlace:
        return at(number)
