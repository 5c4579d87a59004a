"""The journal of a set: which plans began, ended and failed, a synced line each, and a lock.

A JSON lines file next to the file of the set. The progress of a single plan is in its own journal and receipt; this one
only decides the order in which plans are rolled back. Its lock lets one process at a time apply the set or roll it
back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import TracebackType
from typing import Final, Self

from pydantic import TypeAdapter, ValidationError

from offsetwise.apply.disk import Disk
from offsetwise.apply.journal_file import JournalFile, JournalNoun, read_lines
from offsetwise.errors import ApplyError, FileError
from offsetwise.files import check_header, read_object

KIND: Final = "set-journal"
_VERSION: Final = "1.0"
_NOUN: Final = JournalNoun(
    name="the journal of the set",
    only_one="at work on this set of plans, found its journal",
    unrecorded="The set's journal lacks that line; the journal of each plan says what was written.",
)


class SetAction(StrEnum):
    APPLY = "apply"
    ROLLBACK = "rollback"


class EventKind(StrEnum):
    BEGAN = "began"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEvent:
    action: SetAction
    event: EventKind
    job: str
    """The name in the set."""
    plan: str
    """The plan's digest, hex."""
    at: str
    """ISO 8601, UTC."""
    problem: str | None = None
    """Why it failed."""


_EVENT: Final = TypeAdapter(SetEvent)


class SetJournal:
    """The journal of one set. Its file is locked until it is closed."""

    def __init__(self, file: JournalFile) -> None:
        self.events = list(_events(file.lines[1:], file.path))
        """All events, the earliest first."""
        self._file = file

    @classmethod
    def open(cls, path: str, *, digest: str, begun_at: str, disk: Disk) -> Self:
        """Open the journal of a set, or create it.

        Args:
            path: The file.
            digest: The digest of the set's file, hex.
            begun_at: When this application began, ISO 8601, UTC; recorded if the journal is new.
            disk: The disk to write with.

        Raises:
            ApplyError: Another process holds it, or it belongs to another set.
            OutputError: It cannot be written.
            FileError: Other users may access it, a line before the last is damaged, or it is another kind of file.
        """
        header = {"format": f"offsetwise/{KIND}", "format_version": _VERSION, "set": digest, "begun_at": begun_at}
        file = JournalFile.open(path, header, _NOUN, disk)
        try:
            _check_header(file.lines[0], digest, path)
            return cls(file)
        except BaseException:
            file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def record(self, event: SetEvent) -> None:
        """Write and sync one line.

        Raises:
            OutputError: It cannot be written.
            ApplyError: An earlier line could not be written, and its remainder could not be cut off.
        """
        self._file.append({key: value for key, value in asdict(event).items() if value is not None})
        self.events.append(event)


def events_of(path: str, digest: str) -> tuple[SetEvent, ...]:
    """Return the events in the journal of a set, read without its lock; empty if there is no journal.

    Raises:
        FileError: It cannot be read, other users may access it, a line before the last is damaged, or it is another
            kind of file.
        ApplyError: It belongs to another set.
    """
    if not os.path.lexists(path):
        return ()
    lines = read_lines(path, "the journal of a set of plans", fix="Give this user the right to read it.")
    if not lines:
        return ()
    _check_header(lines[0], digest, path)
    return tuple(_events(lines[1:], path))


def applied_order(plans: Iterable[str], events: Iterable[SetEvent]) -> tuple[str, ...]:
    """Return plans in the order in which they were applied, by the events of their set.

    Plans without events come first, in the given order: they were applied without the set. Those that began and never
    ended come last.

    Args:
        plans: The digests of applied plans, in the order of the set.
        events: The events of the set's journal.
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
