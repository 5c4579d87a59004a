"""Aggregates are taken apart as protobuf reads them and the KCL walks them, whatever fields they have."""

from __future__ import annotations

from hashlib import md5
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from offsetwise.plugins.kinesis.stream.aggregates import MAGIC, user_records

descriptors = pytest.importorskip("google.protobuf.descriptor_pb2")
pools = pytest.importorskip("google.protobuf.descriptor_pool")
factory = pytest.importorskip("google.protobuf.message_factory")

REQUIRED, OPTIONAL, REPEATED = 2, 1, 3
TEXT, NUMBER, BYTES, MESSAGE = 9, 4, 12, 11
SCHEMA: dict[str, list[tuple[str, int, int, int | str]]] = {
    "AggregatedRecord": [
        ("keys", 1, REPEATED, TEXT),
        ("hashes", 2, REPEATED, TEXT),
        ("records", 3, REPEATED, "Record"),
    ],
    "Record": [
        ("key", 1, REQUIRED, NUMBER),
        ("hash", 2, OPTIONAL, NUMBER),
        ("data", 3, REQUIRED, BYTES),
        ("tags", 4, REPEATED, "Tag"),
    ],
    "Tag": [("key", 1, REQUIRED, TEXT), ("value", 2, OPTIONAL, TEXT)],
}
"""`aggregation-format.md` of amazon-kinesis-producer."""


def schema() -> Any:
    file = descriptors.FileDescriptorProto(name="aggregate.proto", syntax="proto2")
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for field, number, label, kind in fields:
            of = {"type_name": f".{kind}"} if isinstance(kind, str) else {}
            message.field.add(
                name=field, number=number, label=label, type=MESSAGE if isinstance(kind, str) else kind, **of
            )
    pool = pools.DescriptorPool()
    pool.Add(file)
    return factory.GetMessageClass(pool.FindMessageTypeByName("AggregatedRecord"))


AGGREGATE = schema()


def delivered(message: bytes) -> int | None:
    """Return how many user records the KCL delivers of a message, as its `AggregatorUtil` goes through them."""
    try:
        read = AGGREGATE.FromString(message)
    except Exception:  # noqa: BLE001 - of protobuf's own modules, which differ by version
        return None
    if not message or not read.IsInitialized():
        return None
    for at, record in enumerate(read.records):
        if record.key >= len(read.keys) or (record.HasField("hash") and record.hash >= len(read.hashes)):
            return at
    return len(read.records)


def varint(number: int) -> bytes:
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + varint(number >> 7)


@st.composite
def field(draw: st.DrawFn, contents: st.SearchStrategy[bytes]) -> bytes:
    number, kind = draw(st.integers(min_value=0, max_value=5)), draw(st.sampled_from([0, 1, 2, 2, 2, 5]))
    size = {0: 0, 1: 8, 5: 4}.get(kind, -1)
    content = draw(contents) if kind == 2 else bytes(size)
    length = varint(len(content)) if kind == 2 else b""
    return varint(number << 3 | kind) + (varint(draw(st.integers(0, 3))) if kind == 0 else length + content)


def message(contents: st.SearchStrategy[bytes], most: int) -> st.SearchStrategy[bytes]:
    return st.lists(field(contents), max_size=most).map(b"".join)


TAGS = message(st.just(b"x"), 2)
RECORD = st.builds(
    lambda key, hashed, data, more: b"\x08" + varint(key) + hashed + b"\x1a" + varint(len(data)) + data + more,
    st.integers(0, 2),
    st.sampled_from([b"", b"", b"\x10\x00", b"\x10\x01"]),
    st.binary(max_size=200),
    message(TAGS, 1),
)
WHOLE = st.builds(
    lambda keys, hashes, records, more: b"".join((b"\x0a\x01k" * keys, b"\x12\x011" * hashes, *records, more)),
    st.integers(0, 3),
    st.integers(0, 2),
    st.lists(RECORD.map(lambda each: b"\x1a" + varint(len(each)) + each), max_size=4),
    message(message(st.just(b"x"), 3), 2),
)


@given(WHOLE | message(message(TAGS, 4), 6))
@example(b"\x0a\x01k")
@example(b"\x0a\x01k\x1a\x04\x08\x00\x1a\x00\x1a\x04\x08\x01\x1a\x00\x1a\x04\x08\x00\x1a\x00")
@example(b"\x0a\x01k\x1d\x0a\x02\x6b\x33")
def test_a_message_of_any_fields_has_as_many_user_records_as_the_kcl_delivers(message: bytes) -> None:
    digest = md5(message, usedforsecurity=False).digest()

    assert user_records(MAGIC + message + digest) == delivered(message)
