"""Write our files as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from offsetwise import regular_files
from offsetwise.errors import FileError


def require_new(path: Path) -> None:
    """Raise if a file to write exists, or its folder does not, before anything is read for it.

    Raises:
        FileError: The name is taken, even by a broken link; or there is no such folder.
    """
    if os.path.lexists(path):
        raise _not_new(path, "something of that name exists")
    if not path.absolute().parent.is_dir():
        raise _not_new(path, f"there is no folder {path.absolute().parent}")


def write_new(path: Path, content: str | bytes) -> None:
    """Write a file that does not exist yet.

    Raises:
        FileError: It exists, or cannot be written.
    """
    try:
        with path.open("xb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise _not_new(path, error.strerror or str(error)) from error


def publish(path: Path, text: str, check: Callable[[Path], object], *, instead_of: bytes | None = None) -> None:
    """Write a file as a whole or not at all: a new one that only its owner may read, or a replacement.

    Args:
        path: The file.
        text: Its new content.
        check: Called with a temporary file with that text; its exception stops the write.
        instead_of: The present content of the file; None if it must not exist.

    Raises:
        FileError: The file exists, or has another content by now, or cannot be written. Nothing was changed.
    """
    path = Path(os.path.realpath(path)) if instead_of is not None else path
    temporary_path = _temporary_path(path)
    try:
        _write_whole(temporary_path, text, mode=0o600)
        check(temporary_path)
        if instead_of is None:
            os.link(temporary_path, path)
        elif regular_files.read_named(path, len(instead_of)) != instead_of:
            raise FileError(
                f"{path}: expected the file as it was read, found that somebody has changed it since. Nothing was "
                "written.",
                fix="Run the same command again.",
            )
        else:
            temporary_path.chmod(stat.S_IMODE(path.stat().st_mode))
            temporary_path.replace(path)
    except OSError as error:
        why = "something of that name exists" if isinstance(error, FileExistsError) else error.strerror or str(error)
        raise _not_new(path, why) from error
    finally:
        with suppress(OSError):
            temporary_path.unlink()


def write_over(path: Path, text: str) -> None:
    """Replace a file of ours: concurrent readers get the old or the new content as a whole.

    Raises:
        FileError: It cannot be written; the old file is unchanged.
    """
    temporary_path = _temporary_path(path)
    try:
        _write_whole(temporary_path, text, mode=0o666)
        temporary_path.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary_path.unlink()
        raise FileError(
            f"{path}: expected to write it, but {error.strerror or error}. It is as it was before.",
            fix="Make room, or name another folder; the same command then goes on with what is missing.",
        ) from error


def append_line(path: Path, line: str) -> None:
    """Append a line to a file of ours, which is created if missing, and sync it.

    Raises:
        FileError: It cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags, 0o666), "ab") as file:
            file.write(f"\n{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise FileError(
            f"{path}: expected to add a line to it, but {error.strerror or error}.",
            fix="Make room, or name another folder; the same command then goes on with what is missing.",
        ) from error


def _temporary_path(path: Path) -> Path:
    return path.with_name(f".offsetwise-{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _write_whole(path: Path, text: str, *, mode: int) -> None:
    """Write and sync a new file; its permissions are `mode` without the process's umask."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(fd)


def _not_new(path: Path, why: str) -> FileError:
    return FileError(
        f"{path}: expected to write a new file, but {why}. Nothing was written.",
        fix="Name a file that does not exist yet, in a folder that does.",
    )
