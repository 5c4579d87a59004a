"""Checkpoints as a Parquet file: one row for each, in the order in which they were read."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.fleets import FleetRow
from offsetwise.model import AnyPosition, Checkpoint
from offsetwise.position import offset_or_none

POSITION: Final = pa.struct(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("shard", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("position", pa.string(), nullable=False),
    ]
)
"""`offset` is null if a position is no integer, `position` is its text as in every document. The topic of a shard is
its stream."""
PROBLEM: Final = pa.struct([pa.field(name, pa.string(), nullable=False) for name in ("code", "message", "fix")])
_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("uri", pa.string(), nullable=False),
    pa.field("verdict", pa.string(), nullable=False),
    pa.field("engine", pa.string()),
    pa.field("job_id", pa.string()),
    pa.field("restart", pa.string()),
    pa.field("last_planned_batch", pa.int64()),
    pa.field("last_committed_batch", pa.int64()),
    pa.field("written_at", pa.timestamp("ms", tz="UTC")),
    pa.field("partitions", pa.int64()),
    pa.field("state_bytes", pa.int64()),
    pa.field("positions", pa.list_(POSITION), nullable=False),
    pa.field("problems", pa.list_(PROBLEM), nullable=False),
]
SCHEMA: Final = pa.schema(_FIELDS)
"""For an unreadable checkpoint the error is its only problem, and unknown values are null."""
_ROWS: Final = 1_000
"""How many rows a row group has, which are in memory uncompressed."""


class FleetParquet:
    def __init__(self) -> None:
        self._buffer = BytesIO()
        self._writer = pq.ParquetWriter(self._buffer, SCHEMA, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def add(self, row: FleetRow) -> None:
        self._rows.append(_row(row))
        if len(self._rows) == _ROWS:
            self._flush()

    def content(self) -> bytes:
        self._flush()
        self._writer.close()
        return self._buffer.getvalue()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=SCHEMA))
            self._rows = []


def _row(row: FleetRow) -> dict[str, Any]:
    if isinstance(row.read, FailedCheckpoint):
        problem = {"code": row.read.error, "message": row.read.problem, "fix": row.read.fix}
        return {"uri": _text(row.uri), "verdict": str(row.verdict), "positions": [], "problems": [problem]}
    read = row.read
    return {
        "uri": _text(row.uri),
        "verdict": str(row.verdict),
        "engine": read.engine,
        "job_id": read.job_id,
        "restart": read.restart,
        "last_planned_batch": read.details.progress.planned,
        "last_committed_batch": read.details.progress.committed,
        "written_at": row.planned_at_ms,
        "partitions": row.partitions,
        "state_bytes": row.state_bytes,
        "positions": list(_positions(read)),
        "problems": [
            {"code": problem.code, "message": problem.message, "fix": problem.fix} for problem in read.problems
        ],
    }


def _positions(read: Checkpoint) -> Iterator[dict[str, Any]]:
    for source in read.sources:
        for at in source.positions:
            yield {"source": source.id, "topic": at.topic, "partition": at.partition, **_position(at.offset)}
        for shard in source.shards:
            yield {"source": source.id, "topic": shard.stream, "shard": shard.shard, **_position(shard.position)}


def _position(position: AnyPosition) -> dict[str, Any]:
    return {"offset": offset_or_none(position), "position": str(position)}


def _text(name: str) -> str:
    """Return a name in valid UTF-8: a folder's name may have other bytes."""
    return name.encode(errors="backslashreplace").decode()
