"""Java's `DataOutputStream`, as far as state needs it; `plugins/flink/engine/binary` is its counterpart."""

from __future__ import annotations


def int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def int64(value: int) -> bytes:
    return value.to_bytes(8, "big", signed=True)


def flag(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def text(value: str) -> bytes:
    r"""Return ASCII text prefixed with its length of two bytes.

    >>> text("fl")
    b'\x00\x02fl'
    """
    return len(value).to_bytes(2, "big") + value.encode("ascii")


def sized(data: bytes) -> bytes:
    return int32(len(data)) + data
