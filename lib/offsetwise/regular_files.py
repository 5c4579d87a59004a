"""The only module that opens files: only regular ones, without blocking, and below a root without following links.

A file that a person names may be reached through links, because a person chose it. Below the roots, where a job and
others may write, a folder or file could be replaced by a link, a pipe or a device between a check and the opening. So a
path there is opened one name after the other, each relative to the descriptor of its folder, without following links,
and the opened file is checked rather than its name.

For files that only their owner may access, `opening` reports what gives others access.

This module needs the standard library only, because it is shipped to Spark's workers.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from offsetwise.errors import OutsideRootsError
from offsetwise.recent import Recent

_T = TypeVar("_T")
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_SEARCH: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""To pass through a folder. Linux requires only search permission for it, as for any path."""
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST: Final = os.pathconf("/", "PC_PATH_MAX")
"""Nobody else could open a longer path, although opening name after name would reach it."""
_KEPT: Final = 64
"""How many folders stay open, so that the next file of one costs a single system call."""


def below(root: str, relative: str) -> str:
    """Join a path below a root; such paths are joined only by this function.

    >>> below("/data", "offsets/7")
    '/data/offsets/7'

    Raises:
        OutsideRootsError: It is absolute, has an empty, `.` or `..` part, or a NUL.
    """
    if not stays_below(relative):
        raise OutsideRootsError(
            f"{relative[:300]!r}: expected a path below {root}, found one that could lead out of it. "
            "Nothing was read or written there.",
            fix="Find out where this name comes from: no engine makes it.",
        )
    return f"{root.rstrip('/')}/{relative}"


def stays_below(relative: str) -> bool:
    """Return whether a path leads below any root that it is joined to.

    >>> stays_below("offsets/7"), stays_below("../7"), stays_below("/7")
    (True, False, False)
    """
    return "\0" not in relative and all(part not in ("", ".", "..") for part in relative.split("/"))


def read_named(path: str | Path, limit_bytes: int) -> bytes:
    """Return the bytes of a file that a person named, at most one more than the limit.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    return read(open_named(path), limit_bytes)


def open_named(path: str | Path) -> int:
    """Open a file that a person named, following links.

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    return regular(os.open(path, _READ), str(path))


def named_place(path: str) -> str:
    """Return the path of a file that a person named, with the links of its folder resolved."""
    folder, name = os.path.split(os.path.abspath(path))
    return below(os.path.realpath(folder), name)


def read(fd: int, limit_bytes: int) -> bytes:
    """Return the content of an open file, at most one byte more than the limit, and close it."""
    try:
        size = os.fstat(fd).st_size
        data = os.read(fd, min(size, limit_bytes) + 1)
        # It may have changed since, a read may be cut short, and files of the kernel have no size.
        while len(data) != size and len(data) <= limit_bytes and (more := os.read(fd, limit_bytes + 1 - len(data))):
            data += more
        return data
    finally:
        os.close(fd)


class Folder:
    """An open folder, which is closed when it is no longer referenced."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __del__(self) -> None:
        os.close(self.fd)


class Folders:
    """Opens files at absolute paths of which no part is a link.

    `os.path.realpath` returns such a path. Folders stay open for the next file, so that opening many files of one
    folder does not walk to it again. Thread-safe.
    """

    def __init__(self) -> None:
        self._open: Recent[str, Folder] = Recent(_KEPT)

    def at(self, path: str) -> Folder:
        """Open a folder, for calls relative to its descriptor.

        Raises:
            OSError: It does not exist, is no folder, or a part of the path is a link.
        """
        missing: list[str] = []
        here = path
        while (folder := self._open.get(here)) is None and here != "/":
            missing.append(here)
            here, _, name = here.rpartition("/")
            if name in ("", ".", "..") or not path.startswith("/"):
                raise OSError(errno.EINVAL, "it is not a plain absolute path", path)
            here = here or "/"
        folder = folder or self._open.keep("/", Folder(os.open("/", _SEARCH)))
        for subpath in reversed(missing):
            opened = Folder(_open(subpath.rpartition("/")[2], _SEARCH, folder.fd, subpath))
            folder = self._open.keep(subpath, opened)
        return folder

    def within(self, path: str, action: Callable[[str, int], _T]) -> _T:
        if len(os.fsencode(path)) >= _LONGEST:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        above, _, name = path.rpartition("/")
        folder = self.at(above or "/")
        return action(name or ".", folder.fd)

    def open_file(self, path: str) -> int:
        """Open a file for reading.

        Raises:
            OSError: It cannot be opened, is no regular file, or a part of the path is a link.
        """
        return regular(self._open_below(path, _READ | os.O_NOFOLLOW), path)

    def open_folder(self, path: str) -> int:
        """Open a folder for listing or syncing.

        Raises:
            OSError: It cannot be opened, is no folder, or a part of the path is a link.
        """
        return self._open_below(path, _LIST)

    @contextmanager
    def listed(self, path: str) -> Iterator[list[os.DirEntry[str]]]:
        """Yield the entries of a folder, sorted by name; they are valid inside the block.

        Raises:
            OSError: It cannot be listed, or a part of the path is a link.
        """
        fd = self.open_folder(path)
        try:
            with os.scandir(fd) as entries:
                listing = sorted(entries, key=lambda entry: entry.name)
            yield listing
        finally:
            os.close(fd)

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted.

        Raises:
            OSError: It cannot be listed, or a part of the path is a link.
        """
        with self.listed(path) as entries:
            return [entry.name for entry in entries]

    def stat(self, path: str) -> os.stat_result | None:
        """Return the status of a path, or of a link itself; None if it does not exist.

        Raises:
            OSError: A part of the path above it is a link or no folder.
        """
        try:
            return self.within(path, lambda name, fd: os.stat(name, dir_fd=fd, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def forget(self) -> None:
        """Close all folders: the next path is walked from the top again."""
        self._open.clear()

    def _open_below(self, path: str, flags: int) -> int:
        return self.within(path, lambda name, fd: _open(name, flags, fd, path))


def _open(name: str, flags: int, above: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) and _is_link(name, above):
            raise OSError(errno.ELOOP, "it is a link, which could lead elsewhere", path) from error
        error.filename = path
        raise


def _is_link(name: str, above: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except OSError:
        return False


def regular(fd: int, path: str) -> int:
    """Return an open file if it is a regular one, else close it.

    Raises:
        OSError: It is something else.
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    problem: str
    fix: str


def opening(path: Path, *, shared_folder: bool) -> Opening | None:
    """Return what gives other users access to a file; None if nothing does. Links are followed.

    The file and its folder must belong to this user or to root; nobody else may access the file, and nobody else may
    write in the folder.

    Args:
        path: An existing file.
        shared_folder: Whether a world-writable folder with the sticky bit, such as `/tmp`, is accepted. There nobody
            can replace the file, but they can add others.

    Raises:
        OSError: It does not exist, or cannot be read.
    """
    whole = path.resolve(strict=True)
    file, folder = whole.stat(), whole.parent.stat()
    for of, owner in ((whole, file.st_uid), (whole.parent, folder.st_uid)):
        if owner not in (os.geteuid(), 0):
            return Opening(
                problem=f"{of} belongs to another user (uid {owner})",
                fix=f"Run `chown {os.geteuid()} {of}` if you know what it is, or name another file.",
            )
    if file.st_mode & _OTHERS:
        return Opening(problem=f"mode {stat.S_IMODE(file.st_mode):04o}", fix=f"Run `chmod 600 {whole}`.")
    if folder.st_mode & _OTHERS_WRITE and not (shared_folder and folder.st_mode & stat.S_ISVTX):
        return Opening(
            problem=f"it in {whole.parent}, where others may write (mode {stat.S_IMODE(folder.st_mode):04o})",
            fix=f"Run `chmod go-w {whole.parent}`, or move it to a folder of your own.",
        )
    return None
