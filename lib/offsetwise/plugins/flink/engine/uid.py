"""The id that Flink derives from an operator's uid."""

from __future__ import annotations

from typing import Final

_MASK: Final = 2**64 - 1
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F


def operator_id(uid: str) -> str:
    """Return an operator's id: Guava's `murmur3_128` (seed 0) of the uid in UTF-8, in hex.

    >>> operator_id("kafka-src")
    '2cfff4cfdc12cf3ce3a313acc56edab3'
    """
    data = uid.encode("utf-8", "replace")
    first = second = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        first ^= _mixed_first(int.from_bytes(data[at : at + 8], "little"))
        first = (_rotated(first, 27) + second) * 5 + 0x52DCE729 & _MASK
        second ^= _mixed_second(int.from_bytes(data[at + 8 : at + 16], "little"))
        second = (_rotated(second, 31) + first) * 5 + 0x38495AB5 & _MASK
    rest = data[whole:]
    second ^= _mixed_second(int.from_bytes(rest[8:], "little"))
    first ^= _mixed_first(int.from_bytes(rest[:8], "little"))
    first ^= len(data)
    second ^= len(data)
    first = first + second & _MASK
    second = second + first & _MASK
    first, second = _final(first), _final(second)
    first = first + second & _MASK
    second = second + first & _MASK
    return (first.to_bytes(8, "little") + second.to_bytes(8, "little")).hex()


def _mixed_first(word: int) -> int:
    return _rotated(word * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_second(word: int) -> int:
    return _rotated(word * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK


def _final(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33
