"""Edits of the state of Flink's Kafka sources: in the elements of readers, and in enumerators.

Every function returns its input bytes if nothing changes. Edited bytes have been parsed by `engine/kafka` before, which
checks every length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from offsetwise.model import TopicPartition
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.kafka import SPLIT_VERSION, Split, read_enumerator, read_legacy, read_split
from offsetwise.plugins.flink.engine.snappy import PLAIN, STREAM_HEADER, masked_crc32c, uncompress_stream
from offsetwise.plugins.flink.targets.spec import KEEP_NAME, WRITE_ELSEWHERE
from offsetwise.targets.moves import Move
from offsetwise.wording import number

UNCOMPRESSED: Final = (
    "Set execution.checkpointing.snapshot-compression to false, take a savepoint, compare again and draft the plan "
    "from that."
)
Moves = Mapping[TopicPartition, Move]
"""By topic and partition on the old cluster."""

_WRAPPED: Final = 12
"""The outer length, the version and the inner length before a split."""
_AFTER_NAME: Final = 2 + 4 + 8 + 8
"""Bytes of a split besides the topic: its length, the partition, where to start and where to stop."""
_FULL_SPLITS: Final = frozenset({0, 3})
"""Versions of enumerators that contain offsets, each split prefixed with its length."""
_DISCOVERY_KNOWN: Final = frozenset({2, 3})
"""Versions of enumerators that end with whether the first discovery is finished."""


class Piece(NamedTuple):
    start: int
    end: int
    data: bytes


class NotEditableError(Exception):
    """Valid state that cannot be edited."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.fix = fix


def spliced(data: bytes, pieces: list[Piece]) -> bytes:
    """Replace ranges with pieces, which do not overlap.

    >>> spliced(b"offset 7.", [Piece(7, 8, b"10")])
    b'offset 10.'
    """
    datas, at = [], 0
    for start, end, new in sorted(pieces):
        datas += [data[at:start], new]
        at = end
    return b"".join((*datas, data[at:]))


def edited_element(
    data: bytes, start: int, end: int, edit: Callable[[bytes], tuple[TopicPartition, bytes]], *, framed: bool
) -> tuple[TopicPartition, bytes]:
    """Return the partition of one element of a reader's state, and the edited element.

    Args:
        data: The file that contains it.
        start: Where it begins.
        end: Where it ends.
        edit: Does so for an element without frames.
        framed: Whether it is a stream of Snappy chunks.

    Raises:
        DamagedError: It is not such an element.
        NotEditableError: It may not be edited.
    """
    before = data[start:end]
    plain = uncompress_stream(data, start, end) if framed else before
    key, after = edit(plain)
    if after == plain:
        return key, before
    return key, reframed(before, after) if framed else after


def kafka_element(plain: bytes, moves: Moves, *, legacy: bool) -> tuple[TopicPartition, bytes]:
    split = read_legacy(Cursor(plain)) if legacy else read_split(Cursor(plain))
    return split.topic_partition, _legacy(plain, split, moves) if legacy else _split(plain, split, moves)


def _split(element: bytes, split: Split, moves: Moves) -> bytes:
    if split.cluster is not None:
        raise NotEditableError("a split of a DynamicKafkaSource, which names its cluster")
    head = _WRAPPED if split.hybrid is None else len(element) - len(split.topic) - _AFTER_NAME
    body = edited_split(element[head:], split, moves)
    if split.hybrid is not None:
        body = _in_hybrid(split.hybrid, moves[split.topic_partition].new_topic_partition, body)
    return (len(body) + 8).to_bytes(4, "big") + element[4:8] + len(body).to_bytes(4, "big") + body


def _in_hybrid(number: int, at: TopicPartition, body: bytes) -> bytes:
    """Return the split of a HybridSource around one of its KafkaSource."""
    name = str(at).encode("ascii")
    return b"".join(
        (
            number.to_bytes(4, "big"),
            len(name).to_bytes(2, "big") + name,
            SPLIT_VERSION.to_bytes(4, "big"),
            len(body).to_bytes(4, "big") + body,
        )
    )


def edited_split(body: bytes, split: Split, moves: Moves) -> bytes:
    """Return a split in the format of `KafkaPartitionSplitSerializer`, with the planned offset and new topic.

    Raises:
        NotEditableError: The plan does not move it from its current offset.
    """
    move = _move(split, moves)
    name = len(split.topic)
    topic = move.new_topic.encode("ascii")
    return (
        len(topic).to_bytes(2, "big")
        + topic
        + body[2 + name : 6 + name]
        + move.new.to_bytes(8, "big")
        + body[14 + name :]
    )


def _legacy(element: bytes, split: Split, moves: Moves) -> bytes:
    move = _move(split, moves)
    if move.new_topic != split.topic:
        raise NotEditableError(
            f"{split.topic} to be called {move.new_topic}: the legacy consumer keeps names in Kryo with a hash",
            KEEP_NAME,
        )
    # It contains the last processed record.
    return element[:-8] + (move.new - 1).to_bytes(8, "big", signed=True)


def _move(split: Split, moves: Moves) -> Move:
    name = str(split.topic_partition)
    move = moves.get(split.topic_partition)
    if move is None:
        raise NotEditableError(f"{name}, for which the plan has no position")
    if split.start >= 0 and move.old != split.start:
        raise NotEditableError(f"{name} at {split.start:,}, where the plan has {number(move.old)}")
    return move


def reframed(stream: bytes, plain: bytes) -> bytes:
    """Replace the bytes in the only chunk of a Snappy stream, with their checksum.

    Raises:
        NotEditableError: The chunk is compressed, or there are several.
    """
    at = len(STREAM_HEADER) if stream.startswith(STREAM_HEADER) else 0
    size = int.from_bytes(stream[at + 1 : at + 4], "little")
    if stream[at] != PLAIN or at + 4 + size != len(stream):
        raise NotEditableError("an element that Snappy has compressed, or in several chunks", UNCOMPRESSED)
    chunk = masked_crc32c(plain).to_bytes(4, "little") + plain
    return stream[:at] + bytes([PLAIN]) + len(chunk).to_bytes(3, "little") + chunk


def enumerator_pieces(cursor: Cursor, moves: Moves) -> list[Piece]:
    """Return the edits of a coordinator's state, including its length.

    Readers' offsets take precedence, so an enumerator's offsets of assigned splits may be older: they are set to the
    planned ones too, so that no number of the old cluster is left. Their markers stay.

    Args:
        cursor: Its state; read from the current position.
        moves: New positions of the partitions.

    Raises:
        DamagedError: It is the state of another source.
        NotEditableError: An unassigned split has another offset than planned, or none that could be changed.
    """
    enumerator = read_enumerator(Cursor(cursor.data, cursor.at, cursor.end))
    results = listed_pieces(cursor.data, enumerator.version, enumerator.splits, moves)
    return [*results, *(piece for at in enumerator.size_ats for piece in resized(cursor.data, at, results))]


def resized(data: bytes, at: int, pieces: Sequence[Piece]) -> list[Piece]:
    """Return the edit of a length, four bytes at `at`, of bytes in which pieces change; empty if it stays."""
    grown = sum(len(piece.data) - (piece.end - piece.start) for piece in pieces)
    if not grown:
        return []
    return [Piece(at, at + 4, (int.from_bytes(data[at : at + 4], "big") + grown).to_bytes(4, "big"))]


def listed_pieces(data: bytes, version: int, splits: Sequence[Split], moves: Moves) -> list[Piece]:
    """Return the edits of the splits that an enumerator lists; see `enumerator_pieces`.

    Args:
        data: What they were read from.
        version: Version of the enumerator's state.
        splits: With their offsets in `data`.
        moves: New positions of the partitions.
    """
    full = version in _FULL_SPLITS
    results: list[Piece] = []
    for split in splits:
        move = moves.get(split.topic_partition)
        if move is None:
            continue
        if not split.assigned:
            if not full:
                raise NotEditableError(
                    f"{split.topic_partition} unassigned, of which this coordinator keeps no offset",
                    WRITE_ELSEWHERE,
                )
            _move(split, moves)
        after_name = split.byte_offset + 2 + len(split.topic)
        if move.new_topic != split.topic:
            results.append(_renamed(data, split, move.new_topic.encode("ascii"), after_name, full=full))
        if full and (move.new != move.old if split.start >= 0 else not split.assigned):
            results.append(Piece(after_name + 4, after_name + 12, move.new.to_bytes(8, "big")))
    return results


def begins_new_at_earliest(cursor: Cursor | None) -> bool:
    """Return whether a restored KafkaSource begins unknown partitions at their earliest record.

    It does once its first discovery is finished, and follows its initializer before.
    """
    if cursor is None:
        return False
    try:
        enumerator = read_enumerator(Cursor(cursor.data, cursor.at, cursor.end))
    except DamagedError:
        return False
    size_at = enumerator.size_ats[-1]
    end = size_at + 4 + int.from_bytes(cursor.data[size_at : size_at + 4], "big")
    return enumerator.version in _DISCOVERY_KNOWN and cursor.data[end - 1] == 1


def _renamed(data: bytes, split: Split, topic: bytes, after_name: int, *, full: bool) -> Piece:
    name = len(topic).to_bytes(2, "big") + topic
    if not full:
        return Piece(split.byte_offset, after_name, name)
    size = int.from_bytes(data[split.byte_offset - 4 : split.byte_offset], "big") + len(topic) - len(split.topic)
    return Piece(split.byte_offset - 4, after_name, size.to_bytes(4, "big") + name)
