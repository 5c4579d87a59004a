"""The binary format of samples: columns of integers, small because most of them hardly change.

A sample of 10,000 partitions with one group has 100,000 integers. Stored as they are they take 220 KB compressed; as
differences from an earlier sample of the same partitions, 75 to 90 KB. So one sample in each half hour is complete, and
the others refer to it and hold differences. The complete ones remain when the others are thinned out.

Layout of a payload, before zlib: one byte version, then for each column one byte (1 if all values are known, else 0
followed by one bit per row), then the 64-bit differences with their bytes transposed, so that the high ones, nearly all
zero, lie together. Unknown values count as 0.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from offsetwise.model import AnyPosition, Exactness, GroupPosition, LagPartition, LogRange, Method
from offsetwise.position import offset_or_none

CHUNK_ROWS: Final = 256
"""Partitions per payload. A chart of one partition reads one payload of each sample, not the whole sample."""

_VERSION: Final = 1
_LEVEL: Final = 6
_FIXED: Final = 10
"""The number of columns before those of the groups."""

METHODS: Final = (
    Method.CONTENT,
    Method.PRESERVED,
    Method.MIRROR_CHECKPOINT,
    Method.MIRROR_SYNC,
    Method.HEADER,
    Method.TIMESTAMP,
    Method.EARLIEST,
    Method.NONE,
)
"""Their numbers in payloads are the indices here: only append."""

EXACTNESS: Final = (
    Exactness.EXACT,
    Exactness.POSITION_EXACT,
    Exactness.PRESERVED,
    Exactness.BOUNDED,
    Exactness.CLAIMED,
    Exactness.UNKNOWN,
)
"""As for `METHODS`."""

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Columns:
    """The numbers of some partitions: values by column and row, and whether they are known."""

    values: Int64s
    known: Bools

    def rows(self, chosen: Sequence[int]) -> Columns:
        return Columns(self.values[:, chosen], self.known[:, chosen])


@dataclass(frozen=True, slots=True)
class Layout:
    """The partitions of the rows in a sample's payloads, and the groups whose commits they hold."""

    groups: tuple[str, ...]
    rows: tuple[tuple[str, str, str, int], ...]
    """Source, topic, new topic, partition."""

    @classmethod
    def of(cls, groups: tuple[str, ...], partitions: Sequence[LagPartition]) -> Layout:
        return cls(groups, tuple((row.source, row.topic, row.new_topic, row.partition) for row in partitions))

    def dump(self) -> str:
        topics: list[tuple[str, str, str, list[int]]] = []
        for source, topic, new_topic, partition in self.rows:
            if not topics or topics[-1][:3] != (source, topic, new_topic):
                topics.append((source, topic, new_topic, []))
            topics[-1][3].append(partition)
        return json.dumps({"groups": self.groups, "topics": topics}, separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Layout:
        body = json.loads(text)
        rows = ((source, topic, new, number) for source, topic, new, numbers in body["topics"] for number in numbers)
        return cls(tuple(body["groups"]), tuple(rows))

    @property
    def columns(self) -> int:
        return _FIXED + 2 * len(self.groups)

    @property
    def chunks(self) -> int:
        return -(-len(self.rows) // CHUNK_ROWS)


def digest(layout: str) -> str:
    return hashlib.sha256(layout.encode()).hexdigest()


def columns(partitions: Sequence[LagPartition], groups: int) -> Columns:
    numbers = [_numbers(row, groups) for row in partitions]
    known = np.array([[number is not None for number in row] for row in numbers], dtype=np.bool_)
    values = np.array([[number or 0 for number in row] for row in numbers], dtype=np.int64)
    shape = (len(numbers), _FIXED + 2 * groups)
    return Columns(values.reshape(shape).T.copy(), known.reshape(shape).T.copy())


def partitions(rows: Sequence[tuple[str, str, str, int]], columns: Columns) -> tuple[LagPartition, ...]:
    lag_partitions = []
    for (source, topic, new_topic, partition), row, has in zip(
        rows, columns.values.T.tolist(), columns.known.T.tolist(), strict=True
    ):
        cells: list[Any] = [value if is_known else None for value, is_known in zip(row, has, strict=True)]
        commits = iter(cells[_FIXED:])
        lag_partitions.append(
            LagPartition(
                source=source,
                topic=topic,
                partition=partition,
                new_topic=new_topic,
                old=LogRange(log_start=cells[0], lso=cells[1], hw=cells[2]),
                new=LogRange(log_start=cells[3], lso=cells[4], hw=cells[5]),
                position=cells[6],
                new_position=cells[7],
                method=METHODS[cells[8]],
                exactness=EXACTNESS[cells[9]],
                groups=tuple(GroupPosition(old=old, new=new) for old, new in zip(commits, commits, strict=True)),
            )
        )
    return tuple(lag_partitions)


def part(columns: Columns, chunk: int) -> Columns:
    rows = slice(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS)
    return Columns(columns.values[:, rows], columns.known[:, rows])


def joined(parts: Sequence[Columns], count: int) -> Columns:
    nothing = Columns(np.empty((count, 0), np.int64), np.empty((count, 0), np.bool_))
    return Columns(
        np.concatenate([nothing.values, *(piece.values for piece in parts)], axis=1),
        np.concatenate([nothing.known, *(piece.known for piece in parts)], axis=1),
    )


def encode(columns: Columns, base: Columns | None) -> bytes:
    """Return a payload of the differences from `base`, or of the numbers themselves if it is None."""
    values = np.where(columns.known, columns.values, 0)
    with np.errstate(over="ignore"):
        differences = values if base is None else values - np.where(base.known, base.values, 0)
    parts = [bytes([_VERSION])]
    for known in columns.known:
        parts.append(b"\x01" if known.all() else b"\x00" + np.packbits(known).tobytes())
    for column in differences:
        parts.append(np.ascontiguousarray(column, dtype="<i8").view(np.uint8).reshape(-1, 8).T.tobytes())
    return zlib.compress(b"".join(parts), _LEVEL)


def decode(payload: bytes, count: int, rows: int, base: Columns | None) -> Columns:
    data = zlib.decompress(payload)
    if data[0] != _VERSION:
        raise ValueError(f"expected payload version {_VERSION}, found {data[0]}")
    at, bits = 1, -(-rows // 8)
    known = np.ones((count, rows), dtype=np.bool_)
    for column in range(count):
        complete, at = data[at], at + 1
        if not complete:
            packed = np.frombuffer(data, dtype=np.uint8, count=bits, offset=at)
            known[column], at = np.unpackbits(packed, count=rows).astype(np.bool_), at + bits
    body = np.frombuffer(data, dtype=np.uint8, count=count * rows * 8, offset=at)
    values = body.reshape(count, 8, rows).transpose(0, 2, 1).copy().view("<i8").reshape(count, rows).astype(np.int64)
    if base is not None:
        with np.errstate(over="ignore"):
            values = values + np.where(base.known, base.values, 0)
    return Columns(values, known)


def _positions(row: LagPartition) -> tuple[AnyPosition | None, ...]:
    """Return the positions of a partition that are stored as integers; any other position counts as unknown."""
    old, new = row.old, row.new
    return old.log_start, old.lso, old.hw, new.log_start, new.lso, new.hw, row.position, row.new_position


def _numbers(row: LagPartition, groups: int) -> list[int | None]:
    commits = [commit for group in row.groups for commit in (group.old, group.new)]
    return [
        *map(offset_or_none, _positions(row)),
        METHODS.index(row.method),
        EXACTNESS.index(row.exactness),
        *commits,
        *[None] * (2 * groups - len(commits)),
    ]
