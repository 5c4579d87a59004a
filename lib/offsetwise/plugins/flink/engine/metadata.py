"""The `_metadata` file of a Flink checkpoint or savepoint, versions 4 to 6: its content, and the offsets of it.

Format: Flink's `MetadataV2V3SerializerBase` and its subclasses up to `MetadataV6Serializer`. Nothing is deserialised as
Java would: the properties at the end and every serializer's snapshot are opaque bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.model import MAX_PARALLELISM
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.handles import StreamHandle, channel_state, keyed_state, stream_handle

MAGIC: Final = 0x4960672D
FIRST_VERSION: Final = 4
LAST_VERSION: Final = 6
NAMES_SINCE: Final = 5
"""From this version on operators have their name and uid."""
MAX_OPERATORS: Final = 100_000
MAX_ELEMENTS: Final = 1_000_000
"""Maximum for one state in one subtask. For sources and sinks, `opened` has a lower limit."""

_OF_MERGED_FILES: Final = 17
"""Kind of operator state with two folders and whether it is empty, behind its named states."""
_MASTER_MAGIC: Final = 0xC96B1696 - 2**32
_JAVA: Final = b"\xac\xed\x00\x05"
_KIND: Final = re.compile(rb"org\.apache\.flink\.runtime\.checkpoint\.(Savepoint|Checkpoint)Type(?![A-Za-z$])")
_DISCARDED: Final = re.compile(
    rb"Z\x00\x10discardCancelled(?:Z\x00[\x01-\x40][A-Za-z]+){6}"
    rb"L\x00\x0echeckpointTypet\x00[\x01-\x7f][A-Za-z/;]+xp([\x00\x01])"
)
"""The first of `CheckpointProperties`' seven flags, after their names."""
_FORMAT: Final = re.compile(rb"t\x00(?:\x09(CANONICAL)|\x06(NATIVE))")


class UnknownMetadataVersionError(DamagedError):
    def __init__(self, at: int, what: str, *, is_older: bool) -> None:
        super().__init__(at, what)
        self.is_older = is_older
        """Whether it was written by a Flink older than the supported ones."""


@dataclass(frozen=True, slots=True)
class NamedState:
    """One operator state: its elements are at offsets in the bytes that all states share."""

    name: str
    mode: int
    """0: the elements are split among subtasks; 1: every subtask gets all; 2: all are the same."""
    offsets: Sequence[int]
    at: int
    """Where the offsets begin in `_metadata`, eight bytes each."""


@dataclass(frozen=True, slots=True)
class OperatorHandle:
    at: int
    """Where it begins in `_metadata`."""
    states: tuple[NamedState, ...]
    handle: StreamHandle | None


@dataclass(frozen=True, slots=True)
class Subtask:
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
    id: str
    """32 hexadecimal digits."""
    name: str
    uid: str
    parallelism: int
    max_parallelism: int
    coordinator: StreamHandle | None
    finished: bool
    subtasks: tuple[Subtask, ...]
    at: int
    """Where it begins in `_metadata`."""
    end: int


@dataclass(frozen=True, slots=True)
class Metadata:
    version: int
    checkpoint_id: int
    operators: tuple[OperatorEntry, ...]
    kind: str | None
    """`savepoint` or `checkpoint`; None if the properties do not tell."""
    format: str | None
    """`canonical` or `native`; None if the properties do not tell."""
    counted_at: int
    """Offset of the number of operators, four bytes."""
    kept_when_cancelled: bool | None
    """Whether it outlives a cancelled job; None if the properties do not tell."""


def parse_metadata(data: bytes) -> Metadata:
    """Parse a `_metadata` file.

    Raises:
        UnknownVersionError: Its version is not supported.
        DamagedError: It is not such a file, or damaged; names the byte.
    """
    cursor = Cursor(data)
    if cursor.int32("the magic number of a Flink checkpoint") != MAGIC:
        raise DamagedError(0, f"expected the magic number 4960672d, found {data[:4].hex()}")
    version = _version(cursor)
    checkpoint_id = cursor.int64("the checkpoint id")
    if checkpoint_id < 0:
        raise DamagedError(8, f"expected a checkpoint id, found {checkpoint_id}")
    _skip_master_states(cursor)
    counted_at = cursor.byte_offset
    operators = cursor.count("operators", least=29)
    if operators > MAX_OPERATORS:
        raise DamagedError(cursor.byte_offset - 4, f"expected at most {MAX_OPERATORS:,} operators, found {operators:,}")
    entries = tuple(_operator(cursor, version) for _ in range(operators))
    # With a wrong number of operators, this is not the end: what follows them is a stream of Java objects.
    if not data.startswith(_JAVA, cursor.at):
        raise cursor.damaged("expected the properties of the checkpoint, found something else or the end of the file")
    tail = data[cursor.at : cursor.at + 64 * 1024]
    kind, form, discarded = _KIND.search(tail), _FORMAT.search(tail), _DISCARDED.search(tail)
    return Metadata(
        version=version,
        checkpoint_id=checkpoint_id,
        operators=entries,
        kind=kind[1].decode().lower() if kind else None,
        format=(form[1] or form[2]).decode().lower() if form else None,
        counted_at=counted_at,
        kept_when_cancelled=None if discarded is None else discarded[1] == b"\0",
    )


def _version(cursor: Cursor) -> int:
    version = cursor.int32("the version")
    if not FIRST_VERSION <= version <= LAST_VERSION:
        older = "older than Flink 1.15's" if version < FIRST_VERSION else "of a later Flink, or no version"
        raise UnknownMetadataVersionError(
            4,
            f"expected version {FIRST_VERSION} to {LAST_VERSION}, found version {version}, which is {older}",
            is_older=version < FIRST_VERSION,
        )
    return version


def _skip_master_states(cursor: Cursor) -> None:
    for _ in range(cursor.count("master states", least=8)):
        if cursor.int32("the magic number of a master state") != _MASTER_MAGIC:
            raise DamagedError(
                cursor.byte_offset - 4, "expected the magic number of a master state, found another number"
            )
        cursor.skip(cursor.count("bytes of a master state"), "a master state")


def _operator(cursor: Cursor, version: int) -> OperatorEntry:
    begun = cursor.byte_offset
    name = uid = ""
    if version >= NAMES_SINCE:
        name, uid = cursor.text("an operator's name"), cursor.text("an operator's uid")
    identity = cursor.take(16, "an operator's id").hex()
    parallelism = _bounded(cursor, "the parallelism")
    most = _bounded(cursor, "the maximum parallelism")
    coordinator = stream_handle(cursor)
    at = cursor.byte_offset
    subtasks = cursor.int32("the number of subtasks")
    if not -1 <= subtasks <= MAX_PARALLELISM:
        raise DamagedError(at, f"expected -1 to {MAX_PARALLELISM:,} subtasks, found {subtasks:,}")
    states = tuple(_subtask(cursor, version) for _ in range(subtasks))
    return OperatorEntry(
        id=identity,
        name=name,
        uid=uid,
        parallelism=parallelism,
        max_parallelism=most,
        coordinator=coordinator,
        finished=subtasks == -1,
        subtasks=states,
        at=begun,
        end=cursor.byte_offset,
    )


def _bounded(cursor: Cursor, what: str) -> int:
    at = cursor.byte_offset
    value = cursor.int32(what)
    if not 0 < value <= MAX_PARALLELISM:
        raise DamagedError(at, f"expected {what}, 1 to {MAX_PARALLELISM:,}, found {value:,}")
    return value


def _subtask(cursor: Cursor, version: int) -> Subtask:
    at = cursor.byte_offset
    index = cursor.int32("the index of a subtask")
    if not -MAX_PARALLELISM <= index < MAX_PARALLELISM:
        raise DamagedError(at, f"expected the index of a subtask, found {index:,}")
    if index < 0:
        return Subtask(index=-index - 1, finished=True)
    managed = _operator_handle(cursor) if _present(cursor) else None
    raw = _operator_handle(cursor) if _present(cursor) else None
    kinds: set[str] = set()
    keyed = keyed_state(cursor, kinds) + keyed_state(cursor, kinds)
    channels, size = 0, 0
    for outgoing in (False, True):
        channel_count = cursor.count("channel states", least=1)
        channels += channel_count
        size += sum(channel_state(cursor, version, outgoing=outgoing) for _ in range(channel_count))
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
    at = cursor.byte_offset
    value = cursor.int32("whether operator state follows")
    if value not in (0, 1):
        raise DamagedError(at, f"expected whether operator state follows, 0 or 1, found {value:,}")
    return value == 1


def _operator_handle(cursor: Cursor) -> OperatorHandle | None:
    begun = cursor.byte_offset
    tag = cursor.byte("the kind of an operator state")
    if tag == 0:
        return None
    if tag not in (4, _OF_MERGED_FILES):
        raise DamagedError(begun, f"expected an operator state (kind 0, 4 or 17), found kind {tag}")
    states = []
    for _ in range(cursor.count("named states", least=7)):
        name = cursor.text("the name of a state")
        mode = cursor.byte("how a state is distributed")
        if mode > 2:  # split, union, broadcast
            raise DamagedError(cursor.byte_offset - 1, f"expected how a state is distributed, 0 to 2, found {mode}")
        at = cursor.byte_offset
        elements = cursor.count("elements of a state", least=8)
        if elements > MAX_ELEMENTS:
            raise DamagedError(at, f"expected at most {MAX_ELEMENTS:,} elements of a state, found {elements:,}")
        at = cursor.byte_offset
        states.append(NamedState(name, mode, cursor.longs(elements, "offsets of elements"), at))
    if tag == _OF_MERGED_FILES:
        cursor.skip_text("a folder of merged files")
        cursor.skip_text("a folder of merged files")
        cursor.flag("whether the merged state is empty")
    return OperatorHandle(begun, tuple(states), stream_handle(cursor))
