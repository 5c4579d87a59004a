"""What the records say about positions on another stream, of streams that have shards."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol, TypeVar

from offsetwise import streams
from offsetwise.comparison import Learnt, Scene
from offsetwise.model import BelongsTo
from offsetwise.progress import Progress
from offsetwise.translation.resolve import Position

SALT_BYTES: Final = 16

Task = TypeVar("Task")
Result = TypeVar("Result")


class Run(Protocol):
    """Lets tasks be done, wherever that is."""

    def __call__(
        self,
        work: Callable[[Sequence[Task]], list[Result]],
        tasks: Sequence[Task],
        *,
        kind: type[Result],
        at_once: int,
        packages: tuple[str, ...],
    ) -> list[Result]:
        """Give the results in the order of the tasks.

        Args:
            work: Does some tasks, and gives their results in the same order.
            tasks: All of them.
            kind: Of a result.
            at_once: How many `work` does at the same time.
            packages: What it needs beside the standard library.
        """


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

    def run(
        work: Callable[[Sequence[Task]], list[Result]],
        tasks: Sequence[Task],
        *,
        kind: type[Result],
        at_once: int,
        packages: tuple[str, ...],
    ) -> list[Result]:
        if len(tasks) <= at_once:
            return work(tasks)  # no slower than on Spark, which has to start first
        from offsetwise.pipeline.interrupting import work_on_spark  # noqa: PLC0415 - PySpark is slow to import
        from offsetwise.pipeline.start import STEP, start_spark  # noqa: PLC0415 - as above

        session = start_spark(scene.migration.spark, progress, packages=packages)
        return work_on_spark(session, work, tasks, kind=kind, at_once=at_once, watch=lambda: progress(STEP, 1, 1))

    match: Matching = import_module(f"{streams.FOLDERS[scene.migration.source.stream]}.matching").match_records
    return match(scene, positions, run, os.urandom(SALT_BYTES), progress)
