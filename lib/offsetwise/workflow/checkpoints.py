from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from offsetwise.engines.batch_files import BatchFiles
from offsetwise.engines.checkpoint import parts_of, read_batch_files, read_checkpoint, read_with_times
from offsetwise.engines.engine import CheckpointReading
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.errors import MissingError, OffsetwiseError, UsageError
from offsetwise.model import Checkpoint
from offsetwise.model.state import StateRows
from offsetwise.pipeline.start import install_pyspark, start_spark
from offsetwise.pipeline.state_rows import CountsRows
from offsetwise.progress import Progress, no_progress
from offsetwise.registry import STATES
from offsetwise.storage.patterns import expand

if TYPE_CHECKING:
    from offsetwise.config import Migration, SparkSettings
    from offsetwise.fleets import Fleet

INSPECT_IN_PROCESS = 3
"""Up to this many checkpoints are read in this process; more go through Spark."""


def inspect(
    uris: Sequence[str],
    *,
    roots: tuple[str, ...] | None = None,
    spark: SparkSettings | None = None,
    batches: int = 100,
    uids: Sequence[str] = (),
    committer: str | None = None,
) -> Iterator[Checkpoint | FailedCheckpoint]:
    """Yield each checkpoint, in the order of `uris`; a few are read in this process, many on Spark.

    Args:
        uris: Paths and URIs; globs and dumps of several tables are expanded.
        roots: The folders that may be read; None if a person named the paths.
        spark: The settings of Spark for many checkpoints; a local session by default.
        batches: How many of the newest retained batches to read.
        uids: Uids of a Flink job's operators; requires a single path.
        committer: The table of a DynamoDB committer; requires a single path.

    Raises:
        UsageError: Uids or a committer's table were named with several paths.
        StorageError: A single path cannot be read.
        CheckpointError: A single path holds no checkpoint. One of many is a `FailedCheckpoint`.
    """
    named = frozenset(uris)  # a glob yields only folders, with one checkpoint each
    plain = expand(uris, roots=roots)
    results = tuple(part for uri in plain for part in (parts_of(uri, roots=roots) if uri in named else (uri,)))
    given: dict[str, object] = {"uids": tuple(uids), "committer": committer}
    options = {name: value for name, value in given.items() if value}
    if options and len(results) != 1:
        raise UsageError(
            f"inspect: expected one path where uids or a committer's table are named, found {len(results):,}. Nothing "
            "was read.",
            fix="Give the one checkpoint that they are of.",
        )
    if len(results) <= INSPECT_IN_PROCESS:
        for uri in results:
            yield _inspected(uri, roots, batches, options, alone=len(results) == 1)
        return
    yield from _inspected_on_spark(results, roots, batches, spark)


def _inspected_on_spark(
    uris: Sequence[str], roots: tuple[str, ...] | None, batches: int, spark: SparkSettings | None
) -> Iterator[Checkpoint | FailedCheckpoint]:
    install_pyspark(no_progress)
    from offsetwise.config import SparkSettings  # noqa: PLC0415 - a few are read without
    from offsetwise.pipeline.fleet import inspect_many  # noqa: PLC0415 - as above

    session = start_spark(spark or SparkSettings(), no_progress)
    yield from inspect_many(session, uris, roots=roots, batches=batches)


def checkpoint_reading(migration: Migration, name: str, *, retained: int | None = None) -> CheckpointReading:
    """Read one checkpoint of a migration; for Spark with its initial offsets and the times of its logs.

    Args:
        migration: The migration.
        name: The name of one of its checkpoints.
        retained: The id of another retained checkpoint of the same Flink job, to read instead.

    Raises:
        ConfigError: The migration has no such checkpoint.
        MissingError: The job has not retained it.
        StorageError: It cannot be read, or lies outside the migration's roots.
        CheckpointError: It is no checkpoint.
    """
    read = read_with_times(migration.checkpoint(name).uri, roots=migration.checkpoint_roots)
    if retained is None:
        return read
    others = {checkpoint.id: checkpoint.uri for checkpoint in read.checkpoint.details.retained}
    if retained not in others:
        raise MissingError(
            f"{read.checkpoint.uri}: expected checkpoint {retained} beside it, found "
            f"{', '.join(map(str, others)) or 'no other'}. Nothing was read.",
            fix="Choose one that is still retained: an engine removes the oldest as it takes new ones.",
        )
    return read_with_times(others[retained], roots=migration.checkpoint_roots)


def batch_files(migration: Migration, name: str, batch: int) -> BatchFiles:
    """Read the two files of one batch of a checkpoint unparsed.

    Raises:
        ConfigError: The migration has no such checkpoint.
        StorageError: The checkpoint lies outside the migration's roots, or its file system cannot be opened.
    """
    return read_batch_files(migration.checkpoint(name).uri, batch, roots=migration.checkpoint_roots)


def state_rows(migration: Migration, name: str, *, progress: Progress = no_progress) -> StateRows:
    """Count the rows of a checkpoint's state stores, on Spark.

    Args:
        migration: The migration.
        name: The name of one of its checkpoints.
        progress: Called with each step; its exception stops the count.

    Raises:
        ConfigError: The migration has no such checkpoint.
        StorageError: It cannot be read, lies outside the roots, or Spark would read another path.
        CheckpointError: It has no state that Spark's readers can read.
        SparkError: Spark cannot be started, or cannot read it.
    """
    config = migration.checkpoint(name)
    progress("read the checkpoint", 0, 1)
    read = read_checkpoint(config.uri, roots=migration.checkpoint_roots, history=0)
    count: CountsRows = STATES.load(read.engine)
    return count(config.uri, read, roots=migration.checkpoint_roots, spark=migration.spark, progress=progress)


def fleet(migration: Migration, *, progress: Progress = no_progress) -> Fleet:
    """Read the checkpoints that a migration names and all others below its roots; see `read_fleet`.

    Raises:
        WorkerError: The workers cannot run the parser.
        SparkError: Spark cannot be started, or the job failed.
    """
    from offsetwise.pipeline.whole_fleet import read_fleet  # noqa: PLC0415 - as above

    return read_fleet(migration, progress, in_process=INSPECT_IN_PROCESS)


def _inspected(
    uri: str,
    roots: tuple[str, ...] | None,
    batches: int,
    options: Mapping[str, object],
    *,
    alone: bool,
) -> Checkpoint | FailedCheckpoint:
    try:
        return read_checkpoint(uri, roots=roots, history=batches, options=options)
    except OffsetwiseError as error:
        if alone:
            raise
        return FailedCheckpoint(uri=uri, error=type(error).__name__, problem=error.problem, fix=error.fix)
