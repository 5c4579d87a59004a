from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from offsetwise.errors import MissingError, StorageError
from offsetwise.storage.folders import Entry, FolderReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """A folder as it will be: other bytes in some files, new files, and some files removed."""

    folder: FolderReader
    replaced: Mapping[str, bytes]
    dropped: frozenset[str] = field(default_factory=frozenset)

    @property
    def uri(self) -> str:
        return self.folder.uri

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        prefix = f"{folder}/" if folder else ""
        new = {
            name: Entry(name=name, is_dir=bool(below), size_bytes=len(data), modified_s=0 if details else None)
            for path, data in self.replaced.items()
            if path.startswith(prefix)
            for name, _, below in (path.removeprefix(prefix).partition("/"),)
        }
        try:
            there = self.folder.entries(folder, details=details)
        except MissingError:
            if not new:
                raise
            there = ()
        for entry in there:
            new.pop(entry.name, None)
        return tuple(sorted((*(entry for entry in there if prefix + entry.name not in self.dropped), *new.values())))

    def read_many(self, files: Mapping[str, int | None]) -> dict[str, bytes | StorageError]:
        below = {path: size for path, size in files.items() if path not in self.replaced and path not in self.dropped}
        missing_error = MissingError("expected a file, found it dropped.", fix="")
        results: dict[str, bytes | StorageError] = dict.fromkeys(files, missing_error)
        results |= self.folder.read_many(below)
        return results | {path: data for path, data in self.replaced.items() if path in files}

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        for path, size in self.folder.walk(folder):
            if f"{folder}/{path}" not in self.dropped:
                yield path, size


def read_file(folder: FolderReader, path: str) -> bytes:
    """Return a file's bytes.

    Raises:
        StorageError: It cannot be read.
    """
    data = folder.read_many({path: None})[path]
    if isinstance(data, StorageError):
        raise data
    return data
