"""The handles in Flink's `_metadata`, which record where the bytes of state are.

Operator state is parsed; keyed state and the records in flight of an unaligned checkpoint are skipped and measured.
Format: Flink's `MetadataV2V3SerializerBase` and `ChannelStateHandleSerializerV2`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError

TAGGED_CHANNELS_SINCE: Final = 6
MAX_DEPTH: Final = 8
"""Keyed state of a changelog contains keyed state; Flink nests it once."""
_FILE: Final = frozenset({2, 6, 15})


class StreamHandle(NamedTuple):
    """Location of the bytes of some state. A tuple, since large jobs have a million of them."""

    kind: str
    """`inline`, `relative`, `absolute`, `segment` or `empty`."""
    size: int
    at: int
    """Where the bytes begin: of inline state in `_metadata`, of a segment in its file."""
    path: str = ""
    size_at: int = 0
    """Offset in `_metadata` of the size of inline state (four bytes) or of a relative file (eight)."""


def stream_handle(cursor: Cursor, depth: int = 0) -> StreamHandle | None:
    """Read the location of some state; None if there is none.

    Raises:
        DamagedError: It is of an unknown kind, or damaged.
    """
    at = cursor.byte_offset
    tag = cursor.byte("the kind of a state handle")
    if tag == 0:
        return None
    if tag == 1:
        cursor.skip_text("the name of a state handle")
        at = cursor.byte_offset
        size = cursor.count("bytes of inline state")
        return StreamHandle("inline", size, cursor.skip(size, "inline state"), "", at)
    if tag in _FILE:
        return _file_handle(cursor, tag)
    if tag == 16:  # an empty segment
        return StreamHandle("empty", 0, 0)
    if tag == 3 and depth < MAX_DEPTH:  # key groups
        _key_groups(cursor)
        return stream_handle(cursor, depth + 1)
    raise DamagedError(at, f"expected a state handle (kind 0 to 3, 6, 15 or 16), found kind {tag}")


def _file_handle(cursor: Cursor, tag: int) -> StreamHandle:
    at = cursor.byte_offset
    if tag == 2:  # a file with an absolute path
        size = cursor.int64("the size of a state file")
        result = StreamHandle("absolute", size, 0, cursor.text("the path of a state file"))
    elif tag == 6:  # a file in the folder of the checkpoint
        path = cursor.text("the name of a state file")
        size_at = cursor.byte_offset
        size = cursor.int64("the size of a state file")
        result = StreamHandle("relative", size, 0, path, size_at)
    else:
        start, size = cursor.int64("the start of a segment"), cursor.int64("the size of a segment")
        cursor.int32("the scope of a segment")
        path = cursor.text("the path of a merged file")
        cursor.skip_text("the id of a merged file")
        if start < 0:
            raise DamagedError(at, f"expected the start of a segment, found {start:,}")
        result = StreamHandle("segment", size, start, path)
    if result.size < 0:
        raise DamagedError(at, f"expected the size of a state file, found {result.size:,}")
    return result


def _key_groups(cursor: Cursor) -> None:
    cursor.int32("the first key group")
    groups = cursor.count("key groups", least=8)
    cursor.skip(8 * groups, "offsets of key groups")


def keyed_state(cursor: Cursor, kinds: set[str], depth: int = 0) -> int:
    """Skip keyed state, and return its size in bytes as far as the handles record it."""
    at = cursor.byte_offset
    tag = cursor.byte("the kind of a keyed state")
    if tag == 0:
        return 0
    if depth > MAX_DEPTH:
        raise DamagedError(at, f"expected keyed state nested at most {MAX_DEPTH} times, found more")
    if tag in (3, 7, 12):
        _key_groups(cursor)
        size = _size(cursor, kinds)
        if tag == 12:  # with an id
            cursor.skip_text("the id of a keyed state")
        return size
    if tag in (5, 11):
        return _incremental(cursor, kinds, sized=tag == 11)  # the second form records its size
    if tag in (8, 14):
        return _changelog(cursor, kinds, depth, with_id=tag == 14)  # the second form has two ids
    if tag == 9:
        return _inline_changes(cursor, kinds)
    if tag in (10, 13):
        cursor.skip(8, "a range of key groups")
        size = 0
        for _ in range(cursor.count("files of changes", least=9)):
            cursor.int64("an offset in a file of changes")
            size += _size(cursor, kinds)
        cursor.skip(16, "sizes of changes")
        cursor.skip_text("the id of a keyed state")
        if tag == 13:  # the second form names its storage
            cursor.skip_text("the storage of changes")
        return size
    raise DamagedError(at, f"expected a keyed state (kind 0, 3, 5 or 7 to 14), found kind {tag}")


def _incremental(cursor: Cursor, kinds: set[str], *, sized: bool) -> int:
    cursor.int64("the checkpoint of a keyed state")
    cursor.skip_text("the id of a state backend")
    cursor.skip(16 if sized else 8, "a range of key groups")
    size = _size(cursor, kinds)
    for _ in ("shared", "private"):
        size += _files(cursor, kinds)
    if sized:
        cursor.skip_text("the id of a keyed state")
    return size


def _files(cursor: Cursor, kinds: set[str]) -> int:
    """Skip the files of keyed state; a job with RocksDB can have a million.

    Files with an absolute path (kind 2), the usual case, are skipped without a call per field. Everything else, damage
    included, is parsed field by field.
    """
    data, end, size, plain = cursor.data, cursor.end, 0, False
    for _ in range(cursor.count("files of keyed state", least=3)):
        at = cursor.at
        handle = at + 2 + (data[at] << 8 | data[at + 1]) if at + 2 <= end else end
        if handle + 11 <= end and data[handle] == 2:
            after = handle + 11 + (data[handle + 9] << 8 | data[handle + 10])
            file_size = int.from_bytes(data[handle + 1 : handle + 9], "big")
            if after <= end and file_size < 2**63:
                cursor.at = after
                size += file_size
                plain = True
                continue
        cursor.skip_text("a local path")
        size += _size(cursor, kinds)
    if plain:
        kinds.add("absolute")
    return size


def _changelog(cursor: Cursor, kinds: set[str], depth: int, *, with_id: bool) -> int:
    cursor.skip(16, "a range of key groups and its size")
    size = 0
    for _ in ("materialised", "not materialised"):
        for _ in range(cursor.count("parts of keyed state")):
            size += keyed_state(cursor, kinds, depth + 1)
    cursor.skip(16 if with_id else 8, "the ids of a materialisation")
    cursor.skip_text("the id of a keyed state")
    return size


def _size(cursor: Cursor, kinds: set[str]) -> int:
    handle = stream_handle(cursor)
    if handle is None:
        return 0
    kinds.add(handle.kind)
    return handle.size


def channel_state(cursor: Cursor, version: int, *, outgoing: bool) -> int:
    """Skip the records in flight of one channel of an unaligned checkpoint, and return their size in bytes."""
    merged = False
    if version >= TAGGED_CHANNELS_SINCE:
        tag = cursor.byte("the kind of a channel state")
        single, several = (2, 4) if outgoing else (1, 3)
        if tag not in (single, several):
            raise DamagedError(
                cursor.byte_offset - 1, f"expected a channel state of kind {single} or {several}, found kind {tag}"
            )
        merged = tag == several
    if merged:
        cursor.int32("the subtask of a channel state")
        size = cursor.int64("the size of a channel state")
        stream_handle(cursor)
        cursor.skip(cursor.count("bytes of channel offsets"), "channel offsets")
    else:
        cursor.skip(12, "a channel")
        cursor.skip(8 * cursor.count("offsets of channel state", least=8), "offsets of channel state")
        size = cursor.int64("the size of a channel state")
        stream_handle(cursor)
    if size < 0:
        raise cursor.damaged(f"expected the size of a channel state, found {size:,}")
    return size


def _inline_changes(cursor: Cursor, kinds: set[str]) -> int:
    cursor.skip(24, "a range of changes")
    size = 0
    for _ in range(cursor.count("changes", least=8)):
        cursor.int32("the key group of a change")
        length = cursor.count("bytes of a change")
        cursor.skip(length, "a change")
        size += length
    cursor.skip_text("the id of a keyed state")
    kinds.add("inline")
    return size
