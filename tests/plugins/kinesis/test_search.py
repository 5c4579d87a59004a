"""Which windows are read of the new side, and what is said where they tell nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from offsetwise.config import ContentSettings
from offsetwise.model import AnyPosition, Exactness, PartitionState, ShardRange, TopicState
from offsetwise.plugins.kinesis.stream.matching import StreamCopies
from offsetwise.plugins.kinesis.stream.matching.explanation import why_not
from offsetwise.plugins.kinesis.stream.matching.search import Search, Streams
from offsetwise.plugins.kinesis.stream.spec import after
from offsetwise.ports.windows import WantedRecords, Window
from offsetwise.progress import no_progress
from tests.with_cases import with_cases

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


def read_shard(tasks: Sequence[WantedRecords]) -> list[Window]:
    return [window(max(0, READ - one.reach), min(COUNT, READ + one.reach), read=min(READ, one.reach)) for one in tasks]


@dataclass
class Topic:
    """One partition, whose records all have the time 0, as their writers said."""

    own_times: bool
    part_label: str = "partition"
    asked: list[int | None] = field(default_factory=list)

    def read(self, tasks: Sequence[WantedRecords]) -> list[Window]:
        self.asked += [one.since_ms for one in tasks]
        return [window(0 if one.since_ms is None else COUNT, COUNT) for one in tasks]

    def before(self, number: int) -> AnyPosition:
        raise NotImplementedError(f"no proof is made here of record {number}")

    def position_at(
        self,
        number: int,
        index: int,
        *,
        windows: Mapping[int, Window],
        since_ms: int | None,  # noqa: ARG002 - as `Copies`
    ) -> int:
        return windows[number].numbers[index]


@with_cases(("own_times", "found"), [(False, Exactness.POSITION_EXACT), (True, Exactness.UNKNOWN)])
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
        job_positions={0: after(READ - 1)},
        unlisted=(),
        trimmed=False,
    )
    topic = Topic(own_times=own_times)
    search = Search(
        streams=streams, copies=topic, content=ContentSettings(window_records=8), read=read_shard, progress=no_progress
    )
    cut = search.find(natives_excluded=False)[0]

    assert cut.exactness is found
    assert topic.asked[0] == ARRIVED_MS + READ - 8 - 300_000
    assert (None in topic.asked) is not own_times
    assert cut.index == (None if own_times else READ)


def test_of_a_quiet_shard_a_time_is_named_that_misses_nothing() -> None:
    """No record arrived since those around the position, and older ones were not read."""
    half = ShardRange(partition=1, low=KEYS // 2, high=KEYS - 1)
    shards = {0: ShardRange(partition=0, low=0, high=KEYS // 2 - 1), 1: half}
    streams = Streams(
        old_name="orders",
        new_name="orders-eu",
        copied_to=TopicState(name="orders-eu", shards=tuple(shards.values())),
        old={0: ShardRange(partition=0, low=0, high=KEYS - 1)},
        new=shards,
        by_hash=True,
        job_positions={0: after(30)},
        unlisted=(),
        trimmed=False,
    )

    def around(tasks: Sequence[WantedRecords]) -> list[Window]:
        return [window(20, 40, read=11) for _ in tasks]

    def copied(tasks: Sequence[WantedRecords]) -> list[Window]:
        return [
            replace(window(20, 40), at_end=True)
            if one.partition == 0
            else replace(window(0, 0), whole=False, at_end=True)
            for one in tasks
        ]

    copies = StreamCopies(shards=shards, read=copied)
    search = Search(
        streams=streams, copies=copies, content=ContentSettings(window_records=8), read=around, progress=no_progress
    )
    cut = search.find(natives_excluded=False)[1]

    assert (cut.exactness, cut.index, cut.parts) == (Exactness.UNKNOWN, None, ())
    reason = why_not(search, 1, cut)
    assert "decide AT_TIMESTAMP:700020, which misses no unread record" in reason
    assert "Raise content.window_records" in reason
