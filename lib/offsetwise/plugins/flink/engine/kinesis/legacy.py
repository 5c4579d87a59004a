"""The legacy FlinkKinesisConsumer's state, `StreamShardMetadata` and `SequenceNumber` as Kryo 2.24 writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.kinesis.splits import KINESIS, SHARD, ShardSplit, hash_of
from offsetwise.plugins.kinesis.stream.shards import Shard
from offsetwise.plugins.kinesis.stream.spec import (
    AT_UNKNOWN_TIME,
    LATEST,
    SHARD_END,
    TRIM_HORIZON,
    ShardPlace,
    after,
    sequence_number,
)

_STREAM: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_LEGACY_SENTINELS: Final = {
    "EARLIEST_SEQUENCE_NUM": TRIM_HORIZON,
    "LATEST_SEQUENCE_NUM": LATEST,
    "AT_TIMESTAMP_SEQUENCE_NUM": AT_UNKNOWN_TIME,
    "SHARD_ENDING_SEQUENCE_NUM": SHARD_END,
}
_LEGACY_FIELDS: Final = (
    "adjacentParentShardId",
    "endingHashKey",
    "endingSequenceNumber",
    "parentShardId",
    "shardId",
    "startingHashKey",
    "startingSequenceNumber",
    "streamName",
)
"""The fields of `StreamShardMetadata`, in Kryo's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegacyFields:
    shard: Mapping[str, str | None]
    """The fields of `StreamShardMetadata` by name, in Kryo's order."""
    number_class: int
    """The class id of the sequence number: it depends on the classes that the job registers."""
    text: str
    """The sequence number, or the sentinel used instead of one."""
    sub: int
    """The user record inside the aggregate, negative if all of it is processed."""

    @property
    def hash(self) -> int:
        """`SequenceNumber.hashCode`: 37 times the sum of both parts' hashes, in 32 bits."""
        letters = 0
        for letter in self.text:
            letters = letters * 31 + ord(letter)
        long = self.sub & (2**64 - 1)
        value = 37 * (letters + (long ^ long >> 32)) & 0xFFFFFFFF
        return value - 2**32 if value >= 2**31 else value


def read_fields(cursor: Cursor) -> LegacyFields:
    """Parse one element of the legacy consumer's state, and verify its hash.

    Raises:
        DamagedError: It is not such an element.
    """
    if cursor.byte("an element") != 2:
        raise DamagedError(cursor.byte_offset - 1, "expected an element of the legacy consumer, found another one")
    fields = dict(zip(_LEGACY_FIELDS, (_optional_text(cursor, name) for name in _LEGACY_FIELDS), strict=True))
    stream, shard = fields["streamName"], fields["shardId"]
    if stream is None or shard is None or not _STREAM.fullmatch(stream) or not SHARD.fullmatch(shard):
        raise cursor.damaged(f"expected a stream and a shard, found {str(stream)[:60]!r} and {str(shard)[:60]!r}")
    number_class = _varint(cursor, "the class of a sequence number")
    if cursor.byte("a sequence number") != 1:
        raise cursor.damaged("expected a sequence number, found none")
    stored_hash = _signed(_varint(cursor, "the hash of a sequence number"))
    if cursor.byte("a sequence number") != 1:
        raise cursor.damaged("expected the text of a sequence number, found none")
    text = _marked_text(cursor)
    sub = _signed(_varint(cursor, "a sub-sequence number", most=70))
    cursor.finished("an element of the legacy consumer")
    legacy_fields = LegacyFields(shard=fields, number_class=number_class, text=text, sub=sub)
    if stored_hash != legacy_fields.hash:
        raise cursor.damaged(f"expected the hash of {text[:140]!r} and {sub}, found another one")
    return legacy_fields


def read_legacy(cursor: Cursor) -> ShardSplit:
    """Parse one element of the legacy consumer's state: the last processed record.

    Raises:
        DamagedError: It is not such an element.
    """
    byte_offset = cursor.byte_offset
    legacy_fields = read_fields(cursor)
    fields = legacy_fields.shard
    low, high = (hash_of(cursor, fields[name], name) for name in ("startingHashKey", "endingHashKey"))
    first = fields["startingSequenceNumber"]
    parents = (fields["parentShardId"], fields["adjacentParentShardId"])
    shard = Shard(
        id=str(fields["shardId"]),
        stream=fields["streamName"],
        position=_legacy_position(cursor, legacy_fields.text, legacy_fields.sub),
        low=low,
        high=high,
        first=None if first is None else sequence_number(first),
        parents=tuple(sorted(parent for parent in parents if parent)),
    )
    return ShardSplit(shard, KINESIS, byte_offset)


def _legacy_position(cursor: Cursor, text: str, sub: int) -> ShardPlace:
    number = sequence_number(text)
    if text in _LEGACY_SENTINELS and sub == -1:
        return _LEGACY_SENTINELS[text]
    if number is None or sub < -1:
        raise cursor.damaged(
            f"expected a sequence number of up to 129 digits, or one of {', '.join(_LEGACY_SENTINELS)}, found "
            f"{text[:140]!r} with {sub}"
        )
    return after(number, None if sub < 0 else sub)


def _optional_text(cursor: Cursor, what: str) -> str | None:
    absent = cursor.byte(what)
    if absent > 1:
        raise cursor.damaged(f"expected whether {what} is there, 0 or 1, found {absent}")
    if absent:
        return None
    letters = cursor.take(_varint(cursor, f"the length of {what}") - 1, what)
    if not letters.isascii():
        raise cursor.damaged(f"expected {what} in ASCII, found other bytes")
    return letters.decode("ascii")


def _marked_text(cursor: Cursor) -> str:
    characters = bytearray()
    while not characters or not characters[-1] & 0x80:
        characters.append(cursor.byte("a sequence number"))
    characters[-1] &= 0x7F
    return characters.decode("ascii")


def _varint(cursor: Cursor, what: str, *, most: int = 35) -> int:
    value = 0
    for shift in range(0, most, 7):
        byte = cursor.byte(what)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # the last byte of the number
            return value & ((1 << (32 if most == 35 else 64)) - 1)
    raise cursor.damaged(f"expected {what}, found a number that does not end")


def _signed(value: int) -> int:
    return value >> 1 ^ -(value & 1)
