"""Records that the Kinesis Producer Library aggregated, and their number of user records.

Format: `aggregation-format.md` of amazon-kinesis-producer. A record is deaggregated as by the KCL (`AggregatorUtil`):
one with the magic number but an invalid checksum or message is a plain record, and a user record whose key is not in
the aggregate's table ends it.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from typing import Final, TypeAlias

MAGIC: Final = b"\xf3\x89\x9a\xc2"
_CHECKSUM_BYTES: Final = 16
_VARINT: Final = 0
_LENGTH_FIRST: Final = 2
_FIXED_BYTES: Final = {1: 8, 5: 4}
"""Sizes of protobuf's fixed wire types."""
_LONGEST_VARINT: Final = 10

Field: TypeAlias = tuple[int, int]
"""The number of a field, and its wire type: one with another wire type is an unknown field."""
_PARTITION_KEY: Final[Field] = (1, _LENGTH_FIRST)
_HASH_KEY: Final[Field] = (2, _LENGTH_FIRST)
_USER_RECORD: Final[Field] = (3, _LENGTH_FIRST)
"""The fields of `AggregatedRecord`; those of its records and of their tags follow."""
_KEY_INDEX: Final[Field] = (1, _VARINT)
_HASH_INDEX: Final[Field] = (2, _VARINT)
_DATA: Final[Field] = (3, _LENGTH_FIRST)
_TAG: Final[Field] = (4, _LENGTH_FIRST)
_TAG_KEY: Final[Field] = (1, _LENGTH_FIRST)


def is_packed(data: bytes) -> bool:
    return data.startswith(MAGIC)


def user_records(data: bytes) -> int | None:
    """Return the number of user records in an aggregate; None for a plain record.

    >>> user_records(b"plain"), user_records(MAGIC + bytes(20))
    (None, None)
    """
    message, checksum = data[len(MAGIC) : -_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    if not is_packed(data) or not message or md5(message, usedforsecurity=False).digest() != checksum:
        return None
    keys, hashes, indices = 0, 0, list[tuple[int, int]]()
    try:
        for field, start, value in _fields(message, 0, len(message)):
            keys += field == _PARTITION_KEY
            hashes += field == _HASH_KEY
            if field == _USER_RECORD:
                indices.append(_indices(message, start, start + value))
    except ValueError:
        return None
    return next((at for at, (key, hashed) in enumerate(indices) if key >= keys or hashed >= hashes), len(indices))


def _indices(message: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the indexes of a user record's partition key and hash key; -1 for no hash key.

    Raises:
        ValueError: It is not a user record.
    """
    results = {_HASH_INDEX: -1}
    for field, at, value in _fields(message, start, end):
        results[field] = value
        if field == _TAG and _TAG_KEY not in {field_number for field_number, _, _ in _fields(message, at, at + value)}:
            raise ValueError("a tag without a key")
    if not results.keys() >= {_KEY_INDEX, _DATA}:
        raise ValueError("a user record without a key or without data")
    return results[_KEY_INDEX], results[_HASH_INDEX]


def _fields(message: bytes, start: int, end: int) -> Iterator[tuple[Field, int, int]]:
    """Yield each field, where its content begins, and its value: a number, or the length of the content.

    Raises:
        ValueError: The message is cut or garbled.
    """
    while start < end:
        tag, start = _varint(message, start, end)
        field = tag >> 3, tag & 7
        if field[1] == _VARINT:
            value, stop = _varint(message, start, end)
        elif field[1] == _LENGTH_FIRST:
            value, start = _varint(message, start, end)
            stop = start + value
        elif field[1] in _FIXED_BYTES:
            value = _FIXED_BYTES[field[1]]
            stop = start + value
        else:
            raise ValueError(f"a field of type {field[1]}")
        if stop > end or not field[0]:
            raise ValueError("a field that is cut, or that has no number")
        yield field, start, value
        start = stop


def _varint(message: bytes, start: int, end: int) -> tuple[int, int]:
    value = 0
    for position in range(start, min(end, start + _LONGEST_VARINT)):
        value |= (message[position] & 0x7F) << 7 * (position - start)
        if not message[position] & 0x80:
            return value, position + 1
    raise ValueError("a number that does not end")
