"""The only interface through which files are written to a local file system.

Every call that changes the disk goes through `Disk.call`, one primitive at a time, in an order that survives a loss of
power: a file's bytes are synced before its name appears where it is read, and a folder is synced after a name in it has
changed. Tests derive from `Disk` to fail, cut short or kill at the k-th call.

Paths are absolute and without links, as `place_to_write` and `named_place` return them. Every call opens the parent
folder without following links and uses the name relative to it, so that replacing a folder by a link during a write has
no effect.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import Final, TypeVar

from offsetwise.apply.digests import sha256_of_file
from offsetwise.errors import OutputError
from offsetwise.regular_files import Folders, below, regular

_T = TypeVar("_T")
_FICLONE: Final = 0x40049409
"""The ioctl of Linux that shares the blocks of another file."""
_CHUNK_BYTES: Final = 1 << 20
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SYNCED: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_KEPT: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENODATA, errno.EINVAL, errno.EACCES})
"""The errors of a file system that does not support or permit an attribute."""
_NO_LINK: Final = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})
_REMEDIES: Final = {
    errno.ENOSPC: "Free space on that file system",
    errno.EDQUOT: "Raise the quota or free space",
    errno.EACCES: "Give this user write access there",
    errno.EPERM: "Give this user write access there",
    errno.EROFS: "Choose a folder that is mounted for writing",
    errno.EIO: "Check the disk and the kernel's log",
}


class Disk:
    syncers = 16
    """How many files are synced in parallel, if their order does not matter."""

    @cached_property
    def _folders(self) -> Folders:
        return Folders()

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:  # noqa: ARG002 - what tests fail it by
        try:
            return action()
        except OSError as error:
            if error.filename is None or not os.path.isabs(error.filename):
                error.filename = path  # for a name in an open folder the system reports only the name
            raise

    def _do(self, name: str, path: str, action: Callable[[str, int], _T]) -> _T:
        return self.call(name, path, lambda: self._folders.within(path, action))

    def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
        return self.call("write", path, lambda: os.write(fd, data))

    def make_folder(self, path: str, *, like: str | None = None) -> None:
        """Create one folder, whose parent must exist.

        Args:
            path: The folder.
            like: A folder whose permissions it gets, besides write access for the owner; if None, only the owner has
                access.
        """
        self._do("mkdir", path, lambda name, at: os.mkdir(name, 0o700, dir_fd=at))
        if like is not None:
            fd = self._folders.open_folder(path)
            try:
                self._permit(fd, self._facts(like), path)
            finally:
                os.close(fd)

    def make_parents(self, path: str, *, like: str | None = None) -> None:
        missing = []
        while self._folders.stat(path) is None:
            missing.append(path)
            path = os.path.dirname(path)
        for folder in reversed(missing):
            try:
                self.make_folder(folder, like=like)
            except FileExistsError:
                continue
            self.sync(os.path.dirname(folder))

    def _facts(self, path: str) -> os.stat_result:
        result = self._folders.stat(path)
        if result is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return result

    def _permit(self, fd: int, like: os.stat_result, path: str) -> None:
        """Set the permissions of another file or folder on an open one, never more than that one has."""
        self.call("chmod", path, partial(_permit, fd, like))

    def write_new(self, path: str, data: bytes, *, like: str | None = None, sync: bool = True) -> None:
        """Write a new file.

        Args:
            path: The file.
            data: Its content.
            like: A file whose permissions it gets; if None, only the owner has access.
            sync: Whether to sync it; False if `sync_all` follows for many files.

        Raises:
            FileExistsError: The file exists.
        """
        fd = self._open_new(path)
        try:
            if like is not None:
                self._permit(fd, self._facts(like), path)
            self._write_all(fd, data, path)
            if sync:
                self.call("fsync", path, lambda: os.fsync(fd))
        finally:
            os.close(fd)

    def _open_new(self, path: str) -> int:
        return self._do("open", path, lambda name, at: os.open(name, _NEW_FILE, 0o600, dir_fd=at))

    def append(self, fd: int, data: bytes, path: str) -> None:
        self._write_all(fd, data, path)
        self.call("fsync", path, lambda: os.fsync(fd))

    def _write_all(self, fd: int, data: bytes, path: str) -> None:
        remaining = memoryview(data)
        while remaining:
            done = self._write(fd, remaining, path)
            if done == 0:
                raise OSError(errno.EIO, "nothing was written", path)
            remaining = remaining[done:]

    def truncate(self, fd: int, size: int, path: str) -> None:
        self.call("truncate", path, lambda: os.ftruncate(fd, size))
        self.call("fsync", path, lambda: os.fsync(fd))

    def open_append(self, path: str) -> int:
        """Open a regular file for appending; if it is missing, create it readable for its owner only."""
        return self._do("open", path, lambda name, at: regular(os.open(name, _APPEND, 0o600, dir_fd=at), path))

    def link(self, source: str, path: str) -> bool:
        """Create a hard link; return False if the file system does not support it.

        Raises:
            FileExistsError: The name is taken.
        """

        def linked(old: str, there: int) -> None:
            self._folders.within(path, partial(_link, old, there))

        try:
            self.call("link", path, lambda: self._folders.within(source, linked))
        except OSError as error:
            if error.errno in _NO_LINK:
                return False
            raise
        if not stat.S_ISREG(self._facts(path).st_mode):
            self.remove(path)
            raise OSError(errno.ELOOP, f"{source} has become something else than a regular file", path)
        return True

    def copy(self, source: str, path: str) -> str | None:
        """Copy a file with its times and permissions, sharing its blocks if the file system can; it is not synced.

        Returns:
            SHA-256 of the copied bytes, hex; None if the blocks are shared.
        """
        digest = None
        reading = self._folders.open_file(source)
        try:
            fd = self._open_new(path)
            try:
                if not self._clone(fd, reading, path):
                    digest = hashlib.sha256()
                    while chunk := os.read(reading, _CHUNK_BYTES):
                        digest.update(chunk)
                        self._write_all(fd, chunk, path)
                self.call("chmod", path, partial(_resemble, fd, reading))
            finally:
                os.close(fd)
        finally:
            os.close(reading)
        return None if digest is None else digest.hexdigest()

    def require_same(self, copied: Mapping[str, str]) -> None:
        """Read copies again in parallel, and raise if one has other content.

        Args:
            copied: SHA-256 by path, as returned by `copy`.

        Raises:
            OSError: A copy has other content.
        """
        digest = partial(sha256_of_file, folders=self._folders)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for path, result in zip(copied, pool.map(digest, copied), strict=True):
                if result != copied[path]:
                    raise OSError(errno.EIO, "the copy holds other bytes than were read", path)

    def _clone(self, fd: int, source_fd: int, path: str) -> bool:
        try:
            self.call("clone", path, lambda: fcntl.ioctl(fd, _FICLONE, source_fd))
        except OSError:
            return False
        return True

    def rename(self, source: str, path: str) -> None:
        """Move a file or folder; an existing file or empty folder of that name is replaced."""

        def renamed(old: str, there: int) -> None:
            self._folders.within(path, lambda name, at: os.rename(old, name, src_dir_fd=there, dst_dir_fd=at))

        def anew() -> None:
            # The rename goes to where the path leads now; what had the name before is another folder.
            self._folders.forget()
            try:
                self._folders.within(source, renamed)
            finally:
                self._folders.forget()

        self.call("rename", path, anew)

    def remove(self, path: str) -> None:
        try:
            self._do("unlink", path, lambda name, at: os.unlink(name, dir_fd=at))
        except FileNotFoundError:
            return

    def remove_tree(self, path: str) -> None:
        """Remove a folder with its content, without following links; do nothing if it is missing."""
        try:
            with self._folders.listed(path) as entries:
                results = [(below(path, entry.name), entry.is_dir(follow_symlinks=False)) for entry in entries]
        except FileNotFoundError:
            return
        for name, is_folder in results:
            if is_folder:
                self.remove_tree(name)
            else:
                self.remove(name)
        self._remove_folder(path)

    def _remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._do("rmdir", path, lambda name, at: os.rmdir(name, dir_fd=at))
        self._folders.forget()

    def sync_all(self, paths: Iterable[str]) -> None:
        """Sync files or folders in any order, in parallel, so that one flush of the disk covers several."""
        with ThreadPoolExecutor(self.syncers) as pool:
            for _ in pool.map(self.sync, paths):
                pass

    def sync(self, path: str) -> None:
        fd = self._folders.within(path, lambda name, at: os.open(name, _SYNCED, dir_fd=at))
        try:
            self.call("fsync", path, lambda: os.fsync(fd))
        finally:
            os.close(fd)


def _link(old: str, there: int, name: str, at: int) -> None:
    os.link(old, name, src_dir_fd=there, dst_dir_fd=at, follow_symlinks=False)


def _permit(fd: int, like: os.stat_result) -> None:
    mode, result = stat.S_IMODE(like.st_mode), os.fstat(fd)
    if stat.S_ISDIR(result.st_mode):
        mode |= stat.S_IRWXU
    if result.st_gid != like.st_gid:
        try:
            os.fchown(fd, -1, like.st_gid)
        except PermissionError:
            # A user outside that group cannot assign files to it; this user's own group gets the permissions of others.
            mode = mode & ~(stat.S_IRWXG | stat.S_ISGID) | (mode & stat.S_IRWXO) << 3
    os.fchmod(fd, mode)


def _resemble(fd: int, original: int) -> None:
    result = os.fstat(original)
    with suppress(AttributeError):  # macOS has no such calls
        for name in os.listxattr(original):
            try:
                os.setxattr(fd, name, os.getxattr(original, name))
            except OSError as error:
                if error.errno not in _NOT_KEPT:
                    raise
    _permit(fd, result)
    os.utime(fd, ns=(result.st_atime_ns, result.st_mtime_ns))


@contextmanager
def explaining_os_errors(effect: str | Callable[[], str]) -> Iterator[None]:
    """Convert an `OSError` to an error that names the file and the remedy.

    Args:
        effect: One sentence about the state after the failure, or a function that returns it; called only after one.

    Raises:
        OutputError: A file could not be written.
    """
    try:
        yield
    except OSError as error:
        raise _output_error(error, effect if isinstance(effect, str) else effect()) from error


def _output_error(error: OSError, effect: str) -> OutputError:
    code = error.errno or 0
    reason = error.strerror or str(error)
    name = errno.errorcode.get(code, "")
    remedy = _REMEDIES.get(code, "Find out why it cannot be written")
    return OutputError(
        f"{error.filename}: expected to write it, found {reason}{f' ({name})' if name else ''}. {effect}",
        fix=f"{remedy}, then run the same command again: it continues from here.",
    )
