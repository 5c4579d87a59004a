"""The files of one Spark application's event log, in order: on a disk, on an object store, in a ZIP.

Names: `EventLogFileWriter` and `EventLogFileReader` of Spark. A history server compacts: `events_5_ID.compact` replaces
every file up to the fifth, and keeps the starts of queries, but not their progress.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from offsetwise.engines.rest import NO_START
from offsetwise.errors import NotAFolderError, StorageError
from offsetwise.storage.folders import MAX_READ_BYTES, open_tree

_ROLLED: Final = re.compile(r"events_([0-9]{1,9})_.+?(?:\.(?:zstd|lz4|lzf|snappy))?(\.compact)?")
COMPACTED: Final = ".compact"
"""Suffix of a file that a history server compacted."""
_FOLDER: Final = "eventlog_v2_"
_UNFINISHED: Final = ".inprogress"
"""Suffix of a compacted file that is being written, while the files it replaces still exist."""
_NAMED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    uri: str
    """Name of the log in documents."""
    names: tuple[str, ...]
    """In the order in which they are read."""
    read: Callable[[str], bytes]
    """Returns one whole file; raises StorageError."""


def files_of(uri: str) -> LogFiles:
    """Find the files of an event log.

    Args:
        uri: Its file, its folder, or the folder that contains it and no other one.

    Raises:
        StorageError: It cannot be listed, contains no log or several, or a file is missing.
    """
    folder = open_tree(uri)
    try:
        entries = folder.entries()
    except NotAFolderError:
        above, _, name = uri.rstrip("/").rpartition("/")
        within = open_tree(above or ("/" if uri.startswith("/") else ".")).for_large_files()
        return LogFiles(uri=uri, names=(name,), read=within.read)
    names = [entry.name for entry in entries if not entry.name.startswith(".")]
    rolled = _in_order(uri, names)
    if rolled:
        return LogFiles(uri=uri, names=rolled, read=folder.for_large_files().read)
    return files_of(f"{uri.rstrip('/')}/{_only(uri, [name for name in names if name.startswith(_FOLDER)] or names)}")


def files_in_zip(uri: str, data: bytes) -> LogFiles:
    """Find the files of an event log in a ZIP, as a history server sends it.

    Args:
        uri: Where it came from.
        data: The ZIP.

    Raises:
        StorageError: It is not a ZIP, contains no log or several, or a file is missing.
    """
    try:
        archive = ZipFile(BytesIO(data))
    except (BadZipFile, ValueError, OSError) as error:
        raise unusable(uri, f"the event log in a ZIP, found none: {str(error)[:100]}") from error
    members = {member.filename: member for member in archive.infolist() if not member.is_dir()}
    folders = sorted({name.rpartition("/")[0] for name in members} - {""})
    within = f"{_only(uri, folders)}/" if folders else ""
    names = [name.removeprefix(within) for name in members if name.startswith(within)]
    rolled = _in_order(uri, names) or (_only(uri, names),)
    return LogFiles(uri=uri, names=rolled, read=lambda name: _unzipped(uri, archive, members[f"{within}{name}"]))


def _in_order(uri: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the files of a rolling log in order; empty for a log in a single file."""
    whole = (name for name in names if not name.endswith(_UNFINISHED))
    matches = [match for name in whole if (match := _ROLLED.fullmatch(name)) is not None]
    numbered_files = sorted((int(match[1]), match[2] is not None, match[0]) for match in matches)
    begin = max((index for index, (_, is_compact, _) in enumerate(numbered_files) if is_compact), default=0)
    numbers = [number for number, _, _ in numbered_files[begin:]]
    missing = next((number + 1 for number, other in pairwise(numbers) if other > number + 1), None)
    if missing is not None or len(numbers) != len(set(numbers)):
        problem = "two of one number" if missing is None else f"none of number {missing:,}"
        raise unusable(uri, f"the files events_{numbers[0]} to events_{numbers[-1]}, found {problem}")
    return tuple(name for _, _, name in numbered_files[begin:])


def _only(uri: str, logs: list[str]) -> str:
    if len(logs) == 1:
        return logs[0]
    listed = f": {', '.join(name[:100] for name in logs[:_NAMED])}" if logs else ""
    raise StorageError(
        f"{uri}: expected the event log of one application, found {len(logs):,}{listed}. {NO_START}",
        fix="Give the file or folder of one application, such as eventlog_v2_ID.",
    )


def _unzipped(uri: str, archive: ZipFile, member: ZipInfo) -> bytes:
    try:
        with archive.open(member) as file:
            data = file.read(MAX_READ_BYTES + 1)
    except (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise unusable(uri, f"{member.filename[:100]} in the ZIP, found it damaged: {str(error)[:100]}") from error
    if len(data) > MAX_READ_BYTES:
        raise unusable(uri, f"files of at most {MAX_READ_BYTES:,} bytes, found a larger one in the ZIP")
    return data


def unusable(uri: str, expected: str) -> StorageError:
    """Return the error of an event log that is not as Spark writes it.

    Args:
        uri: The log, or its file.
        expected: What was expected and found, as a part of a sentence.
    """
    return StorageError(
        f"{uri}: expected {expected}. {NO_START}",
        fix="Give the event log of the application, as spark.eventLog.dir has it, or its address in the REST API.",
    )
