"""MirrorMaker 2's own topics: their names and wire formats.

Defined by Apache Kafka `connect/mirror` and `connect/mirror-client`: `OffsetSync`, `Checkpoint`, `Heartbeat`,
`DefaultReplicationPolicy`. Big-endian; a STRING is an int16 length and UTF-8, not nullable. Everything is in partition
0.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from offsetwise.model import Heartbeat, MirrorCheckpoint, OffsetSync


class MirrorKind(StrEnum):
    OFFSET_SYNCS = "offset-syncs"
    CHECKPOINTS = "checkpoints"
    HEARTBEATS = "heartbeats"


Decoded: TypeAlias = OffsetSync | MirrorCheckpoint | Heartbeat
Raw: TypeAlias = tuple[bytes | None, bytes | None]
"""Key and value of one record."""

_INT32: Final = struct.Struct(">i")
_PAIR: Final = struct.Struct(">qq")
_VERSIONED_PAIR: Final = struct.Struct(">hqq")
_VERSIONED_TIME: Final = struct.Struct(">hq")
_LENGTH: Final = struct.Struct(">h")
_SYNCS: Final = re.compile(r"mm2-offset-syncs(.+)internal")
_CHECKPOINTS: Final = re.compile(r"(.+)checkpoints(.+)internal")
_HEARTBEATS: Final = re.compile(r"(?:(.+?)[._-]+)?heartbeats")
_SEPARATORS: Final = frozenset("._-")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorTopicName:
    kind: MirrorKind
    alias: str
    """Target alias of offset-syncs on the source (source alias on the target), source alias of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedTopic:
    records: tuple[Decoded, ...]
    undecodable: int
    """How many records have another format. Records without a value are not counted anywhere."""


def recognise(topic: str) -> MirrorTopicName | None:
    """Return the kind and alias of a MirrorMaker topic, from its name; None for any other topic.

    >>> recognise("mm2-offset-syncs.new.internal").alias
    'new'
    """
    if match := _SYNCS.fullmatch(topic):
        return MirrorTopicName(kind=MirrorKind.OFFSET_SYNCS, alias=_between_separators(match[1]))
    if match := _CHECKPOINTS.fullmatch(topic):
        return MirrorTopicName(kind=MirrorKind.CHECKPOINTS, alias=match[1].removesuffix(match[2]))
    if match := _HEARTBEATS.fullmatch(topic):
        return MirrorTopicName(kind=MirrorKind.HEARTBEATS, alias=match[1] or "")
    return None


def decode(kind: MirrorKind, records: Iterable[Raw]) -> DecodedTopic:
    """Decode the records of one topic. Records without a value are skipped, undecodable ones counted."""
    decoder, results, undecodable = _DECODERS[kind], [], 0
    for key, value in records:
        if value is None:
            continue
        try:
            results.append(decoder(key or b"", value))
        except (struct.error, UnicodeDecodeError, ValueError):
            undecodable += 1
    return DecodedTopic(records=tuple(results), undecodable=undecodable)


def decode_sync(key: bytes, value: bytes) -> OffsetSync:
    """Decode one record of an offset-syncs topic.

    Raises:
        ValueError: Not such a record. (`struct.error` and `UnicodeDecodeError` too.)
    """
    topic, end = _string(key, 0)
    (partition,) = _INT32.unpack(key[end:])
    upstream, downstream = _PAIR.unpack(value)
    if not topic or min(partition, upstream, downstream) < 0:
        raise ValueError("an offset sync names a topic and has no negative number")
    return OffsetSync(topic=topic, partition=partition, upstream=upstream, downstream=downstream)


def decode_checkpoint(key: bytes, value: bytes) -> MirrorCheckpoint:
    """Decode one record of a checkpoints topic.

    Raises:
        ValueError: Not such a record. (`struct.error` and `UnicodeDecodeError` too.)
    """
    group, end = _string(key, 0)
    topic, end = _string(key, end)
    (partition,) = _INT32.unpack(key[end:])
    version, upstream, downstream = _VERSIONED_PAIR.unpack_from(value)
    metadata, end = _string(value, _VERSIONED_PAIR.size)
    if version != 0 or end != len(value) or min(partition, upstream, downstream) < 0:
        raise ValueError("a checkpoint has version 0 and no negative number")
    return MirrorCheckpoint(
        group=group, topic=topic, partition=partition, upstream=upstream, downstream=downstream, metadata=metadata
    )


def decode_heartbeat(key: bytes, value: bytes) -> Heartbeat:
    """Decode one record of a heartbeats topic.

    Raises:
        ValueError: Not such a record. (`struct.error` and `UnicodeDecodeError` too.)
    """
    source, end = _string(key, 0)
    target, end = _string(key, end)
    version, timestamp_ms = _VERSIONED_TIME.unpack(value)
    if version != 0 or end != len(key) or timestamp_ms < 0:
        raise ValueError("a heartbeat has version 0 and a time")
    return Heartbeat(source=source, target=target, timestamp_ms=timestamp_ms)


_DECODERS: Final[dict[MirrorKind, Callable[[bytes, bytes], Decoded]]] = {
    MirrorKind.OFFSET_SYNCS: decode_sync,
    MirrorKind.CHECKPOINTS: decode_checkpoint,
    MirrorKind.HEARTBEATS: decode_heartbeat,
}


def _string(data: bytes, start: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, start)
    end = start + _LENGTH.size + length
    if length < 0 or end > len(data):
        raise ValueError("a string is longer than its record")
    return data[start + _LENGTH.size : end].decode("utf-8"), end


def _between_separators(text: str) -> str:
    # The separator is configurable (`replication.policy.separator`) and may have several characters.
    for length in range(len(text) // 2, 0, -1):
        separator = text[:length]
        if set(separator) <= _SEPARATORS and text.endswith(separator):
            return text[length:-length] or text
    return text
