"""A Flink checkpoint or savepoint: where exactly its Kafka sources resume, and what is wrong with it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from offsetwise.errors import CheckpointError, NotACheckpointError, StorageError
from offsetwise.findings.reading import checkpoint_damaged
from offsetwise.findings.target_position import no_position
from offsetwise.garbage import collected_seldom
from offsetwise.model import Checkpoint, CheckpointSource, Problem, RetainedCheckpoint
from offsetwise.plugins.flink.engine.binary import DamagedError
from offsetwise.plugins.flink.engine.details import FlinkDetails, Operator, Saved
from offsetwise.plugins.flink.engine.findings import checkpoint_unaligned
from offsetwise.plugins.flink.engine.folder import METADATA, job_of, retained_beside
from offsetwise.plugins.flink.engine.hygiene import hygiene
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE as LEGACY_SHARDS
from offsetwise.plugins.flink.engine.metadata import (
    Metadata,
    OperatorEntry,
    UnknownMetadataVersionError,
    parse_metadata,
)
from offsetwise.plugins.flink.engine.opened import Elsewhere, Opened, label_of
from offsetwise.plugins.flink.engine.operators import operators_of
from offsetwise.plugins.flink.engine.source import (
    LEGACY_STATE,
    READER_STATE,
    TAKE_ANOTHER,
    SourceState,
    read_source,
)
from offsetwise.plugins.flink.engine.transactions import COMMITTER_STATE, WRITER_STATE, SinkElements, Sinks, read_sinks
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.storage.folders import Entry, FolderReader, Tree, open_tree
from offsetwise.wording import many

SHOWN_PARTITIONS: Final = 4
SOURCE_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[^/\\\x00-\x1f\x7f-\x9f]{1,255}")
"""Allowed names of a source in a plan; none of them is a path."""


def read_checkpoint(uri: str, *, roots: Sequence[str] | None = None, uids: Sequence[str] = ()) -> Checkpoint:
    """Read a checkpoint or savepoint.

    Args:
        uri: Its folder, or the `_metadata` file in it: a path, or a URI of any file system in `location.SCHEMES`.
        roots: The folders that may be read; None if a person named the path. Then state outside the checkpoint's folder
            is read only from the folder above it.
        uids: Uids of operators, which older checkpoints contain as hashes only.

    Raises:
        OutsideRootsError: The path leaves the roots.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The folder is missing or cannot be read.
        NotACheckpointError: It is something else.
        CheckpointError: Its `_metadata` is damaged or has an unsupported version, or no operator has a given uid.
    """
    folder = uri.rstrip("/")
    if folder.rpartition("/")[2] == METADATA:
        folder = folder.rpartition("/")[0] or "."
    tree = open_tree(folder, roots=roots)
    above = _above(folder)

    def elsewhere(path: str) -> bytes | StorageError:
        parent, _, name = path.rpartition("/")
        try:
            return open_tree(parent, roots=roots if roots is not None else [above]).read(name)
        except StorageError as error:
            return error

    try:
        around: Tree | None = open_tree(above, roots=roots)
    except StorageError:
        around = None  # the folder above is outside the roots: no other checkpoints are offered
    return read_from(tree, around=around, elsewhere=elsewhere, uids=uids)


def _above(folder: str) -> str:
    if folder in ("", ".", ".."):
        return f"{folder or '.'}/.."
    before, slash, _ = folder.rpartition("/")
    return before or ("/" if slash else ".")


@collected_seldom()
def read_from(
    folder: FolderReader,
    *,
    root: Sequence[Entry] | None = None,
    around: FolderReader | None = None,
    elsewhere: Elsewhere | None = None,
    uids: Sequence[str] = (),
) -> Checkpoint:
    """Read a checkpoint from an open folder; see `read_checkpoint`.

    Args:
        folder: The folder with `_metadata`.
        root: Its entries, if they are known already.
        around: The folder above it, which contains other retained checkpoints.
        elsewhere: Reads state by its absolute path; None if that is not possible.
        uids: As for `read_checkpoint`.
    """
    entries = folder.entries(details=True) if root is None else root
    data, metadata = _read_metadata(folder, entries, uids)
    opened = Opened.of(folder, data, metadata, elsewhere)
    sinks = _sinks(metadata, opened)
    written_ms = _written_ms(entries)
    sources, problems, hybrid = _sources(metadata, opened, uids, written_ms)
    saved = _saved(metadata, opened, folder.uri.rstrip("/").rpartition("/")[2], around, written_ms)
    operators = _named(operators_of(metadata, sinks.prefixes, hybrid), uids)
    details = FlinkDetails(
        saved=saved, operators=operators, transactions=sinks.transactions, pooled_prefixes=sinks.pooled
    )
    problems = [*opened.problems, *problems, *sinks.problems, *(() if saved.aligned else checkpoint_unaligned())]
    problems += hygiene(saved, kept_when_cancelled=metadata.kept_when_cancelled)
    return Checkpoint(
        uri=folder.uri,
        engine="flink",
        job_id=job_of(folder.uri),
        restart=_restart(saved, sources, problems),
        sources=sources,
        problems=tuple(problems),
        pins=((METADATA, hashlib.sha256(data).hexdigest()), *opened.digests()),
        details=details,
    )


def _read_metadata(folder: FolderReader, entries: Sequence[Entry], uids: Sequence[str]) -> tuple[bytes, Metadata]:
    data = _metadata(folder, entries)
    metadata = _parsed(folder, data)
    _require_known(folder, metadata.operators, uids)
    return data, metadata


def _written_ms(entries: Sequence[Entry]) -> int | None:
    modified_s = next((entry.modified_s for entry in entries if entry.name == METADATA), None)
    return None if modified_s is None else int(modified_s * 1000)


def _saved(metadata: Metadata, opened: Opened, name: str, around: FolderReader | None, written_ms: int | None) -> Saved:
    return Saved(
        kind=metadata.kind or _kind_by_name(name),
        id=metadata.checkpoint_id,
        format_version=metadata.version,
        format=metadata.format,
        written_ms=written_ms,
        aligned=not any(subtask.channels for entry in metadata.operators for subtask in entry.subtasks),
        compressed=opened.compressed,
        retained=_retained(around, name),
    )


def _metadata(folder: FolderReader, entries: Sequence[Entry]) -> bytes:
    size = next((entry.size_bytes for entry in entries if entry.name == METADATA), None)
    if not any(entry.name == METADATA for entry in entries):
        raise NotACheckpointError(
            f"{folder.uri}: expected the folder of a Flink checkpoint or savepoint, found no _metadata in it. "
            "No position was read.",
            fix="Give the folder that holds _metadata, such as chk-42 or savepoint-1c854b-670a03101f94.",
        )
    # State of many keys may be in the file itself, which then is far larger than a log file of Spark.
    large = folder.for_large_files() if isinstance(folder, Tree) else folder
    content = large.read_many({METADATA: size})[METADATA]
    if isinstance(content, StorageError):
        raise content
    return content


def _parsed(folder: FolderReader, data: bytes) -> Metadata:
    try:
        return parse_metadata(data)
    except UnknownMetadataVersionError as error:
        raise CheckpointError(
            f"{_shown(folder)}, {error}. No position was read.",
            fix="Restore it with a Flink of 1.15 or later, and take a new savepoint there."
            if error.is_older
            else "Use a release of Offsetwise that knows this Flink: this one reads what Flink 1.15 to 2.3 write.",
        ) from error
    except DamagedError as error:
        kind = NotACheckpointError if error.at == 0 else CheckpointError
        raise kind(
            f"{_shown(folder)}: expected the _metadata of a Flink savepoint or checkpoint; {error}. "
            "No position was read.",
            fix=TAKE_ANOTHER,
        ) from error


def _shown(folder: FolderReader) -> str:
    return f"{folder.uri.rstrip('/')}/{METADATA}"


def _sources(
    metadata: Metadata, opened: Opened, uids: Sequence[str], written_ms: int | None
) -> tuple[tuple[CheckpointSource, ...], list[Problem], set[str]]:
    uid_by_hash = dict(zip(map(operator_id, uids), uids, strict=True))
    sources: list[CheckpointSource] = []
    problems: list[Problem] = []
    hybrid: set[str] = set()
    for entry in metadata.operators:
        names = _state_names(entry)
        for name in (READER_STATE, LEGACY_STATE, LEGACY_SHARDS):
            coordinated = name == READER_STATE and entry.coordinator is not None and not entry.finished
            if name not in names and not coordinated:
                continue
            elements, complete = opened.elements(entry, name)
            uid = entry.uid or uid_by_hash.get(entry.id, "")
            retained = SourceState(
                index=len(sources),
                id=uid if SOURCE_NAME.fullmatch(uid) else entry.id,
                label=label_of(entry),
                state=name,
                elements=elements,
                coordinator=opened.coordinator(entry),
                complete=complete and not any(subtask.finished for subtask in entry.subtasks),
                written_ms=written_ms,
            )
            source, source_problems = _shards(retained) or read_source(retained)
            if name in names or source.kind != "other":
                sources.append(source)
                problems += source_problems
                if retained.hybrid:
                    hybrid.add(entry.id)
    return tuple(sources), problems, hybrid


def _shards(retained: SourceState) -> tuple[CheckpointSource, list[Problem]] | None:
    from offsetwise.plugins.flink.engine.kinesis.source import read_source as read_shards  # noqa: PLC0415 - only needed for such sources

    return read_shards(retained)


def _sinks(metadata: Metadata, opened: Opened) -> Sinks:
    sinks = []
    for entry in metadata.operators:
        names = _state_names(entry)
        if names & {WRITER_STATE, COMMITTER_STATE}:
            writer, _ = opened.elements(entry, WRITER_STATE)
            committer, _ = opened.elements(entry, COMMITTER_STATE)
            sinks.append(SinkElements(entry.id, label_of(entry), writer, committer))
    return read_sinks(sinks)


def _state_names(entry: OperatorEntry) -> set[str]:
    return {state.name for subtask in entry.subtasks if subtask.managed is not None for state in subtask.managed.states}


def _named(operators: Sequence[Operator], uids: Sequence[str]) -> tuple[Operator, ...]:
    known = {operator_id(uid): uid for uid in uids}
    return tuple(replace(operator, uid=operator.uid or known.get(operator.id)) for operator in operators)


def _require_known(folder: FolderReader, operators: Sequence[OperatorEntry], uids: Sequence[str]) -> None:
    ids = {operator.id for operator in operators}
    unrecognized = [uid for uid in uids if operator_id(uid) not in ids]
    if unrecognized:
        raise CheckpointError(
            f"{folder.uri}: expected an operator with the uid {unrecognized[0]!r}, but its hash "
            f"{operator_id(unrecognized[0])} "
            f"is none of the checkpoint's: {', '.join(sorted(ids)) or 'it has no operator'}. Nothing was shown.",
            fix="Check the spelling in the job's code; an operator without a uid has an id made from the job graph.",
        )


def _retained(around: FolderReader | None, name: str) -> tuple[RetainedCheckpoint, ...]:
    return () if around is None else retained_beside(around, name)


def _restart(saved: Saved, sources: Sequence[CheckpointSource], problems: Sequence[Problem]) -> str:
    what = f"{(saved.kind or 'checkpoint').capitalize()} {saved.id}"
    shown = [
        f"{at.topic_partition} at {at.offset:,}" for source in sources for at in source.positions[:SHOWN_PARTITIONS]
    ][:SHOWN_PARTITIONS]
    more = sum(len(source.positions) for source in sources) - len(shown)
    if more:
        shown.append(f"and {many(more, 'more partition')}")
    shards = [f"{at.shard} at {at.position}" for source in sources for at in source.shards]
    shown += shards[:SHOWN_PARTITIONS]
    if len(shards) > SHOWN_PARTITIONS:
        shown.append(f"and {many(len(shards) - SHOWN_PARTITIONS, 'more shard')}")
    marked = [at for source in sources for at in source.marked]
    begun = [at for source in sources for at in source.undecided]
    shown += [f"{at.topic_partition} at its {at.starts_at} offset" for at in begun[:SHOWN_PARTITIONS]]
    if shown and len(marked) > len(begun):
        shown.append(f"and without {many(len(marked) - len(begun), 'partition')} that no reader keeps")
    if shown:
        return f"{what}: the job continues with {', '.join(shown)}."
    reasons = (problem.message for problem in problems if problem.code in (checkpoint_damaged.code, no_position.code))
    reason = next(reasons, "it has no source whose positions are read.")
    return f"{what}: where the job continues is unknown: {reason}"


def _kind_by_name(name: str) -> str | None:
    if re.fullmatch(r"chk-\d+", name):
        return "checkpoint"
    return "savepoint" if name.startswith("savepoint-") else None
