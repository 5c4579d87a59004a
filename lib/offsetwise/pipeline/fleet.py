"""Read many checkpoints on Spark's workers: one checkpoint per row, with the parser of a single one.

Spark does not list the files. A glob over them costs a task per file; a checkpoint per row costs a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from fsspec.core import split_protocol

from offsetwise.engines.rows import FailedCheckpoint, read_rows
from offsetwise.garbage import collected_seldom
from offsetwise.model import Checkpoint
from offsetwise.pipeline.fleet_rows import decode, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WAVE: Final = 1_000
"""How many checkpoints one job reads: it bounds the memory of the driver."""
LOCAL_ROWS_PER_TASK: Final = 250
"""A task costs its worker a tenth of a second (half of it to collect garbage), a checkpoint on a local disk a few
milliseconds."""
REMOTE_ROWS_PER_TASK: Final = 16
"""An object store answers after tens of milliseconds, many times per checkpoint."""
LEAST_TASKS: Final = 8
"""So that a small fleet is distributed too; fewer if the session has fewer cores."""
DECODED_AT_ONCE: Final = 50
"""How many decoded checkpoints are in memory even if the caller keeps none."""
COLUMNS: Final = "id long, row binary"


def inspect_many(
    spark: SparkSession,
    uris: Sequence[str],
    *,
    roots: Sequence[str] | None = None,
    batches: int = 0,
    wave_size: int | None = None,
    watch: Callable[[], None] = lambda: None,
) -> Iterator[Checkpoint | FailedCheckpoint]:
    """Read checkpoints on Spark's workers, and yield them in the order of `uris`.

    An unreadable one is a `FailedCheckpoint`, never an exception. Workers read the paths themselves, so they need the
    mounts, or the credentials in their environment.

    Args:
        spark: A session, classic or Connect.
        uris: One checkpoint each; see `storage.patterns.expand` for globs.
        roots: The folders that may be read; None if a person named the paths.
        batches: How many of the newest retained batches to read of each; 0 reads only what decides the restart.
        wave_size: How many checkpoints one job reads, `WAVE` by default. Fewer let a person see progress.
        watch: Called several times a second while Spark reads; its exception ends the job and is raised here.

    Raises:
        WorkerError: The workers cannot run the parser.
        SparkError: The job failed.
    """
    from offsetwise.pipeline.shipping import ship  # noqa: PLC0415 - PySpark takes half a second to import

    if uris:
        ship(spark, uris=uris, watch=watch)
    local = all((split_protocol(uri)[0] or "file") == "file" for uri in uris)
    rows_per_task = LOCAL_ROWS_PER_TASK if local else REMOTE_ROWS_PER_TASK
    least = min(LEAST_TASKS, int(spark.conf.get("spark.sql.shuffle.partitions") or 1))
    size = wave_size or WAVE
    for first in range(0, len(uris), size):
        wave = tuple(uris[first : first + size])
        tasks = min(len(wave), max(least, ceil(len(wave) / rows_per_task)))
        read = partial(read_rows, uris=wave, roots=None if roots is None else tuple(roots), batches=batches)
        yield from _read_wave(spark, wave, read, tasks, watch)


def _read_wave(
    spark: SparkSession, wave: Sequence[str], read: Callable[..., Any], tasks: int, watch: Callable[[], None]
) -> Iterator[Checkpoint | FailedCheckpoint]:
    from offsetwise.pipeline.interrupting import interruptible  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.spark_errors import spark_errors  # noqa: PLC0415 - as above

    with spark_errors():
        table = interruptible(spark, spark.range(0, len(wave), 1, tasks).mapInArrow(read, COLUMNS).toArrow, watch)
    rows = rows_of(table, len(wave))
    for some in range(0, len(wave), DECODED_AT_ONCE):
        with collected_seldom():
            until = min(some + DECODED_AT_ONCE, len(wave))
            decoded = [decode(rows[at], subject=wave[at]) for at in range(some, until)]
        yield from decoded
