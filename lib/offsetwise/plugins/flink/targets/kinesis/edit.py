"""Replaces positions in the state of Flink's Kinesis sources. Pure: bytes in, bytes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from offsetwise.model import TopicPartition
from offsetwise.plugins.flink.engine.binary import Cursor
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.kinesis.legacy import read_fields, read_legacy
from offsetwise.plugins.flink.engine.kinesis.splits import (
    UNASSIGNED,
    ShardEnumerator,
    ShardSplit,
    SplitFields,
    read_enumerator,
    read_split,
    split_of,
)
from offsetwise.plugins.flink.engine.source import READER_STATE
from offsetwise.plugins.flink.targets.edit import Rewrite
from offsetwise.plugins.flink.targets.elements import NotEditableError, Piece
from offsetwise.plugins.flink.targets.kinesis.states import enumerator_state, legacy_element, split_element
from offsetwise.plugins.kinesis.stream.spec import Place, ShardPlace, shard_number
from offsetwise.position import OfTwins

_WHOLE: Final = -1
"""The sub-sequence number of the legacy consumer for a whole record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMove(OfTwins):
    topic: str
    """The stream's name."""
    partition: int
    """The number in the shard's id."""
    old: ShardPlace
    """The expected current position."""
    new_topic: str
    new: ShardPlace


ShardMoves = Mapping[TopicPartition, ShardMove]
"""By stream and shard."""


def rewrite_of(moves: ShardMoves, *, legacy: bool, added: Sequence[SplitFields] = ()) -> Rewrite:
    """Return the edits of one source's state.

    Args:
        moves: All its shards.
        legacy: Whether it is a FlinkKinesisConsumer.
        added: Shards that it lacks; the legacy consumer begins them at their oldest record by itself.
    """
    if legacy:
        return Rewrite(state=LEGACY_STATE, element=partial(_legacy, moves=moves), coordinator=None)
    return Rewrite(
        state=READER_STATE,
        element=partial(_element, moves=moves),
        coordinator=partial(_coordinator, moves=moves, added=added),
    )


def _element(plain: bytes, moves: ShardMoves) -> tuple[TopicPartition, bytes]:
    split = read_split(Cursor(plain))
    fields = _fields(split)
    if split_element(fields) != plain:
        raise NotEditableError("a split in a form that no known connector writes")
    move = _move(split, moves)
    split_fields = replace(fields, arn=_arn(fields.arn, move))
    if move.new != move.old:
        if Place.SHARD_END in (move.old.place, move.new.place):
            raise NotEditableError(f"{split.shard.id} to go from {move.old} to {move.new}")
        split_fields = replace(split_fields, position=move.new)
    return move.topic_partition, split_element(split_fields)


def _coordinator(cursor: Cursor, moves: ShardMoves, added: Sequence[SplitFields]) -> list[Piece]:
    """Edit a coordinator's state: for assigned shards the readers' positions are used, and its own stay."""
    begun = cursor.at
    enumerator = read_enumerator(Cursor(cursor.data, begun, cursor.end))
    before = cursor.data[begun : cursor.end]
    if enumerator_state(enumerator) != before:
        raise NotEditableError("a coordinator in a form that no known connector writes")
    splits = tuple(_known(split, moves) for split in enumerator.splits)
    after = enumerator_state(_with(replace(enumerator, splits=splits), added))
    return [] if after == before else [Piece(begun, cursor.end, after)]


def _with(enumerator: ShardEnumerator, added: Sequence[SplitFields]) -> ShardEnumerator:
    """Add shards that no reader has: the source would not discover those up to the last shard that it has seen."""
    if not added:
        return enumerator
    if enumerator.version == 0:
        raise NotEditableError(f"a coordinator of version 0, which cannot hold {added[0].shard}")
    waiting = (
        replace(split_of(replace(fields, version=enumerator.split_version)), status=UNASSIGNED) for fields in added
    )
    last = max(enumerator.last or "", *(fields.shard for fields in added))
    return replace(enumerator, splits=(*enumerator.splits, *waiting), last=last)


def _known(split: ShardSplit, moves: ShardMoves) -> ShardSplit:
    fields = _fields(split)
    move = moves.get(_key(split))
    if split.status == UNASSIGNED:
        move = _move(split, moves)
        fields = replace(fields, position=move.new)
    elif move is None:  # a shard that has ended, which its readers no longer have
        return split
    return replace(split, fields=replace(fields, arn=_arn(fields.arn, move)))


def _legacy(plain: bytes, moves: ShardMoves) -> tuple[TopicPartition, bytes]:
    split, fields = read_legacy(Cursor(plain)), read_fields(Cursor(plain))
    if legacy_element(fields) != plain:
        raise NotEditableError("an element in a form that the legacy consumer does not write")
    move = _move(split, moves)
    legacy_fields = replace(fields, shard={**fields.shard, "streamName": move.new_topic})
    if move.new != move.old:
        legacy_fields = replace(
            legacy_fields, text=_word(split, move.new), sub=_WHOLE if move.new.sub is None else move.new.sub
        )
    return move.topic_partition, legacy_element(legacy_fields)


def _word(split: ShardSplit, new: ShardPlace) -> str:
    match new:
        case ShardPlace(place=Place.AFTER, sequence=int(number)):
            return str(number)
        case ShardPlace(place=Place.TRIM_HORIZON):
            return "EARLIEST_SEQUENCE_NUM"
        case ShardPlace(place=Place.SHARD_END):
            return "SHARD_ENDING_SEQUENCE_NUM"
    raise NotEditableError(f"{split.shard.id} to go to {new}, which the legacy consumer cannot hold")


def _fields(split: ShardSplit) -> SplitFields:
    if split.fields is None:
        raise NotEditableError("a split of another source than KinesisStreamsSource")
    return split.fields


def _key(split: ShardSplit) -> TopicPartition:
    number = shard_number(split.shard.id)
    if number is None:
        raise NotEditableError(f"the shard {split.shard.id!r}, which has no number")
    return TopicPartition((split.shard.stream or "").rpartition("/")[2], number)


def _move(split: ShardSplit, moves: ShardMoves) -> ShardMove:
    move = moves.get(_key(split))
    if move is None:
        raise NotEditableError(f"{split.shard.id}, for which the plan has no position")
    if move.old != split.shard.position:
        raise NotEditableError(f"{split.shard.id} at {split.shard.position}, where the plan has {move.old}")
    return move


def _arn(before: str, move: ShardMove) -> str:
    return before.rpartition("/")[0] + "/" + move.new_topic
