"""A JSON lines file to continue from after a crash: one process locks it, and each line is synced when it is written.

A crash may tear the last line. It was never synced as a whole, so the action that it announces did not begin, and it is
cut off. Only this user may have written the file.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from offsetwise import files
from offsetwise.apply.disk import Disk, explaining_os_errors
from offsetwise.errors import ApplyError, FileError
from offsetwise.regular_files import named_place

SUFFIX: Final = ".journal"
"""The suffix of a journal, after the name of the receipt or set."""
_GIVE_PATH: Final = "Give the path of the journal."


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalNoun:
    name: str
    """With its article."""
    only_one: str
    """The text after `expected to be the only one`, up to the noun of the locked file."""
    unrecorded: str
    """The sentence about the consequence if a line cannot be written."""


class JournalFile:
    def __init__(self, path: str, fd: int, disk: Disk, noun: JournalNoun, lines: list[bytes]) -> None:
        self.path = path
        self.lines = lines
        """The lines when it was opened, each with its newline; the first one is the header."""
        self._fd = fd
        self._disk = disk
        self._noun = noun
        self._size = sum(map(len, lines))
        self._broken = False

    @classmethod
    def open(cls, path: str, header: Mapping[str, Any], noun: JournalNoun, disk: Disk) -> Self:
        """Open a journal, or create it.

        Args:
            path: The file.
            header: Its first line if it is new.
            noun: Its name in messages.
            disk: The disk to write with.

        Raises:
            ApplyError: Another process holds it.
            OutputError: It cannot be written.
            FileError: Other users may access it, or it is no file.
        """
        with explaining_os_errors("Nothing was written."):
            fd = disk.open_append(named_place(path))
        try:
            return cls(path, fd, disk, noun, _locked_lines(path, fd, disk, header, noun))
        except BaseException:
            os.close(fd)
            raise

    def close(self) -> None:
        os.close(self._fd)

    def append(self, *values: Mapping[str, Any]) -> None:
        """Write a line for each value, all at once, and sync them.

        Raises:
            OutputError: They cannot be written.
            ApplyError: An earlier line could not be written, and its remainder could not be cut off.
        """
        if self._broken:
            raise ApplyError(
                f"{self.path}: expected to go on writing {self._noun.name}, found that an earlier line could not be "
                "written. Nothing more is done.",
                fix="Check the disk, then run the same command again: it continues from here.",
            )
        lines = b"".join(map(_line, values))
        try:
            with explaining_os_errors(self._noun.unrecorded):
                self._disk.append(self._fd, lines, self.path)
        except ApplyError:
            # The remainder of the line would damage the next one. A later start cuts it off as well.
            self._broken = True
            try:
                self._disk.truncate(self._fd, self._size, self.path)
            except OSError:
                pass
            else:
                self._broken = False
            raise
        self._size += len(lines)


def _locked_lines(path: str, fd: int, disk: Disk, header: Mapping[str, Any], noun: JournalNoun) -> list[bytes]:
    """Lock an open journal, cut off a torn last line, and return its lines."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ApplyError(
            f"{path}: expected to be the only one {noun.only_one} held by another process. Nothing was written.",
            fix="Wait until the other one has ended, then run the same command again.",
        ) from error
    data = _content(fd, path)
    lines = _whole_lines(data)
    size = sum(map(len, lines))
    with explaining_os_errors("Nothing was written."):
        if size < len(data):
            disk.truncate(fd, size, path)
        if not lines:
            lines = [_line(header)]
            disk.append(fd, lines[0], path)
        # The name, created by a run that ended before this line, may not be durable yet.
        if len(lines) == 1:
            disk.sync(os.path.dirname(named_place(path)))
    return lines


def read_lines(path: str, what: str, *, fix: str) -> list[bytes]:
    """Read the lines of a journal without its lock; nothing is written, and a torn last line is ignored.

    Args:
        path: The file.
        what: The expected kind of file, with its article.
        fix: The remedy if it cannot be opened.

    Returns:
        Its lines, each with its newline; empty if nothing had begun.

    Raises:
        FileError: It cannot be read, other users may access it, or it is no file.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FileError(
            f"{path}: expected {what}, but {error.strerror or error}. Nothing was changed.", fix=fix
        ) from error
    try:
        return _whole_lines(_content(fd, path))
    finally:
        os.close(fd)


def _content(fd: int, path: str) -> bytes:
    """Read an open journal. Applying continues from its content, so only this user may have access to it.

    Raises:
        FileError: It belongs to another user, others have access, it is no file, or it is larger than any journal.
    """
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        result, fix = "no regular file", _GIVE_PATH
    elif facts.st_uid != os.geteuid():
        result, fix = f"that of user {facts.st_uid}", "Let that user go on, or give another --receipt."
    elif facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        result = f"mode {stat.S_IMODE(facts.st_mode):04o}: others may have written it"
        fix = f"If it was fetched from where only you write, run `chmod 600 {path}`; else move it away."
    elif facts.st_size > files.MAX_BYTES:
        result, fix = f"more than {files.MAX_BYTES:,} bytes", _GIVE_PATH
    else:
        with open(fd, "rb", closefd=False) as stream:
            stream.seek(0)
            return stream.read(files.MAX_BYTES)
    raise FileError(
        f"{path}: expected a journal of this user's own, mode 0600, found {result}. Nothing was written.", fix=fix
    )


def _whole_lines(data: bytes) -> list[bytes]:
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode() + b"\n"
