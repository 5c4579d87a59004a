"""The streaming queries in the event log of a Spark application, with the offsets at which batches began.

Format: `EventLoggingListener` and `StreamingQueryListener`; one JSON object a line. By default Spark 4 writes a folder
of files, compressed with zstd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any, Final

from offsetwise.engines.rest import NO_START
from offsetwise.errors import LibraryMissingError
from offsetwise.plugins.spark.engine.event_log.blocks import (
    CODECS,
    MAGICS,
    BrokenOffError,
    DamagedStreamError,
    decompressed,
)
from offsetwise.plugins.spark.engine.event_log.files import COMPACTED, LogFiles, files_of, unusable
from offsetwise.plugins.spark.engine.query_runs import RunSoFar, SparkApplication, in_order
from offsetwise.strict_json import parse

_UNREAD: Final = frozenset({"lzf"})
"""Codecs of Spark that are not supported."""
_MARK: Final = b'"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$Query'
_CHUNK_BYTES: Final = 1024 * 1024
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_TEXT_BYTES: Final = 4 * 1024 * 1024 * 1024
"""Of all files together, decompressed."""


def read_event_log(uri: str) -> SparkApplication:
    """Read the event log of one application.

    Args:
        uri: Its file, its folder, or the folder that contains it and no other one.

    Raises:
        StorageError: It cannot be read, is too large, damaged, or not an event log.
    """
    return read_log_files(files_of(uri))


def read_log_files(files: LogFiles) -> SparkApplication:
    """Read an event log from its files.

    Raises:
        StorageError: It cannot be read, is too large, damaged, or not an event log.
    """
    state, runs, remaining = "STARTED", dict[str, RunSoFar](), MAX_TEXT_BYTES
    for name in files.names:
        for line in _lines(files, name, may_break_off=name == files.names[-1]):
            remaining -= len(line) + 1
            if remaining < 0:
                raise unusable(files.uri, f"an event log of at most {MAX_TEXT_BYTES:,} bytes, decompressed; found more")
            if _MARK in line[:200]:
                state = _add(runs, _event(files.uri, name, line), is_whole=not name.endswith(COMPACTED)) or state
    match = re.search(r"((?:application|app|local|spark)-[0-9a-zA-Z-]+|application_[0-9]+_[0-9]+)", files.names[0])
    app_id = None if match is None else match[1]
    return SparkApplication(address=files.uri, id=app_id, name=None, state=state, runs=in_order(runs.values()))


def _lines(files: LogFiles, name: str, *, may_break_off: bool) -> Iterator[bytes]:
    """Yield the complete lines of a file: the last one of a file that is being written may be incomplete."""
    begun, size = list[bytes](), 0
    for chunk in _chunks(files, name, may_break_off=may_break_off):
        first, *lines = chunk.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > MAX_LINE_BYTES:
            raise unusable(f"{files.uri}/{name}", f"lines of at most {MAX_LINE_BYTES:,} bytes, found a longer one")
        if lines:
            yield b"".join(begun)
            begun, size = [lines.pop()], 0
            yield from lines
            size = len(begun[0])


def _chunks(files: LogFiles, name: str, *, may_break_off: bool) -> Iterator[bytes]:
    data, uri = files.read(name), f"{files.uri}/{name}"
    codec = _codec(name, data)
    if codec is None:
        yield from (data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES))
        return
    if codec in _UNREAD:
        raise unusable(uri, f"an event log that is plain or compressed with {', '.join(CODECS)}, found {codec}")
    try:
        yield from decompressed(data, codec, _arrow(uri, codec))
    except BrokenOffError as error:
        if not may_break_off:
            raise unusable(uri, f"a whole file of {codec}, found that it breaks off, and others follow it") from error
    except DamagedStreamError as error:
        raise unusable(uri, f"{codec} as Spark writes it, found {error}: the file is damaged") from error


def _codec(name: str, data: bytes) -> str | None:
    """Return the codec of a file, None if it is not compressed.

    A file compacted by a history server has the name of the file before it, and the server's own compression.
    """
    begun = next((codec for codec, magic in MAGICS.items() if data.startswith(magic)), None)
    if name.endswith(COMPACTED) and (begun is not None or data.startswith(b"{")):
        return begun
    return next((suffix[1:] for suffix in PurePosixPath(name).suffixes if suffix[1:] in {*CODECS, *_UNREAD}), None)


def _arrow(uri: str, codec: str) -> ModuleType:
    try:
        import pyarrow  # noqa: PLC0415 - only needed for event logs
    except ImportError as error:
        raise LibraryMissingError(
            f"{uri}: expected pyarrow, which reads {codec}, found that it is not installed. {NO_START}",
            fix="Install it: pip install 'offsetwise[spark]'; or give the log decompressed.",
        ) from error
    return pyarrow


def _event(uri: str, name: str, line: bytes) -> dict[str, Any]:
    try:
        event = parse(line, fractions=True)
    except (ValueError, RecursionError) as error:
        raise unusable(uri, f"events of Spark in {name}, found a line that is none: {str(error)[:200]}") from error
    if not isinstance(event, dict):
        raise unusable(uri, f"events of Spark in {name}, found a line that is none")
    return event


def _add(runs: dict[str, RunSoFar], event: dict[str, Any], *, is_whole: bool) -> str | None:
    """Add an event to the runs; return the application's state after it, None if the event does not change it."""
    kind = str(event.get("Event")).rpartition("$")[2]
    of = event.get("progress") if kind == "QueryProgressEvent" else event
    if not isinstance(of, dict) or not isinstance(of.get("runId"), str):
        return None
    if kind == "QueryTerminatedEvent":
        return "TERMINATED"
    if kind == "QueryStartedEvent":
        _run(runs, of, is_whole=is_whole)
        return "STARTED"
    batch, sources = of.get("batchId"), of.get("sources")
    if kind != "QueryProgressEvent" or not isinstance(batch, int) or not isinstance(sources, list):
        return None
    run = _run(runs, of, is_whole=False)
    if not run.batches:
        run.starts = tuple(_start(source) for source in sources)
    run.batches.add(batch)
    return None


def _run(runs: dict[str, RunSoFar], of: dict[str, Any], *, is_whole: bool) -> RunSoFar:
    run_id, name = of["runId"], of.get("name")
    named = name if isinstance(name, str) else None
    new = RunSoFar(query_id=str(of.get("id")), run_id=run_id, name=named, is_whole=is_whole, batches=set())
    return runs.setdefault(run_id, new)


def _start(source: Any) -> Any:
    """Return where a source began, as JSON; Spark writes it as JSON, or as a string that contains JSON."""
    start = source.get("startOffset") if isinstance(source, dict) else None
    if not isinstance(start, str):
        return start
    try:
        return parse(start.encode())
    except (ValueError, RecursionError):
        return start
