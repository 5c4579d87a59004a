"""The truth about logs on real clusters, from whole partitions read by a plain consumer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from offsetwise.config import ClusterConfig, SparkSettings
from offsetwise.model import Cluster, IsolationLevel, TopicPartition
from offsetwise.pipeline.content import ContentMatch, FoundPosition
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.shipping import have_client, ship
from offsetwise.pipeline.window_reader import Ask, WindowReader
from offsetwise.plugins.kafka.stream import reader as kafka
from offsetwise.ports.log_observations import SeenLog
from offsetwise.translation.search import SearchTarget, Span
from tests.lab.reading import Log, Read, read_log
from tests.translation.logs import Cost, Entry, Pair, cost_by_content, cost_by_origin, right_somewhere

LogRanges = Callable[[Cluster, Sequence[TopicPartition]], Mapping[TopicPartition, SeenLog]]
"""How the log ranges are read again after the records."""


@dataclass(frozen=True, slots=True)
class Both:
    """One partition as both clusters hold it."""

    partition: TopicPartition
    new_topic: str
    old: Log
    new: Log
    timed: bool

    def pair(self, position: int) -> Pair:
        """Return the logs as the checks on generated logs take them. Origins follow from unique serials."""
        origins: dict[str | None, int] = {r.serial: r.offset for r in self.old.records if r.serial is not None}
        return Pair(
            old=tuple(Entry(r.offset, self._identity(r), 0, r.offset) for r in self.old.records),
            new=tuple(Entry(r.offset, self._identity(r), 0, origins.get(r.serial)) for r in self.new.records),
            target=SearchTarget(
                position=position,
                old=Span(start=self.old.start, end=self.old.end),
                new=Span(start=self.new.start, end=self.new.end),
            ),
        )

    def _identity(self, record: Read) -> tuple[bytes, int | None]:
        return record.value, record.timestamp_ms if self.timed else None

    def cost(self, position: int, place: int) -> Cost:
        """Return what resuming at a place would do: the better of counting by content and by origin."""
        pair = self.pair(position)
        content = cost_by_content(pair, place)
        return content if content.right else _cost_by_origin_at_best(pair, place)

    def answerable(self, position: int) -> bool:
        """Whether a copy of any record exists on the new log, and a place there is right and stays so."""
        if not {self._identity(r) for r in self.old.records} & {self._identity(r) for r in self.new.records}:
            return False
        places = {self.new.start, *(r.offset for r in self.new.records), *(r.offset + 1 for r in self.new.records)}
        costs = (cost_by_content, _cost_by_origin_at_best)
        pairs = self.pair(position), self.caught_up().pair(position)
        return all(any(right_somewhere(places, partial(cost, pair)) for cost in costs) for pair in pairs)

    def caught_up(self) -> Both:
        """Return the logs as they are once the mirror has copied what follows its last copy on the old log."""
        origins = {self._identity(r): r.offset for r in self.old.records}
        copied = [origins[self._identity(r)] for r in self.new.records if self._identity(r) in origins]
        coming = [r for r in self.old.records if copied and r.offset > copied[-1]]
        appended = (replace(r, offset=self.new.end + index) for index, r in enumerate(coming))
        return replace(self, new=replace(self.new, records=(*self.new.records, *appended)))

    def waits_for_the_mirror(self, position: int) -> bool:
        """Whether the last record read is not on the new log, nor any later one."""
        last = max((i for i, r in enumerate(self.old.records) if r.offset < position), default=0)
        return not {self._identity(r) for r in self.old.records[last:]} & {self._identity(r) for r in self.new.records}

    def everywhere(self) -> list[int]:
        """Return positions at every kind: below log start, at it, behind, in the middle, in gaps, at the end."""
        start, end = self.old.start, self.old.end
        held = {record.offset for record in self.old.records}
        gaps = [offset for offset in range(start, end) if offset not in held]
        wanted = [
            start - 5,
            start,
            start + 1,
            start + 3,
            start + 64,
            (start + end) // 2,
            end - 65,
            end - 2,
            end - 1,
            end,
        ]
        return sorted({p for p in (*wanted, *gaps[:2], *gaps[len(gaps) // 2 :][:2], *gaps[-2:]) if 0 <= p <= end})


def _cost_by_origin_at_best(pair: Pair, place: int) -> Cost:
    """Count by origin, and take identical records for each other where that skips less."""
    origin = cost_by_origin(pair, place)
    return replace(origin, skip=min(cost_by_content(pair, place).skip, origin.skip))


def read_both(
    old: str, new: str, partition: TopicPartition, new_topic: str, *, isolation: str = "read_uncommitted"
) -> Both:
    """Read one partition of both clusters whole."""
    logs = (
        read_log(old, partition.topic, partition.partition, isolation=isolation),
        read_log(new, new_topic, partition.partition, isolation=isolation),
    )
    timed = not any(record.log_append for log in logs for record in log.records)
    return Both(partition, new_topic, *logs, timed)


def match_of(
    old: str,
    new: str,
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    spark: SparkSettings | None = None,
    log_ranges: LogRanges | None = None,
    by_clients: bool | None = None,
    salt: bytes | None = None,
) -> ContentMatch:
    """Make a search on Spark.

    Args:
        old: Bootstrap servers of the old cluster.
        new: Those of the new one.
        isolation: What the job reads.
        spark: Where Spark runs.
        log_ranges: How the log ranges are read again.
        by_clients: Whether the workers' own clients read narrow windows, or Spark's source reads everything. By
            default as in the product: clients where all workers have one.
        salt: Of the hashes; a new one by default.
    """
    configs = {
        Cluster.OLD: ClusterConfig(name="old", properties={"bootstrap.servers": old}),
        Cluster.NEW: ClusterConfig(name="new", properties={"bootstrap.servers": new}),
    }
    session = open_session(spark or SparkSettings(master="local[2]"), kafka=True)
    ship(session)
    properties = {
        side: {"bootstrap.servers": str(each.properties["bootstrap.servers"])} for side, each in configs.items()
    }
    reader = WindowReader(
        spark=session,
        properties=properties,
        clients=properties if (have_client(session) if by_clients is None else by_clients) else None,
        isolation=isolation,
        progress=lambda *_: None,
        salt=salt or os.urandom(16),
    )
    return ContentMatch(
        reader=reader,
        offsets_for_times=lambda times: kafka.offsets_for_times(configs[Cluster.NEW], times),
        log_ranges=log_ranges or (lambda side, wanted: kafka.log_ranges(configs[side], wanted)),
    )


def find(
    old: str,
    new: str,
    positions: Mapping[Both, Iterable[int]],
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    window: int = 64,
    budget: int = 200_000,
    budget_bytes: int = 1_000_000_000,
    natives_excluded: bool = False,
    preserving: bool = False,
    spark: SparkSettings | None = None,
    log_ranges: LogRanges | None = None,
    by_clients: bool | None = None,
    salt: bytes | None = None,
    brackets: tuple[Span, ...] = (),
) -> dict[tuple[Both, int], FoundPosition]:
    """Find positions by content on Spark, all in one run; `brackets` say where others claim that they lie."""
    match = match_of(
        old, new, isolation=isolation, spark=spark, log_ranges=log_ranges, by_clients=by_clients, salt=salt
    )
    asks = {
        (both, position): Ask(
            partition=both.partition,
            new_topic=both.new_topic,
            target=replace(
                both.pair(position).target,
                window=window,
                budget=budget,
                budget_bytes=budget_bytes,
                brackets=brackets,
            ),
            natives_excluded=natives_excluded,
            preserving=preserving,
        )
        for both, wanted in positions.items()
        for position in wanted
    }
    found = match.find(list(asks.values()))
    for error in match.reader.unread.values():
        raise error
    return {key: found[ask] for key, ask in asks.items()}
