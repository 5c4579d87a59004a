"""Folders of any file system that fsspec supports, read without caches and never outside the roots.

Local folders, S3, Google's and Azure's stores are tested against real ones or their emulators. Credentials come from
the environment only, as each file system's own library finds them.

This module needs the standard library and fsspec only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from offsetwise.errors import LibraryMissingError, MissingError, NotAFolderError, OutsideRootsError, StorageError
from offsetwise.regular_files import Folders, below, read
from offsetwise.storage.location import READING, Location, is_live, locate, locate_local
from offsetwise.storage.object_stores import endpoint_of, open_store

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
MAX_READ_BYTES: Final = 4 * MAX_FILE_BYTES
"""How many bytes one call may read in total."""
MAX_WALK_DEPTH: Final = 6
_INSTALL: Final = {"s3": "offsetwise[s3]", "gs": "offsetwise[gcs]", "abfs": "offsetwise[azure]", "hdfs": "pyarrow"}


class Entry(NamedTuple):
    """One name in a folder. A tuple, because the logs of a checkpoint have hundreds."""

    name: str
    is_dir: bool | None = None
    """None if a listing does not show it: local files listed by names, and links."""
    size_bytes: int | None = None
    modified_s: float | None = None
    """Seconds since the epoch; None if the file system has no times."""


class FolderReader(Protocol):
    """The operations that checkpoint readers need: list, read, walk. Paths are relative to the folder."""

    @property
    def uri(self) -> str:
        """The folder as the person named it."""

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        """Return the current names in a folder, sorted."""

    def read_many(self, files: Mapping[str, int | None]) -> dict[str, bytes | StorageError]:
        """Read whole files, in parallel if possible; an unreadable file has its error instead."""

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield every file below a folder: its path relative to the folder, and its size in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A folder of a local disk, or one read through fsspec. Every listing is fresh."""

    uri: str
    location: Location
    roots: tuple[Location, ...] | None
    base: str
    """The folder as fsspec's file system spells it."""
    fs: Any = field(repr=False, compare=False)
    """fsspec's file system; None for a local folder, which is read without it."""
    max_file_bytes: int = MAX_FILE_BYTES

    def for_large_files(self) -> Tree:
        """Return the same folder with the total limit for each file: a `_metadata` may hold the state of many keys."""
        return replace(self, max_file_bytes=MAX_READ_BYTES)

    def entries(self, folder: str = "", *, details: bool = False) -> tuple[Entry, ...]:
        """Return the current names in a folder, sorted.

        Args:
            folder: Relative to the tree; empty for the tree itself.
            details: Read kinds, sizes and times too. Object stores always return them.

        Raises:
            MissingError: There is no such folder.
            StorageError: It cannot be listed.
            OutsideRootsError: It is a link that leads out of the roots.
        """
        path = self._path(folder)
        try:
            if self.location.scheme == "file":
                return _listed(path) if details else tuple(map(Entry, Folders().names(path)))
            self.fs.invalidate_cache()
            listed = self.fs.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError) as error:
            a_file = isinstance(error, NotADirectoryError)
            result, kind = ("a file", NotAFolderError) if a_file else ("nothing", MissingError)
            raise kind(
                f"{self._shown(folder)}: expected a folder, found {result}. Nothing was read.",
                fix="Check the path and, on an object store, bucket and region.",
            ) from error
        except Exception as error:
            raise self._refused(folder, error, "listed") from error
        own = path.rstrip("/")
        results = [_entry(entry) for entry in listed if entry["name"].rstrip("/") != own]
        if not results and any(entry["name"] == own and entry.get("size") for entry in listed):
            raise NotAFolderError(
                f"{self._shown(folder)}: expected a folder, found a file. Nothing was read.", fix="Check the path."
            )
        return tuple(sorted(results, key=lambda entry: entry.name))

    def read(self, file: str, *, size_bytes: int | None = None) -> bytes:
        """Read one whole file.

        Raises:
            MissingError: It does not exist (any more).
            StorageError: It cannot be read, or it is larger than the limit.
        """
        content = self.read_many({file: size_bytes})[file]
        if isinstance(content, StorageError):
            raise content
        return content

    def read_many(self, files: Mapping[str, int | None]) -> dict[str, bytes | StorageError]:
        """Read whole files, in parallel if the file system can.

        Args:
            files: Path relative to the tree, and its size in bytes if a listing had it.

        Returns:
            For every path its bytes, or the error.
        """
        results: dict[str, bytes | StorageError] = {}
        if self.location.scheme == "file":
            remaining, found_at, folders = MAX_READ_BYTES, dict[str, str](), Folders()
            for file in files:
                results[file] = content = self._read_local(file, min(remaining, self.max_file_bytes), found_at, folders)
                remaining -= len(content) if isinstance(content, bytes) else 0
            return results
        requests: list[tuple[str, int]] = []
        for file, listed_size in files.items():
            size = self._size(file) if listed_size is None else listed_size
            if isinstance(size, StorageError):
                results[file] = size
            elif size > min(self.max_file_bytes, MAX_READ_BYTES - sum(reserved for _, reserved in requests)):
                results[file] = self._too_large(file, size)
            elif size == 0:
                results[file] = b""
            else:
                requests.append((file, size))
        paths = [self._path(file) for file, _ in requests]
        answers: Sequence[object] = ()
        if paths:
            try:
                answers = self.fs.cat_ranges(paths, [0] * len(paths), [size for _, size in requests], on_error="return")
            except Exception as error:  # noqa: BLE001 - every file system's library has an error tree of its own
                answers = [error] * len(paths)
        for (file, _), answer in zip(requests, answers, strict=True):
            results[file] = answer if isinstance(answer, bytes) else self._refused(file, answer, "read")
        return results

    def walk(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield every file below a folder: its path relative to the folder, and its size in bytes.

        Links are not followed. Yields nothing if the folder is missing.
        """
        if self.location.scheme == "file":
            yield from self._walk_local(self._path(folder), folder, "", MAX_WALK_DEPTH, Folders())
            return
        path = self._path(folder)
        self.fs.invalidate_cache()
        try:
            files = self.fs.find(path, detail=True)
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._refused(folder, error, "listed") from error
        base = path.strip("/") + "/"
        for name, info in files.items():
            yield name.strip("/").removeprefix(base), int(info.get("size") or 0)

    def _walk_local(
        self, path: str, folder: str, above: str, depth: int, folders: Folders
    ) -> Iterator[tuple[str, int]]:
        try:
            with folders.listed(path) as entries:
                inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
                files = [(above + entry.name, facts.st_size) for entry, facts in _regular_files(entries)]
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._refused(f"{folder}/{above}".rstrip("/"), error, "listed") from error
        yield from files
        for name in inner if depth else ():
            yield from self._walk_local(below(path, name), folder, f"{above}{name}/", depth - 1, folders)

    def _read_local(self, file: str, limit: int, found_at: dict[str, str], folders: Folders) -> bytes | StorageError:
        try:
            folder, _, name = file.rpartition("/")
            if folder not in found_at:
                found_at[folder] = self._path(folder)
            try:
                fd = folders.open_file(below(found_at[folder], name))
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                # A path without links is inside if its folder is. The target of a link is checked, and opened as such.
                fd = folders.open_file(self._path(file))
            size = os.fstat(fd).st_size
            if size > limit:
                os.close(fd)
                return self._too_large(file, size)
            return read(fd, limit)
        except StorageError as error:
            return error
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.EINVAL, errno.ENXIO):
                return StorageError(
                    f"{self._shown(file)}: expected a file, found something else. It was not read.",
                    fix="Check that the path names a checkpoint.",
                )
            return self._refused(file, error, "read")

    def _size(self, file: str) -> int | StorageError:
        try:
            return int(self.fs.info(self._path(file))["size"])
        except Exception as error:  # noqa: BLE001 - every file system's library has an error tree of its own
            return self._refused(file, error, "read")

    def _path(self, relative: str) -> str:
        path = below(self.base, relative) if relative else self.base
        if self.location.scheme == "file":
            real = locate_local(path)
            if self.roots is not None and not any(real.inside(root) for root in self.roots):
                raise OutsideRootsError(
                    f"{self._shown(relative)}: expected something inside the configured roots, found a link that leads "
                    "out of them. Nothing was read.",
                    fix="Name the folder the link points to in checkpoint_roots, or give its own path.",
                )
            return real.path
        return path

    @property
    def endpoint(self) -> str | None:
        """The endpoint from the environment, for an address without one; None for the store's own, and other stores.

        Raises:
            StorageError: It cannot be read.
        """
        try:
            return endpoint_of(self.location, self.fs)
        except Exception as error:
            raise self._refused("", error, "read") from error

    def _shown(self, relative: str) -> str:
        return f"{self.uri.rstrip('/')}/{relative}" if relative else self.uri

    def _too_large(self, file: str, size: int) -> StorageError:
        return StorageError(
            f"{self._shown(file)}: expected at most {self.max_file_bytes} bytes (and {MAX_READ_BYTES} in all), found "
            f"{size}. It was not read.",
            fix="Check that the path names a checkpoint: its log files are small.",
        )

    def _refused(self, relative: str, error: object, what: str) -> StorageError:
        shown = self._shown(relative)
        if isinstance(error, FileNotFoundError):
            return MissingError(
                f"{shown}: expected a file or folder, found nothing. It was not {what}.",
                fix="Check the path and, on an object store, bucket and region.",
            )
        said = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__
        if isinstance(error, PermissionError):
            return StorageError(
                f"{shown}: expected to be allowed to read it, found access refused ({reason}). It was not {what}.",
                fix="Give this user read access, or run with credentials that have it.",
            )
        return StorageError(
            f"{shown}: expected to reach its file system, found {reason}. It was not {what}.",
            fix="Check the path, the network and the credentials in the environment.",
        )


def open_tree(uri: str, *, roots: Sequence[str] | None = None) -> Tree:
    """Return a folder to read from. Nothing is contacted yet.

    Args:
        uri: A path, or a URI with one of `location.SCHEMES`.
        roots: The folders that may be read; tables in it are ignored. None if a person named the path: then any may.

    Raises:
        OutsideRootsError: The path leaves the roots, or its spelling could.
        LibraryMissingError: The file system needs a package that is not installed.
        StorageError: The path cannot be read at all.
    """
    allowed = None if roots is None else tuple(locate(root) for root in roots if not is_live(root))
    location = locate(uri, bound=None if roots is None else READING)
    if allowed is not None and not any(location.inside(root) for root in allowed):
        raise OutsideRootsError(
            f"{uri[:300]!r}: expected a path inside the configured roots, found one outside of them. Nothing was read.",
            fix="Add its folder to checkpoint_roots in the migration file, or move the checkpoint.",
        )
    fs, base = _filesystem(location)
    return Tree(uri=uri, location=location, roots=allowed, base=base, fs=fs)


def _listed(path: str) -> tuple[Entry, ...]:
    """List a local folder without following links."""
    results = []
    with Folders().listed(path) as entries:
        for entry in entries:
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            link = stat.S_ISLNK(facts.st_mode)
            results.append(
                Entry(
                    name=entry.name,
                    is_dir=None if link else stat.S_ISDIR(facts.st_mode),
                    size_bytes=None if link else facts.st_size,
                    modified_s=facts.st_mtime,
                )
            )
    return tuple(results)


def _regular_files(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            try:
                yield entry, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def _filesystem(location: Location) -> tuple[Any, str]:
    scheme = location.scheme
    try:
        if scheme == "file":
            return None, location.path
        return open_store(location)
    except StorageError:
        raise
    except ImportError as error:
        raise LibraryMissingError(
            f"{location.path}: expected the library for {scheme}:// to be installed, found {error}. Nothing was read.",
            fix=f"Install it: pip install '{_INSTALL[scheme]}'.",
        ) from error
    except Exception as error:
        raise StorageError(
            f"{location.path}: expected to open its file system, found {type(error).__name__}: {str(error)[:200]}. "
            "Nothing was read.",
            fix="Check the credentials and settings of this file system in the environment.",
        ) from error


def disk() -> Any:
    import fsspec  # noqa: PLC0415 - it takes 0.1 s, and paths of local folders do not need it

    return fsspec.filesystem("file", skip_instance_cache=True, use_listings_cache=False)


def _entry(listed: dict[str, Any]) -> Entry:
    modified = listed.get("mtime") or listed.get("LastModified") or listed.get("last_modified")
    if isinstance(modified, datetime):
        modified = modified.timestamp()
    size = listed.get("size")
    return Entry(
        name=listed["name"].rstrip("/").rpartition("/")[2],
        is_dir=None if listed.get("islink") else listed.get("type") == "directory",
        size_bytes=int(size) if isinstance(size, int) else None,
        modified_s=float(modified) if isinstance(modified, int | float) else None,
    )
