"""The state of Flink's Kafka connectors: splits, enumerators, committables.

Formats: `KafkaPartitionSplitSerializer`, `KafkaSourceEnumStateSerializer`, `DynamicKafkaSourceSplitSerializer`,
`KafkaWriterStateSerializer` and `KafkaCommittableSerializer` of flink-connector-kafka up to 5.0; the legacy consumer's
`KafkaTopicPartition` as Kryo 2.24 writes it. A HybridSource that has come to its KafkaSource keeps the state of that
inside its own: `HybridSourceSplitSerializer` and `HybridSourceEnumeratorStateSerializer` of flink-connector-base up to
2.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.position import TopicPartition

NO_STOP: Final = -(2**63)
NOT_SET: Final = -(2**63)
"""A start that the initializer chooses (`MIGRATED`)."""
MARKERS: Final = {-1: "latest", -2: "earliest", -3: "committed", NOT_SET: "initializer"}
STOP_MARKERS: Final = {-1: "latest", -3: "committed"}
LEGACY_MARKERS: Final = {
    -915623761776: "initializer",
    -915623761775: "earliest",
    -915623761774: "latest",
    -915623761773: "committed",
}
SPLIT_VERSION: Final = 0
HYBRID_VERSION: Final = 0
"""Of the enumerator of a HybridSource."""
DYNAMIC_VERSIONS: Final = (1, 2)
ASSIGNED: Final = 0
LAST_ENUMERATOR_VERSION: Final = 3

_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


class Split(NamedTuple):
    """One partition of a source, as a reader or its enumerator keeps it."""

    topic: str
    partition: int
    start: int
    """The next record to read, or one of `MARKERS`."""
    stop: int = NO_STOP
    assigned: bool = True
    cluster: str | None = None
    """The cluster, for a DynamicKafkaSource."""
    byte_offset: int = 0
    """Where it begins in its file."""
    retained: bool = False
    """Whether it is kept for a cluster that a DynamicKafkaSource no longer reads."""
    hybrid: int | None = None
    """The number of its KafkaSource in a HybridSource."""

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class Enumerator:
    version: int
    splits: tuple[Split, ...]
    size_ats: tuple[int, ...]
    """Where the lengths around its bytes are, in its data: the outermost first."""
    hybrid: int | None = None
    """The number of its KafkaSource in a HybridSource."""


def read_split(cursor: Cursor) -> Split:
    """Parse one element of `SourceReaderState`, strictly: other sources use the same name.

    Raises:
        DamagedError: It is not a split of a KafkaSource or a DynamicKafkaSource, nor of a HybridSource that reads one.
    """
    byte_offset = cursor.byte_offset
    version = _versioned(cursor, "a split")
    if version == SPLIT_VERSION:
        # A topic has a name, so its length is not 0; a HybridSource has fewer than 65,536 sources.
        if cursor.remaining >= 2 and not any(cursor.data[cursor.at : cursor.at + 2]):
            return _hybrid_split(cursor, byte_offset)
        return _split(cursor, byte_offset)
    if version not in DYNAMIC_VERSIONS:
        raise cursor.damaged(f"expected a split of version 0 to 2, found version {version:,}")
    cluster = cursor.text("the cluster of a split")
    retained = version > 1 and cursor.flag("whether a split is retained")
    if retained:
        cursor.int64("until when a split is retained")
    _require_kafka_split(cursor)
    return _split(cursor, byte_offset)._replace(cluster=cluster, retained=retained)


def _hybrid_split(cursor: Cursor, byte_offset: int) -> Split:
    number = cursor.int32("the number of a source")
    name = cursor.text("the id of a split")
    _require_kafka_split(cursor)
    _require_length(cursor, "a split")
    split = _split(cursor, byte_offset)
    if name != str(split.topic_partition):
        raise cursor.damaged(f"expected a split with the id {split.topic_partition}, found another id")
    return split._replace(hybrid=number)


def _versioned(cursor: Cursor, what: str) -> int:
    """Read the lengths around an element, which must agree, and return its version."""
    _require_length(cursor, what)
    version = cursor.int32(f"the version of {what}")
    _require_length(cursor, what)
    return version


def _require_length(cursor: Cursor, what: str) -> None:
    length = cursor.int32(f"the length of {what}")
    if length != cursor.remaining:
        raise cursor.damaged(f"expected {what} of {cursor.remaining:,} bytes, found the length {length:,}")


def _require_kafka_split(cursor: Cursor) -> None:
    if cursor.int32("the version of a split") != SPLIT_VERSION:
        raise cursor.damaged("expected a Kafka split of version 0, found another version")


def _split(cursor: Cursor, byte_offset: int) -> Split:
    topic = _topic(cursor)
    partition = _partition(cursor)
    start = cursor.int64("a starting offset")
    if start < 0 and start not in MARKERS:
        raise cursor.damaged(f"expected a starting offset, found {start}")
    stop = cursor.int64("a stopping offset")
    if stop < 0 and stop != NO_STOP and stop not in STOP_MARKERS:
        raise cursor.damaged(f"expected a stopping offset, found {stop}")
    cursor.finished("a split")
    return Split(topic, partition, start, stop, True, None, byte_offset)


def _topic(cursor: Cursor) -> str:
    topic = cursor.text("a topic")
    if not _is_topic(topic):
        raise cursor.damaged("expected the name of a topic, found other text")
    return topic


@lru_cache(1024)
def _is_topic(text: str) -> bool:
    return _TOPIC.fullmatch(text) is not None


def _partition(cursor: Cursor) -> int:
    partition = cursor.int32("a partition")
    if partition < 0:
        raise cursor.damaged(f"expected a partition, found {partition}")
    return partition


def read_enumerator(cursor: Cursor) -> Enumerator:
    """Parse the state of a KafkaSource's coordinator, versions 0 to 3, also inside that of a HybridSource.

    Raises:
        DamagedError: It is of another source, or damaged.
    """
    begun = cursor.at
    version, inner = coordinator_body(cursor, lowest=0, highest=LAST_ENUMERATOR_VERSION)
    if version == HYBRID_VERSION and (hybrid := _hybrid_enumerator(inner, begun + 8)) is not None:
        return hybrid
    return Enumerator(version, read_listed(version, inner), (begun + 8,))


def _hybrid_enumerator(cursor: Cursor, size_at: int) -> Enumerator | None:
    """Parse the state of a HybridSource's enumerator; None if it is not one, or not of a KafkaSource."""
    inside = Cursor(cursor.data, cursor.at, cursor.end, base=cursor.base)
    try:
        number = inside.int32("the number of a source")
        version = inside.int32("the version of an enumerator")
        inner_at = inside.at
        if inside.int32("bytes of an enumerator") != inside.remaining or not 0 <= version <= LAST_ENUMERATOR_VERSION:
            return None
        return Enumerator(version, read_listed(version, inside), (size_at, inner_at), number)
    except DamagedError:
        return None


def coordinator_body(cursor: Cursor, *, lowest: int, highest: int) -> tuple[int, Cursor]:
    """Return the version and the bytes of the enumerator in the state of a source's coordinator.

    Raises:
        DamagedError: It has another version, or other lengths.
    """
    wrapped = cursor.int32("the version of a source's coordinator")
    if wrapped not in (0, 1):
        raise cursor.damaged(f"expected a source's coordinator of version 0 or 1, found {wrapped:,}")
    version = cursor.int32("the version of an enumerator")
    if not lowest <= version <= highest:
        raise cursor.damaged(f"expected an enumerator of version {lowest} to {highest}, found {version:,}")
    size = cursor.count("bytes of an enumerator")
    at = cursor.skip(size, "an enumerator")
    if wrapped == 1:
        cursor.finished("a source's coordinator")
    return version, Cursor(cursor.data, at, at + size, base=cursor.base)


def read_listed(version: int, cursor: Cursor) -> tuple[Split, ...]:
    """Parse the splits that an enumerator of a KafkaSource lists, to its end.

    Args:
        version: Version of the enumerator's state, 0 to 3.
        cursor: The enumerator's bytes.

    Raises:
        DamagedError: It is of another source, or damaged.
    """
    return tuple((_assignments, _assigned, _with_status, _full_splits)[version](cursor))


def _assignments(cursor: Cursor) -> list[Split]:
    results = []
    subtasks = cursor.count("subtasks", least=0)
    version = cursor.int32("the version of a split")
    if version != SPLIT_VERSION or subtasks * 8 > cursor.remaining:
        raise cursor.damaged("expected the assignments of a KafkaSource, found something else")
    for _ in range(subtasks):
        cursor.int32("a subtask")
        results += [_sized_split(cursor) for _ in range(cursor.count("assigned splits", least=4))]
    cursor.finished("an enumerator")
    return results


def _assigned(cursor: Cursor) -> list[Split]:
    results = []
    for _ in range(cursor.count("partitions", least=6)):
        byte_offset = cursor.byte_offset
        results.append(Split(_topic(cursor), _partition(cursor), NOT_SET, byte_offset=byte_offset))
    cursor.finished("an enumerator")
    return results


def _with_status(cursor: Cursor) -> list[Split]:
    results = []
    for _ in range(cursor.count("partitions", least=10)):
        byte_offset = cursor.byte_offset
        results.append(
            Split(_topic(cursor), _partition(cursor), NOT_SET, NO_STOP, _is_assigned(cursor), byte_offset=byte_offset),
        )
    cursor.flag("whether discovery is finished")
    cursor.finished("an enumerator")
    return results


def _full_splits(cursor: Cursor) -> list[Split]:
    results = []
    number = cursor.count("splits", least=0)
    if cursor.int32("the version of a split") != SPLIT_VERSION or number * 8 > cursor.remaining:
        raise cursor.damaged("expected the splits of a KafkaSource, found something else")
    for _ in range(number):
        split = _sized_split(cursor)
        results.append(split if _is_assigned(cursor) else split._replace(assigned=False))
    cursor.flag("whether discovery is finished")
    cursor.finished("an enumerator")
    return results


def _sized_split(cursor: Cursor) -> Split:
    size = cursor.count("bytes of a split")
    at = cursor.skip(size, "a split")
    return _split(Cursor(cursor.data, at, at + size, base=cursor.base), cursor.base + at)


def _is_assigned(cursor: Cursor) -> bool:
    status = cursor.int32("whether a partition is assigned")
    if status not in (0, 1):
        raise cursor.damaged(f"expected whether a partition is assigned, 0 or 1, found {status:,}")
    return status == ASSIGNED


def read_legacy(cursor: Cursor) -> Split:
    """Parse one element of the legacy consumer's `topic-partition-offset-states`, as the next record to read.

    The element contains the last processed record, and a hash of topic and partition, which is verified.

    Raises:
        DamagedError: It is not such an element.
    """
    byte_offset = cursor.byte_offset
    _varint(cursor, "the class of a partition")
    if cursor.byte("a partition") != 1:
        raise cursor.damaged("expected a partition, found none")
    stored_hash = _signed(_varint(cursor, "the hash of a partition"))
    partition = _signed(_varint(cursor, "a partition"))
    if cursor.byte("a topic") != 1:
        raise cursor.damaged("expected a topic, found none")
    topic = _kryo_text(cursor)
    if not _is_topic(topic) or partition < 0:
        raise cursor.damaged("expected a topic and a partition, found other values")
    if stored_hash != _java_hash(topic, partition):
        raise cursor.damaged(f"expected the hash of {TopicPartition(topic, partition)}, found another one")
    last = cursor.int64("the last processed offset")
    cursor.finished("an element of the legacy consumer")
    if last in LEGACY_MARKERS:
        words = {word: marker for marker, word in MARKERS.items()}
        return Split(topic, partition, words[LEGACY_MARKERS[last]], byte_offset=byte_offset)
    if not -1 <= last < 2**63 - 1:
        raise cursor.damaged(f"expected the last processed offset, found {last}")
    return Split(topic, partition, last + 1, byte_offset=byte_offset)


def _varint(cursor: Cursor, what: str) -> int:
    value = 0
    for shift in range(0, 35, 7):
        byte = cursor.byte(what)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # the last byte of the number
            return value & 0xFFFFFFFF
    raise cursor.damaged(f"expected {what}, found a number that does not end")


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _kryo_text(cursor: Cursor) -> str:
    """Read ASCII text with a marked last byte, or, if it has one letter or more than 63, prefixed with its length."""
    first = cursor.byte("a topic")
    if not first & 0x80:
        characters = bytearray()
        byte = first
        while not byte & 0x80:
            characters.append(byte)
            byte = cursor.byte("a topic")
        characters.append(byte & 0x7F)
        return characters.decode("ascii")
    length = first & 0x3F
    if first & 0x40:
        second = cursor.byte("the length of a topic")
        length |= (second & 0x7F) << 6
        if second & 0x80:
            raise cursor.damaged("expected the length of a topic, found more than any topic has")
    return cursor.take(max(0, length - 1), "a topic").decode("ascii", "replace")


def _java_hash(topic: str, partition: int) -> int:
    value = 0
    for letter in topic:
        value = value * 31 + ord(letter)
    value = (value * 31 + partition) & 0xFFFFFFFF
    return value - 2**32 if value >= 2**31 else value
