from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from offsetwise.comparison import Scene
from offsetwise.comparison.matching import SALT_BYTES, Matched, Matching, Result, Task, matching_of
from offsetwise.pipeline.start import STEP, install_pyspark, start_spark
from offsetwise.progress import Progress
from offsetwise.translation.query import Query


def match_records(scene: Scene, positions: Sequence[Query], progress: Progress) -> Matched:
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
        install_pyspark(progress)
        from offsetwise.pipeline.interrupting import work_on_spark  # noqa: PLC0415 - PySpark is slow to import

        session = start_spark(scene.migration.spark, progress, packages=packages)
        return work_on_spark(session, work, tasks, kind=kind, at_once=at_once, watch=lambda: progress(STEP, 1, 1))

    match: Matching = matching_of(scene.migration.source.stream).match_records
    return match(scene, positions, run, os.urandom(SALT_BYTES), progress)
