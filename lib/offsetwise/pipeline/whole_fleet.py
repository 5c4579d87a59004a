from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from offsetwise.config import Migration
from offsetwise.engines.discovery import MAX_CHECKPOINTS, Discovered, find_checkpoints
from offsetwise.engines.rows import FailedCheckpoint, read_one
from offsetwise.errors import StorageError
from offsetwise.fleets import Fleet, RootTrouble, assemble
from offsetwise.model import Checkpoint
from offsetwise.pipeline.start import install_pyspark, start_spark
from offsetwise.progress import Progress
from offsetwise.storage.location import locate

_Place: TypeAlias = tuple[str, tuple[str, ...]]
WAVE_SIZE: Final = 500
"""How many checkpoints one job reads, so that a person sees progress. Jobs of 250 take twice the CPU of one of
1,000."""


def read_fleet(migration: Migration, progress: Progress, *, in_process: int) -> Fleet:
    """Read the checkpoints that a migration names, and all others below its roots: of each what decides the restart.

    An unreadable checkpoint is a row with the reason; an unreadable root is a `RootTrouble` of the fleet.

    Args:
        migration: The migration.
        progress: Called with each step, and several times a second while Spark reads; its exception stops the reading.
        in_process: Up to this many checkpoints are read in this process, without Spark.

    Raises:
        WorkerError: The workers cannot run the parser.
        SparkError: Spark cannot be started, or the job failed.
    """
    known: dict[_Place, str] = {}
    names: dict[str, tuple[str, ...]] = {}
    for checkpoint in migration.checkpoints:
        uri = known.setdefault(_location(checkpoint.uri), checkpoint.uri)
        names[uri] = (*names.get(uri, ()), checkpoint.name)
    roots = migration.checkpoint_roots
    folders, troubles = _add_below(roots, known, progress)
    read: list[Checkpoint | FailedCheckpoint] = []

    def tell() -> None:
        progress("read them", len(read), len(known))

    for answer in _read(migration, tuple(known.values()), progress, tell, in_process):
        read.append(answer)
        tell()
    return assemble(read, names, roots=roots, troubles=troubles, folders=folders)


def _read(
    migration: Migration, uris: tuple[str, ...], progress: Progress, tell: Callable[[], None], in_process: int
) -> Iterator[Checkpoint | FailedCheckpoint]:
    roots = migration.checkpoint_roots
    if len(uris) <= in_process:
        yield from (read_one(uri, roots=roots, batches=0) for uri in uris)
        return
    install_pyspark(progress)
    from offsetwise.pipeline.fleet import inspect_many  # noqa: PLC0415 - PySpark takes half a second to import

    session = start_spark(migration.spark, progress)
    tell()
    yield from inspect_many(session, uris, roots=roots, batches=0, wave_size=WAVE_SIZE, watch=tell)


def _location(uri: str) -> _Place:
    try:
        location = locate(uri)
    except StorageError:
        return "", (uri,)
    return location.scheme, location.parts


def _incomplete(root: str, discovered: Discovered) -> RootTrouble:
    return RootTrouble(
        root=root,
        problem=(
            f"{root}: expected at most {MAX_CHECKPOINTS:,} checkpoints in a moderate number of folders, found more: "
            f"{len(discovered.uris):,} checkpoints in the {discovered.folders:,} folders that were looked into. The "
            "rest is not here."
        ),
        fix="Name narrower folders in checkpoint_roots.",
    )


def _add_below(roots: Sequence[str], known: dict[_Place, str], progress: Progress) -> tuple[int, list[RootTrouble]]:
    troubles: list[RootTrouble] = []
    folders = 0
    for done, root in enumerate(roots):
        progress("find the checkpoints", done, len(roots))
        try:
            discovered = find_checkpoints(root, roots=roots)
        except StorageError as error:
            # A checkpoint that is its own root is reported in its row.
            if _location(root) not in known:
                troubles.append(RootTrouble(root=root, problem=error.problem, fix=error.fix))
            continue
        folders += discovered.folders
        if not discovered.complete:
            troubles.append(_incomplete(root, discovered))
        for uri in discovered.uris:
            known.setdefault(_location(uri), uri)
    progress("find the checkpoints", len(roots), len(roots))
    return folders, troubles
