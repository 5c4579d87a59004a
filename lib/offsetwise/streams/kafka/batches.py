"""What a fetch of record batches says about transactions. No record is decompressed: the headers tell (KIP-98)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Of a batch of version 2 (`org.apache.kafka.common.record.DefaultRecordBatch`), 61 bytes."""
_VERSION: Final = 2
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20


@dataclass(frozen=True, slots=True)
class Batch:
    """The header of one record batch."""

    base_offset: int
    last_offset: int
    producer_id: int
    epoch: int
    records: int
    transactional: bool
    control: bool
    """Whether it holds a marker that ends a transaction, and no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a leader gave from one offset on."""

    error_code: int
    """Kafka's; 0 is none."""
    log_start: int
    last_stable_offset: int
    """Where read_committed readers stop."""
    high_watermark: int
    aborted: frozenset[tuple[int, int]]
    """(producer id, first offset) of aborted transactions among the batches; asked with read_committed only."""
    batches: tuple[Batch, ...]


def headers(data: bytes) -> Iterator[Batch]:
    """Read the headers of the batches that a fetch gave; the last one may be cut off after its header.

    >>> [*headers(b"")]
    []
    """
    at = 0
    while at + _HEADER.size <= len(data):
        base, length, _, version, _, attributes, last, _, _, producer_id, epoch, _, records = _HEADER.unpack_from(
            data, at
        )
        if version != _VERSION or length <= 0:
            return  # older batches know no transactions
        yield Batch(
            base_offset=base,
            last_offset=base + last,
            producer_id=producer_id,
            epoch=epoch,
            records=records,
            transactional=bool(attributes & _TRANSACTIONAL),
            control=bool(attributes & _CONTROL),
        )
        at += 12 + length
