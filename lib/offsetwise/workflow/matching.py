"""What the records say about positions on another stream, of streams that have shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, TypeAlias, TypeVar

from offsetwise import streams
from offsetwise.comparison import Learnt, Scene
from offsetwise.model import BelongsTo
from offsetwise.progress import Progress
from offsetwise.translation.resolve import Position

SALT_BYTES: Final = 16
_AT_ONCE: Final = 16
"""Shards that are read at the same time."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Work: TypeAlias = Callable[[Iterator[Task]], Iterator[Result]]
"""Does tasks one after the other, and gives their results in the same order."""


class Run(Protocol):
    """Lets tasks be done, many at once."""

    def __call__(self, work: Work[Task, Result], tasks: Sequence[Task]) -> list[Result]:
        """Give the results in the order of the tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """What the records of both streams said."""

    learnt: tuple[Learnt, ...]
    """A position for each shard of the new streams."""
    belongs: BelongsTo | None
    """The old cluster, where the records at the positions were found there; else None."""


class Matching(Protocol):
    """The function `match_records` of a stream's module `matching`."""

    def __call__(
        self, scene: Scene, positions: Sequence[Position], run: Run, salt: bytes, progress: Progress
    ) -> Matched:
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


def match_records(scene: Scene, positions: Sequence[Position], progress: Progress) -> Matched:
    """Find the place of a job in each shard of other streams; see `Matching`."""
    match: Matching = import_module(f"{streams.FOLDERS[scene.migration.source.stream]}.matching").match_records
    return match(scene, positions, run_here, os.urandom(SALT_BYTES), progress)


def run_here(work: Work[Task, Result], tasks: Sequence[Task]) -> list[Result]:
    """Do tasks in threads of this process."""
    parts = [tasks[number::_AT_ONCE] for number in range(min(_AT_ONCE, len(tasks)))]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="offsetwise-shards") as pool:
        made = [*pool.map(lambda part: [*work(iter(part))], parts)]
    return [made[index % _AT_ONCE][index // _AT_ONCE] for index in range(len(tasks))]
