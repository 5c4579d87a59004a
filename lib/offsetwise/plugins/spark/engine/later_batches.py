"""The file names in the two logs of a Spark checkpoint, and the files to leave out with later batches.

The state of a left-out batch is left out too: once Spark counts up to its version again, it would take the old snapshot
for a new one.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from offsetwise.errors import MissingError
from offsetwise.storage.folders import FolderReader

_CHUNK_BYTES: Final = 512
BATCH: Final = re.compile(r"0|[1-9][0-9]{0,18}")
"""The name of a file of `offsets` or `commits`."""
VERSION: Final = re.compile(r"([0-9]{1,18})(?:_([0-9A-Za-z\-]+))?\.(delta|snapshot|zip|changelog)")
"""The name of a file of a state store: its version, its unique id, its kind."""
_OPERATOR: Final = re.compile(r"[0-9]+/_metadata/(?:metadata/)?v2/\.?([0-9]{1,18})(?:\.crc)?")
"""The path of an operator's metadata, such as its number of partitions, from a batch on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """The batches that have a file in `offsets` and in `commits`, ascending."""

    planned: tuple[int, ...]
    committed: tuple[int, ...]
    names: frozenset[str]
    """The paths of all files in both folders."""

    @classmethod
    def of(cls, folder: FolderReader) -> Logs:
        batches: dict[str, tuple[int, ...]] = {}
        names: set[str] = set()
        for log in ("commits", "offsets"):
            try:
                entries = folder.entries(log)
            except MissingError:
                entries = ()
            batches[log] = tuple(sorted(int(entry.name) for entry in entries if BATCH.fullmatch(entry.name)))
            names |= {f"{log}/{entry.name}" for entry in entries}
        return cls(planned=batches["offsets"], committed=batches["commits"], names=frozenset(names))

    def with_checksum(self, path: str) -> tuple[str, ...]:
        return (path, crc_path(path)) if crc_path(path) in self.names else (path,)


def crc_path(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"


def crc_of(data: bytes) -> bytes:
    """Return the `.crc` file that Hadoop keeps next to a local file: a CRC32 per 512 bytes, big-endian."""
    starts = range(0, len(data), _CHUNK_BYTES)
    sums = b"".join(zlib.crc32(data[at : at + _CHUNK_BYTES]).to_bytes(4, "big") for at in starts)
    return b"crc\0" + _CHUNK_BYTES.to_bytes(4, "big") + sums


def after_batch(folder: FolderReader, logs: Logs, batch: int) -> Iterator[str]:
    """Yield the paths of all files of batches after `batch` (-1: of all batches) in both logs and in the state."""
    for log, batches in (("offsets", logs.planned), ("commits", logs.committed)):
        for number in batches:
            if number > batch:
                yield from logs.with_checksum(f"{log}/{number}")
    for path, _ in folder.walk("state"):
        if _is_later(path, batch):
            yield f"state/{path}"


def _is_later(path: str, batch: int) -> bool:
    matched = VERSION.fullmatch(path.rpartition("/")[2].removeprefix(".").removesuffix(".crc"))
    if matched is not None:
        return int(matched[1]) > batch + 1
    operator = _OPERATOR.fullmatch(path)
    return operator is not None and int(operator[1]) > batch
