"""The one seam through which everything is written to a local file system.

Every call that changes the disk goes through `Disk.call`, one primitive at a time, in an order that is safe to lose
power in: a file's bytes are synced before its name appears where somebody reads it, and a folder is synced after a
name in it changed. Tests derive from `Disk` to fail, cut short or kill at the k-th call.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

from offsetwise.apply.digests import sha256_of_file
from offsetwise.errors import OutputError

_T = TypeVar("_T")
_FICLONE: Final = 0x40049409
"""Linux' ioctl that shares the blocks of another file."""
_CHUNK_BYTES: Final = 1 << 20
_NO_LINK: Final = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})
_REMEDIES: Final = {
    errno.ENOSPC: "Free space on that file system",
    errno.EDQUOT: "Raise the quota or free space",
    errno.EACCES: "Give this user write access there",
    errno.EPERM: "Give this user write access there",
    errno.EROFS: "Choose a place that is mounted for writing",
    errno.EIO: "Check the disk and the kernel's log",
}


class Disk:
    """Writes to the local file system."""

    syncers = 16
    """How many files are synced at once, where the order does not matter."""

    def call(self, name: str, path: str, action: Callable[[], _T]) -> _T:  # noqa: ARG002 - what tests fail it by
        """Do one primitive. `path` is what it changes."""
        try:
            return action()
        except OSError as error:
            if error.filename is None:
                error.filename = path
            raise

    def _write(self, fd: int, data: bytes | memoryview, path: str) -> int:
        return self.call("write", path, lambda: os.write(fd, data))

    def make_folder(self, path: str) -> None:
        """Make one folder. Its parent must be there."""
        self.call("mkdir", path, lambda: os.mkdir(path, 0o777))

    def make_parents(self, path: str) -> None:
        """Make a folder and those above it that are missing, durably."""
        missing = []
        while not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path)
        for one in reversed(missing):
            try:
                self.make_folder(one)
            except FileExistsError:
                continue
            self.sync_folder(os.path.dirname(one))

    def write_new(self, path: str, data: bytes, *, like: str | None = None, sync: bool = True) -> None:
        """Write a file that is not there yet.

        Args:
            path: The file.
            data: All of its bytes.
            like: A file whose permissions it gets.
            sync: Whether to sync it; left to `sync_all` where many files are written at once.

        Raises:
            FileExistsError: It is there.
        """
        fd = self.call("open", path, lambda: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        try:
            if like is not None:
                mode = stat.S_IMODE(os.stat(like).st_mode)
                self.call("chmod", path, lambda: os.fchmod(fd, mode))
            self._write_all(fd, data, path)
            if sync:
                self.call("fsync", path, lambda: os.fsync(fd))
        finally:
            os.close(fd)

    def append(self, fd: int, data: bytes, path: str) -> None:
        """Write all of the bytes to an open file, and sync it."""
        self._write_all(fd, data, path)
        self.call("fsync", path, lambda: os.fsync(fd))

    def _write_all(self, fd: int, data: bytes, path: str) -> None:
        left = memoryview(data)
        while left:
            done = self._write(fd, left, path)
            if done == 0:
                raise OSError(errno.EIO, "nothing was written", path)
            left = left[done:]

    def truncate(self, fd: int, size: int, path: str) -> None:
        """Cut an open file, and sync it."""
        self.call("truncate", path, lambda: os.ftruncate(fd, size))
        self.call("fsync", path, lambda: os.fsync(fd))

    def open_append(self, path: str) -> int:
        """Open a file for appending, made where it is missing, readable by its owner only; a link is refused."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        return self.call("open", path, lambda: os.open(path, flags, 0o600))

    def link(self, source: str, path: str) -> bool:
        """Give a file a second name; False where the file system cannot.

        Raises:
            FileExistsError: The name is taken.
        """
        try:
            self.call("link", path, lambda: os.link(source, path, follow_symlinks=False))
        except OSError as error:
            if error.errno in _NO_LINK:
                return False
            raise
        return True

    def copy(self, source: str, path: str) -> str | None:
        """Copy a file with its times and permissions, sharing its blocks where the file system can. Not synced yet.

        Returns:
            SHA-256 of the bytes that were copied, hex; None where the blocks are shared.
        """
        digest = None
        fd = self.call("open", path, lambda: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        try:
            with open(source, "rb", buffering=0) as reading:
                if not self._clone(fd, reading.fileno(), path):
                    digest = hashlib.sha256()
                    while chunk := reading.read(_CHUNK_BYTES):
                        digest.update(chunk)
                        self._write_all(fd, chunk, path)
            self.call("chmod", path, lambda: shutil.copystat(source, path))
        finally:
            os.close(fd)
        return None if digest is None else digest.hexdigest()

    def require_same(self, copied: Mapping[str, str]) -> None:
        """Read copies again, at once, and refuse one that does not hold what was copied.

        Args:
            copied: SHA-256 by path, as `copy` gave it.

        Raises:
            OSError: A copy holds something else.
        """
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for path, found in zip(copied, pool.map(sha256_of_file, copied), strict=True):
                if found != copied[path]:
                    raise OSError(errno.EIO, "the copy holds other bytes than were read", path)

    def _clone(self, fd: int, source_fd: int, path: str) -> bool:
        try:
            self.call("clone", path, lambda: fcntl.ioctl(fd, _FICLONE, source_fd))
        except OSError:
            return False
        return True

    def rename(self, source: str, path: str) -> None:
        """Move a file or folder; a file or an empty folder that has the name is replaced."""
        self.call("rename", path, lambda: os.rename(source, path))

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        try:
            self.call("unlink", path, lambda: os.unlink(path))
        except FileNotFoundError:
            return

    def remove_tree(self, path: str) -> None:
        """Remove a folder and everything in it; nothing happens where there is none. Links are not followed."""
        if not os.path.lexists(path):
            return
        for folder, folders, files in os.walk(path, topdown=False):
            for name in files:
                self.remove(os.path.join(folder, name))
            for name in folders:
                below = os.path.join(folder, name)
                if os.path.islink(below):
                    self.remove(below)
                else:
                    self._remove_folder(below)
        self._remove_folder(path)

    def _remove_folder(self, path: str) -> None:
        try:
            self.call("rmdir", path, lambda: os.rmdir(path))
        except FileNotFoundError:
            return

    def sync_file(self, path: str) -> None:
        """Make a file's bytes durable."""
        self._sync(path)

    def sync_folder(self, path: str) -> None:
        """Make the names in a folder durable."""
        self._sync(path or ".")

    def sync_all(self, paths: Iterable[str]) -> None:
        """Make many files or folders durable, in any order. At once, so that the disk flushes once for several."""
        with ThreadPoolExecutor(self.syncers) as pool:
            for _ in pool.map(self._sync, paths):
                pass

    def _sync(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.call("fsync", path, lambda: os.fsync(fd))
        finally:
            os.close(fd)


@contextmanager
def told(effect: str | Callable[[], str]) -> Iterator[None]:
    """Turn what the operating system says into an error that names the file and what to do.

    Args:
        effect: One sentence: what stands there now; asked for when something failed.

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
        fix=f"{remedy}, then give the same command again: it goes on from here.",
    )
