"""Savepoints of a KafkaSource as FLINK-40469 and its neighbours leave them: who keeps a partition is changed in bytes.

The layouts are those of Flink's `MetadataV3Serializer` and of `KafkaSourceEnumStateSerializer`, versions 2 and 3.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

ASSIGNED, UNASSIGNED = 0, 1
EARLIEST: Final = -2
_LIST: Final = re.compile(rb"\0\x11SourceReaderState.(?=\0\0\0[\0-\x40]\0\0\0\0)", re.DOTALL)
"""The head of a reader's list: its state's name and how it is distributed, before the number of its elements."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What the coordinator says of a partition."""

    topic: bytes
    partition: int
    start: int
    """Its first offset, or a negative number that stands for one; 0 in version 2, which keeps none."""
    status: int


def changed(savepoint: Path, copy: Path, *changes: Callable[[bytes], bytes]) -> Path:
    """Copy a savepoint whose operators' state is in its `_metadata`, and change that."""
    shutil.copytree(savepoint, copy)
    file = copy / "_metadata"
    for change in changes:
        before = file.read_bytes()
        after = change(before)
        assert after != before
        file.write_bytes(after)
    return copy


def dropping(lost: Collection[int]) -> Callable[[bytes], bytes]:
    """Return a change that takes partitions out of the lists of the readers that keep them."""

    def change(data: bytes) -> bytes:
        found = set()
        for match in reversed([*_LIST.finditer(data)]):
            begin = match.end()
            count = _integer(data, begin)
            handle = begin + 4 + 8 * count
            assert data[handle] == 1, "expected the state of a reader in _metadata"
            state = handle + 3 + struct.unpack_from(">H", data, handle + 1)[0] + 4
            end = state + _integer(data, state - 4)
            starts = struct.unpack_from(f">{count}q", data, begin + 4)
            elements = [
                data[state + one : state + other] for one, other in zip(starts, [*starts[1:], end - state], strict=True)
            ]
            kept = [each for each in elements if _partition(each) not in lost]
            found |= {_partition(each) for each in elements} & set(lost)
            head = data[state : state + starts[0]] if starts else data[state:end]
            places = [len(head) + sum(map(len, kept[:number])) for number in range(len(kept))]
            blob = head + b"".join(kept)
            listed = struct.pack(f">i{len(kept)}q", len(kept), *places)
            data = data[:begin] + listed + data[handle : state - 4] + struct.pack(">i", len(blob)) + blob + data[end:]
        assert found == set(lost)
        return data

    return change


def _partition(element: bytes) -> int:
    """Return the partition of a reader's element: a split behind its version and two lengths."""
    return _integer(element, 14 + struct.unpack_from(">H", element, 12)[0])


def listing(change: Callable[[list[Listed]], list[Listed]]) -> Callable[[bytes], bytes]:
    """Return a change of what the coordinator keeps of every partition."""

    def changed_bytes(data: bytes) -> bytes:
        (match,) = [
            each
            for each in re.finditer(rb"\0\0\0\x01\0\0\0([\x02\x03])", data)
            # The length before is that of the handle, the one behind that of the enumerator in it.
            if _integer(data, each.start() - 4) == _integer(data, each.end()) + 12 > 12
        ]
        version, begin = match[1][0], match.end() + 4
        end = begin + _integer(data, match.end())
        made = _written(version, change(_read(version, data, begin)), data[end - 1 : end])
        head = struct.pack(">4i", len(made) + 12, 1, version, len(made))
        return data[: match.start() - 4] + head + made + data[end:]

    return changed_bytes


def handed_back(partitions: Collection[int], starts: dict[int, int] | None = None) -> Callable[[bytes], bytes]:
    """Return a change after which the coordinator has these partitions to hand out.

    Args:
        partitions: Which.
        starts: Where each begins; where None, as the coordinator has it.
    """

    def change(listed: list[Listed]) -> list[Listed]:
        made = [
            replace(each, status=UNASSIGNED, start=(starts or {}).get(each.partition, each.start))
            if each.partition in partitions
            else each
            for each in listed
        ]
        assert {each.partition for each in made if each.status == UNASSIGNED} >= set(partitions)
        return made

    return listing(change)


def forgotten(partitions: Collection[int]) -> Callable[[bytes], bytes]:
    """Return a change after which the coordinator does not know these partitions."""
    return listing(lambda listed: [each for each in listed if each.partition not in partitions])


def _read(version: int, data: bytes, at: int) -> list[Listed]:
    made = []
    count = _integer(data, at)
    at += 4 if version == 2 else 8
    for _ in range(count):
        at += 0 if version == 2 else 4
        size = struct.unpack_from(">H", data, at)[0]
        topic = data[at + 2 : at + 2 + size]
        at += 2 + size
        if version == 2:
            partition, status = struct.unpack_from(">ii", data, at)
            made.append(Listed(topic, partition, 0, status))
            at += 8
        else:
            partition, start, _, status = struct.unpack_from(">iqqi", data, at)
            made.append(Listed(topic, partition, start, status))
            at += 24
    return made


def _written(version: int, listed: list[Listed], tail: bytes) -> bytes:
    made = struct.pack(">i", len(listed)) + (b"" if version == 2 else bytes(4))
    for each in listed:
        topic = struct.pack(">H", len(each.topic)) + each.topic
        if version == 2:
            made += topic + struct.pack(">ii", each.partition, each.status)
        else:
            split = topic + struct.pack(">iqq", each.partition, each.start, -(2**63))
            made += struct.pack(">i", len(split)) + split + struct.pack(">i", each.status)
    return made + tail


def _integer(data: bytes, at: int) -> int:
    found: int = struct.unpack_from(">i", data, at)[0]
    return found
