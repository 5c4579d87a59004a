"""What the event log of a Spark application says about its streaming queries, with the offsets that batches began at.

Format: `EventLoggingListener` and `StreamingQueryListener`; one JSON object a line. Spark 4 writes a folder of files by
default, compressed with zstd.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import PurePosixPath
from typing import Any, Final

from offsetwise.engines.rest import NO_START
from offsetwise.engines.spark.query_runs import RunSoFar, SparkApplication, in_order
from offsetwise.errors import LibraryMissingError, NotAFolderError, StorageError
from offsetwise.storage.folders import Tree, open_tree
from offsetwise.strict_json import parse

_ROLLED: Final = re.compile(r"events_([0-9]{1,9})_.+?(\.compact)?(\.zstd|\.lz4|\.lzf|\.snappy)?(\.compact)?")
_FOLDER: Final = "eventlog_v2_"
_CODECS: Final = frozenset({".zstd", ".lz4", ".lzf", ".snappy"})
_MARK: Final = b'"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$Query'
_CHUNK_BYTES: Final = 1024 * 1024
_BLOCK_BYTES: Final = 8 * 1024
"""Read at once of what is compressed: where the file breaks off, the block that is not whole is lost."""
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_TEXT_BYTES: Final = 4 * 1024 * 1024 * 1024
"""Of all files together, decompressed."""
_NAMED: Final = 12


def read_event_log(uri: str) -> SparkApplication:
    """Read the event log of one application.

    Args:
        uri: Its file, its folder, or the folder that holds it and no other one.

    Raises:
        StorageError: It cannot be read, is too large, or no event log.
    """
    folder, names = _files(uri)
    state, app_id, runs = "STARTED", None, dict[str, RunSoFar]()
    compacted = any(".compact" in name for name in names)
    left = MAX_TEXT_BYTES
    for name in names:
        for line in _lines(folder, name):
            left -= len(line)
            if left < 0:
                raise _unusable(uri, f"an event log of at most {MAX_TEXT_BYTES:,} bytes, decompressed; found more")
            if _MARK in line[:200]:
                state = _add(runs, _event(uri, name, line), is_whole=not compacted) or state
    match = re.search(r"((?:application|app|local|spark)-[0-9a-zA-Z-]+|application_[0-9]+_[0-9]+)", names[0])
    app_id = None if match is None else match[1]
    return SparkApplication(address=uri, id=app_id, name=None, state=state, runs=in_order(runs.values()))


def _files(uri: str) -> tuple[Tree, tuple[str, ...]]:
    """Return the folder of an event log, open, and its files in their order."""
    folder = open_tree(uri)
    try:
        entries = folder.entries()
    except NotAFolderError:
        above, _, name = uri.rstrip("/").rpartition("/")
        return open_tree(above or ("/" if uri.startswith("/") else ".")), (name,)
    names = [entry.name for entry in entries if not entry.name.startswith(".")]
    rolled = {int(match[1]): name for name in names if (match := _ROLLED.fullmatch(name)) is not None}
    if rolled:
        return folder, tuple(rolled[number] for number in sorted(rolled))
    logs = [name for name in names if name.startswith(_FOLDER)] or names
    if len(logs) == 1:
        return _files(f"{uri.rstrip('/')}/{logs[0]}")
    listed = f": {', '.join(logs[:_NAMED])}" if logs else ""
    raise StorageError(
        f"{uri}: expected the event log of one application, found {len(logs):,}{listed}. {NO_START}",
        fix="Give the file or folder of one application, such as eventlog_v2_ID.",
    )


def _lines(folder: Tree, name: str) -> Iterator[bytes]:
    """Yield the lines of a file that end: of one that is being written, the last may not."""
    rest = b""
    for chunk in _chunks(folder, name):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise _unusable(f"{folder.uri}/{name}", f"lines of at most {MAX_LINE_BYTES:,} bytes, found a longer one")
        yield from lines


def _chunks(folder: Tree, name: str) -> Iterator[bytes]:
    data = folder.for_large_files().read(name)
    codec = next((suffix for suffix in PurePosixPath(name).suffixes if suffix in _CODECS), None)
    if codec is None:
        yield from (data[at : at + _CHUNK_BYTES] for at in range(0, len(data), _CHUNK_BYTES))
        return
    if codec != ".zstd":
        raise _unusable(
            f"{folder.uri}/{name}", f"an event log that is plain or compressed with zstd, found {codec[1:]}"
        )
    try:
        import pyarrow  # noqa: PLC0415 - for those who have event logs
    except ImportError as error:
        raise LibraryMissingError(
            f"{folder.uri}/{name}: expected pyarrow, which reads zstd, found that it is not installed. {NO_START}",
            fix="Install it: pip install 'offsetwise[spark]'; or decompress the file with zstd -d, and give that one.",
        ) from error
    with pyarrow.input_stream(BytesIO(data), compression="zstd") as stream:
        try:
            while chunk := stream.read(_BLOCK_BYTES):
                yield chunk
        except OSError:
            return  # of one that is being written, the last block is not whole


def _event(uri: str, name: str, line: bytes) -> dict[str, Any]:
    try:
        event = parse(line, fractions=True)
    except (ValueError, RecursionError) as error:
        raise _unusable(uri, f"events of Spark in {name}, found a line that is none: {str(error)[:200]}") from error
    if not isinstance(event, dict):
        raise _unusable(uri, f"events of Spark in {name}, found a line that is none")
    return event


def _add(runs: dict[str, RunSoFar], event: dict[str, Any], *, is_whole: bool) -> str | None:
    """Add what an event says; return the state that it puts the application's queries in, None where that is none."""
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
    """Return the run that an event is of, a new one where none before it was."""
    run_id, name = of["runId"], of.get("name")
    named = name if isinstance(name, str) else None
    new = RunSoFar(query_id=str(of.get("id")), run_id=run_id, name=named, is_whole=is_whole, batches=set())
    return runs.setdefault(run_id, new)


def _start(source: Any) -> Any:
    """Return where a source began, as JSON; Spark writes it as JSON, or as a text that is JSON."""
    start = source.get("startOffset") if isinstance(source, dict) else None
    if not isinstance(start, str):
        return start
    try:
        return parse(start.encode())
    except (ValueError, RecursionError):
        return start


def _unusable(uri: str, expected: str) -> StorageError:
    return StorageError(
        f"{uri}: expected {expected}. {NO_START}",
        fix="Give the event log of the application, as spark.eventLog.dir has it, or its address in the REST API.",
    )
