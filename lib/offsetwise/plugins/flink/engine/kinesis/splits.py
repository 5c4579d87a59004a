"""The splits of Flink's sources for Kinesis and DynamoDB Streams, and the state of their coordinators.

Formats: `KinesisShardSplitSerializer` (0 to 2) and `KinesisStreamsSourceEnumeratorStateSerializer` (0, 1) of flink-
connector-aws 5.0 to 6.0, `DynamoDbStreamsShardSplitSerializer` (0 to 2) of the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.kinesis.stream.shards import LAST_HASH_KEY, Shard, hash_key
from offsetwise.plugins.kinesis.stream.spec import (
    LATEST,
    SHARD_END,
    TRIM_HORIZON,
    ShardPlace,
    after,
    at_time,
    sequence_number,
)

LAST_SPLIT_VERSION: Final = 2
NEW_SPLIT_VERSION: Final = 1
"""Version of new splits: KinesisStreamsSource 5.0.0 refuses a later one, and version 2 only adds whether a shard is
finished, which none of these is."""
UNASSIGNED: Final = 1
FINISHED: Final = 2
KINESIS: Final = "kinesis"
OF_TABLES: Final = "dynamodb-streams"
SHARD: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_ARN: Final = re.compile(r"arn:[a-z0-9-]{1,32}:(kinesis|dynamodb):[a-z0-9-]{0,32}:[0-9]{0,12}:[A-Za-z0-9_./:-]{1,512}")

_PARENT: Final = re.compile(rb"\x00\x14(shardId-[0-9]{12})", re.DOTALL)
_PARENT_BYTES: Final = 22
_PLAIN: Final = re.compile(
    rb"([\x00-\x02].arn:[A-Za-z0-9_./:-]+)"
    rb"\x00\x14(shardId-[0-9]{12})"
    rb"\x00(?:\x0cTRIM_HORIZON\x00|\x15AFTER_SEQUENCE_NUMBER\x01\x00\x01\x00\x38([1-9][0-9]{55}))"
    rb"\x00\x00\x00([\x00-\x02])((?:\x00\x14shardId-[0-9]{12}){0,2})"
    rb"\x00([\x01-\x27])(0|[1-9][0-9]{0,38})"
    rb"\x00([\x01-\x27])(0|[1-9][0-9]{0,38})"
    rb"([\x00\x01]?)",
    re.DOTALL,
)
"""A split of version 1 or 2 with shards and records numbered as AWS does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFields:
    version: int
    arn: str
    shard: str
    position: ShardPlace
    """Where reading resumes, finished or not."""
    parents: tuple[str, ...] = ()
    """In their order."""
    low: int | None = None
    """The first hash key; None in version 0, like the last hash key."""
    high: int | None = None
    finished: bool = False


@dataclass(frozen=True, slots=True)
class ShardSplit:
    shard: Shard
    kind: str
    byte_offset: int
    """Where it begins in its file."""
    fields: SplitFields | None = None
    """None for other sources than KinesisStreamsSource."""
    status: int | None = None
    """Whether it is assigned, as an enumerator records it; None if it does not."""

    @property
    def key(self) -> tuple[str, str]:
        return self.shard.stream or "", self.shard.id


@dataclass(frozen=True, slots=True)
class ShardEnumerator:
    splits: tuple[ShardSplit, ...]
    of_kinesis: bool
    """Whether it can only be of a Kinesis source, even without splits."""
    wrapped: int = 1
    """Version of Flink's wrapper."""
    version: int = 1
    last: str | None = None
    """The last shard seen; None if there was none, and for other sources."""
    split_version: int = LAST_SPLIT_VERSION


def read_split(cursor: Cursor) -> ShardSplit:
    """Parse one element of `SourceReaderState`, strictly: other sources use the same name.

    Raises:
        DamagedError: It is a split of another source, or damaged.
    """
    byte_offset = cursor.byte_offset
    outer = cursor.int32("the length of a split")
    if outer != cursor.remaining:
        raise cursor.damaged(f"expected a split of {cursor.remaining:,} bytes, found the length {outer:,}")
    version = cursor.int32("the version of a split")
    inner = cursor.int32("the length of a split")
    if inner != cursor.remaining:
        raise cursor.damaged(f"expected a split of {cursor.remaining:,} bytes, found the length {inner:,}")
    return _split(cursor, version, byte_offset)


def _split(cursor: Cursor, version: int, byte_offset: int) -> ShardSplit:
    plain = _plain_split(cursor, version)
    if plain is not None:
        return split_of(plain, byte_offset)
    if not 0 <= version <= LAST_SPLIT_VERSION:
        raise cursor.damaged(f"expected a split of version 0 to {LAST_SPLIT_VERSION}, found version {version:,}")
    arn = cursor.text("the ARN of a stream")
    service = _service(arn)
    if service is None:
        raise cursor.damaged(f"expected the ARN of a stream, found {arn[:120]!r}")
    shard = _matching(cursor, "the id of a shard", SHARD)
    if service == "dynamodb":
        return _split_of_table(cursor, version, byte_offset, Shard(id=shard, stream=arn, position=TRIM_HORIZON))
    position = _position(cursor)
    low = high = None
    parents: tuple[str, ...] = ()
    finished = False
    if version > 0:
        count = cursor.count("parents", least=2)
        parents = tuple(_matching(cursor, "the id of a parent", SHARD) for _ in range(count))
        low, high = _hash(cursor, "the first hash key"), _hash(cursor, "the last hash key")
        if low > high:
            raise cursor.damaged(f"expected a first hash key up to the last one, found {low} and {high}")
    if version > 1:
        finished = cursor.flag("whether a shard is finished")
    cursor.finished("a split")
    return split_of(
        SplitFields(
            version=version,
            arn=arn,
            shard=shard,
            position=position,
            parents=parents,
            low=low,
            high=high,
            finished=finished,
        ),
        byte_offset,
    )


def _plain_split(cursor: Cursor, version: int) -> SplitFields | None:
    """Parse a split of KinesisStreamsSource with AWS's usual numbers, without a call per field.

    None for everything else, damage included, which is then parsed field by field.
    """
    match = _PLAIN.fullmatch(cursor.data, cursor.at, cursor.end)
    if match is None:
        return None
    named, shard, number, counted, parents, sizes, low, more, high, finished = match.groups()
    arn = _plain_arn(named)
    first, last = int(low), int(high)
    fits = (
        arn is not None
        and (sizes[0], more[0], counted[0]) == (len(low), len(high), len(parents) // _PARENT_BYTES)
        and first <= last <= LAST_HASH_KEY
        and version == (2 if finished else 1)
    )
    if arn is None or not fits:
        return None
    cursor.at = cursor.end
    return SplitFields(
        version=version,
        arn=arn,
        shard=shard.decode("ascii"),
        position=TRIM_HORIZON if number is None else after(int(number)),
        parents=tuple(parent.decode("ascii") for parent in _PARENT.findall(parents)),
        low=first,
        high=last,
        finished=finished == b"\x01",
    )


@lru_cache(maxsize=16)
def _plain_arn(named: bytes) -> str | None:
    arn = named[2:].decode("ascii")
    fits = int.from_bytes(named[:2], "big") == len(arn) and _service(arn) == KINESIS
    return arn if fits else None


@lru_cache(maxsize=16)
def _service(arn: str) -> str | None:
    """Return the service of an ARN, which all splits of a source share; None if it is not the ARN of a stream."""
    match = _ARN.fullmatch(arn)
    return None if match is None else match[1]


def split_of(fields: SplitFields, byte_offset: int = 0) -> ShardSplit:
    shard = Shard(
        id=fields.shard,
        stream=fields.arn,
        position=SHARD_END if fields.finished else fields.position,
        low=fields.low,
        high=fields.high,
        parents=tuple(sorted(fields.parents)),
    )
    return ShardSplit(shard, KINESIS, byte_offset, fields)


def _position(cursor: Cursor) -> ShardPlace:
    kind = cursor.text("the kind of a position")
    moment, text = None, None
    if cursor.flag("whether a position has a marker"):
        if cursor.flag("whether the marker is a time"):
            moment = cursor.int64("a time")
        if cursor.flag("whether the marker is a sequence number"):
            text = cursor.text("a sequence number")
    match kind, moment, text:
        case "TRIM_HORIZON", None, None:
            return TRIM_HORIZON
        case "AT_TIMESTAMP", int(), None if 0 <= moment < 10**15:
            return at_time(moment)
        case "AFTER_SEQUENCE_NUMBER", None, str() if (number := sequence_number(text)) is not None:
            return after(number)
    raise cursor.damaged(
        "expected TRIM_HORIZON, AT_TIMESTAMP with a time or AFTER_SEQUENCE_NUMBER with a number of up to 129 digits, "
        f"found {kind[:60]!r} with {moment if moment is not None else (text or 'none')[:140]!r}"
    )


def _split_of_table(cursor: Cursor, version: int, byte_offset: int, shard: Shard) -> ShardSplit:
    """Parse the rest of a split of DynamoDB Streams. The children in version 2 are skipped."""
    kind, text = cursor.text("the kind of a position"), None
    if cursor.flag("whether a position has a marker") and cursor.flag("whether the marker is a sequence number"):
        text = cursor.text("a sequence number")
    number = None if text is None else sequence_number(text)
    match kind, number:
        case (("TRIM_HORIZON" | "LATEST"), None) if text is None:
            position = TRIM_HORIZON if kind == "TRIM_HORIZON" else LATEST
        case "AFTER_SEQUENCE_NUMBER", int():
            position = after(number)
        case _:
            raise cursor.damaged(f"expected a position of DynamoDB Streams, found {kind[:60]!r} with {text!r}"[:300])
    parents = (_matching(cursor, "the id of a parent", SHARD),) if cursor.flag("whether a shard has a parent") else ()
    if version > 0 and cursor.flag("whether a shard is finished"):
        position = SHARD_END
    if version > 1 and cursor.count("children"):
        cursor.skip(cursor.remaining, "the children")
    cursor.finished("a split")
    return ShardSplit(replace(shard, position=position, parents=parents), OF_TABLES, byte_offset)


def read_enumerator(cursor: Cursor) -> ShardEnumerator:
    """Parse the state of a coordinator.

    Raises:
        DamagedError: It is of another source, or damaged.
    """
    wrapped = cursor.int32("the version of a source's coordinator")
    if wrapped not in (0, 1):
        raise cursor.damaged(f"expected a source's coordinator of version 0 or 1, found {wrapped:,}")
    version = cursor.int32("the version of an enumerator")
    size = cursor.count("bytes of an enumerator")
    at = cursor.skip(size, "an enumerator")
    if wrapped == 1:
        cursor.finished("a source's coordinator")
    inner = Cursor(cursor.data, at, at + size, base=cursor.base)
    if version not in (0, 1):
        raise inner.damaged(f"expected an enumerator of version 0 or 1, found {version:,}")
    try:
        return replace(_shards_seen(inner, version), wrapped=wrapped, version=version)
    except DamagedError:
        if version:
            raise
        inner.at = at
        return _of_table(inner)


def _shards_seen(cursor: Cursor, version: int) -> ShardEnumerator:
    last = None
    if cursor.flag("whether a shard was seen"):
        last = _matching(cursor, "the last shard seen", SHARD)
    splits, split_version = _listed(cursor, status=version > 0)
    cursor.finished("an enumerator")
    return ShardEnumerator(tuple(splits), of_kinesis=last is not None, last=last, split_version=split_version)


def _of_table(cursor: Cursor) -> ShardEnumerator:
    splits, _ = _listed(cursor, status=True)
    cursor.int64("when the source began")
    cursor.finished("an enumerator")
    if any(split.kind != OF_TABLES for split in splits):
        raise cursor.damaged("expected splits of DynamoDB Streams, found others")
    return ShardEnumerator(tuple(splits), of_kinesis=False)


def _listed(cursor: Cursor, *, status: bool) -> tuple[list[ShardSplit], int]:
    splits = []
    number = cursor.count("splits", least=0)
    version = cursor.int32("the version of a split")
    if number * 8 > cursor.remaining:
        raise cursor.damaged("expected the splits of a source, found something else")
    for _ in range(number):
        size = cursor.count("bytes of a split")
        byte_offset = cursor.byte_offset
        at = cursor.skip(size, "a split")
        split = _split(Cursor(cursor.data, at, at + size, base=cursor.base), version, byte_offset)
        if status:
            state = cursor.int32("whether a split is assigned")
            if not 0 <= state <= 2:
                raise cursor.damaged(f"expected whether a split is assigned, 0 to 2, found {state:,}")
            shard = replace(split.shard, waits=True) if state == UNASSIGNED else split.shard
            split = ShardSplit(shard, split.kind, split.byte_offset, split.fields, state)
        splits.append(split)
    return splits, version


def _matching(cursor: Cursor, what: str, pattern: re.Pattern[str]) -> str:
    text = cursor.text(what)
    if not pattern.fullmatch(text):
        raise cursor.damaged(f"expected {what}, found {text[:120]!r}")
    return text


def _hash(cursor: Cursor, what: str) -> int:
    text = cursor.text(what)
    key = hash_key(text)
    if key is None:
        raise _no_hash(cursor, text, what)
    return key


def hash_of(cursor: Cursor, text: str | None, what: str) -> int | None:
    """Return a hash key; None if there is none.

    Raises:
        DamagedError: The text is not a hash key.
    """
    key = None if text is None else hash_key(text)
    if text is not None and key is None:
        raise _no_hash(cursor, text, what)
    return key


def _no_hash(cursor: Cursor, text: str, what: str) -> DamagedError:
    return cursor.damaged(f"expected {what}, a decimal of 128 bits, found {text[:60]!r}")
