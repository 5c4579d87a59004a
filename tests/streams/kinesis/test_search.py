"""Which windows of a topic are read where its times are the writers' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from offsetwise.config import ContentSettings
from offsetwise.model import Exactness, PartitionState, ShardRange, TopicState
from offsetwise.progress import unheard
from offsetwise.streams.kinesis.matching.search import Search, Streams
from offsetwise.streams.kinesis.spec import after
from offsetwise.streams.windows import Wanted, Window

COUNT, READ = 400, 200
KEYS = 2**128
ARRIVED_MS = 1_000_000


def window(first: int, end: int, *, read: int = 0) -> Window:
    numbers = range(first, end)
    return Window(
        numbers=tuple(numbers),
        identities=tuple(f"r{number}" for number in numbers),
        keys=tuple(number * KEYS // COUNT for number in numbers),
        oldest_ms=ARRIVED_MS + first if numbers else None,
        whole=first == 0,
        at_end=end == COUNT,
        read=read,
    )


def read_shard(tasks: Sequence[Wanted]) -> list[Window]:
    return [window(max(0, READ - one.reach), min(COUNT, READ + one.reach), read=min(READ, one.reach)) for one in tasks]


@dataclass
class Topic:
    """One partition, whose records all have the time 0, as their writers said."""

    own_times: bool
    called: str = "partition"
    asked: list[int | None] = field(default_factory=list)

    def read(self, tasks: Sequence[Wanted]) -> list[Window]:
        self.asked += [one.since_ms for one in tasks]
        return [window(0 if one.since_ms is None else COUNT, COUNT) for one in tasks]

    def place(
        self,
        number: int,
        index: int,
        *,
        windows: Mapping[int, Window],
        since_ms: int | None,  # noqa: ARG002 - as `Copies`
    ) -> int:
        return windows[number].numbers[index]


@pytest.mark.parametrize(("own_times", "found"), [(False, Exactness.POSITION_EXACT), (True, Exactness.UNKNOWN)])
def test_where_times_are_the_writers_own_a_partition_that_lacks_copies_is_read_from_its_start(
    own_times: bool, found: Exactness
) -> None:
    shard = ShardRange(partition=0, low=0, high=KEYS - 1)
    streams = Streams(
        old_name="orders",
        new_name="orders",
        copied_to=TopicState(name="orders", partitions=(PartitionState(partition=0),)),
        old={0: shard},
        new={0: shard},
        by_hash=False,
        places={0: after(READ - 1)},
        gone=(),
        trimmed=False,
    )
    topic = Topic(own_times=own_times)
    search = Search(
        streams=streams, copies=topic, content=ContentSettings(window_records=8), read=read_shard, progress=unheard
    )
    cut = search.find(natives_excluded=False)[0]

    assert cut.exactness is found
    assert topic.asked[0] == ARRIVED_MS + READ - 8 - 300_000
    assert (None in topic.asked) is not own_times
    assert cut.index == (None if own_times else READ)
