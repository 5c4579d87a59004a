"""Aggregates as the Kinesis Producer Library writes them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5

from offsetwise.plugins.kinesis.stream.aggregates import MAGIC


def aggregate(data: Sequence[bytes], *, key: str = "k") -> bytes:
    """Pack user records of one partition key into the data of one record."""
    message = _field(1, key.encode()) + b"".join(_field(3, b"\x08\x00" + _field(3, each)) for each in data)
    return MAGIC + message + md5(message, usedforsecurity=False).digest()


def _field(number: int, content: bytes) -> bytes:
    size, length = b"", len(content)
    while length > 0x7F:
        size += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + content
