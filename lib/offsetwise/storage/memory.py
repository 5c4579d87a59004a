from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from offsetwise.errors import MissingError, StorageError
from offsetwise.storage.folders import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldFolder:
    uri: str
    files: Mapping[str, bytes]

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        del details
        return tuple(Entry(name=path) for path, _ in self.walk(folder) if "/" not in path)

    def read_many(self, files: Mapping[str, int | None]) -> dict[str, bytes | StorageError]:
        return {
            path: self.files[path]
            if path in self.files
            else MissingError(f"{self.uri}/{path}: expected a file, found none.", fix="")
            for path in files
        }

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        prefix = f"{folder}/" if folder else ""
        for path, data in sorted(self.files.items()):
            if path.startswith(prefix):
                yield path.removeprefix(prefix), len(data)
