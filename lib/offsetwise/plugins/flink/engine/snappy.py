"""Snappy's framing format, decoded with limits.

An own implementation, because it runs on Spark's workers, which have only the standard library and fsspec, and because
libraries trust a chunk of seven bytes that claims four gigabytes. The formats: `framing_format.txt` and
`format_description.txt` of google/snappy.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError

STREAM_HEADER: Final = b"\xff\x06\x00\x00sNaPpY"
MAX_CHUNK_BYTES: Final = 65_536
"""Maximum uncompressed size of a chunk, by the format."""
MAX_STREAM_BYTES: Final = 1024 * 1024
"""Maximum size of one element: a split has about 300 bytes, a committer about 100 for each transaction."""

_COMPRESSED: Final = 0x00
PLAIN: Final = 0x01
_SKIPPABLE: Final = 0x80
_HEADER: Final = 0xFF


def uncompress_stream(data: bytes, at: int, end: int, *, base: int = 0) -> bytes:
    """Decode the chunks between two offsets.

    Args:
        data: Bytes that contain the chunks.
        at: Where the first chunk begins.
        end: Where the last chunk ends.
        base: Offset of `data[0]` in its file, for error messages.

    Raises:
        DamagedError: A chunk is damaged, does not match its checksum, or claims more than the format allows.
    """
    cursor = Cursor(data, at, end, base=base)
    output = bytearray()
    while cursor.remaining:
        begun = cursor.byte_offset
        kind = cursor.byte("the kind of a Snappy chunk")
        size = int.from_bytes(cursor.take(3, "the length of a Snappy chunk"), "little")
        if kind in (_COMPRESSED, PLAIN):
            checksum = int.from_bytes(cursor.take(4, "the checksum of a Snappy chunk"), "little")
            if size < 4:  # the checksum's own bytes
                raise DamagedError(begun, f"expected a Snappy chunk, found one of {size} bytes")
            body = cursor.take(size - 4, "a Snappy chunk")
            plain = _uncompressed(body, begun) if kind == _COMPRESSED else body
            if len(plain) > MAX_CHUNK_BYTES or len(output) + len(plain) > MAX_STREAM_BYTES:
                raise DamagedError(begun, f"expected a Snappy chunk of at most {MAX_CHUNK_BYTES:,} bytes, found more")
            if masked_crc32c(plain) != checksum:
                raise DamagedError(begun, "expected a Snappy chunk that fits its checksum, found another one")
            output += plain
        elif kind >= _SKIPPABLE:
            body = cursor.take(size, "a Snappy chunk")
            if kind == _HEADER and body != STREAM_HEADER[4:]:
                raise DamagedError(begun, "expected the header of a Snappy stream, found another one")
        else:
            raise DamagedError(begun, f"expected a Snappy chunk, found kind {kind}, which may not be skipped")
    return bytes(output)


def masked_crc32c(data: bytes) -> int:
    """Return the checksum used in Snappy's frames."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _uncompressed(data: bytes, begun: int) -> bytes:
    length, at = _length(data, begun)
    output = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:
            size = (tag >> 2) + 1
            if size > 60:  # 61 to 64 are the number of bytes of the size
                wide = size - 60
                size = int.from_bytes(data[at : at + wide], "little") + 1
                at += wide
            if at + size > len(data):
                raise DamagedError(begun, "expected a Snappy literal, found the end of its chunk")
            output += data[at : at + size]
            at += size
        else:
            wide = (1, 2, 4)[(tag & 3) - 1]
            if at + wide > len(data):
                raise DamagedError(begun, "expected a Snappy copy, found the end of its chunk")
            distance = int.from_bytes(data[at : at + wide], "little")
            at += wide
            size = (tag >> 2) + 1
            if wide == 1:
                distance |= (tag & 0xE0) << 3
                size = (tag >> 2 & 7) + 4
            if not 0 < distance <= len(output):
                raise DamagedError(
                    begun, f"expected a Snappy copy from within its chunk, found one from {distance:,} back"
                )
            begin = len(output) - distance
            piece = output[begin : begin + size]
            output += (piece * (size // len(piece) + 1))[:size]
        if len(output) > length:
            break
    if len(output) != length:
        raise DamagedError(begun, f"expected a Snappy chunk of {length:,} bytes, found another length")
    return bytes(output)


def _length(data: bytes, begun: int) -> tuple[int, int]:
    """Return the length that a block claims, which is checked before anything is decoded, and where its body begins."""
    length = 0
    for at, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << 7 * at
        if byte < 0x80:  # the last byte of the number
            if length > MAX_CHUNK_BYTES:
                raise DamagedError(
                    begun, f"expected a Snappy chunk of at most {MAX_CHUNK_BYTES:,} bytes, found one of {length:,}"
                )
            return length, at + 1
    raise DamagedError(begun, "expected the length of a Snappy chunk, found none")


@cache
def _table() -> tuple[int, ...]:
    results = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        results.append(crc)
    return tuple(results)
