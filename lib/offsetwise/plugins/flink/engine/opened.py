"""The operator state of a Flink checkpoint, opened: inline, in the folder, or at the path recorded in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from offsetwise.errors import StorageError
from offsetwise.model import Problem
from offsetwise.plugins.flink.engine.binary import Cursor, DamagedError
from offsetwise.plugins.flink.engine.elements import (
    MAX_PLAIN_BYTES,
    StateBlob,
    element_bounds,
    element_cursors,
    is_compressed,
    require_named,
)
from offsetwise.plugins.flink.engine.folder import METADATA
from offsetwise.plugins.flink.engine.handles import StreamHandle
from offsetwise.plugins.flink.engine.kinesis import LEGACY_STATE as LEGACY_SHARDS
from offsetwise.plugins.flink.engine.metadata import Metadata, OperatorEntry, OperatorHandle, Subtask
from offsetwise.plugins.flink.engine.source import LEGACY_STATE, READER_STATE, damaged
from offsetwise.plugins.flink.engine.transactions import COMMITTER_STATE, WRITER_STATE
from offsetwise.storage.folders import FolderReader

WANTED: Final = frozenset({READER_STATE, LEGACY_STATE, LEGACY_SHARDS, WRITER_STATE, COMMITTER_STATE})

MAX_KEPT_ELEMENTS: Final = 200_000
"""For all sources and sinks of a checkpoint; a source has one per partition."""
MAX_KEPT_BYTES: Final = 8 * 1024 * 1024
"""For coordinators and sinks; a coordinator has about sixty bytes per partition."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}")

Elsewhere = Callable[[str], bytes | StorageError]
"""Reads a file by the absolute path in a checkpoint."""


@dataclass(slots=True)
class Opened:
    data: bytes
    files: dict[str, bytes]
    blobs: dict[tuple[str, int], StateBlob] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    compressed: bool = False
    plain_bytes: int = 0
    """Uncompressed size of compressed elements so far."""
    elements_seen: int = 0
    bytes_seen: int = 0
    """Bytes of coordinators and sinks so far."""

    @classmethod
    def of(cls, folder: FolderReader, data: bytes, metadata: Metadata, elsewhere: Elsewhere | None) -> Opened:
        requested = list(_handles(metadata))
        names = {handle.path for _, _, handle in requested if handle.kind == "relative" and _is_plain(handle.path)}
        coordinators = [entry.coordinator for entry in metadata.operators if entry.coordinator is not None]
        names |= {handle.path for handle in coordinators if handle.kind == "relative" and _is_plain(handle.path)}
        read = folder.read_many(dict.fromkeys(sorted(names))) if names else {}
        opened = cls(data=data, files={name: content for name, content in read.items() if isinstance(content, bytes)})
        opened._require_names(metadata)
        for entry, subtask, handle in requested:
            result = opened._bytes(handle, read, elsewhere)
            if isinstance(result, StateBlob):
                opened.blobs[entry.id, subtask.index] = result
            else:
                opened.problems.append(
                    damaged(
                        f"The state of {label_of(entry)}, subtask {subtask.index}, cannot be read: {result} "
                        "Its positions are left out."
                    )
                )
        return opened

    def _require_names(self, metadata: Metadata) -> None:
        """Report states that their bytes do not name: otherwise a source could be hidden under another name."""
        for entry in metadata.operators:
            for handle in (subtask.managed for subtask in entry.subtasks if subtask.managed is not None):
                if handle.handle is None or handle.handle.kind != "inline":
                    continue
                blob = StateBlob(METADATA, self.data, handle.handle.at, handle.handle.at + handle.handle.size)
                for state in handle.states:
                    if state.name not in WANTED and state.offsets:
                        try:
                            require_named(blob, state.name, min(state.offsets))
                        except DamagedError as error:
                            self.problems.append(
                                damaged(f"A state of {label_of(entry)} cannot be relied on: {METADATA}, {error}.")
                            )

    def _bytes(
        self, handle: StreamHandle, read: Mapping[str, bytes | StorageError], elsewhere: Elsewhere | None
    ) -> StateBlob | str:
        if handle.kind == "inline":
            return StateBlob(METADATA, self.data, handle.at, handle.at + handle.size)
        if handle.kind == "empty":
            return f"{METADATA} says that it has elements, and that it has no bytes."
        if handle.kind == "relative":
            content = read.get(handle.path)
            if content is None:
                return f"{handle.path!r} is no name of a file in its folder."
        elif elsewhere is None:
            return f"it is at {handle.path}, outside the folder."
        else:
            content = elsewhere(handle.path)
            self.files |= {handle.path: content} if isinstance(content, bytes) else {}
        if isinstance(content, StorageError):
            return content.problem
        if handle.at + handle.size > len(content):
            return f"{handle.path} has {len(content):,} bytes, expected {handle.at + handle.size:,}."
        if handle.kind == "relative" and handle.size != len(content):
            return f"{handle.path} has {len(content):,} bytes, expected {handle.size:,}."
        return StateBlob(handle.path, content, handle.at, handle.at + handle.size)

    def coordinator(self, entry: OperatorEntry) -> Cursor | None:
        """Return the state of an operator's coordinator; None if it has none that can be read."""
        handle = entry.coordinator
        if handle is None:
            return None
        data = self.data if handle.kind == "inline" else self.files.get(handle.path)
        if data is None:
            return None
        cursor = Cursor(data, handle.at, handle.at + handle.size) if handle.kind == "inline" else Cursor(data)
        try:
            self._afford(cursor.byte_offset, size=cursor.remaining)
        except DamagedError as error:
            self.problems.append(damaged(f"The coordinator of {label_of(entry)} is not read: {error}."))
            return None
        return cursor

    def elements(self, entry: OperatorEntry, name: str) -> tuple[list[Cursor | DamagedError], bool]:
        """Return the elements of one state over all subtasks, and whether every subtask's could be opened.

        A subtask without elements of the state, such as an idle reader's, needs no bytes.
        """
        elements: list[Cursor | DamagedError] = []
        complete = True
        for subtask in entry.subtasks:
            handle = subtask.managed
            if handle is None or not any(state.name == name and state.offsets for state in handle.states):
                continue
            blob = self.blobs.get((entry.id, subtask.index))
            if blob is None:
                complete = False
                continue
            try:
                bounds = element_bounds(handle)[name]
                self._afford(blob.at, elements=len(bounds))
                if name in (COMMITTER_STATE, WRITER_STATE):
                    self._afford(blob.at, size=sum(end - start for start, end in bounds))
                packed = bool(bounds) and is_compressed(blob)
                results = element_cursors(blob, name, bounds, limit=MAX_PLAIN_BYTES - self.plain_bytes)
                if packed:
                    self.compressed = True
                    self.plain_bytes += sum(result.remaining for result in results if isinstance(result, Cursor))
                elements += results
            except DamagedError as error:
                complete = False
                self.problems.append(
                    damaged(
                        f"The state of {label_of(entry)}, subtask {subtask.index}, cannot be read: {blob.file}, "
                        f"{error}. Its positions are left out."
                    )
                )
        return elements, complete

    def _afford(self, position: int, *, elements: int = 0, size: int = 0) -> None:
        """Count what is about to be kept in memory: an element of a few bytes takes a hundred times as many.

        Raises:
            DamagedError: It is more than any job keeps.
        """
        self.elements_seen += elements
        self.bytes_seen += size
        if self.elements_seen > MAX_KEPT_ELEMENTS:
            raise DamagedError(
                position, f"expected at most {MAX_KEPT_ELEMENTS:,} elements of sources and sinks, found more"
            )
        if self.bytes_seen > MAX_KEPT_BYTES:
            raise DamagedError(
                position, f"expected at most {MAX_KEPT_BYTES:,} bytes of coordinators and sinks, found more"
            )

    def digests(self) -> tuple[tuple[str, str], ...]:
        """Return (name, SHA-256 in hex) of the state files in the folder that were read."""
        return tuple(
            (name, hashlib.sha256(data).hexdigest()) for name, data in sorted(self.files.items()) if _is_plain(name)
        )


def _handles(metadata: Metadata) -> list[tuple[OperatorEntry, Subtask, StreamHandle]]:
    results = []
    for entry in metadata.operators:
        for subtask in entry.subtasks:
            handle = subtask.managed
            if handle is not None and _keeps(handle):
                results.append((entry, subtask, handle.handle or StreamHandle("empty", 0, 0)))
    return results


def _keeps(handle: OperatorHandle) -> bool:
    return any(state.name in WANTED and state.offsets for state in handle.states)


def label_of(entry: OperatorEntry) -> str:
    return f"operator {entry.uid or entry.name or entry.id!r}"


def _is_plain(path: str) -> bool:
    return _PLAIN_NAME.fullmatch(path) is not None and path not in (".", "..")
