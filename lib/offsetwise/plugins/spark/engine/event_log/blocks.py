"""The text of an event log that Spark compressed with zstd, lz4 or snappy, decoded with limits.

Formats: `CompressionCodec.scala` of Spark names the streams. zstd is a standard stream. `LZ4BlockOutputStream` of
lz4-java and `SnappyOutputStream` of snappy-java put frames of their own around raw blocks, which pyarrow decodes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from types import ModuleType
from typing import Final

_BLOCK_BYTES: Final = 8 * 1024
"""Bytes of zstd read at once: if the file breaks off, the incomplete block is lost."""
MAX_BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Maximum size of a block, the largest that lz4 frames can state; Spark writes blocks of 32 KiB."""

_LZ4_MAGIC: Final = b"LZ4Block"
_LZ4_HEAD: Final = struct.Struct("<8sBiiI")
"""Magic, token, compressed and original length, checksum."""
_RAW: Final = 0x10
_LZ4: Final = 0x20
_LZ4_LEAST: Final = 10
"""The size of a block is two to the power of this plus the token's level."""
_LZ4_SEED: Final = 0x9747B28C
_LZ4_CHECKED: Final = 0x0FFFFFFF
"""The bits of the checksum that `StreamingXXHash32.asChecksum` keeps."""

_SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_SNAPPY_HEAD: Final = struct.Struct(">8sii")
"""Magic, version, and the oldest version that can read it."""
_SNAPPY_VERSION: Final = 1


class BrokenOffError(Exception):
    """The stream ends within a block."""


class DamagedStreamError(Exception):
    """A block is not as Spark writes it.

    Args:
        at: Offset of the block in the file, in bytes; None if it is not known.
        message: What was expected and found, as a part of a sentence.
    """

    def __init__(self, at: int | None, message: str) -> None:
        super().__init__(message if at is None else f"{message}, at byte {at:,}")


def decompressed(data: bytes, codec: str, arrow: ModuleType) -> Iterator[bytes]:
    """Yield the text of a file, block by block.

    Args:
        data: The whole file.
        codec: One of `CODECS`.
        arrow: The module `pyarrow`, which is loaded only for compressed event logs.

    Raises:
        BrokenOffError: The file ends within a block; all complete ones were yielded.
        DamagedStreamError: A block is damaged.
    """
    return CODECS[codec](data, arrow)


def _zstd(data: bytes, arrow: ModuleType) -> Iterator[bytes]:
    with arrow.input_stream(BytesIO(data), compression="zstd") as stream:
        try:
            while chunk := stream.read(_BLOCK_BYTES):
                yield chunk
        except OSError as error:
            if "truncated" in str(error).lower():
                raise BrokenOffError from error
            raise DamagedStreamError(None, f"a block of zstd that cannot be decoded: {str(error)[:100]}") from error


def _lz4(data: bytes, arrow: ModuleType) -> Iterator[bytes]:
    codec, at = arrow.Codec("lz4_raw"), 0
    while at < len(data):
        if len(data) - at < _LZ4_HEAD.size:
            raise _cut(data, at, _LZ4_MAGIC)
        magic, token, size, length, checksum = _LZ4_HEAD.unpack_from(data, at)
        method, most = token & 0xF0, 1 << (_LZ4_LEAST + (token & 0x0F))
        if magic != _LZ4_MAGIC:
            raise DamagedStreamError(at, "a block that does not begin with LZ4Block")
        if method not in (_RAW, _LZ4):
            raise DamagedStreamError(at, f"a block of the unknown method {method:#x}")
        if not 0 <= length <= most or not _fits(method, size, length):
            raise DamagedStreamError(at, f"a block of {size:,} bytes that claims {length:,}")
        begin, end = at + _LZ4_HEAD.size, at + _LZ4_HEAD.size + size
        if end > len(data):
            raise BrokenOffError
        # An empty block ends a stream, after which another one may follow; its checksum is 0.
        plain = data[begin:end] if method == _RAW or not length else _plain(codec, data[begin:end], length, at)
        if checksum != (xxhash32(plain, _LZ4_SEED) & _LZ4_CHECKED if length else 0):
            raise DamagedStreamError(at, "a block that does not fit its checksum")
        yield plain
        at = end


def _fits(method: int, size: int, length: int) -> bool:
    """Return whether the lengths are valid: lz4-java stores a block raw if compression does not shrink it."""
    return size == length if method == _RAW or not length else 0 < size < length


def _snappy(data: bytes, arrow: ModuleType) -> Iterator[bytes]:
    codec, at = arrow.Codec("snappy"), 0
    while at < len(data):
        if not at or data.startswith(_SNAPPY_MAGIC, at):
            at = _after_header(data, at)
            continue
        if len(data) - at < 4:
            raise BrokenOffError
        (size,) = struct.unpack_from(">i", data, at)
        begin, end = at + 4, at + 4 + size
        length = _snappy_length(data[begin : begin + 5], at)
        if not 0 < size <= _most_snappy(length):
            raise DamagedStreamError(at, f"a block of {size:,} bytes that claims {length:,}")
        if end > len(data):
            raise BrokenOffError
        yield _plain(codec, data[begin:end], length, at)
        at = end


def _after_header(data: bytes, at: int) -> int:
    if len(data) - at < _SNAPPY_HEAD.size:
        raise _cut(data, at, _SNAPPY_MAGIC)
    magic, version, least = _SNAPPY_HEAD.unpack_from(data, at)
    if magic != _SNAPPY_MAGIC:
        raise DamagedStreamError(at, "a stream that does not begin with the mark of Snappy")
    if version < 1 or least != _SNAPPY_VERSION:
        raise DamagedStreamError(at, f"a stream of Snappy's version {version}, to be read by {least}")
    return at + _SNAPPY_HEAD.size


def _snappy_length(head: bytes, at: int) -> int:
    length = 0
    for index, byte in enumerate(head):
        length |= (byte & 0x7F) << 7 * index
        if byte < 0x80:  # the last byte of the number
            if length > MAX_BLOCK_BYTES:
                raise DamagedStreamError(at, f"a block that claims {length:,} bytes, more than {MAX_BLOCK_BYTES:,}")
            return length
    if len(head) < 5:  # the maximum length of such a number
        raise BrokenOffError
    raise DamagedStreamError(at, "a block without its length")


def _most_snappy(length: int) -> int:
    """Return the maximum size of a compressed block: `MaxCompressedLength` of Snappy."""
    return 32 + length + length // 6


def _cut(data: bytes, at: int, magic: bytes) -> Exception:
    rest = data[at : at + len(magic)]
    return BrokenOffError() if magic.startswith(rest) else DamagedStreamError(at, "bytes that begin no block")


def _plain(codec: object, block: bytes, length: int, at: int) -> bytes:
    try:
        plain: bytes = codec.decompress(block, decompressed_size=length, asbytes=True)  # type: ignore[attr-defined]
    except (OSError, ValueError) as error:
        raise DamagedStreamError(at, "a block that cannot be decoded") from error
    if len(plain) != length:
        raise DamagedStreamError(at, f"a block of {len(plain):,} bytes that claims {length:,}")
    return plain


_P1, _P2, _P3, _P4, _P5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_32: Final = 0xFFFFFFFF


def xxhash32(data: bytes, seed: int) -> int:
    """Return the checksum of lz4-java's frames: xxHash32, by its specification.

    >>> hex(xxhash32(b"", 0)), hex(xxhash32(b"abc", 0))
    ('0x2cc5d05', '0x32d153ff')
    """
    whole = len(data) & ~15
    if whole:
        words = struct.unpack_from(f"<{whole // 4}I", data)
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        lane_one, two, three, four = (_lane(lane & _32, words[index::4]) for index, lane in enumerate(lanes))
        digest = _turn(lane_one, 1) + _turn(two, 7) + _turn(three, 12) + _turn(four, 18)
    else:
        digest = seed + _P5
    digest = digest + len(data) & _32
    words_end = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[whole:words_end]):
        digest = _turn(digest + word * _P3 & _32, 17) * _P4 & _32
    for byte in data[words_end:]:
        digest = _turn(digest + byte * _P5 & _32, 11) * _P1 & _32
    digest = (digest ^ digest >> 15) * _P2 & _32
    digest = (digest ^ digest >> 13) * _P3 & _32
    return digest ^ digest >> 16


def _lane(lane: int, words: tuple[int, ...]) -> int:
    for word in words:
        lane = lane + word * _P2 & _32
        lane = (lane << 13 | lane >> 19) * _P1 & _32
    return lane


def _turn(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & _32


CODECS: Final[dict[str, Callable[[bytes, ModuleType], Iterator[bytes]]]] = {
    "zstd": _zstd,
    "lz4": _lz4,
    "snappy": _snappy,
}
"""By the extension of a file's name."""
MAGICS: Final = {"zstd": b"\x28\xb5\x2f\xfd", "lz4": _LZ4_MAGIC, "snappy": _SNAPPY_MAGIC}
"""The first bytes of a file, by its codec."""
