"""Read many checkpoints at once: named by paths and globs, or all of a migration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from offsetwise import new_files, workflow
from offsetwise.errors import UsageError
from offsetwise.fleets import Fleet, FleetCount, FleetRow, FleetSummary
from offsetwise.progress import Progress

if TYPE_CHECKING:
    from offsetwise import config
    from offsetwise.config import SparkSettings


def fleet(
    uris: Sequence[str],
    *,
    spark: SparkSettings | None = None,
    batches: int = 0,
    parquet: str | Path | None = None,
    heard: Callable[[FleetRow], None] = lambda _: None,
) -> FleetSummary:
    """Read many checkpoints, more than 3 of them on Spark, and return their summary.

    No checkpoint is kept, so the memory of this process does not depend on their number.

    Args:
        uris: Paths and URIs; globs of folders and dumps of several tables are expanded.
        spark: The settings of Spark for many checkpoints, as in `migration.settings`; a local session by default.
        batches: How many of the newest retained batches to read of each; 0 reads only what decides the restart.
        parquet: A file to write, with a row for each checkpoint, in the order of `heard`. It must not exist.
        heard: Called with each checkpoint as it is read, or with its error, in the order of `uris`.

    Returns:
        The numbers of checkpoints, partitions, verdicts and problems, and the checkpoints that share a query id.

    Raises:
        UsageError: No path is given, or a text instead of a list of them.
        FileError: The Parquet file exists, or its folder does not: nothing is read then. Or it cannot be written.
        StorageError: A glob matches no folder; or the only path cannot be read. One of many is a row with the reason.
        CheckpointError: The only path holds no checkpoint.
        SparkError: Spark cannot be started, or the job failed. A `WorkerError`: the workers cannot run the parser.
    """
    if isinstance(uris, str) or not uris:
        raise UsageError(
            f"fleet: expected a list of one or more paths, found {uris!r}. Nothing was read.",
            fix="Name folders or globs of them in a list, such as ['checkpoints/*'].",
        )
    table, count = _NewParquet(parquet), FleetCount()
    for row in (FleetRow(read=read) for read in workflow.inspect(uris, spark=spark, batches=batches)):
        for use in (count.add, table.add, heard):
            use(row)
    table.write()
    return count.summary()


def fleet_of(migration: config.Migration, parquet: str | Path | None, progress: Progress) -> Fleet:
    table = _NewParquet(parquet)
    fleet = workflow.fleet(migration, progress=progress)
    for row in fleet.rows:
        table.add(row)
    table.write()
    return fleet


class _NewParquet:
    """A new Parquet file; does nothing if `path` is None. Arrow is imported only if needed."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        if self._path is not None:
            from offsetwise.workflow.fleet_parquet import FleetParquet  # noqa: PLC0415 - as above

            new_files.require_new(self._path)
            self._table = FleetParquet()

    def add(self, row: FleetRow) -> None:
        if self._path is not None:
            self._table.add(row)

    def write(self) -> None:
        if self._path is not None:
            new_files.write_new(self._path, self._table.content())
