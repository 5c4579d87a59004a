"""One checkpoint as one row: the format in which a Spark worker returns it to the driver.

A row is compact and quick to encode (a thousand checkpoints with a hundred batches each are millions of positions), and
never stored: `files` is the format for that. It is JSON and numbers, because whoever answers may not be a worker of
ours: `pipeline.fleet_rows` parses it without trusting it. Encoder and parser run in the same release, so they change
together.
"""

from __future__ import annotations

import gc
import json
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Final

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.engines.flat import flatten
from offsetwise.errors import OffsetwiseError
from offsetwise.model import BatchSource, Checkpoint

_DECIMAL: Final = ("Offset", "AnyPosition", "Count", "HashKey")
"""The model's types of numbers that files carry as decimal strings."""
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheckpoint:
    uri: str
    error: str
    """The name of the error's class."""
    problem: str
    fix: str


def read_one(uri: str, *, roots: Sequence[str] | None, batches: int) -> Checkpoint | FailedCheckpoint:
    """Read one checkpoint; every failure is returned as a value as well."""
    try:
        return read_checkpoint(uri, roots=roots, history=batches)
    except OffsetwiseError as error:
        return FailedCheckpoint(uri=uri, error=type(error).__name__, problem=error.problem, fix=error.fix)
    except Exception as error:  # noqa: BLE001 - one checkpoint must not end the job that reads a thousand
        return FailedCheckpoint(
            uri=uri,
            error=type(error).__name__,
            problem=f"{uri}: expected a checkpoint, found {type(error).__name__}: {str(error)[:300]}.",
            fix="Inspect it alone, and report it if the message stays.",
        )


def read_rows(rows: Iterator[Any], *, uris: Sequence[str], roots: Sequence[str] | None, batches: int) -> Iterator[Any]:
    """Read checkpoints on a worker, for `mapInArrow`.

    Args:
        rows: Record batches with a column `id`: indices into `uris`.
        uris: The checkpoints.
        roots: As for `read_checkpoint`.
        batches: How many of the newest retained ones to read of each.

    Yields:
        For each checkpoint one record batch: `id` long, `row` binary.
    """
    import pyarrow as pa  # noqa: PLC0415 - the driver reads rows without it

    gc.freeze()  # PySpark collects garbage after every task, mostly among imported modules
    for batch in rows:
        for index in batch.column("id").to_pylist():
            row = encode(read_one(uris[index], roots=roots, batches=batches))
            yield pa.RecordBatch.from_pydict({"id": pa.array([index], pa.int64()), "row": pa.array([row], pa.binary())})


def encode(value: Checkpoint | FailedCheckpoint) -> bytes:
    """Encode a row: one line of JSON, followed by the offsets of all batches, eight bytes each, little-endian.

    Most batches have the same sources and partitions as the batch before: these are in the line once.
    """
    offsets: list[int] = []
    body: dict[str, Any] = {"failed": value}
    if isinstance(value, Checkpoint):
        shapes: dict[Any, int] = {}
        batches = []
        for batch in value.details.batches:
            for source in batch.sources:
                for offset in source.offsets:
                    offsets.extend(offset.offsets)
            shape = tuple((batch_source.id, batch_source.raw, _named(batch_source)) for batch_source in batch.sources)
            numbers = (batch.id, batch.committed, batch.timestamp_ms, batch.watermark_ms)
            batches.append((*numbers, shapes.setdefault(shape, len(shapes))))
        flat = replace(flatten(value), batches=()) if batches else flatten(value)
        body = {"checkpoint": flat, "batches": batches, "shapes": list(shapes)}
    text = json.dumps(body, default=_fields, ensure_ascii=False)
    # A name with invalid UTF-8, as of a folder on a disk, is not possible in JSON: it is escaped as Python shows it.
    return _HALF_PAIR.sub(lambda match: f"\\\\u{ord(match[0]):x}", text).encode() + b"\n" + _packed(offsets)


def _named(source: BatchSource) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((offset.topic, offset.partitions) for offset in source.offsets)


def _packed(offsets: list[int]) -> bytes:
    return struct.pack(f"<{len(offsets)}q", *offsets)


def _fields(value: Any) -> dict[str, Any]:
    results = {name: getattr(value, name) for name in value.__slots__}
    for name in _decimal(value.__class__):
        results[name] = results[name] if results[name] is None else str(results[name])
    return results


@cache
def _decimal(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if str(field.type).partition(" ")[0] in _DECIMAL)
