"""The transactional headers of fetched record batches (KIP-98). No record is decompressed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
"""Header of a batch of version 2 (`org.apache.kafka.common.record.DefaultRecordBatch`), 61 bytes."""
_VERSION: Final = 2
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_MARKER: Final = struct.Struct(">hh")
"""The key of a control record: its version, and its type (`org.apache.kafka.common.record.ControlRecordType`)."""
_ENDS: Final = {0: False, 1: True}
"""Whether a control record commits, by its type; other types end no transaction."""


@dataclass(frozen=True, slots=True)
class BatchHeader:
    base_offset: int
    last_offset: int
    producer_id: int
    epoch: int
    records: int
    transactional: bool
    control: bool
    """Whether it contains a marker that ends a transaction, and no record."""
    commits: bool | None = None
    """Whether its marker commits; None for records, and for a control record that is cut off or ends no transaction."""
    last_timestamp_ms: int = -1
    """The largest timestamp of its records, as set by their producer or the broker."""
    base_sequence: int = -1
    """Sequence number of its first record for the producer and epoch on the partition; -1 for markers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    error_code: int
    """Kafka's error code; 0 for none."""
    log_start: int
    last_stable_offset: int
    """Where read_committed readers stop."""
    high_watermark: int
    aborted: frozenset[tuple[int, int]]
    """(producer id, first offset) of aborted transactions among the batches; only returned for read_committed."""
    batches: tuple[BatchHeader, ...]


def headers(data: bytes) -> Iterator[BatchHeader]:
    """Parse the headers of fetched batches; the last batch may be cut off after its header.

    >>> [*headers(b"")]
    []
    """
    at = 0
    while at + _HEADER.size <= len(data):
        base, length, _, version, _, attributes, last, _, newest, producer_id, epoch, sequence, records = (
            _HEADER.unpack_from(data, at)
        )
        if version != _VERSION or length <= 0:
            return  # older batches have no transactions
        control = bool(attributes & _CONTROL)
        yield BatchHeader(
            base_offset=base,
            last_offset=base + last,
            producer_id=producer_id,
            epoch=epoch,
            records=records,
            transactional=bool(attributes & _TRANSACTIONAL),
            control=control,
            commits=_commits(data[at + _HEADER.size : at + 12 + length]) if control else None,
            last_timestamp_ms=newest,
            base_sequence=sequence,
        )
        at += 12 + length


def _commits(record: bytes) -> bool | None:
    at = 0
    for number in range(5):  # its length, one byte of attributes, the deltas of time and offset, the key's length
        if number == 1:
            at += 1
            continue
        while at < len(record) and record[at] & 0x80:
            at += 1
        at += 1
    return _ENDS.get(_MARKER.unpack_from(record, at)[1]) if len(record) >= at + _MARKER.size else None
