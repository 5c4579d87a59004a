"""The `_metadata` file of a Flink checkpoint or savepoint, versions 4 to 6: what it holds, and where.

Format: Flink's `MetadataV2V3SerializerBase` and its subclasses up to `MetadataV6Serializer`. Nothing is deserialised
as Java would: the properties at the end and every serializer's snapshot are opaque bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from offsetwise.sources.flink_bytes import Cursor, DamagedError

MAGIC: Final = 0x4960672D
FIRST_VERSION: Final = 4
LAST_VERSION: Final = 6
NAMES_SINCE: Final = 5
"""From this version on operators carry their name and uid."""
TAGGED_CHANNELS_SINCE: Final = 6
MAX_OPERATORS: Final = 100_000
MAX_PARALLELISM: Final = 32_768
"""Flink's own limit."""
MAX_DEPTH: Final = 8
"""Keyed state of a changelog holds keyed state; Flink nests it once."""

_MASTER_MAGIC: Final = 0xC96B1696 - 2**32
_JAVA: Final = b"\xac\xed\x00\x05"
_FILE: Final = frozenset({2, 6, 15})
_KIND: Final = re.compile(rb"org\.apache\.flink\.runtime\.checkpoint\.(Savepoint|Checkpoint)Type(?![A-Za-z$])")
_FORMAT: Final = re.compile(rb"t\x00(?:\x09(CANONICAL)|\x06(NATIVE))")


class UnknownVersionError(DamagedError):
    """The file is one of a version that is not read."""


class StreamHandle(NamedTuple):
    """Where the bytes of some state are. A tuple, since large jobs have a million of them."""

    kind: str
    """`inline`, `relative`, `absolute`, `segment` or `empty`."""
    size: int
    at: int
    """Where the bytes of an inline one begin in `_metadata`; of a segment, in its file."""
    path: str = ""


@dataclass(frozen=True, slots=True)
class NamedState:
    """One operator state: its elements are found by their places in the bytes that all states share."""

    name: str
    mode: int
    """0: the elements are split among subtasks; 1: every subtask gets all; 2: all are the same."""
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperatorHandle:
    """The operator state of one subtask."""

    at: int
    """Where it begins in `_metadata`."""
    states: tuple[NamedState, ...]
    handle: StreamHandle | None


@dataclass(frozen=True, slots=True)
class Subtask:
    """The state of one parallel instance."""

    index: int
    managed: OperatorHandle | None = None
    raw: OperatorHandle | None = None
    keyed_bytes: int = 0
    keyed_kinds: frozenset[str] = frozenset()
    channel_bytes: int = 0
    channels: int = 0
    finished: bool = False


@dataclass(frozen=True, slots=True)
class OperatorEntry:
    """One operator of the job."""

    id: str
    """32 hexadecimal digits."""
    name: str
    uid: str
    parallelism: int
    max_parallelism: int
    coordinator: StreamHandle | None
    finished: bool
    subtasks: tuple[Subtask, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a `_metadata` file says."""

    version: int
    checkpoint_id: int
    operators: tuple[OperatorEntry, ...]
    kind: str | None
    """`savepoint` or `checkpoint`; None where the properties do not tell."""
    format: str | None
    """`canonical` or `native`; None where the properties do not tell."""


def parse_metadata(data: bytes) -> Metadata:
    """Read a `_metadata` file.

    Raises:
        UnknownVersionError: It is of a version that is not read.
        DamagedError: It is no such file, or damaged; names the byte.
    """
    cursor = Cursor(data)
    if cursor.int32("the magic number of a Flink checkpoint") != MAGIC:
        raise DamagedError(0, f"expected the magic number 4960672d, found {data[:4].hex()}")
    version = cursor.int32("the version")
    if not FIRST_VERSION <= version <= LAST_VERSION:
        older = "older than Flink 1.15's" if version < FIRST_VERSION else "of a later Flink, or no version"
        raise UnknownVersionError(
            4, f"expected version {FIRST_VERSION} to {LAST_VERSION}, found version {version}, which is {older}"
        )
    checkpoint_id = cursor.int64("the checkpoint id")
    if checkpoint_id < 0:
        raise DamagedError(8, f"expected a checkpoint id, found {checkpoint_id}")
    for _ in range(cursor.count("master states", least=8)):
        if cursor.int32("the magic number of a master state") != _MASTER_MAGIC:
            raise DamagedError(cursor.place - 4, "expected the magic number of a master state, found another number")
        cursor.skip(cursor.count("bytes of a master state"), "a master state")
    operators = cursor.count("operators", least=29)
    if operators > MAX_OPERATORS:
        raise DamagedError(cursor.place - 4, f"expected at most {MAX_OPERATORS:,} operators, found {operators:,}")
    entries = tuple(_operator(cursor, version) for _ in range(operators))
    # A wrong number of operators would end here early: what follows them is a stream of Java objects, and nothing else.
    if not data.startswith(_JAVA, cursor.at):
        raise cursor.damaged("expected the properties of the checkpoint, found something else or the end of the file")
    tail = data[cursor.at : cursor.at + 64 * 1024]
    kind, form = _KIND.search(tail), _FORMAT.search(tail)
    return Metadata(
        version=version,
        checkpoint_id=checkpoint_id,
        operators=entries,
        kind=kind[1].decode().lower() if kind else None,
        format=(form[1] or form[2]).decode().lower() if form else None,
    )


def _operator(cursor: Cursor, version: int) -> OperatorEntry:
    name = uid = ""
    if version >= NAMES_SINCE:
        name, uid = cursor.text("an operator's name"), cursor.text("an operator's uid")
    identity = cursor.take(16, "an operator's id").hex()
    parallelism = _bounded(cursor, "the parallelism")
    most = _bounded(cursor, "the maximum parallelism")
    coordinator = stream_handle(cursor)
    at = cursor.place
    subtasks = cursor.int32("the number of subtasks")
    if not -1 <= subtasks <= MAX_PARALLELISM:
        raise DamagedError(at, f"expected -1 to {MAX_PARALLELISM:,} subtasks, found {subtasks:,}")
    return OperatorEntry(
        id=identity,
        name=name,
        uid=uid,
        parallelism=parallelism,
        max_parallelism=most,
        coordinator=coordinator,
        finished=subtasks == -1,
        subtasks=tuple(_subtask(cursor, version) for _ in range(subtasks)),
    )


def _bounded(cursor: Cursor, what: str) -> int:
    at = cursor.place
    value = cursor.int32(what)
    if not 0 < value <= MAX_PARALLELISM:
        raise DamagedError(at, f"expected {what}, 1 to {MAX_PARALLELISM:,}, found {value:,}")
    return value


def _subtask(cursor: Cursor, version: int) -> Subtask:
    at = cursor.place
    index = cursor.int32("the index of a subtask")
    if not -MAX_PARALLELISM <= index < MAX_PARALLELISM:
        raise DamagedError(at, f"expected the index of a subtask, found {index:,}")
    if index < 0:
        return Subtask(index=-index - 1, finished=True)
    managed = _operator_handle(cursor) if _present(cursor) else None
    raw = _operator_handle(cursor) if _present(cursor) else None
    kinds: set[str] = set()
    keyed = _keyed(cursor, kinds) + _keyed(cursor, kinds)
    channels, size = 0, 0
    for outgoing in (False, True):
        found = cursor.count("channel states", least=1)
        channels += found
        size += sum(_channel(cursor, version, outgoing=outgoing) for _ in range(found))
    return Subtask(
        index=index,
        managed=managed,
        raw=raw,
        keyed_bytes=keyed,
        keyed_kinds=frozenset(kinds),
        channel_bytes=size,
        channels=channels,
    )


def _present(cursor: Cursor) -> bool:
    at = cursor.place
    value = cursor.int32("whether operator state follows")
    if value not in (0, 1):
        raise DamagedError(at, f"expected whether operator state follows, 0 or 1, found {value:,}")
    return value == 1


def _operator_handle(cursor: Cursor) -> OperatorHandle | None:
    at = cursor.place
    tag = cursor.byte("the kind of an operator state")
    if tag == 0:
        return None
    if tag == 17:  # of merged files: two folders and whether it is empty, then as any other
        cursor.skip_text("a folder of merged files")
        cursor.skip_text("a folder of merged files")
        cursor.flag("whether the merged state is empty")
    elif tag != 4:  # the one other kind
        raise DamagedError(at, f"expected an operator state (kind 0, 4 or 17), found kind {tag}")
    states = []
    for _ in range(cursor.count("named states", least=7)):
        name = cursor.text("the name of a state")
        mode = cursor.byte("how a state is distributed")
        if mode > 2:  # split, union, broadcast
            raise DamagedError(cursor.place - 1, f"expected how a state is distributed, 0 to 2, found {mode}")
        states.append(
            NamedState(name, mode, cursor.longs(cursor.count("elements of a state", least=8), "places of elements"))
        )
    return OperatorHandle(at, tuple(states), stream_handle(cursor))


def stream_handle(cursor: Cursor, depth: int = 0) -> StreamHandle | None:
    """Read where the bytes of some state are; None where there is none.

    Raises:
        DamagedError: It is of no known kind, or damaged.
    """
    at = cursor.place
    tag = cursor.byte("the kind of a state handle")
    if tag == 0:
        return None
    if tag == 1:
        cursor.skip_text("the name of a state handle")
        size = cursor.count("bytes of inline state")
        return StreamHandle("inline", size, cursor.skip(size, "inline state"))
    if tag in _FILE:
        return _file_handle(cursor, tag)
    if tag == 16:  # a segment of nothing
        return StreamHandle("empty", 0, 0)
    if tag == 3 and depth < MAX_DEPTH:  # key groups
        _key_groups(cursor)
        return stream_handle(cursor, depth + 1)
    raise DamagedError(at, f"expected a state handle (kind 0 to 3, 6, 15 or 16), found kind {tag}")


def _file_handle(cursor: Cursor, tag: int) -> StreamHandle:
    at = cursor.place
    if tag == 2:  # a file anywhere
        size = cursor.int64("the size of a state file")
        made = StreamHandle("absolute", size, 0, cursor.text("the path of a state file"))
    elif tag == 6:  # a file in the folder of the checkpoint
        path = cursor.text("the name of a state file")
        size = cursor.int64("the size of a state file")
        made = StreamHandle("relative", size, 0, path)
    else:
        start, size = cursor.int64("the start of a segment"), cursor.int64("the size of a segment")
        cursor.int32("the scope of a segment")
        path = cursor.text("the path of a merged file")
        cursor.skip_text("the id of a merged file")
        if start < 0:
            raise DamagedError(at, f"expected the start of a segment, found {start:,}")
        made = StreamHandle("segment", size, start, path)
    if made.size < 0:
        raise DamagedError(at, f"expected the size of a state file, found {made.size:,}")
    return made


def _key_groups(cursor: Cursor) -> None:
    cursor.int32("the first key group")
    groups = cursor.count("key groups", least=8)
    cursor.skip(8 * groups, "places of key groups")


def _keyed(cursor: Cursor, kinds: set[str], depth: int = 0) -> int:
    """Pass over keyed state, and give its size in bytes as far as handles tell."""
    at = cursor.place
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
        return _incremental(cursor, kinds, sized=tag == 11)  # the second form tells its size
    if tag in (8, 14):
        return _changelog(cursor, kinds, depth, with_id=tag == 14)  # the second form has two ids
    if tag == 9:  # changes in this file
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
    if tag in (10, 13):
        cursor.skip(8, "a range of key groups")
        size = 0
        for _ in range(cursor.count("files of changes", least=9)):
            cursor.int64("a place in a file of changes")
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
    """Pass over the files of keyed state; a job of RocksDB can have a million.

    A file anywhere (kind 2), which is what they are, is passed over without a call per field. Everything else, damage
    included, takes the careful way.
    """
    data, end, size, plain = cursor.data, cursor.end, 0, False
    for _ in range(cursor.count("files of keyed state", least=3)):
        at = cursor.at
        handle = at + 2 + (data[at] << 8 | data[at + 1]) if at + 2 <= end else end
        if handle + 11 <= end and data[handle] == 2:
            after = handle + 11 + (data[handle + 9] << 8 | data[handle + 10])
            found = int.from_bytes(data[handle + 1 : handle + 9], "big")
            if after <= end and found < 2**63:
                cursor.at = after
                size += found
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
            size += _keyed(cursor, kinds, depth + 1)
    cursor.skip(16 if with_id else 8, "the ids of a materialisation")
    cursor.skip_text("the id of a keyed state")
    return size


def _size(cursor: Cursor, kinds: set[str]) -> int:
    handle = stream_handle(cursor)
    if handle is None:
        return 0
    kinds.add(handle.kind)
    return handle.size


def _channel(cursor: Cursor, version: int, *, outgoing: bool) -> int:
    """Pass over the records in flight of one channel of an unaligned checkpoint, and give their bytes."""
    merged = False
    if version >= TAGGED_CHANNELS_SINCE:
        tag = cursor.byte("the kind of a channel state")
        single, several = (2, 4) if outgoing else (1, 3)
        if tag not in (single, several):
            raise DamagedError(
                cursor.place - 1, f"expected a channel state of kind {single} or {several}, found kind {tag}"
            )
        merged = tag == several
    if merged:
        cursor.int32("the subtask of a channel state")
        size = cursor.int64("the size of a channel state")
        stream_handle(cursor)
        cursor.skip(cursor.count("bytes of channel places"), "channel places")
    else:
        cursor.skip(12, "a channel")
        cursor.longs(cursor.count("places of channel state", least=8), "places of channel state")
        size = cursor.int64("the size of a channel state")
        stream_handle(cursor)
    if size < 0:
        raise cursor.damaged(f"expected the size of a channel state, found {size:,}")
    return size
