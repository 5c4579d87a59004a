"""A checkpoint of whichever engine wrote it: what stands at a path is recognised by its names.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from offsetwise.errors import CheckpointError, MissingError, NotACheckpointError
from offsetwise.model import Checkpoint
from offsetwise.sources.flink_checkpoint import read_checkpoint as read_flink
from offsetwise.sources.flink_folder import METADATA, is_flink, retained_in
from offsetwise.sources.spark_checkpoint import read_from as read_spark
from offsetwise.sources.spark_folder import is_checkpoint
from offsetwise.sources.storage import Entry, FolderReader, Tree, open_tree

SHOWN: Final = 5


def read_checkpoint(
    uri: str, *, roots: Sequence[str] | None = None, batches: int = 100, uids: Sequence[str] = ()
) -> Checkpoint:
    """Read a checkpoint as it stands now: a Spark query's folder, or a Flink checkpoint or savepoint.

    Args:
        uri: The folder, or the `_metadata` file of a Flink one: a path, or a URI of any file system in
            `location.SCHEMES`.
        roots: The folders that may be read; None when a person named the path.
        batches: Spark: how many of the newest retained batches to read; 0 reads what decides the restart.
        uids: Flink: uids of operators as a person knows them.

    Raises:
        OutsideRootsError: The path leaves the roots.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The folder is missing or cannot be read.
        NotACheckpointError: It is something else.
        CheckpointError: It cannot be used; or uids were named, and it is not Flink's or has no such operator.
    """
    folder = open_tree(uri, roots=roots)
    read = _read(uri, folder, roots=roots, batches=batches, uids=uids)
    return replace(read, endpoint=folder.endpoint)


def _read(uri: str, folder: Tree, *, roots: Sequence[str] | None, batches: int, uids: Sequence[str]) -> Checkpoint:
    if uri.rstrip("/").rpartition("/")[2] == METADATA:
        return read_flink(uri, roots=roots, uids=uids)
    entries = _entries(folder)
    if entries is not None and is_flink(entries):
        return read_flink(uri, roots=roots, uids=uids)
    if entries is not None and not is_checkpoint(entries):
        _refuse_job_folder(folder, entries)
    if uids:
        raise CheckpointError(
            f"{uri}: expected a Flink checkpoint or savepoint, since uids of operators were named, found none. "
            "Nothing was read.",
            fix="Leave the uids away for a Spark checkpoint.",
        )
    return read_spark(folder, batches=batches, entries=entries)


def newest_checkpoint(uri: str, *, roots: Sequence[str] | None = None) -> str:
    """Give the newest whole checkpoint where a path is the folder of a Flink job; else the path itself.

    Raises:
        OutsideRootsError: The path leaves the roots.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The folder cannot be listed.
    """
    folder = open_tree(uri, roots=roots)
    entries = _entries(folder) or ()
    retained = () if is_flink(entries) or is_checkpoint(entries) else retained_in(folder, entries)
    return retained[0].uri if retained else uri


def _entries(folder: FolderReader) -> tuple[Entry, ...] | None:
    """List a folder; None where nothing or a file stands there, which the reader then says."""
    try:
        return folder.entries(details=True)
    except MissingError:
        return None


def _refuse_job_folder(folder: FolderReader, entries: Sequence[Entry]) -> None:
    retained = retained_in(folder, entries)
    if retained:
        names = [one.uri.rpartition("/")[2] for one in retained]
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        raise NotACheckpointError(
            f"{folder.uri}: expected one checkpoint, found the folder of a Flink job with {len(names)} retained ones "
            f"({shown}). No position was read.",
            fix=f"Give one of them, such as the newest: {retained[0].uri}",
        )
