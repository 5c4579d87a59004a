"""The content and digest of local files; None for a missing file.

The paths are below write locations, so links that somebody put there are rejected, and so are pipes.
"""

from __future__ import annotations

import errno
import hashlib
import os

from offsetwise.errors import OutputError
from offsetwise.regular_files import Folders, read
from offsetwise.storage.folders import MAX_READ_BYTES


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def bytes_of(path: str) -> bytes | None:
    """Return the content of a file.

    Raises:
        OutputError: It is no regular file, or a part of its path is a link.
    """
    fd = _opened(path, Folders())
    return None if fd is None else read(fd, MAX_READ_BYTES)


def sha256_of_file(path: str, folders: Folders | None = None) -> str | None:
    """Return the SHA-256 of a file of any size, hex.

    Raises:
        OutputError: It is no regular file, or a part of its path is a link.
    """
    fd = _opened(path, folders or Folders())
    if fd is None:
        return None
    with os.fdopen(fd, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def names_in(path: str) -> list[str]:
    """Return the names in a folder, sorted; empty if there is no folder.

    Raises:
        OutputError: A part of its path is a link.
    """
    try:
        return Folders().names(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _exchanged(error, path, "a folder") from error


def _opened(path: str, folders: Folders) -> int | None:
    try:
        return folders.open_file(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _exchanged(error, path, "a regular file") from error


def _exchanged(error: OSError, path: str, expected: str) -> OSError | OutputError:
    if error.errno not in (errno.ELOOP, errno.EINVAL):
        return error
    return OutputError(
        f"{error.filename or path}: expected {expected}, found that {error.strerror}. Nothing of it was read.",
        fix="Find out who put it there, put back what was there before, then run the same command again.",
    )
