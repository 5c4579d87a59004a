"""Kinesis as a stream: sequence numbers, positions and their texts.

A position has the engines' meaning, after the last processed record: sequence numbers are not dense, so there is no
next one to name. Numbers are compared inside one shard only, as integers; a float or an int64 cannot hold them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from offsetwise.errors import ConfigError
from offsetwise.model import (
    AnyPosition,
    Exactness,
    Method,
    PartitionState,
    RawReuse,
    RawVerdict,
    ShardPosition,
    ShardRange,
    Snapshot,
    SourcePosition,
    TopicPartition,
    Translation,
)
from offsetwise.plugins.kinesis.stream.numbers import evidence_of, moment
from offsetwise.ports.stream import Spec, are_two
from offsetwise.position import OpaquePosition

_NUMBER: Final = "(0|[1-9][0-9]{0,128})"
"""As the API writes sequence numbers."""
_SEQUENCE: Final = re.compile(_NUMBER)
_AFTER: Final = re.compile(f"seq:{_NUMBER}(?:/(0|[1-9][0-9]{{0,18}}))?")
_AT: Final = re.compile(f"at:{_NUMBER}")
_AT_TIME: Final = re.compile("AT_TIMESTAMP:(0|[1-9][0-9]{0,14})")
_OF_SHARD: Final = re.compile("(0|[1-9][0-9]{0,11})@([^@]+)")
_SHARD: Final = re.compile("shardId-([0-9]{12})")
_OF_ARN: Final = re.compile(r"arn:[^:]+:kinesis:[^:]*:[^:]*:stream/([^/:]+)")
_OF_LEASE: Final = re.compile(r"[0-9]{12}:([^:]+):[0-9]+")
"""The KCL's name of a stream in a table of several: account, name, and creation time."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")

_WHOLE: Final = 2**64
"""Above every sub-sequence number."""


class Place(StrEnum):
    AFTER = "seq"
    AT = "at"
    TRIM_HORIZON = "TRIM_HORIZON"
    LATEST = "LATEST"
    AT_TIMESTAMP = "AT_TIMESTAMP"
    SHARD_END = "SHARD_END"
    IN_SHARDS = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlace(OpaquePosition):
    """A position in one shard, which it does not name. Positions of different shards cannot be compared.

    `SHARD_END` is after every record. `TRIM_HORIZON`, `LATEST` and times are neither before nor after a record, as long
    as the stream is not read: both comparisons are false then.
    """

    place: Place
    sequence: int | None = None
    """Number of the last processed record, or of the next one to read; None for a position without a record."""
    sub: int | None = None
    """The last processed user record inside the aggregate `sequence`; None if all of it is processed."""
    at_ms: int | None = None
    """Time of `AT_TIMESTAMP`, since the epoch; None if only the job's code knows it."""
    of: tuple[tuple[int, ShardPlace], ...] = ()
    """Of `IN_SHARDS`: the job's position in each shard whose records another stream's shard gets."""

    @property
    def is_end(self) -> bool:
        return self.place is Place.SHARD_END

    def __str__(self) -> str:
        match self.place:
            case Place.IN_SHARDS:
                return "+".join(f"{number}@{position}" for number, position in self.of)
            case Place.AFTER:
                return f"seq:{self.sequence}" + ("" if self.sub is None else f"/{self.sub}")
            case Place.AT:
                return f"at:{self.sequence}"
            case Place.AT_TIMESTAMP if self.at_ms is not None:
                return f"AT_TIMESTAMP:{self.at_ms}"
        return self.place.value

    def __lt__(self, other: Any, /) -> bool:
        mine, its = self._order(), other._order() if isinstance(other, ShardPlace) else None
        return mine is not None and its is not None and mine < its

    def __gt__(self, other: Any, /) -> bool:
        return isinstance(other, ShardPlace) and other.__lt__(self)

    def __le__(self, other: Any, /) -> bool:
        return self.__eq__(other) or self.__lt__(other)

    def __ge__(self, other: Any, /) -> bool:
        return self.__eq__(other) or self.__gt__(other)

    def _order(self) -> tuple[int, int, int] | None:
        if self.is_end:
            return (1, 0, 0)
        if self.sequence is None:
            return None
        inside = -1 if self.place is Place.AT else _WHOLE if self.sub is None else self.sub
        return (0, self.sequence, inside)


TRIM_HORIZON: Final = ShardPlace(place=Place.TRIM_HORIZON)
LATEST: Final = ShardPlace(place=Place.LATEST)
AT_UNKNOWN_TIME: Final = ShardPlace(place=Place.AT_TIMESTAMP)
SHARD_END: Final = ShardPlace(place=Place.SHARD_END)


def after(sequence: int, sub: int | None = None) -> ShardPlace:
    return ShardPlace(place=Place.AFTER, sequence=sequence, sub=sub)


def at(sequence: int) -> ShardPlace:
    return ShardPlace(place=Place.AT, sequence=sequence)


def at_time(at_ms: int) -> ShardPlace:
    """Return the position of the first record that arrived at or after a time, in milliseconds since the epoch."""
    return ShardPlace(place=Place.AT_TIMESTAMP, at_ms=at_ms)


def in_shards(positions: Mapping[int, ShardPlace]) -> ShardPlace:
    """Return the position of a job in several shards, by their numbers.

    >>> str(in_shards({1: SHARD_END, 0: after(4968)}))
    '0@seq:4968+1@SHARD_END'
    """
    return ShardPlace(place=Place.IN_SHARDS, of=tuple(sorted(positions.items())))


def in_several(position: AnyPosition | None) -> bool:
    return isinstance(position, ShardPlace) and bool(position.of)


def parse(text: str, /) -> ShardPlace | None:
    """Parse the text of a position; return None for any other text.

    >>> str(parse("seq:4968/2")), parse("seq:007"), parse("4968"), str(parse("AT_TIMESTAMP:1795335840604"))
    ('seq:4968/2', None, None, 'AT_TIMESTAMP:1795335840604')
    >>> parse("seq:4968/2") < parse("seq:4968") < parse("at:4969") < parse("SHARD_END")
    True
    >>> str(parse("0@seq:4968+1@SHARD_END")), parse("0@seq:4968+0@SHARD_END"), parse("0@1@LATEST")
    ('0@seq:4968+1@SHARD_END', None, None)
    """
    if "@" in text:
        named = [_OF_SHARD.fullmatch(part) for part in text.split("+")]
        positions = {int(match[1]): parse(match[2]) for match in named if match is not None}
        result = in_shards({number: position for number, position in positions.items() if position is not None})
        return result if str(result) == text else None
    if matched := _AFTER.fullmatch(text):
        return after(int(matched[1]), None if matched[2] is None else int(matched[2]))
    if matched := _AT.fullmatch(text):
        return at(int(matched[1]))
    if matched := _AT_TIME.fullmatch(text):
        return at_time(int(matched[1]))
    sentinels = (TRIM_HORIZON, LATEST, AT_UNKNOWN_TIME, SHARD_END)
    return next((sentinel for sentinel in sentinels if str(sentinel) == text), None)


def sequence_number(text: str) -> int | None:
    """Parse a sequence number as the API writes it; None for any other text.

    >>> sequence_number("0"), sequence_number("007"), sequence_number("1e56"), sequence_number("-1")
    (0, None, None, None)
    """
    return int(text) if _SEQUENCE.fullmatch(text) else None


def shard_number(shard: str) -> int | None:
    """Return the number in the id of a shard of Kinesis; None for any other id.

    >>> shard_number("shardId-000000000017"), shard_number("shardId-00000001550840986131-382ec8f8")
    (17, None)
    """
    match = _SHARD.fullmatch(shard)
    return None if match is None else int(match[1])


def shard_id(number: int) -> str:
    """Return the id of a shard of Kinesis.

    >>> shard_id(17)
    'shardId-000000000017'
    """
    return f"shardId-{number:012}"


def stream_name(stream: str) -> str | None:
    """Return a stream's name from any form in which engines name it; None for any other text.

    >>> stream_name("orders"), stream_name("arn:aws:kinesis:us-east-1:000000000000:stream/orders")
    ('orders', 'orders')
    >>> stream_name("000000000000:orders:1795335840"), stream_name("a/b")
    ('orders', None)
    """
    match = _OF_ARN.fullmatch(stream) or _OF_LEASE.fullmatch(stream)
    name = stream if match is None else match[1]
    return name if _NAME.fullmatch(name) else None


def as_partition(at: ShardPosition, stream: str | None) -> SourcePosition | None:
    name, number = stream_name(at.stream or stream or ""), shard_number(at.shard)
    if name is None or number is None:
        return None
    return SourcePosition(topic=name, partition=number, offset=at.position, planned_offset=at.planned_position)


def tells(position: AnyPosition) -> str:
    """Describe when the record of a position arrived, by its number; empty if the number does not contain it."""
    sequence = position.sequence if isinstance(position, ShardPlace) else None
    evidence = None if sequence is None else evidence_of(sequence)
    return "" if evidence is None else moment(evidence.arrived_s)


def of_one_record(position: AnyPosition, other: AnyPosition) -> bool:
    """Return whether two positions are after the same record, or user records of it.

    >>> of_one_record(after(1), after(1, 0)), of_one_record(after(1), at(1)), of_one_record(LATEST, LATEST)
    (True, False, True)
    """
    if position == other:
        return True
    positions = [end for end in (position, other) if isinstance(end, ShardPlace) and end.place is Place.AFTER]
    return len(positions) == 2 and positions[0].sequence == positions[1].sequence


PROPERTIES: Final = {
    "region": "The region, such as us-east-1.",
    "endpoint": "The address of Kinesis, where it is not the region's own.",
    "role_arn": "A role to take on.",
    "profile": "A profile of the AWS configuration files.",
    "dynamodb_endpoint": "The address of DynamoDB, where it is not the region's own.",
}
"""Properties of a cluster in the migration file. They never contain secrets: boto3 finds credentials."""
_ADDRESSES: Final = ("endpoint", "dynamodb_endpoint")


def _check(properties: Mapping[str, str], *, where: str) -> None:
    unrecognized = sorted(properties.keys() - PROPERTIES.keys())
    if unrecognized or "region" not in properties:
        result = f"{unrecognized[0]!r}" if unrecognized else "no region"
        raise ConfigError(
            f"{where}: expected region, and of Kinesis nothing but {', '.join(PROPERTIES)}, found {result}. The "
            "migration file was not used.",
            fix="Name the region and nothing secret: credentials come from the environment.",
        )
    for name in _ADDRESSES:
        address = urlsplit(properties.get(name, "https://aws"))
        if address.scheme not in ("http", "https") or not address.hostname or "@" in address.netloc:
            raise ConfigError(
                f"{where}.{name}: expected an http or https address without a user, found another text. The "
                "migration file was not used.",
                fix="Write it as http://HOST:PORT.",
            )


def _addresses(properties: Mapping[str, str]) -> frozenset[str]:  # noqa: ARG001 - a region's streams share one address
    return frozenset()


def saves_none(position: AnyPosition) -> str:
    """Return why `LATEST`, or a time that only the job's code knows, is not a position, as a sentence."""
    begins = "when the job starts" if position == LATEST else "the time in the job's code"
    return f"{position} saves no position: where it is depends on {begins}."


def contradiction(at: TopicPartition, position: AnyPosition, shard: ShardRange) -> str:
    """Return a sentence why a position is impossible in a shard as its stream lists it now; empty if possible."""
    of_another = "the position is of another stream, or of one that was deleted and made again"
    if position == SHARD_END and not shard.closed:
        return (
            f"Stream {at.topic!r} lists {shard_id(at.partition)} as open, and an open shard is not read to its end: "
            f"{of_another}, and no engine reads a shard that it takes for finished. Name the stream that was read, or "
            f"decide that the shard is read from its oldest record, {TRIM_HORIZON}."
        )
    numbers = getattr(position, "sequence", None), sequence_number(shard.first or "")
    given, birth = (None if number is None else evidence_of(number) for number in numbers)
    if given is not None and birth is not None and given.born_s != birth.born_s:
        return (
            f"{position} is a number of a shard made at {moment(given.born_s)}, and {shard_id(at.partition)} of stream "
            f"{at.topic!r} was made at {moment(birth.born_s)}: {of_another}."
        )
    return ""


def _translate(
    position: AnyPosition, at: TopicPartition, there: TopicPartition, *, old: Snapshot, new: Snapshot
) -> Translation:
    """Copy a position, which stays valid as long as the stream is the same."""
    nowhere = Translation(
        place=None, exactness=Exactness.UNKNOWN, method=Method.NONE, reason="", raw=RawReuse(verdict=RawVerdict.UNKNOWN)
    )
    if are_two(old, at.topic, new, there.topic):
        return replace(
            nowhere,
            reason=f"{there.topic!r} in {new.cluster_id} is another stream than {at.topic!r} in {old.cluster_id}: only "
            "records tell where a position lies there, and none was read.",
        )
    if position in (LATEST, AT_UNKNOWN_TIME):
        return replace(nowhere, reason=saves_none(position))
    shards = (row for topic in old.topics if topic.name == at.topic and topic.id is not None for row in topic.shards)
    shard = next((row for row in shards if row.partition == at.partition), None)
    if shard is not None and (why := contradiction(at, position, shard)):
        return replace(nowhere, reason=why)
    is_listed = any(topic.name == there.topic and topic.id is not None for topic in new.topics)
    return Translation(
        place=position,
        exactness=Exactness.PRESERVED,
        method=Method.PRESERVED,
        reason=f"The job stays on stream {there.topic!r}, where a number means the same record to every engine."
        + ("" if is_listed else " The stream was not asked whether it still has the record."),
        raw=RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0),
        replay=0,
        skip=0,
    )


def _complete(
    snapshot: Snapshot, positions: Sequence[SourcePosition], ranges: Mapping[str, tuple[ShardRange, ...]]
) -> Snapshot:
    """Add shards that are read to their end and no longer listed; for a stream that did not answer, all shards."""
    topic_states = []
    for topic in snapshot.topics:
        silent = topic.id is None
        shards = topic.shards or (ranges.get(topic.name, ()) if silent else ())
        listed = {partition.partition for partition in topic.partitions}
        closed = {shard.partition for shard in shards if shard.closed}
        added = {
            at.partition: SHARD_END if at.offset == SHARD_END or at.partition in closed else LATEST
            for at in positions
            if at.topic == topic.name and at.partition not in listed and isinstance(at.offset, ShardPlace)
            if silent or at.offset == SHARD_END
        }
        if added:
            states = (
                PartitionState(partition=number, log_start=TRIM_HORIZON, hw=end, lso=end)
                for number, end in added.items()
            )
            partitions = tuple(sorted((*topic.partitions, *states), key=lambda state: state.partition))
            topic = replace(topic, partitions=partitions, shards=shards)  # noqa: PLW2901 - the same topic, completed
        topic_states.append(topic)
    return replace(snapshot, topics=tuple(topic_states))


TERMS: Final = {
    **{"topic": "stream", "partition": "shard", "offset": "sequence number", "cluster": "stream"},
    **{"partition key": "partition key", "offset log": "offset log", "source offset": "source offset"},
}
"""The second line has terms of Kinesis and of Spark that contain Kafka's."""

SPEC: Final = Spec(
    name="kinesis",
    label="Kinesis",
    kinds={"kinesis": "Kinesis", "dynamodb-streams": "DynamoDB Streams"},
    compared=frozenset({"kinesis"}),
    check=_check,
    addresses=_addresses,
    parse=parse,
    translate=_translate,
    as_partition=as_partition,
    complete=_complete,
    oldest=TRIM_HORIZON,
    may_be_one=True,
    matches_records=True,
    holds_copies=True,
    by_name=True,
    terms=TERMS,
    properties=PROPERTIES,
    needs=("region",),
    of_one_record=of_one_record,
    tells=tells,
)
