"""Spark's Kinesis connectors: awslabs (`aws-kinesis`) and qubole (`kinesis`).

A line of `offsets/N` records where batch N *starts*. Its end is in a file for each shard, in `sources/<i>/shard-
source/<batch>/` (awslabs) or `shard-commit/<batch>/` (qubole), or in a table of DynamoDB. Formats:
`KinesisV2SourceOffset`, `HDFSMetadataCommitter` and `DynamodbMetadataCommitter` of awslabs 2.0.0, `ShardOffsets` and
`HDFSMetadataCommitter` of qubole 1.2.0.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from offsetwise.errors import MissingError, NotACheckpointError, StorageError
from offsetwise.findings.reading import REPAIR_OPTIONS, checkpoint_damaged, named
from offsetwise.model import CheckpointSource, Problem
from offsetwise.plugins.kinesis.stream.findings import (
    closed_shard_unread,
    parent_unread,
    positions_elsewhere,
    stream_differs,
    table_shared,
)
from offsetwise.plugins.kinesis.stream.shards import Shard, problems_of
from offsetwise.plugins.kinesis.stream.spec import (
    SHARD_END,
    ShardPlace,
)
from offsetwise.plugins.spark.engine.findings import pending_batch
from offsetwise.plugins.spark.engine.kinesis.positions import is_half_written, object_of, place_of
from offsetwise.plugins.spark.engine.later_batches import BATCH
from offsetwise.plugins.spark.engine.offset_log import GarbledError, Lines, checksum_fits
from offsetwise.plugins.spark.engine.restart import Restart, damaged
from offsetwise.storage.dynamodb import Table, text_of
from offsetwise.storage.folders import FolderReader

KIND: Final = "kinesis"
AWSLABS_ENDS: Final = "shard-source"
LEFT_UNREAD: Final = closed_shard_unread.code
_SHARD: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_KEYS: Final = frozenset({"metadataKey", "metadataSortKey"})
"""The key attributes of a committer's table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetLine:
    stream: str
    batch: int
    """The batch whose files contain the end; it may differ from that of the file's name."""
    positions: Mapping[str, ShardPlace]
    has_sub: bool
    """Whether it is of awslabs, which records positions inside aggregates."""

    @property
    def folder(self) -> str:
        return AWSLABS_ENDS if self.has_sub else "shard-commit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShards:
    source: CheckpointSource
    problems: tuple[Problem, ...]
    pins: tuple[tuple[str, str], ...] = ()
    """(path, SHA-256) of the files that the positions were read from."""


@dataclass(slots=True, kw_only=True)
class _Ends:
    positions: dict[str, ShardPlace] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    pins: list[tuple[str, str]] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    """Shards with an end that cannot be used."""
    known: bool = False
    """Whether any end is recorded at all."""
    rebuilds: bool = False
    """Whether the repair rebuild-shard-commit can write an end that is lost or half-written."""


def parse_line(text: str | None) -> OffsetLine | None:
    """Parse the line of a Kinesis source; return None for a line of another source.

    Raises:
        GarbledError: It is a Kinesis line, and damaged.
    """
    if text is None or '"streamName"' not in text:
        return None
    body = object_of(text.encode())
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or "streamName" not in metadata:
        return None
    stream, batch = metadata["streamName"], metadata.get("batchId")
    if not isinstance(stream, str) or not stream or not isinstance(batch, str) or not BATCH.fullmatch(batch):
        raise GarbledError("expected a stream's name and a batch's id as texts in the metadata, found others")
    shards = {name: value for name, value in body.items() if name != "metadata"}
    positions = {}
    for name, value in shards.items():
        if not _SHARD.fullmatch(name) or not isinstance(value, dict):
            raise GarbledError(f"expected an object by the id of a shard, found {name[:60]!r}")
        positions[name] = place_of(value)
    has_sub = any("isLast" in value for value in shards.values())
    return OffsetLine(stream=stream, batch=int(batch), positions=positions, has_sub=has_sub)


def read_source(
    folder: FolderReader,
    source: CheckpointSource,
    restart: Restart,
    lines: Mapping[int, Lines],
    committer: Table | None,
) -> SourceShards | None:
    """Read a source's positions; return None if it is not a Kinesis source.

    Args:
        folder: The checkpoint.
        source: The source as its line shows it.
        restart: The batch that runs next.
        lines: The lines of the offset files that were read, by batch.
        committer: The table of a DynamoDB committer, if a person named one.
    """
    raw = {batch: of_batch[source.id].raw for batch, of_batch in lines.items() if source.id in of_batch}
    last = restart.last_planned
    try:
        line = parse_line(raw.get(last)) if last is not None else None
    except GarbledError as error:
        problem = damaged(f"offsets/{last}, source {source.id} is garbled: {error}. Its positions are left out.")
        return SourceShards(source=replace(source, kind=KIND, raw=None), problems=(problem,))
    if line is None or last is None:
        return None
    base_source = replace(source, kind=KIND, raw=None)
    earlier, problems = _earlier(source.id, raw, last)
    names = sorted({line.stream, *(offset_line.stream for offset_line in earlier.values())})
    if len(names) > 1:
        effect = f"The connector does not compare the name with the job's; the newest batch says {line.stream}."
        problems += stream_differs(f"Source {source.id}", names, effect)
    if not restart.known and restart.reruns is None:
        return SourceShards(source=base_source, problems=tuple(problems))
    pending = restart.reruns is not None
    rebuilds = not pending and not line.has_sub and line.batch == last
    ends = _ends(folder, source.id, line, committer, rebuilds=rebuilds)
    problems += ends.problems
    if not pending and not ends.known and not _is_lost(folder, source.id, line, committer):
        problems.append(_elsewhere(last, source.id, line))
        return SourceShards(source=base_source, problems=tuple(problems))
    if not pending and not ends.known:
        problems.append(_lost(last, source.id, line))
        shards = [Shard(id=name, stream=line.stream, position=at) for name, at in sorted(line.positions.items())]
    else:
        shards = _pending(line, ends) if pending else _committed(source.id, line, ends, last, problems)
    problems += _gaps(source.id, folder, {**earlier, last: line}, committer)
    problems += problems_of(shards, knows_children=False)
    if pending:
        problems.append(_runs_again(last, line, shards, ends))
    rows = tuple(shard.row for shard in shards)
    return SourceShards(source=replace(base_source, shards=rows), problems=tuple(problems), pins=tuple(ends.pins))


def _is_lost(folder: FolderReader, source: str, line: OffsetLine, committer: Table | None) -> bool:
    """Return whether the folder has the ends of other batches: then this batch's ends are lost, not kept elsewhere."""
    if committer is not None:
        return False
    try:
        return any(BATCH.fullmatch(entry.name) for entry in folder.entries(f"sources/{source}/{line.folder}"))
    except StorageError:
        return False


def _lost(batch: int, source: str, line: OffsetLine) -> Problem:
    anew = (
        f"begin with an empty checkpoint, and the line of source {source} in offsets/{batch} as the option "
        "kinesis.startingposition"
        if line.has_sub
        else f"draft a copy that has them: offsetwise draft --set repair=rebuild-shard-commit {REPAIR_OPTIONS}"
    )
    return checkpoint_damaged.problem(
        f"Batch {batch} is committed, and {_path(source, line)} is not there, though ends of other batches are: its "
        f"own are lost, and the connector fails. Its shards are shown where batch {batch} began, as offsets/{batch} "
        "says: from there nothing is skipped, and what the batch read is read again.",
        fix=f"Restore {_path(source, line)} from a backup. Where there is none, {anew}.",
    )


def _elsewhere(batch: int, source: str, line: OffsetLine) -> Problem:
    if line.has_sub:
        return next(positions_elsewhere(batch, _path(source, line)))
    return positions_elsewhere.problem(
        f"Batch {batch} is committed, and {_path(source, line)} is not there: the ends of its shards are in another "
        "folder, which the query names as kinesis.executor.metadata.path. No position is told.",
        fix=f"Copy the folder {line.folder} from there to sources/{source} of the checkpoint, and read it again.",
    )


def _committed(source: str, line: OffsetLine, ends: _Ends, batch: int, problems: list[Problem]) -> list[Shard]:
    """Return where the next batch begins: at the ends, and in a shard without one where the batch began."""
    strange = sorted(ends.positions.keys() - line.positions.keys())
    if strange:
        problems.append(
            damaged(f"Batch {batch} has an end of {', '.join(strange)}, which offsets/{batch} does not name.")
        )
    without = sorted(line.positions.keys() - ends.positions.keys() - ends.unread)
    if without:
        effect = (
            "it goes on where the batch began, so what it read there is read again."
            if line.has_sub
            else "the connector takes that for a new shard and reads it from TRIM_HORIZON. It is shown where the batch "
            "began: from there nothing is skipped."
        )
        message = f"Batch {batch} is committed without an end of {named(without)}: {effect}"
        files = [f"{_path(source, line)}/{shard}" for shard in without]
        problems.append(_rebuilt(message, *files) if ends.rebuilds else damaged(message))
    names = sorted((line.positions.keys() | ends.positions.keys()) - ends.unread)
    positions = {name: ends.positions.get(name) or line.positions[name] for name in names}
    return [Shard(id=name, stream=line.stream, position=position) for name, position in positions.items()]


def _pending(line: OffsetLine, ends: _Ends) -> list[Shard]:
    bounded = ends.positions if line.has_sub else {}
    return [
        Shard(id=name, stream=line.stream, position=position, planned=bounded.get(name))
        for name, position in sorted(line.positions.items())
    ]


def _earlier(source: str, raw: Mapping[int, str | None], last: int) -> tuple[dict[int, OffsetLine], list[Problem]]:
    results, problems = {}, []
    for batch, text in raw.items():
        if batch != last:
            try:
                line = parse_line(text)
            except GarbledError as error:
                problems.append(
                    damaged(f"offsets/{batch}, source {source} is garbled: {error}. The restart does not use it.")
                )
                continue
            if line is not None:
                results[batch] = line
    return results, problems


def _gaps(source: str, folder: FolderReader, lines: Mapping[int, OffsetLine], committer: Table | None) -> list[Problem]:
    """Return problems of shards that a later batch was planned without, though they had not ended."""
    problems: list[Problem] = []
    for batch in sorted(lines):
        following = lines.get(batch + 1)
        if following is None or not following.has_sub:
            continue
        missing = lines[batch].positions.keys() - following.positions.keys()
        if not missing:
            continue
        ends = _ends(folder, source, lines[batch], committer)
        for shard in sorted(missing - ends.unread):
            position = ends.positions.get(shard, lines[batch].positions[shard])
            if position != SHARD_END:
                problems += parent_unread(shard, position, batch, batch + 1)
    return problems


def _runs_again(batch: int, line: OffsetLine, shards: Sequence[Shard], ends: _Ends) -> Problem:
    if not line.has_sub:
        until = "This connector reads such a batch to wherever the shards end then."
    elif not ends.known:
        until = "No end of it is recorded, so it reads to wherever the shards end then."
    else:
        without = [shard.id for shard in shards if shard.planned is None]
        until = f"{len(ends.positions):,} of {len(shards):,} shards have an end of it, which it keeps to" + (
            f"; {', '.join(without)} have none and are left to the batch behind it." if without else "."
        )
    return pending_batch.problem(
        f"Batch {batch} is planned and not committed: it runs again on restart. {until} The sink may hold part of it.",
        fix="Let it commit before the job is moved: start the job, and stop it after the batch.",
    )


def _path(source: str, line: OffsetLine) -> str:
    return f"sources/{source}/{line.folder}/{line.batch}"


def _ends(
    folder: FolderReader, source: str, line: OffsetLine, committer: Table | None, *, rebuilds: bool = False
) -> _Ends:
    """Return the recorded ends of a batch.

    Args:
        folder: The checkpoint.
        source: The source's id.
        line: Where the batch begins.
        committer: The table of a DynamoDB committer, if a person named one.
        rebuilds: Whether the repair rebuild-shard-commit can write an end that is lost or half-written.
    """
    if committer is not None:
        return _from_table(committer, line)
    return _from_folder(folder, source, line, rebuilds=rebuilds)


def _rebuilt(message: str, *files: str) -> Problem:
    return checkpoint_damaged.problem(
        message,
        fix=f"Restore {named(files)} from a backup. Where there is none, draft a copy with whole ends: offsetwise "
        f"draft --set repair=rebuild-shard-commit {REPAIR_OPTIONS}",
    )


def _from_folder(folder: FolderReader, source: str, line: OffsetLine, *, rebuilds: bool) -> _Ends:
    path, ends = _path(source, line), _Ends(rebuilds=rebuilds)
    try:
        names = [entry.name for entry in folder.entries(path)]
    except MissingError:
        return ends
    except StorageError as error:
        ends.problems.append(damaged(f"{path} cannot be read: {error.problem} Its ends are left out."))
        ends.unread |= line.positions.keys()
        ends.known = True
        return ends
    ends.known = True
    file_names = [name for name in names if not name.startswith(".")]
    sums = [f"{path}/{name}" for name in names if name.startswith(".") and name.endswith(".crc")]
    read = folder.read_many(dict.fromkeys([*(f"{path}/{name}" for name in file_names), *sums]))
    for name in file_names:
        file, data = f"{path}/{name}", read[f"{path}/{name}"]
        checksum = read.get(f"{path}/.{name}.crc")
        if isinstance(data, bytes) and isinstance(checksum, bytes) and not checksum_fits(data, checksum):
            ends.problems += checkpoint_damaged(
                f"{path}/.{name}.crc does not fit {file}: the file was edited by hand or damaged.",
                fix="If the edit was meant, delete the checksum; otherwise restore both files.",
            )
        if isinstance(data, bytes):
            ends.pins.append((file, hashlib.sha256(data).hexdigest()))
        why = data.problem if isinstance(data, StorageError) else _take(ends, name, data)
        if why is not None:
            message = f"{file} cannot be used: {why}. Its shard is left out."
            can_rebuild = rebuilds and name in line.positions and isinstance(data, bytes) and is_half_written(data)
            ends.problems.append(_rebuilt(message, file) if can_rebuild else damaged(message))
            ends.unread.add(name)
            ends.positions.pop(name, None)
    return ends


def _from_table(committer: Table, line: OffsetLine) -> _Ends:
    """Return a batch's ends in a committer's table, whose key is the batch's number without the query's id.

    Raises:
        NotACheckpointError: It is another kind of table.
    """
    ends = _Ends()
    if not committer.key_names >= _KEYS:
        raise NotACheckpointError(
            f"Table {committer.name}: expected the table of a DynamoDB committer, with items keyed by metadataKey and "
            f"metadataSortKey, found {' and '.join(sorted(committer.key_names)) or 'none'}. No position was read.",
            fix="Name the table that the query writes the ends of its batches to, with --committer-table.",
        )
    strange: list[str] = []
    for item in committer.items:
        try:
            batch, shard = text_of(item, "metadataKey"), text_of(item, "metadataSortKey")
            value = text_of(item, "metadataValue")
        except ValueError as error:
            ends.problems.append(damaged(f"An item of table {committer.name} cannot be used: {error}."))
            continue
        if batch != str(line.batch) or shard is None:
            continue
        ends.known = True
        if shard not in line.positions:
            strange.append(shard)
        elif why := "it has no metadataValue" if value is None else _take(ends, shard, value.encode()):
            ends.problems.append(
                damaged(f"Table {committer.name}, batch {batch}, {shard} cannot be used: {why}. It is left out.")
            )
            ends.unread.add(shard)
    if strange:
        ends.problems += table_shared(
            f"Table {committer.name} has ends of batch {line.batch} for {', '.join(sorted(strange))}, which the "
            "checkpoint does not name: its key is the bare number of the batch, and another query or an earlier "
            "checkpoint wrote to the same table."
        )
    return ends


def _take(ends: _Ends, shard: str, data: bytes) -> str | None:
    try:
        body = object_of(data)
        if body.get("shardId") != shard:
            raise GarbledError(f"expected the shard {shard!r} in it, found {str(body.get('shardId'))[:60]!r}")
        ends.positions[shard] = place_of(body)
    except GarbledError as error:
        return str(error)
    return None
