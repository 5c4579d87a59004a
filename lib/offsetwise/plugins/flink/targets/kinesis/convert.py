"""Converts state of the legacy FlinkKinesisConsumer to state of KinesisStreamsSource.

The new source cannot read the legacy consumer's state. The numbers mean the same to both, so the operator gets splits
and a coordinator with them, and everything else stays byte for byte. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from offsetwise.plugins.flink.engine.binary import Cursor
from offsetwise.plugins.flink.engine.elements import element_bounds, is_compressed
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE
from offsetwise.plugins.flink.engine.kinesis.legacy import read_legacy
from offsetwise.plugins.flink.engine.kinesis.splits import NEW_SPLIT_VERSION, ShardSplit, SplitFields
from offsetwise.plugins.flink.engine.metadata import NAMES_SINCE, Metadata, OperatorEntry, Subtask
from offsetwise.plugins.flink.engine.opened import Opened
from offsetwise.plugins.flink.targets.elements import UNCOMPRESSED, NotEditableError, Piece
from offsetwise.plugins.flink.targets.kinesis.savepoint import Splits, source_state
from offsetwise.plugins.kinesis.stream.spec import SHARD_END, TRIM_HORIZON, Place, ShardPlace

_ID_BYTES: Final = 16
NOWHERE_ELSE: Final[Mapping[str, ShardPlace]] = {}
"""Every shard begins at its current position."""


def converted(
    entry: OperatorEntry,
    metadata: Metadata,
    opened: Opened,
    arn: str,
    positions: Mapping[str, ShardPlace] = NOWHERE_ELSE,
) -> Piece:
    """Return the operator of a legacy consumer as that of a KinesisStreamsSource.

    Args:
        entry: The operator.
        metadata: The parsed metadata file.
        opened: The bytes of its state.
        arn: ARN of the stream: the legacy consumer names it without region and account.
        positions: Where shards begin, by their id; the others begin at their current positions.

    Raises:
        DamagedError: Its state is damaged.
        NotEditableError: The new source could not resume from it.
    """
    if entry.coordinator is not None:
        raise _has_more(entry)
    splits = [split for subtask in entry.subtasks for split in _elements(entry, subtask, opened)]
    if not splits:
        raise NotEditableError("no shard in the state of the consumer")
    streams = sorted({split.shard.stream or "" for split in splits})
    if streams != [arn.rpartition("/")[2]]:
        raise NotEditableError(f"shards of {', '.join(streams)}, where the ARN is {arn}")
    shards = [_fields(split, arn, positions.get(split.shard.id, split.shard.position)) for split in splits]
    beyond = positions.keys() - {shard.shard for shard in shards}
    if beyond:
        raise NotEditableError(f"no {min(beyond)}, for which the plan has a position")
    if len({shard.shard for shard in shards}) != len(shards):
        raise NotEditableError("a shard twice")
    return anew(entry, metadata, opened, Splits.of(shards), state=LEGACY_STATE)


def anew(entry: OperatorEntry, metadata: Metadata, opened: Opened, splits: Splits, *, state: str) -> Piece:
    """Return the operator of a source as that of a KinesisStreamsSource with other splits and a new coordinator.

    Args:
        entry: The operator.
        metadata: The parsed metadata file.
        opened: The bytes of its state.
        splits: The new splits.
        state: The name of its readers' state, the only one they may have.

    Raises:
        NotEditableError: It has other state, or a split cannot express its position.
    """
    if any(_keeps_more(subtask, state) for subtask in entry.subtasks):
        raise _has_more(entry)
    cursor = Cursor(opened.data, entry.at, entry.end)
    if metadata.version >= NAMES_SINCE:
        cursor.skip_text("an operator's name")
        cursor.skip_text("an operator's uid")
    cursor.skip(_ID_BYTES, "an operator's id")
    data = source_state(splits, parallelism=entry.parallelism, max_parallelism=entry.max_parallelism)
    return Piece(cursor.at, entry.end, data)


def _has_more(entry: OperatorEntry) -> NotEditableError:
    return NotEditableError(f"more than the source's own state in operator {entry.uid or entry.id!r}")


def _keeps_more(subtask: Subtask, own: str) -> bool:
    states = () if subtask.managed is None else subtask.managed.states
    return (
        any(state.name != own for state in states)
        or subtask.finished
        or subtask.raw is not None
        or bool(subtask.keyed_bytes)
        or bool(subtask.channels)
    )


def _elements(entry: OperatorEntry, subtask: Subtask, opened: Opened) -> Iterator[ShardSplit]:
    blob, handle = opened.blobs.get((entry.id, subtask.index)), subtask.managed
    if handle is None or not any(state.offsets for state in handle.states):
        return
    if blob is None:
        raise NotEditableError(f"state of subtask {subtask.index} that cannot be read")
    if is_compressed(blob):
        raise NotEditableError("state that Snappy has compressed", UNCOMPRESSED)
    for start, end in element_bounds(handle)[LEGACY_STATE]:
        yield read_legacy(Cursor(blob.data, blob.at + start, blob.at + end))


def _fields(split: ShardSplit, arn: str, position: ShardPlace) -> SplitFields:
    shard = split.shard
    is_portable = position in (SHARD_END, TRIM_HORIZON) or (
        position.place is Place.AT_TIMESTAMP and position.at_ms is not None
    )
    if not is_portable and (position.place is not Place.AFTER or position.sub is not None):
        raise NotEditableError(f"{shard.id} at {position}, which the new source cannot go on from")
    if shard.low is None or shard.high is None:
        raise NotEditableError(f"{shard.id} without its hash keys")
    return SplitFields(
        version=NEW_SPLIT_VERSION,
        arn=arn,
        shard=shard.id,
        position=position,
        parents=shard.parents,
        low=shard.low,
        high=shard.high,
        finished=position == SHARD_END,
    )
