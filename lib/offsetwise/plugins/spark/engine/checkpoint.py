"""A Spark Structured Streaming checkpoint: where exactly the job restarts, and what is wrong with it.

Format and behaviour: Spark's `HDFSMetadataLog`, `OffsetSeqLog`, `CommitLog` and `MicroBatchExecution`.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from offsetwise.errors import MissingError, StorageError
from offsetwise.findings.migration import reader_suspected
from offsetwise.findings.reading import REPAIR_OPTIONS, checkpoint_damaged
from offsetwise.model import Batch, BatchSource, Checkpoint, CheckpointSource, Problem
from offsetwise.plugins.spark.engine.details import SparkDetails, StateStore
from offsetwise.plugins.spark.engine.findings import pending_batch
from offsetwise.plugins.spark.engine.folder import require_checkpoint
from offsetwise.plugins.spark.engine.initial_offsets import read_initial_offsets
from offsetwise.plugins.spark.engine.later_batches import BATCH, crc_path
from offsetwise.plugins.spark.engine.offset_log import (
    GarbledError,
    Head,
    Lines,
    UnknownLogVersionError,
    checksum_fits,
    parse_commit,
    parse_offsets,
    parse_query_id,
)
from offsetwise.plugins.spark.engine.positions import resolve_positions, restart_sentence
from offsetwise.plugins.spark.engine.restart import RESTORE, Restart, damaged, decide_restart, odd_name, stale_checksum
from offsetwise.plugins.spark.engine.state import read_state
from offsetwise.plugins.spark.engine.state_versions import lost_commits
from offsetwise.storage.dynamodb import Table
from offsetwise.storage.folders import Entry, FolderReader, open_tree

if TYPE_CHECKING:
    from offsetwise.plugins.spark.engine.kinesis import SourceShards

YOUNG_S: Final = 120
"""A temporary file younger than this is taken as a sign of a running query."""
ATTEMPTS: Final = 3
"""How often the logs are listed again if they change while they are read."""

_T = TypeVar("_T")
_METADATA: Final = "metadata"
_REPAIRS: Final = {
    "commits": "Draft a repaired copy without it, in which its batch runs again: offsetwise draft --set "
    f"repair=remove-damaged-commit {REPAIR_OPTIONS}.",
    "offsets": "Restore it from a backup, or draft a repaired copy that leaves its batch out and goes on after the one "
    f"before: offsetwise draft --set repair=drop-pending-batch {REPAIR_OPTIONS}.",
    _METADATA: "Draft a repaired copy that has the query's id again: offsetwise draft --set "
    f"repair=restore-metadata --set query_id=UUID {REPAIR_OPTIONS}.",
}
"""Remedies for a lost or garbled file, by its name or folder."""
_UNKNOWN_VERSION: Final = (
    "Restore a copy of the folder from before the upgrade of Spark, or use a release of Offsetwise that reads it."
)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def read_checkpoint(uri: str, *, roots: Sequence[str] | None = None, batches: int = 100) -> Checkpoint:
    """Read a checkpoint as it is now.

    Everything readable is returned: damage is a problem of the checkpoint, and a position that cannot be relied on is
    left out.

    Args:
        uri: The folder: a path, or a URI of any file system in `location.SCHEMES`.
        roots: The folders that may be read; None if a person named the path.
        batches: How many of the newest retained batches to read; 0 reads only the files that decide the restart.

    Raises:
        OutsideRootsError: The path leaves the roots.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The folder is missing or cannot be read.
        NotACheckpointError: The folder is something else.
    """
    return read_from(open_tree(uri, roots=roots), batches=batches)


def read_from(
    folder: FolderReader,
    *,
    batches: int = 100,
    entries: tuple[Entry, ...] | None = None,
    committer: Table | None = None,
) -> Checkpoint:
    """Read a checkpoint from an open folder; see `read_checkpoint`.

    Args:
        folder: The folder.
        batches: As for `read_checkpoint`.
        entries: The folder's entries, with details, if they are known already.
        committer: The table in which a connector keeps the ends of its batches instead of the folder.
    """
    root = require_checkpoint(folder, entries)
    observed, moved = _list_logs(folder), False
    for _ in range(ATTEMPTS):
        listed = _sorted_out(folder, observed)
        logs, lines = _read_logs(folder, root, listed, batches=batches)
        again = _list_logs(folder)
        if not logs.vanished and _same_batches(observed, again):
            break
        observed, moved = again, True
    problems = list(logs.problems)
    if moved:
        problems.append(_running("its logs changed while they were read"))
    elif listed.young_tmp:
        problems.append(_running(f"{listed.young_tmp} was written within the last {YOUNG_S} seconds"))
    state, state_problems = read_state(folder) if any(entry.name == "state" for entry in root) else ((), ())
    return _assemble(folder, root, logs, lines, (*problems, *state_problems), state=state, committer=committer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listing:
    planned: tuple[int, ...]
    committed: tuple[int, ...]
    sizes: dict[str, int | None]
    young_tmp: str | None
    problems: tuple[Problem, ...]
    misnamed: bool
    """Whether a batch has only a file whose name spells its number differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logs:
    """What both logs say, the lines of sources aside."""

    listing: _Listing
    restart: Restart
    heads: dict[int, Head]
    digests: dict[int, str]
    required: tuple[int, ...]
    job_id: str | None
    commit_version: int | None
    problems: tuple[Problem, ...]
    vanished: bool
    startable: bool
    """Whether Spark can read the files that a start needs in addition to those of the batches it reads from."""


_Entries: TypeAlias = dict[str, tuple[Entry, ...]]


def _list_logs(folder: FolderReader) -> _Entries:
    # Commits first: a batch that commits in between is then pending, never committed without a plan.
    return {log: _entries(folder, log) for log in ("commits", "offsets")}


def _same_batches(before: _Entries, now: _Entries) -> bool:
    return before == now or all(_batch_ids(before[log]) == _batch_ids(now[log]) for log in before)


def _sorted_out(folder: FolderReader, logs: _Entries) -> _Listing:
    ids: dict[str, tuple[int, ...]] = {}
    sizes: dict[str, int | None] = {}
    problems: list[Problem] = []
    young: str | None = None
    misnamed = False
    for log, entries in logs.items():
        ids[log] = _batch_ids(entries)
        sizes |= {f"{log}/{entry.name}": entry.size_bytes for entry in entries}
        for name in {entry.name for entry in entries}.difference(map(str, ids[log])):
            if name.endswith(".tmp"):
                young = young or _young_tmp(folder, log)
            elif name[0] != "." and _NUMBER.fullmatch(name):
                batch = int(name)
                misnamed = misnamed or (0 <= batch < 2**63 and batch not in ids[log])
                problems.append(odd_name(log, batch, name, ids[log]))
    return _Listing(
        planned=ids["offsets"],
        committed=ids["commits"],
        sizes=sizes,
        young_tmp=young,
        problems=tuple(problems),
        misnamed=misnamed,
    )


def _batch_ids(entries: Sequence[Entry]) -> tuple[int, ...]:
    ids = [int(name) for name, *_ in entries if name[0] != "." and BATCH.fullmatch(name)]
    return tuple(sorted(batch for batch in ids if batch < 2**63))


def _read_logs(
    folder: FolderReader, root: Sequence[Entry], listing: _Listing, *, batches: int
) -> tuple[_Logs, dict[int, Lines]]:
    restart = decide_restart(listing.planned, listing.committed)
    deciding = [batch for batch in (restart.last_planned, restart.previous, restart.starts_after) if batch is not None]
    newest = listing.planned[-batches:] if batches > 0 else ()
    requested = tuple(sorted({*deciding, *newest}))
    commit = None if restart.last_committed is None else f"commits/{restart.last_committed}"
    paths = [*(f"offsets/{batch}" for batch in requested), *([] if commit is None else [commit])]
    paths += [crc for path in paths if (crc := crc_path(path)) in listing.sizes]
    sizes = {path: listing.sizes.get(path) for path in paths}
    sizes |= {entry.name: entry.size_bytes for entry in root if entry.name in ("metadata", ".metadata.crc")}
    read = folder.read_many(sizes)
    # With a misspelled name, further conclusions from the ids would only repeat that.
    of_ids = () if listing.misnamed else (*restart.problems, *lost_commits(folder, restart.uncommitted))
    problems = [*listing.problems, *of_ids]
    heads, lines = dict[int, Head](), dict[int, Lines]()
    for batch in requested:
        decides, is_repaired = batch in deciding, batch == restart.reruns
        file = _parsed(f"offsets/{batch}", read, parse_offsets, problems, deciding=decides, mended=is_repaired)
        if file is not None:
            heads[batch], lines[batch] = file
    version = None if commit is None else _parsed(commit, read, parse_commit, problems, deciding=True)
    query_id = _parsed("metadata", read, parse_query_id, problems, deciding=True)
    contents = {batch: data for batch in deciding if isinstance(data := read.get(f"offsets/{batch}"), bytes) and data}
    logs = _Logs(
        listing=listing,
        restart=restart,
        heads=heads,
        digests={batch: hashlib.sha256(data).hexdigest() for batch, data in contents.items()},
        required=requested,
        job_id=query_id,
        commit_version=version,
        startable=not listing.misnamed
        and (query_id is not None or "metadata" not in read)
        and (version is not None or commit is None),
        problems=tuple(problems),
        vanished=any(isinstance(content, MissingError) for content in read.values()),
    )
    return logs, lines


def _parsed(
    path: str,
    read: dict[str, bytes | StorageError],
    parse: Callable[[bytes], _T],
    problems: list[Problem],
    *,
    deciding: bool,
    mended: bool = True,
) -> _T | None:
    data = read.get(path)
    if data is None:
        message = f"{path} is missing: Spark would start as a new query with a new id."
        problems.append(checkpoint_damaged.problem(message, fix=_REPAIRS[_METADATA]))
        return None
    effect = "Spark fails on restart." if deciding else "The restart does not use it."
    if isinstance(data, StorageError):
        problems.append(damaged(f"{path} cannot be read: {data.problem} {effect}"))
        return None
    checksum = read.get(crc_path(path))
    if isinstance(checksum, bytes) and not checksum_fits(data, checksum):
        problems.append(stale_checksum(path, crc_path(path)))
    try:
        return parse(data)
    except UnknownLogVersionError as error:
        message = f"{path} was written by another Spark: {error}. Its positions are not known."
        problems.append(checkpoint_damaged.problem(message, fix=_UNKNOWN_VERSION))
        return None
    except GarbledError as error:
        repairs = _REPAIRS if mended else {}
        fix = repairs.get(path.partition("/")[0], RESTORE)
        problems.append(checkpoint_damaged.problem(f"{path} is garbled: {error}. {effect}", fix=fix))
        return None


def _assemble(
    folder: FolderReader,
    root: Sequence[Entry],
    logs: _Logs,
    lines: Mapping[int, Lines],
    problems: Sequence[Problem],
    *,
    state: tuple[StateStore, ...],
    committer: Table | None,
) -> Checkpoint:
    restart = logs.restart
    initial = read_initial_offsets(
        folder, present=any(entry.name == "sources" for entry in root), checksums=restart.from_initial
    )
    sources, found, start = resolve_positions(restart, logs.heads, lines, initial, startable=logs.startable)
    sharded = _sharded(folder, sources, restart, lines, committer)
    if sharded:
        found = _with_shards(sources, found, sharded, runs_again=start.runs_again)
        sources = tuple(sharded[source.index].source if source.index in sharded else source for source in sources)
    problems = (*problems, *found)
    newest = (batch for batch in (restart.last_planned, restart.starts_after) if batch in logs.heads)
    shown = next((logs.heads[batch] for batch in newest if batch is not None), None)
    digests = [(f"offsets/{batch}", digest) for batch, digest in sorted(logs.digests.items())]
    return Checkpoint(
        uri=folder.uri,
        engine="spark",
        job_id=logs.job_id,
        restart=restart_sentence(restart, start, sources, problems),
        sources=sources,
        problems=problems,
        pins=(
            *digests,
            *((path, initial.digests[path]) for path in start.initial_files),
            *(pin for result in sharded.values() for pin in result.pins),
        ),
        details=SparkDetails(
            last_planned_batch=restart.last_planned,
            last_committed_batch=restart.last_committed,
            reruns_batch=restart.reruns,
            batches=_batches(logs, lines),
            state=state,
            configuration=shown.configuration if shown else (),
            offset_log_version=shown.version if shown else None,
            commit_log_version=logs.commit_version,
        ),
    )


def _sharded(
    folder: FolderReader,
    sources: Sequence[CheckpointSource],
    restart: Restart,
    lines: Mapping[int, Lines],
    committer: Table | None,
) -> dict[int, SourceShards]:
    if not any('"streamName"' in (source.raw or "") for of_batch in lines.values() for source in of_batch.values()):
        return {}
    from offsetwise.plugins.spark.engine.kinesis import read_source  # noqa: PLC0415 - most queries read only Kafka

    read = ((source.index, read_source(folder, source, restart, lines, committer)) for source in sources)
    return {index: result for index, result in read if result is not None}


def _with_shards(
    sources: Sequence[CheckpointSource],
    problems: Sequence[Problem],
    sharded: Mapping[int, SourceShards],
    *,
    runs_again: bool,
) -> tuple[Problem, ...]:
    own = (
        problem
        for result in sharded.values()
        for problem in result.problems
        if runs_again or problem.code != pending_batch.code
    )
    # Whoever reads such a source alone says itself what of a pending batch is known.
    alone = not any(source.positions for source in sources)
    return (*(problem for problem in problems if not (alone and problem.code == pending_batch.code)), *own)


def _batches(logs: _Logs, lines: Mapping[int, Lines]) -> tuple[Batch, ...]:
    planned, committed = set(logs.listing.planned), set(logs.listing.committed)
    batches = ((batch, logs.heads.get(batch)) for batch in logs.required if batch in planned)
    return tuple(
        Batch(
            id=batch,
            committed=batch in committed,
            sources=tuple(
                BatchSource(id=source.id, offsets=source.offsets, raw=source.raw)
                for source in lines.get(batch, {}).values()
            ),
            timestamp_ms=None if head is None else head.timestamp_ms,
            watermark_ms=None if head is None else head.watermark_ms,
        )
        for batch, head in batches
    )


def _entries(folder: FolderReader, log: str) -> tuple[Entry, ...]:
    try:
        return folder.entries(log)
    except MissingError:
        return ()


def _young_tmp(folder: FolderReader, log: str) -> str | None:
    now = time.time()
    for entry in folder.entries(log, details=True):
        if entry.name.endswith(".tmp") and entry.modified_s is not None and now - entry.modified_s < YOUNG_S:
            return f"{log}/{entry.name}"
    return None


def _running(sign: str) -> Problem:
    return reader_suspected.problem(
        f"A query seems to be running on this checkpoint: {sign}. What is shown may be out of date.",
        fix="Stop the query, then inspect again.",
    )
