"""The positions of many jobs as a Parquet file: one row for each partition of each compared job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from offsetwise.model import AnyPosition, Comparison, PartitionComparison
from offsetwise.position import offset_or_none

_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("job", pa.string(), nullable=False),
    pa.field("source", pa.string(), nullable=False),
    pa.field("topic", pa.string(), nullable=False),
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("new_topic", pa.string(), nullable=False),
    pa.field("old_offset", pa.int64()),
    pa.field("old_position", pa.string()),
    pa.field("new_offset", pa.int64()),
    pa.field("new_position", pa.string()),
    pa.field("exactness", pa.string(), nullable=False),
    pa.field("method", pa.string(), nullable=False),
    pa.field("replay", pa.int64()),
    pa.field("skip", pa.int64()),
    pa.field("lag_old", pa.int64()),
    pa.field("lag_new", pa.int64()),
    pa.field("raw_verdict", pa.string(), nullable=False),
    pa.field("raw_replay", pa.int64()),
    pa.field("raw_skip", pa.int64()),
    pa.field("findings", pa.list_(pa.string()), nullable=False),
]
SCHEMA: Final = pa.schema(_FIELDS)
"""An offset is null if a position is no integer or unknown; `old_position` and `new_position` are the texts that every
document has. `raw_…` is the effect of a restart with the unchanged offset."""


def parquet_of(compared: Iterable[tuple[str, Comparison]]) -> bytes:
    """Return the file: the rows of each job in the order of its comparison, compressed with zstd."""
    buffer = BytesIO()
    with pq.ParquetWriter(buffer, SCHEMA, compression="zstd") as writer:
        for job, comparison in compared:
            rows = [dict(_row(job, row)) for row in comparison.partitions]
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
    return buffer.getvalue()


def _row(job: str, row: PartitionComparison) -> Iterator[tuple[str, Any]]:
    yield "job", job
    for name in ("source", "topic", "partition", "new_topic", "replay", "skip", "lag_old", "lag_new"):
        yield name, getattr(row, name)
    for side, position in (("old", row.old_offset), ("new", row.new_offset)):
        yield f"{side}_offset", None if position is None else offset_or_none(position)
        yield f"{side}_position", _text(position)
    yield "exactness", str(row.exactness)
    yield "method", str(row.method)
    yield "raw_verdict", str(row.raw.verdict)
    yield "raw_replay", row.raw.replay
    yield "raw_skip", row.raw.skip
    yield "findings", list(row.findings)


def _text(position: AnyPosition | None) -> str | None:
    return None if position is None else str(position)
