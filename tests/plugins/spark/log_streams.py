"""Event logs as Spark's codecs frame them, written by the formats' own rules, for tests that damage them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

import pyarrow

from offsetwise.plugins.spark.engine.event_log.blocks import xxhash32

LZ4_END: Final = b"LZ4Block\x15" + bytes(12)
SNAPPY_HEADER: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def lz4_block(plain: bytes, *, kept: bool = False) -> bytes:
    """Return one frame of lz4-java for a block of at most 32 KiB; `kept` leaves it uncompressed."""
    body = plain if kept else pyarrow.Codec("lz4_raw").compress(plain, asbytes=True)
    if len(body) >= len(plain):
        body, kept = plain, True
    checksum = xxhash32(plain, 0x9747B28C) & 0x0FFFFFFF
    return b"LZ4Block" + struct.pack("<BiiI", 0x15 if kept else 0x25, len(body), len(plain), checksum) + body


def lz4_stream(blocks: Sequence[bytes]) -> bytes:
    """Return a whole stream of lz4-java."""
    return b"".join(map(lz4_block, blocks)) + LZ4_END


def snappy_block(plain: bytes) -> bytes:
    """Return one chunk of snappy-java."""
    body = pyarrow.Codec("snappy").compress(plain, asbytes=True)
    return struct.pack(">i", len(body)) + body


def snappy_stream(blocks: Sequence[bytes]) -> bytes:
    """Return a whole stream of snappy-java."""
    return SNAPPY_HEADER + b"".join(map(snappy_block, blocks))


def zstd_stream(blocks: Sequence[bytes]) -> bytes:
    """Return a frame of zstd for every block."""
    return b"".join(pyarrow.compress(block, codec="zstd", asbytes=True) for block in blocks)
