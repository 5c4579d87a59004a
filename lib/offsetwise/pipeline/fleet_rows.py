"""Parse the answers of Spark workers about checkpoints, without trusting them.

The workers may belong to a server that is not ours, or that only claims to be one. So an answer is JSON and numbers,
every value is validated against the model, and anything else is an error. Whether a valid answer is true, only the
workers know.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, make_dataclass, replace
from functools import cache
from typing import Annotated, Any, Final

import pyarrow as pa
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from offsetwise.engines.flat import flat_type, whole
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.errors import FileError, VersionError
from offsetwise.files import read_object
from offsetwise.files.strict import strict_reader
from offsetwise.model import Batch, BatchSource, Checkpoint, TopicOffsets
from offsetwise.pipeline.spark_errors import foreign_answer

_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")
"""Possibly a number outside int64, which the strict JSON reader rejects; that reader takes three times as long."""
_Index = Annotated[int, Field(ge=0, strict=True)]
_Topic = tuple[str, tuple[_Index, ...]]
_Shape = tuple[tuple[str, str | None, tuple[_Topic, ...]], ...]
_Batch = tuple[int, bool, int | None, int | None, _Index]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed:
    failed: FailedCheckpoint


@cache
def _row(checkpoint: type) -> SchemaValidator:
    parts = {"checkpoint": checkpoint, "batches": tuple[_Batch, ...], "shapes": tuple[_Shape, ...]}
    read = make_dataclass("_Read", parts.items(), frozen=True, slots=True, kw_only=True)
    either: Any = read | _Failed
    return strict_reader(TypeAdapter(either))


def rows_of(table: pa.Table, count: int) -> dict[int, bytes]:
    """Return the rows of Spark's answer by the index of the checkpoint.

    Raises:
        WorkerError: The answer has another form.
    """
    try:
        table.validate(full=True)
        indexes, rows = table["id"].cast(pa.int64()).to_pylist(), table["row"].cast(pa.binary()).to_pylist()
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise foreign_answer(f"other rows than those of {count} checkpoints") from error
    results = {index: row for index, row in zip(indexes, rows, strict=True) if index is not None and row is not None}
    if len(rows) != count or results.keys() != set(range(count)):
        raise foreign_answer(f"other rows than those of {count} checkpoints")
    return results


def decode(row: bytes, *, subject: str) -> Checkpoint | FailedCheckpoint:
    """Parse a row that `rows.encode` wrote.

    Args:
        row: The row from a worker.
        subject: The requested checkpoint, for the message.

    Raises:
        WorkerError: It has another form.
    """
    line, _, packed = row.partition(b"\n")
    try:
        if _LONG_NUMBER.search(line):
            read_object(line, subject=subject)
        read = _row(flat_type()).validate_json(line)
        return read.failed if isinstance(read, _Failed) else _whole(read, packed)
    except (FileError, VersionError, ValidationError, ValueError, IndexError, struct.error) as error:
        raise foreign_answer(f"one about {subject} that it never gives") from error


def _whole(read: Any, packed: bytes) -> Checkpoint:
    offsets = struct.unpack(f"<{len(packed) // 8}q", packed)
    at = 0
    batches = []
    for id_, committed, timestamp, watermark, shape in read.batches:
        sources = []
        for source, raw, topics in read.shapes[shape]:
            of_topics = []
            for topic, partitions in topics:
                end = at + len(partitions)
                of_topics.append(TopicOffsets(topic=topic, partitions=partitions, offsets=offsets[at:end]))
                at = end
            sources.append(BatchSource(id=source, raw=raw, offsets=tuple(of_topics)))
        batches.append(
            Batch(id=id_, committed=committed, timestamp_ms=timestamp, watermark_ms=watermark, sources=tuple(sources))
        )
    if at != len(offsets):
        raise ValueError(f"{len(offsets):,} offsets for {at} partitions")
    return whole(replace(read.checkpoint, batches=tuple(batches)) if batches else read.checkpoint)
