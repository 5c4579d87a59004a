"""The journal of a plan: a synced line for each event, so that any prefix of it is enough to continue.

A JSON lines file next to the receipt, whose first line names the plan by its digest. A line is on disk before the
action that it announces starts, so a step without a line, or with a torn one, has not begun. The lines of steps that
begin together are written and synced together, in ascending order, before any of the steps: a crash leaves the first
few lines, and none of the steps had begun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Final, Self

from pydantic import TypeAdapter, ValidationError

from offsetwise.apply.disk import Disk
from offsetwise.apply.journal_file import JournalFile, JournalNoun, read_lines
from offsetwise.errors import ApplyError, FileError
from offsetwise.files import check_header, read_object
from offsetwise.model import ReceiptStep, StepState

KIND: Final = "journal"
_VERSION: Final = "1.0"
_STEP: Final = TypeAdapter(ReceiptStep)
_NOUN: Final = JournalNoun(
    name="the journal",
    only_one="who applies with this journal, found it",
    unrecorded="What it announces is not recorded.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    intended: ReceiptStep | None = None
    """What the step was to write; None if it did not begin."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """The notes that its writer needs to continue, since the step began."""
    done: ReceiptStep | None = None
    undoing: bool = False
    undone: ReceiptStep | None = None

    @property
    def stands(self) -> bool:
        """Whether the step began and was not undone: some of its output may exist."""
        return self.intended is not None and self.undone is None

    @property
    def whole(self) -> bool:
        return self.done is not None and self.undone is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The content of a journal, read without its lock."""

    digest: str
    """The plan's digest, hex."""
    begun_at: str
    """ISO 8601, UTC."""
    steps: Mapping[int, StepRecord]
    """The steps that began, by index."""


def read_journal(path: str) -> Recorded:
    """Read a journal without its lock; nothing is written, and a torn last line is ignored.

    Raises:
        FileError: It cannot be read, other users may access it, nothing had begun, a line before the last is damaged,
            or it is another kind of file.
    """
    recorded = read_if_begun(path)
    if recorded is None:
        raise _nothing_begun(path)
    return recorded


def read_if_begun(path: str) -> Recorded | None:
    """Read a journal as `read_journal` does; return None for one without a whole line, which a crash has left.

    Raises:
        FileError: It cannot be read, other users may access it, a line before the last is damaged, or it is another
            kind of file.
    """
    lines = read_lines(path, "a journal", fix="Give the path of the journal.")
    if not lines:
        return None
    header = _header(lines[0], path)
    return Recorded(digest=header["plan"], begun_at=header["begun_at"], steps=_steps(lines, path))


class Journal:
    """The journal of one application of one plan. Its file is locked until it is closed."""

    def __init__(self, file: JournalFile, header: Mapping[str, Any]) -> None:
        self.path = file.path
        self.digest = str(header["plan"])
        self.begun_at = str(header["begun_at"])
        self._file = file
        self._records = _steps(file.lines, file.path)

    @classmethod
    def open(
        cls,
        path: str,
        *,
        digest: str,
        begun_at: str,
        disk: Disk | None = None,
    ) -> Self:
        """Open a journal, or create it.

        Args:
            path: The file.
            digest: The plan's digest, hex.
            begun_at: When this application began, ISO 8601, UTC; recorded if the journal is new.
            disk: The disk to write with.

        Raises:
            ApplyError: Another process holds it, or it belongs to another plan.
            OutputError: It cannot be written.
            FileError: Other users may access it, a line before the last is damaged, or it is another kind of file.
        """
        header = {"format": f"offsetwise/{KIND}", "format_version": _VERSION, "plan": digest, "begun_at": begun_at}
        file = JournalFile.open(path, header, _NOUN, disk or Disk())
        try:
            first = _header(file.lines[0], path)
            check_plan(first["plan"], digest, path)
            return cls(file, first)
        except BaseException:
            file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def records(self) -> Mapping[int, StepRecord]:
        return self._records

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(sorted(self._records))

    def record(self, step: int) -> StepRecord:
        return self._records.get(step, StepRecord())

    def begin(self, step: int, intended: ReceiptStep, **notes: str) -> None:
        """Record that a step begins, and what it will write. Notes of an earlier attempt are discarded."""
        self._add({"event": "begun", "step": step, "result": _dumped(intended), "notes": notes})

    def begin_together(self, intended: Mapping[int, ReceiptStep]) -> None:
        """Record that steps begin. None of them may start before this returns."""
        self._add(
            *(
                {"event": "begun", "step": step, "result": _dumped(intended[step]), "notes": {}}
                for step in sorted(intended)
            )
        )

    def note(self, step: int, **notes: str) -> None:
        self._add({"event": "noted", "step": step, "notes": notes})

    def done(self, step: int, result: ReceiptStep) -> ReceiptStep:
        self._add({"event": "done", "step": step, "result": _dumped(result)})
        return result

    def done_together(self, results: Mapping[int, ReceiptStep]) -> None:
        self._add(*({"event": "done", "step": step, "result": _dumped(results[step])} for step in sorted(results)))

    def undoing(self, step: int, **notes: str) -> None:
        self._add({"event": "undoing", "step": step, "notes": notes})

    def undone(self, step: int, result: ReceiptStep) -> ReceiptStep:
        self._add({"event": "undone", "step": step, "result": _dumped(result)})
        return result

    def taken_back(self, step: int, written: ReceiptStep, told: str) -> ReceiptStep:
        """Record that the output of a step was removed or restored, and return the step in its new state."""
        return self.undone(step, replace(written, state=StepState.UNDONE, told=told))

    def _add(self, *events: dict[str, Any]) -> None:
        if not events:
            return
        self._file.append(*events)
        for event in events:
            _replay(self._records, event, self.path, 0)


def check_plan(recorded: str, digest: str, path: str) -> None:
    """Raise if a journal belongs to another plan.

    Raises:
        ApplyError: It does.
    """
    if recorded != digest:
        raise ApplyError(
            f"{path}: expected the journal of plan {digest[:12]}, found that of plan {recorded[:12]}. "
            "Nothing was written.",
            fix="Give another --receipt, or go on with the plan that the journal names.",
        )


def _header(line: bytes, path: str) -> dict[str, Any]:
    header = read_object(line, subject=f"{path}, line 1")
    check_header(header, KIND, subject=path)
    if not isinstance(header.get("plan"), str) or not isinstance(header.get("begun_at"), str):
        raise _damaged(path, 1, "it names no plan")
    return header


def _steps(lines: Sequence[bytes], path: str) -> dict[int, StepRecord]:
    results: dict[int, StepRecord] = {}
    for number, line in enumerate(lines[1:], start=2):
        _replay(results, read_object(line, subject=f"{path}, line {number}"), path, number)
    return results


def _replay(records: dict[int, StepRecord], event: Mapping[str, Any], path: str, number: int) -> None:
    kind, step, notes = event.get("event"), event.get("step"), event.get("notes", {})
    if type(step) is not int or step < 0:
        raise _damaged(path, number, "it names no step")
    if not isinstance(notes, dict) or not all(isinstance(value, str) for value in notes.values()):
        raise _damaged(path, number, "its notes are not texts")
    known = records.get(step, StepRecord())
    try:
        result = _STEP.validate_python(event["result"]) if "result" in event else None
    except ValidationError as error:
        raise _damaged(path, number, "its result cannot be read") from error
    if kind == "begun":
        known = StepRecord(intended=result, notes=notes)
    elif kind == "noted":
        known = replace(known, notes={**known.notes, **notes})
    elif kind == "done":
        known = replace(known, done=result)
    elif kind == "undoing":
        known = replace(known, undoing=True, notes={**known.notes, **notes})
    elif kind == "undone":
        known = replace(known, undone=result)
    else:
        raise _damaged(path, number, f"its event is {kind!r}")
    records[step] = known


def _dumped(step: ReceiptStep) -> Any:
    fields = _STEP.dump_python(step, mode="json")
    return {key: value for key, value in fields.items() if key not in ("leases", "table") or value}


def _nothing_begun(path: str) -> FileError:
    return FileError(
        f"{path}: expected a journal, found an empty file: nothing had begun. Nothing was changed.",
        fix="There is nothing to roll back. Apply the plan if it is to be written.",
    )


def _damaged(path: str, number: int, what: str) -> FileError:
    return FileError(
        f"{path}: expected a line of a journal, found line {number} damaged: {what}. Nothing was written.",
        fix="Restore the journal from a copy; without one, compare what is at the target with the plan by hand.",
    )
