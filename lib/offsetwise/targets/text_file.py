"""The writer of targets that are one text file, which follows from the plan."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from offsetwise.apply.digests import sha256, sha256_of_file
from offsetwise.apply.disk import Disk, explaining_os_errors
from offsetwise.apply.publish import absent, journal_of
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.write_locations import local_place
from offsetwise.apply.writing import Context, FileChange, NumberChange, Preview, SeenPlace, StepStanding, Writer
from offsetwise.errors import ApplyError, OutputError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, Turnout, WrittenFile


def changed(plan: Plan, step: ReceiptStep, readers: Readers, text: str) -> list[seen.Seen]:
    """Return why a file is unreadable, or differs from the text of its plan; empty if it is equal."""
    folder, _, name = step.place.rpartition("/")
    data = readers.files(folder or "/", (name,)).get(name)
    if data is None:
        return seen.for_all(plan, Turnout.UNKNOWN, f"{step.place} cannot be read.")
    if data != text.encode():
        return seen.for_all(plan, Turnout.DIFFERENT, f"{step.place} is not the file that was written.")
    return []


def as_written(plan: Plan, step: ReceiptStep, since: str) -> list[seen.Seen]:
    message = f"{step.place} is as it was written; {since}."
    return [
        seen.Seen(found=position.new_offset, turnout=Turnout.CONFIRMED, told=message) for position in plan.positions
    ]


def verify_start(plan: Plan, step: ReceiptStep, readers: Readers, text: str) -> list[seen.Seen]:
    since = "where the job began, its first checkpoint tells"
    return changed(plan, step, readers, text) or as_written(plan, step, since)


def _known(plan: Plan, name: str) -> str:  # noqa: ARG001 - as of a text that an option of the job takes
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFileWriter(Writer):
    content: Callable[[Plan], tuple[str, tuple[NumberChange, ...]]]
    """Returns the text of the file, and its offsets, for a dry run.

    Raises:
        OffsetwiseError: The file cannot express the plan."""
    label: str
    """The noun for its content, in the terms of its engine."""
    parts: str
    """The noun for the parts of its content."""
    fix: str
    """The remedy if it cannot be written to a location."""
    use: Callable[[Plan, str], str] = _known
    """Returns the command that takes a file of that name; empty if users know it."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return the content that the file would have, without writing anything.

        Raises:
            OffsetwiseError: It cannot be written now; the message says why.
        """
        path = self._local_path(context.output, context)
        _require_absent(path)
        _, numbers = self.content(plan)
        return Preview(
            target=target,
            place=path,
            told=f"A {self.label} file with {len(plan.positions):,} {self.parts} would be written to {path}."
            + self._use_hint(plan, path),
            files=(FileChange(path=os.path.basename(path), what="made", numbers=numbers),),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the file, under the journal: as a whole or not at all, and never over another one.

        Raises:
            OffsetwiseError: The output is then missing or as it was before.
        """
        path = self._local_path(context.output, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is None and record.done is not None:
            with explaining_os_errors(f"{path} holds the whole file."):
                disk.remove(record.notes["tmp"])
            return record.done
        data = self.content(plan)[0].encode()
        intended = ReceiptStep(
            target=target,
            place=path,
            state=StepState.DONE,
            told=f"{path} gives {self.label} for {len(plan.positions):,} {self.parts}.{self._use_hint(plan, path)}",
            files=(WrittenFile(path=os.path.basename(path), sha256=sha256(data)),),
        )
        with explaining_os_errors(f"{path} is as it was, or holds the whole file."):
            tmp = record.notes.get("tmp") if record.undone is None else None
            # The file is a hard link of the temporary one, so while both exist they show who wrote it.
            if tmp is None or not _same_file(tmp, path):
                disk.remove(tmp or f"{path}.tmp")
                _require_absent(path)
                disk.make_parents(os.path.dirname(path))
                tmp = f"{path}.tmp-{uuid.uuid4().hex}"
                journal.begin(context.step, intended, tmp=tmp)
                with _removed_on_failure(tmp, path, disk):
                    disk.write_new(tmp, data)
                    _publish(tmp, path, context)
            disk.sync(os.path.dirname(path))
            journal.done(context.step, intended)
            disk.remove(tmp)
        return intended

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Remove the file, if it is as it was written.

        Raises:
            ApplyError: It has another content now; or the disk returns an error.
        """
        path = self._local_path(step.place, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        tmp = record.notes.get("tmp")
        with explaining_os_errors(f"{path} is not removed yet."):
            linked = tmp is not None and _same_file(tmp, path)
            if record.done is not None or record.intended is None or linked or record.undoing:
                if self.look(plan, step, context).standing is StepStanding.CHANGED:
                    raise ApplyError(
                        f"{path}: expected the file that was written, found it changed. Nothing was removed.",
                        fix="Remove it by hand if nobody needs it.",
                    )
                journal.undoing(context.step)
                disk.remove(path)
            if tmp is not None:
                disk.remove(tmp)
            if os.path.isdir(os.path.dirname(path)):
                disk.sync(os.path.dirname(path))
            return journal.taken_back(context.step, step, f"{path} is gone.")

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        path = self._local_path(step.place, context)
        result = sha256_of_file(path)
        if result is None:
            return absent(step)
        if result != sha256(self.content(plan)[0].encode()):
            return SeenPlace(standing=StepStanding.CHANGED, told=f"{path} is not as it was written.")
        return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{path} is as it was written.")

    def _use_hint(self, plan: Plan, path: str) -> str:
        usage = self.use(plan, path)
        return f" Its system takes it by: {usage}" if usage else ""

    def _local_path(self, uri: str | None, context: Context) -> str:
        return local_place(uri, context.write_roots, what=f"file for {self.label}", fix=self.fix)


def writer_of_start(text: Callable[[Plan], str], *, label: str, fix: str) -> TextFileWriter:
    def content(plan: Plan) -> tuple[str, tuple[NumberChange, ...]]:
        return text(plan), ()

    return TextFileWriter(content=content, label=label, parts="shard(s)", fix=fix)


def _require_absent(path: str) -> None:
    if os.path.lexists(path):
        raise OutputError(
            f"{path}: expected no file, found something there. Nothing was written to it.",
            fix="Choose another output, or remove it if nobody needs it.",
        )


def _publish(tmp: str, path: str, context: Context) -> None:
    try:
        linked = context.disk.link(tmp, path)
    except FileExistsError:
        linked = False
    if not linked:
        # Without hard links no call can create a name only if it is free; checking before the rename is all that is
        # possible.
        _require_absent(path)
        context.disk.rename(tmp, path)


def _same_file(tmp: str, path: str) -> bool:
    return os.path.lexists(tmp) and os.path.lexists(path) and os.path.samefile(tmp, path)


@contextmanager
def _removed_on_failure(tmp: str, path: str, disk: Disk) -> Iterator[None]:
    """Remove a temporary file if writing it fails, unless it is already at its final path."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if not _same_file(tmp, path):
                disk.remove(tmp)
        raise
