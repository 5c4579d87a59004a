"""Finds the positions of a job on another stream by the records of both: windows are read, and the cut decides.

The result is a position for each shard of the new stream, whatever shards of the old one its records come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from offsetwise.comparison import Scene
from offsetwise.comparison.matching import Identified, Matched, Run
from offsetwise.comparison.matching import copies_of as copies_in
from offsetwise.config import ClusterConfig
from offsetwise.model import BelongsTo, Cluster, ShardRange, TopicState, Writers
from offsetwise.plugins.kinesis.stream.client import access_of
from offsetwise.plugins.kinesis.stream.matching.again import read_again
from offsetwise.plugins.kinesis.stream.matching.explanation import match_of, nowhere
from offsetwise.plugins.kinesis.stream.matching.search import Search, Streams
from offsetwise.plugins.kinesis.stream.records import AT_ONCE, identified, read_windows
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, ShardPlace, after, at, at_time
from offsetwise.ports.windows import WantedRecords, Window
from offsetwise.progress import Progress
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import Match


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCopies:
    part_label: ClassVar[str] = "shard"
    own_times: ClassVar[bool] = True
    shards: Mapping[int, ShardRange]
    read: Callable[[Sequence[WantedRecords]], list[Window]]

    def position_at(
        self, number: int, index: int, *, windows: Mapping[int, Window], since_ms: int | None
    ) -> ShardPlace:
        """Return the position before a record of a window, as engines express it: after the record before it."""
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


__all__ = ["copies_of", "identified", "match_records", "read_again"]


def match_records(scene: Scene, positions: Sequence[Query], run: Run, salt: bytes, progress: Progress) -> Matched:
    migration, read = scene.migration, _reading(scene.migration.source, run, salt)
    matches: list[Match] = []
    observed: set[bool] = set()
    by_stream: dict[tuple[str, str], list[Query]] = {}
    for position in positions:
        by_stream.setdefault((position.of.source, position.topic), []).append(position)
    for some in by_stream.values():
        streams = Streams.of(scene, some)
        if streams is None:
            message = "Which shards both streams have is not known."
            matches += [Match(query=query, stream=nowhere(message)) for query in some]
            continue
        copies = copies_in(scene, streams.copied_to, run, salt, partial(identified, salt))
        search = Search(streams=streams, copies=copies, content=migration.content, read=read, progress=progress)
        cuts = search.find(natives_excluded=migration.writers is Writers.MIRROR_ONLY)
        matches += [
            match_of(scene, some[0], search, number, cuts.get(number), salt=salt) for number in sorted(streams.new)
        ]
        observed |= search.previous_found
    reason = f"The records at the positions are on {scene.old.name!r}."
    belongs = BelongsTo(cluster=Cluster.OLD, reason=reason) if observed == {True} else None
    return Matched(matches=tuple(matches), belongs=belongs)


def copies_of(
    scene: Scene,
    topic: TopicState,
    run: Run,
    salt: bytes,
    identified: Identified,  # noqa: ARG001 - shards are read as those of the old stream
) -> StreamCopies:
    shards = {shard.partition: shard for shard in topic.shards}
    return StreamCopies(shards=shards, read=_reading(scene.migration.target, run, salt))


def _reading(config: ClusterConfig, run: Run, salt: bytes) -> Callable[[Sequence[WantedRecords]], list[Window]]:
    work = partial(read_windows, access_of(config), salt)
    return partial(run, work, kind=Window, at_once=AT_ONCE, packages=("boto3",))
