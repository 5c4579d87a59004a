"""Records that the Kinesis Producer Library packed together, and how many user records one has.

Format: `aggregation-format.md` of amazon-kinesis-producer. A record is taken apart as the KCL does it
(`AggregatorUtil`): one with the magic number whose checksum or message is not right is a plain record.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from typing import Final

MAGIC: Final = b"\xf3\x89\x9a\xc2"
_CHECKSUM_BYTES: Final = 16
_RECORDS: Final = 3
"""The field of `AggregatedRecord` that holds a user record; 1 and 2 hold partition keys and hash keys."""
_NEEDED: Final = frozenset({1, 3})
"""The fields of a user record that it must have: the index of its partition key, and its data."""
_VARINT: Final = 0
_LENGTH_FIRST: Final = 2
_FIXED_BYTES: Final = {1: 8, 5: 4}
"""How protobuf writes a field, and how long it is."""
_LONGEST_VARINT: Final = 10


def is_packed(data: bytes) -> bool:
    """Return whether a record begins as an aggregate does."""
    return data.startswith(MAGIC)


def user_records(data: bytes) -> int | None:
    """Return the number of user records in an aggregate; None of a plain record.

    >>> user_records(b"plain"), user_records(MAGIC + bytes(20))
    (None, None)
    """
    message, checksum = data[len(MAGIC) : -_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if not is_packed(data) or not message or md5(message, usedforsecurity=False).digest() != checksum:
        return None
    count = 0
    try:
        for field, start, end in _fields(message, 0, len(message)):
            if field == _RECORDS:
                count += 1
                if not {number for number, _, _ in _fields(message, start, end)} >= _NEEDED:
                    return None
    except ValueError:
        return None
    return count


def _fields(message: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the number of each field, and where its content begins and ends.

    Raises:
        ValueError: The message is cut or garbled.
    """
    while start < end:
        tag, start = _varint(message, start, end)
        kind = tag & 7
        if kind == _VARINT:
            _, stop = _varint(message, start, end)
        elif kind == _LENGTH_FIRST:
            size, start = _varint(message, start, end)
            stop = start + size
        elif kind in _FIXED_BYTES:
            stop = start + _FIXED_BYTES[kind]
        else:
            raise ValueError(f"a field of type {kind}")
        if stop > end:
            raise ValueError("a field that is cut")
        yield tag >> 3, start, stop
        start = stop


def _varint(message: bytes, start: int, end: int) -> tuple[int, int]:
    value = 0
    for position in range(start, min(end, start + _LONGEST_VARINT)):
        value |= (message[position] & 0x7F) << 7 * (position - start)
        if not message[position] & 0x80:
            return value, position + 1
    raise ValueError("a number that does not end")
