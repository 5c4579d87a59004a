"""Which plans of a set began, ended and failed, one synced line each, and who is at work on the set.

A JSON lines file beside the file of the set. How far a single plan is, its own journal and receipt say: nothing is
decided by this one but the order in which plans are taken back. Its lock lets one process at a time apply a set or take
it back. A last line that a crash has torn is cut off.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Self

from pydantic import TypeAdapter, ValidationError

from offsetwise.apply.disk import Disk, told
from offsetwise.apply.journal import content_of
from offsetwise.errors import ApplyError, FileError
from offsetwise.files import check_header, read_object
from offsetwise.regular_files import named_place

KIND: Final = "set-journal"
SUFFIX: Final = ".journal"
"""Of the journal's file, after the name of the set's."""
_VERSION: Final = "1.0"


class SetAction(StrEnum):
    """What is done with the plans of a set."""

    APPLY = "apply"
    ROLLBACK = "rollback"


class EventKind(StrEnum):
    """How far an action on one plan came."""

    BEGAN = "began"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEvent:
    """One line of the journal of a set."""

    action: SetAction
    event: EventKind
    job: str
    """As the set names it."""
    plan: str
    """The plan's digest, hex."""
    at: str
    """ISO 8601, UTC."""
    problem: str | None = None
    """Why it failed."""


_EVENT: Final = TypeAdapter(SetEvent)


class SetJournal:
    """The journal of one set. It holds a lock on its file until it is closed."""

    def __init__(self, path: str, fd: int, disk: Disk, lines: Sequence[bytes]) -> None:
        self.path = path
        self.events = list(_events(lines[1:], path))
        """All of them, the earliest first."""
        self._fd = fd
        self._disk = disk
        self._size = sum(map(len, lines))
        self._broken = False

    @classmethod
    def open(cls, path: str, *, digest: str, begun_at: str, disk: Disk) -> Self:
        """Open the journal of a set, or begin one.

        Args:
            path: The file.
            digest: The digest of the set's file, hex.
            begun_at: When this application began, ISO 8601, UTC; kept when the journal is new.
            disk: Where it is written.

        Raises:
            ApplyError: Another process holds it, or it belongs to another set.
            OutputError: It cannot be written.
            FileError: It is not this user's alone, damaged before its last line, or something else.
        """
        with told("Nothing was written."):
            fd = disk.open_append(named_place(path))
        header = {"format": f"offsetwise/{KIND}", "format_version": _VERSION, "set": digest, "begun_at": begun_at}
        try:
            return cls(path, fd, disk, _lines_of(path, fd, disk, header))
        except BaseException:
            os.close(fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._fd)  # and so its lock

    def record(self, event: SetEvent) -> None:
        """Write one line; it is on the disk when this returns.

        Raises:
            OutputError: It cannot be written.
            ApplyError: An earlier line could not be written, and what is left of it could not be cut off.
        """
        if self._broken:
            raise ApplyError(
                f"{self.path}: expected to go on writing the journal of the set, found that an earlier line could not "
                "be written. Nothing more is done.",
                fix="See to the disk, then give the same command again: it goes on from here.",
            )
        line = _line({key: value for key, value in asdict(event).items() if value is not None})
        try:
            with told("The set's journal lacks that line; the journal of each plan says what was written."):
                self._disk.append(self._fd, line, self.path)
        except ApplyError:
            self._broken = True
            with suppress(OSError):
                self._disk.truncate(self._fd, self._size, self.path)
                self._broken = False
            raise
        self._size += len(line)
        self.events.append(event)


def events_of(path: str, digest: str) -> tuple[SetEvent, ...]:
    """Return what the journal of a set says, read without its lock; nothing where there is none.

    Raises:
        FileError: It cannot be read, is not this user's alone, damaged before its last line, or something else.
        ApplyError: It belongs to another set.
    """
    if not os.path.lexists(path):
        return ()
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise FileError(
            f"{path}: expected the journal of a set of plans, but {error.strerror or error}. Nothing was changed.",
            fix="Give this user the right to read it.",
        ) from error
    try:
        lines = _whole_lines(content_of(fd, path))
    finally:
        os.close(fd)
    if not lines:
        return ()
    _check_header(lines[0], digest, path)
    return tuple(_events(lines[1:], path))


def applied_order(plans: Iterable[str], events: Iterable[SetEvent]) -> tuple[str, ...]:
    """Return plans in the order in which they were applied, by the events of their set.

    Those that no event is about come first, in the order given: whoever applied them did it without the set. Those
    that began and never ended come last.

    Args:
        plans: The digests of plans that were applied, in the order of the set.
        events: What the set's journal says.
    """
    ended: dict[str, int] = {}
    begun: dict[str, int] = {}
    for number, event in enumerate(events):
        if event.event is EventKind.ENDED and event.action is SetAction.ROLLBACK:
            ended.pop(event.plan, None)
            begun.pop(event.plan, None)
        elif event.action is SetAction.APPLY and event.event is not EventKind.FAILED:
            (ended if event.event is EventKind.ENDED else begun).setdefault(event.plan, number)

    def when(plan: str) -> tuple[int, int]:
        if plan in ended:
            return 1, ended[plan]
        return (2, begun[plan]) if plan in begun else (0, 0)

    return tuple(sorted(plans, key=when))


def _lines_of(path: str, fd: int, disk: Disk, header: dict[str, str]) -> list[bytes]:
    """Lock an open journal, cut off what a crash has left of its last line, and return its lines."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ApplyError(
            f"{path}: expected to be the only one at work on this set of plans, found its journal held by another "
            "process. Nothing was written.",
            fix="Wait until the other one has ended, then give the same command again.",
        ) from error
    data = content_of(fd, path)
    lines = _whole_lines(data)
    size = sum(map(len, lines))
    with told("Nothing was written."):
        if size < len(data):
            disk.truncate(fd, size, path)
        if not lines:
            lines = [_line(header)]
            disk.append(fd, lines[0], path)
            disk.sync_folder(os.path.dirname(named_place(path)))
    _check_header(lines[0], header["set"], path)
    return lines


def _whole_lines(data: bytes) -> list[bytes]:
    return data[: data.rfind(b"\n") + 1].splitlines(keepends=True)


def _check_header(line: bytes, digest: str, path: str) -> None:
    header = read_object(line, subject=f"{path}, line 1")
    check_header(header, KIND, subject=path)
    if header.get("set") != digest:
        raise ApplyError(
            f"{path}: expected the journal of the set of plans {digest[:12]}, found that of "
            f"{str(header.get('set'))[:12]}: the set was edited or drafted again after it had begun. "
            "Nothing was written.",
            fix="Put back the file of the set as it was, and go on with that.",
        )


def _events(lines: Iterable[bytes], path: str) -> Iterable[SetEvent]:
    for number, line in enumerate(lines, start=2):
        body = read_object(line, subject=f"{path}, line {number}")
        try:
            yield _EVENT.validate_python(body)
        except ValidationError as error:
            raise FileError(
                f"{path}: expected a line of a set's journal, found line {number} damaged. Nothing was written.",
                fix="Restore it from a copy; without one, move it away: each plan has a journal of its own, and "
                "plans are then taken back in the reverse order of the set.",
            ) from error


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode() + b"\n"
