"""Edited files: what a rewrite of a checkpoint or savepoint changes, for previews and receipts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from offsetwise.apply.digests import sha256
from offsetwise.apply.writing import Context, FileChange, NumberChange
from offsetwise.model import Plan, ReceiptStep, WrittenFile
from offsetwise.wording import many


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    path: str
    before: bytes | None
    """None for a new file."""
    after: bytes
    numbers: tuple[NumberChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edits:
    edits: tuple[FileEdit, ...]
    guard: str
    """The file that marks a copy on an object store as incomplete."""
    dropped: tuple[str, ...] = ()
    """Files that are left out."""
    sources: tuple[str, ...] = ()
    """Sources whose state is left out."""
    converted: tuple[str, ...] = ()
    """Sources whose state is converted to that of another connector."""
    repair: str = ""
    """The kind of repair; empty without a repair."""
    marked: int = 0
    """The number of a sink's transactions that are marked as committed."""

    @property
    def summary(self) -> str:
        marked = f" and {many(self.marked, 'transaction')} of the sink marked as committed" if self.marked else ""
        if self.sources:
            return f"without the state of {', '.join(self.sources)}{marked}"
        if self.converted:
            return f"with the state of {', '.join(self.converted)} converted"
        if self.repair and not any(edit.numbers for edit in self.edits):
            written = many(sum(edit.after != edit.before for edit in self.edits), "file")
            left_out = many(len(self.dropped), "file")
            return f"repaired ({self.repair}): {written} written, {left_out} left out"
        numbers = sum(change.after != change.before for edit in self.edits for change in edit.numbers)
        dropped = sum(not path.endswith(".crc") for path in self.dropped)
        more = f" and {dropped:,} later file(s) left out" if dropped else ""
        files = sum(bool(edit.numbers) for edit in self.edits)
        return f"with {numbers:,} number(s) changed in {files:,} file(s){more}{marked}"

    def written(self, *, kept_in: str | None = None) -> tuple[WrittenFile, ...]:
        """Return the edited and dropped files as a receipt records them.

        Args:
            kept_in: The folder that originals are kept in; None if they are not changed.
        """
        edited = [
            WrittenFile(
                path=edit.path,
                sha256=sha256(edit.after),
                before_sha256=None if edit.before is None else sha256(edit.before),
                kept_as=None if kept_in is None else f"{kept_in}/{edit.path}",
            )
            for edit in self.edits
        ]
        dropped = [
            WrittenFile(path=path, sha256=None, kept_as=None if kept_in is None else f"{kept_in}/{path}")
            for path in self.dropped
        ]
        return (*edited, *dropped)

    def changes(self) -> tuple[FileChange, ...]:
        edited = (
            FileChange(path=edit.path, what="made" if edit.before is None else "edited", numbers=edit.numbers)
            for edit in self.edits
            if edit.numbers
            or ((self.repair or self.sources or self.converted or self.marked) and edit.after != edit.before)
        )
        dropped = (FileChange(path=path, what="dropped") for path in self.dropped if not path.endswith(".crc"))
        return (*edited, *dropped)


Decide = Callable[[Plan, Context], Edits]
"""Returns the edits of a plan to its checkpoint, after checking that a reader finds the planned positions."""
Foreign = Callable[[Plan, ReceiptStep, Context], str | None]
"""Returns why a folder is not one that a plan wrote; None if it is."""
