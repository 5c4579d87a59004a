"""Flink's `_metadata` put together by hand, byte for byte as its serializers write it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from offsetwise.model import Checkpoint
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.opened import Elsewhere
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.position import offset_of
from tests.plugins.spark.folders import MemoryFolder

NO_STOP = -(2**63)
SAVEPOINT = (
    b"\xac\xed\x00\x05sr\x00\x31org.apache.flink.runtime.checkpoint.SavepointType\xa0\x87"
    b"t\x00\x09CANONICALt\x00\x09Savepoint"
)
CHECKPOINT = b"\xac\xed\x00\x05sr\x00\x32org.apache.flink.runtime.checkpoint.CheckpointType\xa0\x87t\x00\x0aCheckpoint"
UID = "kafka-src"


def integer(value: int) -> bytes:
    return struct.pack(">i", value)


def long(value: int) -> bytes:
    return struct.pack(">q", value)


def utf(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(data)) + data


def inline(data: bytes) -> bytes:
    return b"\x01" + utf("file:/somewhere/a-label") + integer(len(data)) + data


def relative(name: str, size: int) -> bytes:
    return b"\x06" + utf(name) + long(size)


def absolute(path: str, size: int) -> bytes:
    return b"\x02" + long(size) + utf(path)


def segment(path: str, start: int, size: int) -> bytes:
    return b"\x0f" + long(start) + long(size) + integer(1) + utf(path) + utf("an-id")


def kafka_split(topic: str, partition: int, offset: int, stop: int = NO_STOP) -> bytes:
    return utf(topic) + integer(partition) + long(offset) + long(stop)


def versioned(body: bytes, version: int = 0) -> bytes:
    return integer(len(body) + 8) + integer(version) + integer(len(body)) + body


def reader_element(topic: str, partition: int, offset: int, stop: int = NO_STOP) -> bytes:
    return versioned(kafka_split(topic, partition, offset, stop))


def blob(states: Mapping[str, Sequence[bytes]], *, compressed: bytes = b"\0") -> tuple[bytes, dict[str, list[int]]]:
    """Return the bytes of operator state, and where its elements begin."""
    made = integer(6) + compressed + struct.pack(">H", len(states))
    made += b"".join(utf(name) + b"opaque serializer snapshot" for name in states) + b"\0\0"
    places: dict[str, list[int]] = {}
    for name, elements in states.items():
        places[name] = []
        for element in elements:
            places[name].append(len(made))
            made += element
    return made, places


def operator_handle(places: Mapping[str, Sequence[int]], handle: bytes, *, mode: int = 0, tag: int = 4) -> bytes:
    made = bytes([tag])
    made += integer(len(places))
    for name, offsets in places.items():
        made += utf(name) + bytes([mode]) + integer(len(offsets)) + b"".join(map(long, offsets))
    if tag == 17:
        made += utf("file:/job/taskowned") + utf("file:/job/shared") + b"\0"
    return made + handle


def subtask(
    index: int, managed: bytes = b"", *, raw: bytes = b"", keyed: bytes = b"\0", incoming: Sequence[bytes] = ()
) -> bytes:
    made = integer(index)
    made += integer(1) + managed if managed else integer(0)
    made += integer(1) + raw if raw else integer(0)
    return made + keyed + b"\0" + integer(len(incoming)) + b"".join(incoming) + integer(0)


def state(name: str, elements: Sequence[bytes], *, mode: int = 0) -> bytes:
    """Return the operator handle of one state whose bytes are inline."""
    data, places = blob({name: elements})
    return operator_handle(places, inline(data), mode=mode)


def coordinator(payload: bytes, version: int) -> bytes:
    return inline(integer(1) + integer(version) + integer(len(payload)) + payload)


def listed(offsets: Mapping[tuple[str, int], int], version: int, status: int = 0) -> bytes:
    """Return the state of an enumerator of version 1, 2 or 3 that lists these partitions."""
    if version == 3:
        body = integer(len(offsets)) + integer(0)
        for key, offset in offsets.items():
            split = kafka_split(*key, offset)
            body += integer(len(split)) + split + integer(status)
        return body + b"\x01"
    of_each = integer(status) if version == 2 else b""
    body = b"".join(utf(topic) + integer(partition) + of_each for topic, partition in offsets)
    return integer(len(offsets)) + body + (b"\x01" if version == 2 else b"")


def enumerator_v2(partitions: Sequence[tuple[str, int, int]]) -> bytes:
    body = b"".join(utf(topic) + integer(partition) + integer(status) for topic, partition, status in partitions)
    return coordinator(integer(len(partitions)) + body + b"\x01", 2)


def enumerator_v3(splits: Sequence[tuple[str, int, int, int]]) -> bytes:
    made = integer(len(splits)) + integer(0)
    for topic, partition, offset, status in splits:
        body = kafka_split(topic, partition, offset)
        made += integer(len(body)) + body + integer(status)
    return coordinator(made + b"\x01", 3)


@dataclass(frozen=True, kw_only=True)
class Op:
    """One operator of a file put together by hand."""

    subtasks: Sequence[bytes] = ()
    uid: str = UID
    name: str = ""
    coordinator: bytes = b"\0"
    parallelism: int = 1
    finished: bool = False


def metadata(*operators: Op, version: int = 4, checkpoint_id: int = 7, tail: bytes = SAVEPOINT) -> bytes:
    made = integer(0x4960672D) + integer(version) + long(checkpoint_id) + integer(0) + integer(len(operators))
    for each in operators:
        if version >= 5:
            made += utf(each.name) + utf(each.uid)
        made += bytes.fromhex(operator_id(each.uid)) + integer(each.parallelism) + integer(128)
        made += each.coordinator + integer(-1 if each.finished else len(each.subtasks)) + b"".join(each.subtasks)
    return made + tail


def kafka_source(offsets: Mapping[int, int], *, topic: str = "orders", uid: str = UID) -> Op:
    """Return a KafkaSource of one subtask whose coordinator knows the same partitions."""
    elements = [reader_element(topic, partition, offset) for partition, offset in offsets.items()]
    return Op(
        uid=uid,
        subtasks=[subtask(0, state("SourceReaderState", elements))],
        coordinator=enumerator_v2([(topic, partition, 0) for partition in offsets]),
    )


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A checkpoint in memory."""

    data: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    uri: str = "memory/savepoint-1"

    def read(
        self, *, elsewhere: Elsewhere | None = None, uids: Sequence[str] = (), around: MemoryFolder | None = None
    ) -> Checkpoint:
        folder = MemoryFolder({"_metadata": self.data, **self.files}, uri=self.uri)
        return read_from(folder, elsewhere=elsewhere, uids=uids, around=around)


def positions(read: Checkpoint) -> dict[tuple[str, int], int]:
    return {at.topic_partition: offset_of(at.offset) for source in read.sources for at in source.positions}


def codes(read: Checkpoint) -> list[str]:
    return [problem.code for problem in read.problems]
