from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from offsetwise.engines.batch_files import BatchFiles, RawFile
from offsetwise.engines.engine import CheckpointEngine, CheckpointReading, ReadOption, ReadRequest, Written
from offsetwise.errors import CheckpointError, MissingError, StorageError
from offsetwise.model import BatchSource, Checkpoint
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.details import SparkDetails
from offsetwise.plugins.spark.engine.folder import instead, is_checkpoint
from offsetwise.plugins.spark.engine.initial_offsets import read_initial_offsets
from offsetwise.plugins.spark.engine.offset_log import GarbledError, parse_commit, parse_offsets
from offsetwise.plugins.spark.engine.releases.flows import LEVELS, ROOT, newest_of_flows, superseded
from offsetwise.plugins.spark.engine.repairs.kinds import repair, repairs_to_try
from offsetwise.storage.dynamodb import Table, tables_at
from offsetwise.storage.folders import FolderReader, open_tree

LOGS: Final = ("offsets", "commits")


def reading(folder: FolderReader, checkpoint: Checkpoint) -> CheckpointReading:
    times = _times(folder)
    planned = f"offsets/{checkpoint.details.progress.planned}"
    return CheckpointReading(
        checkpoint=checkpoint,
        read_at_ms=int(time.time() * 1000),
        initial=_initial(folder),
        newest=max(times, key=lambda written: written.modified_ms, default=None),
        newest_plan=next((written for written in times if written.path == planned), None),
    )


def _times(folder: FolderReader) -> list[Written]:
    batches = []
    for log in LOGS:
        try:
            entries = folder.entries(log, details=True)
        except StorageError:
            continue
        batches += [
            Written(path=f"{log}/{entry.name}", modified_ms=int(entry.modified_s * 1000))
            for entry in entries
            if entry.modified_s is not None and entry.name.isdigit()
        ]
    return batches


def _initial(folder: FolderReader) -> tuple[BatchSource, ...]:
    offsets = read_initial_offsets(folder, present=True, checksums=False)
    return tuple(
        BatchSource(id=source_id, offsets=offset.offsets)
        for source_id, offset in offsets.offsets.items()
        if offset.offsets
    )


_Parsed = TypeVar("_Parsed")


def files_from(folder: FolderReader, batch: int) -> BatchFiles:
    plan, commit = f"offsets/{batch}", f"commits/{batch}"
    read = folder.read_many({plan: None, commit: None})
    return BatchFiles(
        batch=batch,
        offsets=_file(plan, read[plan], parse_offsets),
        commit=_file(commit, read[commit], parse_commit),
    )


def _file(path: str, content: bytes | StorageError, parse: Callable[[bytes], _Parsed]) -> RawFile[_Parsed]:
    if isinstance(content, MissingError):
        return RawFile(path=path, data=None, problem=f"{path} is not there.")
    if isinstance(content, StorageError):
        return RawFile(path=path, data=None, problem=content.problem)
    try:
        return RawFile(path=path, data=content, parsed=parse(content))
    except GarbledError as error:
        return RawFile(path=path, data=content, problem=f"{path} is garbled: {error}.")


COMMITTER: Final[ReadOption[str | None]] = ReadOption(
    name="committer", clause="a committer's table was named", noun="the table", default=None, parse=str
)
"""The table of DynamoDB that a connector keeps the ends of its batches in: a dump, or the table itself."""


def _read(request: ReadRequest) -> Checkpoint:
    named, folder = COMMITTER.of(request), request.folder or open_tree(request.uri, roots=request.roots)
    committer = None if named is None else _table(named, request.roots)
    read = read_from(folder, batches=request.history, entries=request.entries, committer=committer)
    return replace(read, problems=(*superseded(request.uri, roots=request.roots), *read.problems))


def _table(committer: str, roots: Sequence[str] | None) -> Table:
    tables = tables_at(committer, roots=roots)
    if len(tables) != 1:
        raise CheckpointError(
            f"{committer}: expected the one table of the committer, found {len(tables):,}. No position was read.",
            fix="Give a dump of that table alone.",
        )
    return tables[0]


SPARK: Final = CheckpointEngine(
    name="spark",
    label="Spark",
    what="the checkpoint folder of a Spark query",
    holds="offsets/, commits/ and metadata",
    job="query",
    source_name=re.compile(r"[A-Za-z0-9_]{1,255}"),  # as Spark names the folder of a source
    recognises=is_checkpoint,
    reader=_read,
    options=(COMMITTER,),
    plans_batches=True,
    own_groups="spark-kafka-",  # `KafkaSourceProvider`, unless `groupIdPrefix` or `kafka.group.id` is set
    batch_files=files_from,
    details=SparkDetails,
    reading=reading,
    repair=repair,
    repairs_to_try=repairs_to_try,
    instead=instead,
    deeper={ROOT: LEVELS},
    newest=newest_of_flows,
)
