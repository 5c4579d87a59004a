"""Snappy's framing, held against Arrow's codec; bounds against what makes libraries abort."""

from __future__ import annotations

import random
import time
import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise.plugins.flink.engine.binary import DamagedError
from offsetwise.plugins.flink.engine.details import flink_details
from offsetwise.plugins.flink.engine.snappy import STREAM_HEADER, masked_crc32c, uncompress_stream
from tests.plugins.flink.files import (
    Folder,
    Op,
    codes,
    enumerator_v2,
    inline,
    metadata,
    operator_handle,
    positions,
    reader_element,
    subtask,
)
from tests.plugins.flink.files import blob as state_blob
from tests.with_cases import with_cases

LONGEST_S = 1.0
"""Of processor time."""


def _chunk(plain: bytes, *, compressed: bool = True, checksum: int | None = None) -> bytes:
    body = pa.Codec("snappy").compress(plain).to_pybytes() if compressed else plain
    crc = masked_crc32c(plain) if checksum is None else checksum
    kind = b"\x00" if compressed else b"\x01"
    return kind + (len(body) + 4).to_bytes(3, "little") + crc.to_bytes(4, "little") + body


def _raw(body: bytes) -> bytes:
    return b"\x00" + (len(body) + 4).to_bytes(3, "little") + bytes(4) + body


@given(st.binary(max_size=4_000) | st.text("ab", max_size=4_000).map(str.encode))
def test_what_arrow_compresses_is_uncompressed(plain: bytes) -> None:
    assert uncompress_stream(_chunk(plain), 0, len(_chunk(plain))) == plain


@with_cases("size", [1, 59, 60, 61, 255, 256, 257, 65_535, 65_536])
def test_literals_and_copies_of_every_length_are_read(size: int) -> None:
    mixed = random.Random(size).randbytes(size)
    for plain in (mixed, b"r" * size, (mixed[:7] * size)[:size]):
        stream = STREAM_HEADER + _chunk(plain) + b"\xfe\x03\x00\x00pad" + _chunk(plain, compressed=False)
        assert uncompress_stream(stream, 0, len(stream)) == plain * 2


def test_the_checksum_is_castagnolis() -> None:
    unmasked = (masked_crc32c(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF

    assert (unmasked << 15 | unmasked >> 17) & 0xFFFFFFFF == 0xE3069283


@with_cases(
    ("chunk", "told"),
    [
        (_raw(b"\xff\xff\xff\xff\x0f\x00a"), "at most 65,536 bytes, found one of 4,294,967,295"),
        (_raw(b"\x81\x80\x04\x00a"), "at most 65,536 bytes, found one of 65,537"),
        (_raw(b"\xff\xff\xff\xff\xff\xff"), "expected the length of a Snappy chunk"),
        (_raw(b"\x05\x01\x05"), "from within its chunk"),
        (_raw(b"\x05\xf0\xff"), "found the end of its chunk"),
        (_raw(b"\x05\x10ab"), "found the end of its chunk"),
        (_chunk(b"orders", checksum=7), "fits its checksum"),
        (_chunk(b"x" * 70_000, compressed=False), "at most 65,536 bytes, found more"),
        (b"\x02\x01\x00\x00a", "kind 2, which may not be skipped"),
        (b"\xff\x06\x00\x00SNAPPY", "the header of a Snappy stream"),
        (b"\x01\x02\x00\x00aaaaaa", "found one of 2 bytes"),
        (b"\x01\xff\xff\xff", "before the end"),
    ],
)
def test_a_damaged_chunk_is_refused_before_memory_is_taken(chunk: bytes, told: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DamagedError, match=told) as caught:
            uncompress_stream(chunk, 0, len(chunk), base=500)
        assert tracemalloc.get_traced_memory()[1] < 1024 * 1024
    finally:
        tracemalloc.stop()
    assert caught.value.at >= 500


def test_a_small_stream_that_grows_without_end_is_refused_in_time() -> None:
    bomb = _chunk(b"\0" * 65_536) * 1_000
    begun = time.process_time()

    with pytest.raises(DamagedError, match="found more"):
        uncompress_stream(bomb, 0, len(bomb))
    assert time.process_time() - begun < LONGEST_S * 10


def test_compressed_elements_are_positions_and_damaged_ones_are_said() -> None:
    elements = [_chunk(reader_element("orders", index, offset)) for index, offset in ((0, 1050), (1, 20))]
    for changed, expected in (
        (elements, {("orders", 0): 1050, ("orders", 1): 20}),
        ([elements[0], elements[1][:9] + b"\xff" + elements[1][10:]], {("orders", 0): 1050}),
    ):
        data, places = state_blob({"SourceReaderState": changed}, compressed=b"\x01")
        op = Op(
            subtasks=[subtask(0, operator_handle(places, inline(data)))],
            coordinator=enumerator_v2([("orders", 0, 0), ("orders", 1, 0)]),
        )
        read = Folder(data=metadata(op)).read()
        assert positions(read) == expected
        assert codes(read) == ([] if changed is elements else ["CHECKPOINT_DAMAGED"])
        assert flink_details(read).saved.compressed


def test_compressed_state_that_grows_without_end_is_refused_before_it_is_all_uncompressed() -> None:
    grown = _chunk(b"\0" * 65_536) * 15
    data, places = state_blob({"SourceReaderState": [grown] * 100}, compressed=b"\x01")
    begun = time.process_time()

    read = Folder(data=metadata(Op(subtasks=[subtask(0, operator_handle(places, inline(data)))]))).read()

    assert "at most 16,777,216 bytes of compressed state" in read.problems[0].message
    assert time.process_time() - begun < LONGEST_S * 30
