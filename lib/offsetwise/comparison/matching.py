"""What is asked of a stream whose records say where positions are on another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Final, Protocol, TypeVar

from offsetwise.comparison import Scene
from offsetwise.model import AnyPosition, BelongsTo, TopicState
from offsetwise.ports.windows import WantedRecords, Window
from offsetwise.progress import Progress
from offsetwise.registry import MATCHING
from offsetwise.translation.query import Query
from offsetwise.translation.resolve import Match

SALT_BYTES: Final = 16

Task = TypeVar("Task")
Result = TypeVar("Result")


class Run(Protocol):
    def __call__(
        self,
        work: Callable[[Sequence[Task]], list[Result]],
        tasks: Sequence[Task],
        *,
        kind: type[Result],
        at_once: int,
        packages: tuple[str, ...],
    ) -> list[Result]:
        """Return the results in the order of the tasks.

        Args:
            work: Does some tasks, and gives their results in the same order.
            tasks: All of them.
            kind: Of a result.
            at_once: How many `work` does at the same time.
            packages: What it needs beside the standard library.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    matches: tuple[Match, ...]
    """A position for each shard of the new streams."""
    belongs: BelongsTo | None
    """The old cluster, where the records at the positions were found there; else None."""


class Copies(Protocol):
    """What may hold copies of a stream's records: another stream, or a topic."""

    @property
    def part_label(self) -> str:
        """What people call one of its shards or partitions."""

    @property
    def own_times(self) -> bool:
        """Whether its records have the times at which they came to it, and none that their writers say."""

    def read(self, tasks: Sequence[WantedRecords]) -> list[Window]:
        """Read windows; no copy of a record lies below one that begins at a time before it came to the old stream.

        Where times are the writers' own, that is not sure.

        Raises:
            ClusterError: It refuses to be read, or gives no answer.
        """

    def position_at(
        self, number: int, index: int, *, windows: Mapping[int, Window], since_ms: int | None
    ) -> AnyPosition:
        """Return the place before a record.

        Args:
            number: Of the shard or partition.
            index: Of the record in its window; behind the last one where it is as large as the window.
            windows: Those that were read.
            since_ms: The time that its window begins at; None where that is the oldest record.
        """

    def before(self, number: int) -> AnyPosition:
        """Return the place before the record of a number, as windows have them."""


Identified = Callable[[bytes, bytes], tuple[str, int]]
"""Gives, of a record's key and data, what is equal of a copy, and the hash of the key."""


class CopiesOf(Protocol):
    def __call__(self, scene: Scene, topic: TopicState, run: Run, salt: bytes, identified: Identified) -> Copies:
        """Return what reads a topic of the new cluster.

        Args:
            scene: What was read of both clusters.
            topic: The topic.
            run: Lets shards be read.
            salt: Keys the hashes.
            identified: How records are told apart, hashed with the same salt.
        """


class Matching(Protocol):
    def __call__(self, scene: Scene, positions: Sequence[Query], run: Run, salt: bytes, progress: Progress) -> Matched:
        """Find the place of a job in each shard of other streams.

        Args:
            scene: What was read of both clusters.
            positions: Of the job, in shards of the old streams.
            run: Lets shards be read.
            salt: Keys the hashes.
            progress: Told each round.

        Raises:
            ClusterError: A stream refuses to be read, or gives no answer.
        """


def copies_of(scene: Scene, topic: TopicState, run: Run, salt: bytes, identified: Identified) -> Copies:
    of: CopiesOf = matching_of(scene.migration.target.stream).copies_of
    return of(scene, topic, run, salt, identified)


def matching_of(stream: str) -> ModuleType:
    module: ModuleType = MATCHING.load(stream)
    return module
