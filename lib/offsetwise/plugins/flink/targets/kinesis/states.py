"""Writes the state of Flink's Kinesis sources: splits, their enumerator, elements of the legacy consumer.

`engine/kinesis` has the parsers. Parsing and writing returns the same bytes, except for forms that no connector writes:
editors compare the bytes, and refuse those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offsetwise.plugins.flink.engine.kinesis.legacy import LegacyFields
from offsetwise.plugins.flink.engine.kinesis.splits import NEW_SPLIT_VERSION, ShardEnumerator, SplitFields
from offsetwise.plugins.flink.targets.elements import NotEditableError
from offsetwise.plugins.flink.targets.output import flag, int32, int64, sized, text
from offsetwise.plugins.kinesis.stream.spec import TRIM_HORIZON, Place, ShardPlace

_WRAPPED: Final = 1
_ENUMERATOR: Final = 1


def split_element(fields: SplitFields) -> bytes:
    """Return an element of `SourceReaderState`.

    Raises:
        NotEditableError: A split cannot express its position.
    """
    return sized(int32(fields.version) + sized(_split(fields)))


def _split(fields: SplitFields) -> bytes:
    data = text(fields.arn) + text(fields.shard) + _position(fields.shard, fields.position)
    if fields.version > 0:
        parents = b"".join(map(text, fields.parents))
        data += int32(len(fields.parents)) + parents + text(str(fields.low)) + text(str(fields.high))
    return data + flag(fields.finished) if fields.version > 1 else data


def _position(shard: str, position: ShardPlace) -> bytes:
    match position:
        case ShardPlace(place=Place.TRIM_HORIZON):
            return text("TRIM_HORIZON") + flag(False)
        case ShardPlace(place=Place.AT_TIMESTAMP, at_ms=int(at_ms)):
            return text("AT_TIMESTAMP") + flag(True) + flag(True) + int64(at_ms) + flag(False)
        case ShardPlace(place=Place.AFTER, sequence=int(number), sub=None):
            return text("AFTER_SEQUENCE_NUMBER") + flag(True) + flag(False) + flag(True) + text(str(number))
    raise NotEditableError(f"{shard} at {position}, which a split of KinesisStreamsSource cannot hold")


def coordinator_state(
    splits: Sequence[tuple[SplitFields, int | None]],
    *,
    last: str | None,
    split_version: int | None = None,
    version: int = _ENUMERATOR,
    wrapped: int = _WRAPPED,
) -> bytes:
    """Return the state of a coordinator.

    Args:
        splits: The known splits, each with its assignment status; None if the version does not record it.
        last: The last shard that it has seen.
        split_version: Version of all splits; None for that of the first.
        version: Version of the enumerator.
        wrapped: Version of Flink's wrapper.

    Raises:
        NotEditableError: A split cannot express its position.
    """
    if split_version is None:
        split_version = splits[0][0].version if splits else NEW_SPLIT_VERSION
    last_seen = flag(False) if last is None else flag(True) + text(last)
    listed = b"".join(sized(_split(fields)) + (b"" if status is None else int32(status)) for fields, status in splits)
    data = last_seen + int32(len(splits)) + int32(split_version) + listed
    return int32(wrapped) + int32(version) + sized(data)


def enumerator_state(enumerator: ShardEnumerator) -> bytes:
    """Return the state of a coordinator as it was read.

    Raises:
        NotEditableError: It is of another source.
    """
    splits = [(split.fields, split.status) for split in enumerator.splits if split.fields is not None]
    if len(splits) != len(enumerator.splits):
        raise NotEditableError("a coordinator of another source than KinesisStreamsSource")
    return coordinator_state(
        splits,
        last=enumerator.last,
        split_version=enumerator.split_version,
        version=enumerator.version,
        wrapped=enumerator.wrapped,
    )


def handed_out(fields: SplitFields) -> SplitFields:
    """Return a split as an enumerator keeps it once a reader has it: with the shard's start, which is not used."""
    return SplitFields(
        version=fields.version,
        arn=fields.arn,
        shard=fields.shard,
        position=TRIM_HORIZON,
        parents=fields.parents,
        low=fields.low,
        high=fields.high,
    )


def legacy_element(fields: LegacyFields) -> bytes:
    shard = b"".join(
        b"\1" if value is None else b"\0" + _varint(len(value) + 1) + value.encode("ascii")
        for value in fields.shard.values()
    )
    number = bytearray(fields.text.encode("ascii"))
    number[-1] |= 0x80
    return b"".join(
        (
            b"\2",
            shard,
            _varint(fields.number_class),
            b"\1",
            _varint(_unsigned(fields.hash, 32)),
            b"\1",
            bytes(number),
            _varint(_unsigned(fields.sub, 64)),
        )
    )


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))


def _unsigned(value: int, bits: int) -> int:
    """Return a signed number in Kryo's zigzag encoding: small numbers of both signs take few bytes."""
    return (value << 1 ^ value >> (bits - 1)) & ((1 << bits) - 1)
