"""The interface of streams whose records show where positions are on another stream."""

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
            work: Processes some tasks and returns their results in the same order.
            tasks: All tasks.
            kind: The type of a result.
            at_once: How many tasks `work` takes at a time.
            packages: The packages that it needs besides the standard library.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    matches: tuple[Match, ...]
    """A position for each shard of the new streams."""
    belongs: BelongsTo | None
    """The old cluster, if the records at the positions were found there; else None."""


class Copies(Protocol):
    """A stream or topic that may hold copies of another stream's records."""

    @property
    def part_label(self) -> str:
        """The noun for one of its shards or partitions."""

    @property
    def own_times(self) -> bool:
        """Whether its records have arrival times, and no times set by their writers."""

    def read(self, tasks: Sequence[WantedRecords]) -> list[Window]:
        """Read windows.

        If a window begins at a time before the record came to the old stream, no copy of it is below, unless times are
        set by writers.

        Raises:
            ClusterError: The stream rejects the read, or does not answer.
        """

    def position_at(
        self, number: int, index: int, *, windows: Mapping[int, Window], since_ms: int | None
    ) -> AnyPosition:
        """Return the position before a record.

        Args:
            number: The number of the shard or partition.
            index: The index of the record in its window; the position is after the last one if it equals the length.
            windows: The windows that were read.
            since_ms: The time at which its window begins; None for the oldest record.
        """

    def before(self, number: int) -> AnyPosition:
        """Return the position before the record of a number in windows."""


Identified = Callable[[bytes, bytes], tuple[str, int]]
"""Returns, from a record's key and data, the identity that it shares with copies, and the hash of the key."""


class CopiesOf(Protocol):
    def __call__(self, scene: Scene, topic: TopicState, run: Run, salt: bytes, identified: Identified) -> Copies:
        """Return the reader of a topic of the new cluster.

        Args:
            scene: The readings of both clusters.
            topic: The topic.
            run: Runs the reading of shards.
            salt: Keys the hashes.
            identified: Returns identities, hashed with the same salt.
        """


class Matching(Protocol):
    def __call__(self, scene: Scene, positions: Sequence[Query], run: Run, salt: bytes, progress: Progress) -> Matched:
        """Find the position of a job in each shard of other streams.

        Args:
            scene: The readings of both clusters.
            positions: Those of the job, in shards of the old streams.
            run: Runs the reading of shards.
            salt: Keys the hashes.
            progress: Called with each round.

        Raises:
            ClusterError: A stream rejects the read, or does not answer.
        """


def copies_of(scene: Scene, topic: TopicState, run: Run, salt: bytes, identified: Identified) -> Copies:
    of: CopiesOf = matching_of(scene.migration.target.stream).copies_of
    return of(scene, topic, run, salt, identified)


def matching_of(stream: str) -> ModuleType:
    module: ModuleType = MATCHING.load(stream)
    return module
