"""Read a checkpoint of any engine, which is recognized by the names at its path.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from offsetwise.engines.batch_files import MAX_RAW_BYTES, BatchFiles
from offsetwise.engines.engine import CheckpointEngine, CheckpointReading, ReadRequest
from offsetwise.engines.registry import engine_of, engines, labels
from offsetwise.errors import (
    CheckpointError,
    MissingError,
    NotACheckpointError,
    NotAFolderError,
    OffsetwiseError,
    StorageError,
)
from offsetwise.model import Checkpoint
from offsetwise.registry import with_absent
from offsetwise.storage.folders import MAX_FILE_BYTES, Entry, FolderReader, Tree, open_tree
from offsetwise.storage.single_file import read_file, without_part

SHOWN: Final = 5
_TRIES: Final = 5
"""How often to try to read the newest checkpoint of a job that replaces it meanwhile."""
MOST_BYTES: Final = MAX_FILE_BYTES
"""The maximum size of a file with positions."""


def read_checkpoint(
    uri: str,
    *,
    roots: Sequence[str] | None = None,
    history: int = 100,
    options: Mapping[str, object] = MappingProxyType({}),
) -> Checkpoint:
    """Read the current checkpoint.

    Args:
        uri: The folder, or the file of an engine that stands for it (Flink's `_metadata`): a path, or a URI of any file
            system in `location.SCHEMES`. For an engine that keeps tables, a dump or the table itself.
        roots: The folders that may be read; None if a person named the path.
        history: How many of the newest entries to read of a history that the engine keeps, such as retained batches; 0
            reads only what decides the restart.
        options: The requested options of its engine, by name.

    Raises:
        OutsideRootsError: The path leaves the roots.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The folder is missing or cannot be read.
        NotACheckpointError: It is something else, or two engines recognize it.
        CheckpointError: It cannot be used, or its engine has no such option.
    """
    engine, folder, entries = _at(uri, roots)
    _require_options(uri, engine, options)
    if engine.reader is not None:
        read = engine.reader(
            ReadRequest(uri=uri, folder=folder, entries=entries, roots=roots, history=history, options=options)
        )
    else:
        read = engine.read(uri, folder, entries, roots=roots, batches=history, uids=(), committer=None)
    return read if folder is None else replace(read, endpoint=folder.endpoint)


def read_newest(uri: str, *, roots: Sequence[str] | None = None, history: int = 100) -> Checkpoint:
    """Read a checkpoint; in the folder of a job that retains several, the newest one; see `read_checkpoint`.

    A running job may remove it meanwhile: then the newest one is searched for again.
    """
    error: OffsetwiseError
    try:
        return read_checkpoint(uri, roots=roots, history=history)
    except NotACheckpointError as not_itself:
        error = not_itself
    for _ in range(_TRIES):
        newest = newest_checkpoint(uri, roots=roots)
        if newest == uri:
            continue
        try:
            return read_checkpoint(newest, roots=roots, history=history)
        except (MissingError, NotACheckpointError) as gone:
            error = gone
    raise error


def read_with_times(
    uri: str, *, roots: Sequence[str] | None = None, history: int = 100, newest: bool = False
) -> CheckpointReading:
    """Read a checkpoint with the times of its files; see `read_checkpoint`, or with `newest` `read_newest`."""
    checkpoint = (read_newest if newest else read_checkpoint)(uri, roots=roots, history=history)
    more = engine_of(checkpoint.engine).reading
    if more is None:
        return CheckpointReading(checkpoint=checkpoint, read_at_ms=int(time.time() * 1000))
    return more(open_tree(uri, roots=roots), checkpoint)


def read_batch_files(uri: str, batch: int, *, roots: Sequence[str] | None = None) -> BatchFiles:
    """Read the raw files of a batch; an unreadable one has the reason.

    Raises:
        StorageError: The folder itself cannot be opened, or leaves the roots.
        NotACheckpointError: It is not a checkpoint of an engine with such files.
    """
    folder = replace(open_tree(uri, roots=roots), max_file_bytes=MAX_RAW_BYTES)
    engine = _engine(folder, _entries(folder))
    if engine.batch_files is None:
        raise _not(folder, f"{engine.what}, which has no files of single batches", fix="Look at its restart alone.")
    return engine.batch_files(folder, batch)


def parts_of(uri: str, *, roots: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the URIs of the checkpoints in a file, such as a dump of several tables; else the URI itself.

    An unreadable file returns its URI, so that its reader reports why.
    """
    if _of_service(uri) is not None:
        return (uri,)
    try:
        open_tree(uri, roots=roots).entries()
    except NotAFolderError:
        if _by_name(uri) is None:
            with suppress(OffsetwiseError):
                engine = _of_file(uri, roots)
                return (uri,) if engine is None else engine.parts(uri, roots=roots)
    except StorageError:
        pass
    return (uri,)


def recognised(entries: Sequence[Entry]) -> tuple[CheckpointEngine, ...]:
    return tuple(engine for engine in engines() if engine.recognises(entries))


def newest_checkpoint(uri: str, *, roots: Sequence[str] | None = None) -> str:
    """Return the newest complete checkpoint in the folder of a job that retains several; else the path itself.

    Raises:
        OutsideRootsError: The path leaves the roots.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The folder cannot be listed.
    """
    if _of_service(uri) is not None:
        return uri
    folder = open_tree(uri, roots=roots)
    try:
        entries = folder.entries(details=True)
    except MissingError:
        return uri  # its reader reports the problem
    if recognised(entries):
        return uri
    retained = (checkpoint for engine in engines() for checkpoint in engine.retained(folder, entries))
    return next((checkpoint.uri for checkpoint in retained), uri)


def _at(uri: str, roots: Sequence[str] | None) -> tuple[CheckpointEngine, Tree | None, tuple[Entry, ...] | None]:
    """Return the engine of a checkpoint; its folder if the URI is a path, and the folder's entries if listed."""
    live = _of_service(uri)
    if live is None and roots is not None and "#" in uri:  # bound to roots, no folder has such a name
        live = _of_file(uri, roots)
    if live is not None:
        return live, None, None
    folder, named = open_tree(uri, roots=roots), _by_name(uri)
    if named is not None:
        return named, folder, None
    try:
        entries = folder.entries(details=True)
    except MissingError as error:
        engine = _of_file(uri, roots) if isinstance(error, NotAFolderError) or "#" in uri else None
        if engine is None:
            raise
        return engine, None, None
    return _engine(folder, entries), folder, entries


def _of_service(uri: str) -> CheckpointEngine | None:
    """Return the engine of a URI that names a service, such as a table; None for a path."""
    scheme = uri.partition("://")[0].lower() if "://" in uri else ""
    return next((engine for engine in engines() if scheme in engine.schemes), None)


def _by_name(uri: str) -> CheckpointEngine | None:
    name = uri.rstrip("/").rpartition("/")[2]
    return next((engine for engine in engines() if engine.file == name), None)


def _of_file(uri: str, roots: Sequence[str] | None) -> CheckpointEngine | None:
    """Return the engine that reads a file: the one that recognizes it, or else the first, which reports the problem."""
    file, part = without_part(uri)
    readers = [engine for engine in engines() if engine.reads_files]
    data = b""
    with suppress(StorageError):
        data = read_file(file, roots=roots)
    matches = [engine for engine in readers if engine.recognises_file(part, data)]
    if part and not matches:  # its reader reports which parts such a file has
        matches = [engine for engine in readers if engine.recognises_file("", data)]
    if len(matches) > 1:
        both = " and ".join(engine.what for engine in matches)
        raise NotACheckpointError(
            f"{uri}: expected the checkpoint of one engine, found what is {both} at once. No position was read.",
            fix=f"Name the part of the file that is meant behind a #, such as {file}#PART.",
        )
    return next(iter((*matches, *readers)), None)


def _require_options(uri: str, engine: CheckpointEngine, options: Mapping[str, object]) -> None:
    known = {option.name for option in engine.options}
    for name in options:
        if name in known:
            continue
        having = {other.what: option for other in engines() for option in other.options if option.name == name}
        clause, noun = next(
            ((option.clause, option.noun) for option in having.values()), (f"{name!r} was requested", repr(name))
        )
        raise CheckpointError(
            f"{uri}: expected {' or '.join(having) or 'what an absent engine reads'}, since {clause}, found "
            f"{engine.what}. Nothing was read.",
            fix=f"Omit {noun} for a {engine.label} checkpoint.",
        )


def _entries(folder: Tree) -> tuple[Entry, ...]:
    try:
        return folder.entries(details=True)
    except NotAFolderError as error:
        raise _not(folder, "a file", fix=f"Give the folder that holds {_holds()}.") from error


def _engine(folder: Tree, entries: tuple[Entry, ...]) -> CheckpointEngine:
    checkpoint_engines = recognised(entries)
    if len(checkpoint_engines) == 1:
        return checkpoint_engines[0]
    names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    shown = ", ".join(map(repr, names[:SHOWN])) + (", …" if len(names) > SHOWN else "")
    if checkpoint_engines:
        both = " and ".join(engine.what for engine in checkpoint_engines)
        raise _not(folder, f"what is {both} at once ({shown})", fix="Leave in it the files of one engine only.")
    if not names and not entries:
        raise _not(folder, "an empty folder", fix="Check the path: a job writes its checkpoint when it first starts.")
    sentences = next((said for engine in engines() if (said := engine.instead(folder, entries)) is not None), None)
    what, fix = sentences or (f"another folder ({shown})", f"Give the folder that holds {_holds()}.")
    raise _not(folder, what, fix=fix)


def _holds() -> str:
    return "; or ".join(f"{engine.holds} ({engine.label})" for engine in engines())


def _not(folder: FolderReader, actual: str, *, fix: str) -> NotACheckpointError:
    return NotACheckpointError(
        f"{folder.uri}: expected one checkpoint of {labels()}, found {actual}. No position was read.",
        fix=with_absent(fix),
    )
