"""Builds a savepoint that contains the positions of one Kinesis source and nothing else.

Flink restores it like one of its own: the operator with the source's uid gets its splits, every other operator of the
job starts empty. Its bytes are those of Flink 1.20 for the canonical savepoint of a stopped job, and nothing in them
but splits and the operator's id depends on the job. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.plugins.flink.engine.elements import LAST_BLOB_VERSION
from offsetwise.plugins.flink.engine.kinesis.splits import UNASSIGNED, SplitFields
from offsetwise.plugins.flink.engine.metadata import FIRST_VERSION, MAGIC
from offsetwise.plugins.flink.engine.source import READER_STATE
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.kinesis.states import coordinator_state, handed_out, split_element
from offsetwise.plugins.flink.targets.output import flag, int32, int64, sized, text
from offsetwise.plugins.kinesis.stream.spec import TRIM_HORIZON

_ASSIGNED: Final = 0
_INLINE: Final = b"\1"
_OPERATOR_STATE: Final = b"\4"
_NONE: Final = b"\0"
_SPLIT_AMONG_SUBTASKS: Final = b"\0"
_CHECKPOINT_ID: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    known: Sequence[SplitFields]
    """All unfinished splits, in the order in which they are stored."""
    waiting: frozenset[str]
    """Those that no reader has yet, because a parent is not finished."""
    last: str
    """The last shard seen: the source discovers later ones itself, and never earlier ones."""

    @classmethod
    def of(cls, shards: Sequence[SplitFields]) -> Splits:
        """Classify the shards of a source, finished ones included: there is at least one."""
        known = [shard for shard in shards if not shard.finished]
        open_ = {fields.shard for fields in known}
        waiting = {
            fields.shard for fields in known if fields.position == TRIM_HORIZON and open_.intersection(fields.parents)
        }
        return cls(known=known, waiting=frozenset(waiting), last=max(shard.shard for shard in shards))

    @property
    def read(self) -> list[SplitFields]:
        return [fields for fields in self.known if fields.shard not in self.waiting]

    @property
    def coordinator(self) -> bytes:
        listed = [
            (fields, UNASSIGNED) if fields.shard in self.waiting else (handed_out(fields), _ASSIGNED)
            for fields in self.known
        ]
        return coordinator_state(listed, last=self.last)


def made_savepoint(uid: str, splits: Splits, *, parallelism: int, max_parallelism: int) -> bytes:
    """Return `_metadata` of a savepoint with one source.

    Args:
        uid: Uid of the source, as set in the job's code.
        splits: Its shards. They are assigned to the subtasks in turn.
        parallelism: Number of subtasks; a job with another parallelism redistributes the splits.
        max_parallelism: That of the job, or more.

    Raises:
        NotEditableError: A split cannot express its position.
    """
    return b"".join(
        (
            int32(MAGIC),
            int32(FIRST_VERSION),
            int64(_CHECKPOINT_ID),
            int32(0),  # master states
            int32(1),  # operators
            bytes.fromhex(operator_id(uid)),
            source_state(splits, parallelism=parallelism, max_parallelism=max_parallelism),
            _PROPERTIES,
        )
    )


def source_state(splits: Splits, *, parallelism: int, max_parallelism: int) -> bytes:
    """Return everything after the id of a source's operator; see `made_savepoint`.

    Raises:
        NotEditableError: A split cannot express its position.
    """
    dealt = [splits.read[subtask::parallelism] for subtask in range(parallelism)]
    subtasks = [_subtask(index, mine) for index, mine in enumerate(dealt) if mine]
    coordinator = _inline("coordinator", splits.coordinator)
    return int32(parallelism) + int32(max_parallelism) + coordinator + int32(len(subtasks)) + b"".join(subtasks)


def _subtask(index: int, splits: Sequence[SplitFields]) -> bytes:
    return b"".join(
        (
            int32(index),
            int32(1),  # managed operator state follows
            _reader_handle(index, splits),
            int32(0),  # no raw operator state
            _NONE + _NONE,  # nor keyed state
            int32(0) + int32(0),  # nor channel states
        )
    )


def _reader_handle(index: int, splits: Sequence[SplitFields]) -> bytes:
    offsets, blob = [], _BLOB_HEADER
    for split in splits:
        offsets.append(int64(len(blob)))
        blob += split_element(split)
    listed = text(READER_STATE) + _SPLIT_AMONG_SUBTASKS + int32(len(offsets)) + b"".join(offsets)
    return _OPERATOR_STATE + int32(1) + listed + _inline(f"splits of subtask {index}", blob)


def _inline(label: str, data: bytes) -> bytes:
    """Return state whose bytes are in `_metadata` itself.

    Flink takes two states with the same label for the same bytes.
    """
    return _INLINE + text(label) + sized(data)


_BLOB_HEADER: Final = b"".join(
    (
        int32(LAST_BLOB_VERSION),
        flag(False),  # not compressed
        b"\0\1",  # states
        text(READER_STATE),
        int32(1),  # operator state
        int32(1),  # options
        text("OPERATOR_STATE_DISTRIBUTION_MODE"),
        text("SPLIT_DISTRIBUTE"),
        int32(1),  # serializers
        text("VALUE_SERIALIZER"),
        int32(2),
        text(
            "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer"
            "$BytePrimitiveArraySerializerSnapshot"
        ),
        int32(3),
        b"\0\0",  # no broadcast states
    )
)
"""The header of Flink's `DefaultOperatorStateBackend` before elements of bytes."""


def _described(name: str, serial: int, flags: int, fields: bytes, above: bytes = b"x" + b"p") -> bytes:
    """Return the description of a Java class in a stream of objects; `above` ends it, and names its superclass."""
    return b"r" + text(name) + serial.to_bytes(8, "big") + bytes([flags]) + fields + above


_CHECKPOINTS: Final = "org.apache.flink.runtime.checkpoint."
_FORMATS: Final = "org.apache.flink.core.execution.SavepointFormatType"
_SERIALIZABLE: Final = 0x02
_ENUM: Final = 0x12


def _object(name: str, kind: str) -> bytes:
    return b"L" + text(name) + b"t" + text(f"L{kind.replace('.', '/')};")


_PROPERTIES: Final = b"".join(
    (
        b"\xac\xed\0\5s",
        _described(
            f"{_CHECKPOINTS}CheckpointProperties",
            2,
            _SERIALIZABLE,
            b"\0\10"
            + b"".join(
                b"Z" + text(name)
                for name in (
                    "discardCancelled",
                    "discardFailed",
                    "discardFinished",
                    "discardSubsumed",
                    "discardSuspended",
                    "forced",
                    "unclaimed",
                )
            )
            + _object("checkpointType", f"{_CHECKPOINTS}SnapshotType"),
        ),
        bytes((0, 0, 0, 0, 0, 1, 0)),  # a savepoint has only the last but one of these flags
        b"s",
        _described(
            f"{_CHECKPOINTS}SavepointType",
            0xA087D308A45814B8,
            _SERIALIZABLE,
            b"\0\3"
            + _object("formatType", _FORMATS)
            + _object("name", "java.lang.String")
            + _object("postCheckpointAction", f"{_CHECKPOINTS}SavepointType$PostCheckpointAction"),
        ),
        b"~",
        _described(_FORMATS, 0, _ENUM, b"\0\0", b"x" + _described("java.lang.Enum", 0, _ENUM, b"\0\0")),
        b"t" + text("CANONICAL"),
        b"t" + text("Suspend Savepoint"),
        b"~",
        _described(f"{_CHECKPOINTS}SavepointType$PostCheckpointAction", 0, _ENUM, b"\0\0", b"xq\0\x7e\0\x09"),
        b"t" + text("SUSPEND"),
    )
)
"""`CheckpointProperties` of a canonical savepoint of a stopped job, in Java's serialization."""
