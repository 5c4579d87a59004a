"""The writer of targets that are one file of text, which follows from the plan."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from offsetwise.apply.digests import sha256, sha256_of_file
from offsetwise.apply.disk import Disk, told
from offsetwise.apply.places import local_place
from offsetwise.apply.publish import absent, journal_of
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.writing import Context, FileChange, NumberChange, Preview, SeenPlace, StepStanding, Writer
from offsetwise.errors import ApplyError, OutputError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, Turnout, WrittenFile


def changed(plan: Plan, step: ReceiptStep, readers: Readers, text: str) -> list[seen.Seen]:
    """Report that a file cannot be read, or is not the text that follows from its plan; nothing where it is."""
    folder, _, name = step.place.rpartition("/")
    data = readers.files(folder or "/", (name,)).get(name)
    if data is None:
        return seen.for_all(plan, Turnout.UNKNOWN, f"{step.place} cannot be read.")
    if data != text.encode():
        return seen.for_all(plan, Turnout.DIFFERENT, f"{step.place} is not the file that was written.")
    return []


def as_written(plan: Plan, step: ReceiptStep, since: str) -> list[seen.Seen]:
    """Report that a file is the text that follows from its plan, and what the file alone cannot tell."""
    message = f"{step.place} is as it was written; {since}."
    return [
        seen.Seen(found=position.new_offset, turnout=Turnout.CONFIRMED, told=message) for position in plan.positions
    ]


def verify_start(plan: Plan, step: ReceiptStep, readers: Readers, text: str) -> list[seen.Seen]:
    """Hold the file of a start that no checkpoint of the job tells of against the text that follows from its plan."""
    since = "where the job began, its first checkpoint tells"
    return changed(plan, step, readers, text) or as_written(plan, step, since)


def _known(plan: Plan, name: str) -> str:  # noqa: ARG001 - as of a text that an option of the job takes
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFileWriter(Writer):
    """Writes one kind of file."""

    content: Callable[[Plan], tuple[str, tuple[NumberChange, ...]]]
    """Returns what the file says, and the offsets in it, as a dry run shows them.

    Raises:
        OffsetwiseError: The plan cannot be said so.
    """
    called: str
    """What it gives, in the words of its engine."""
    parts: str
    """What it gives that of."""
    fix: str
    """What to do where it cannot be written to a place."""
    use: Callable[[Plan, str], str] = _known
    """Returns the command that takes a file of that name; empty where its users know."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return what the file would hold. Nothing is written.

        Raises:
            OffsetwiseError: It could not be written as things stand; the message says why.
        """
        place = self._place(context.output, context)
        _require_absent(place)
        _, numbers = self.content(plan)
        return Preview(
            target=target,
            place=place,
            told=f"A {self.called} file with {len(plan.positions):,} {self.parts} would be written to {place}."
            + self._taken(plan, place),
            files=(FileChange(path=os.path.basename(place), what="made", numbers=numbers),),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the file, under the journal: whole or not at all, and never over another one.

        Raises:
            OffsetwiseError: There is nothing at the output then, or what stood there before.
        """
        place = self._place(context.output, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is None and record.done is not None:
            with told(f"{place} holds the whole file."):
                disk.remove(record.notes["tmp"])
            return record.done
        data = self.content(plan)[0].encode()
        intended = ReceiptStep(
            target=target,
            place=place,
            state=StepState.DONE,
            told=f"{place} gives {self.called} for {len(plan.positions):,} {self.parts}.{self._taken(plan, place)}",
            files=(WrittenFile(path=os.path.basename(place), sha256=sha256(data)),),
        )
        with told(f"{place} is as it was, or holds the whole file."):
            tmp = record.notes.get("tmp") if record.undone is None else None
            # The file was linked from the temporary one, so while both stand there they tell whose it is.
            if tmp is None or not _same_file(tmp, place):
                disk.remove(tmp or f"{place}.tmp")
                _require_absent(place)
                disk.make_parents(os.path.dirname(place))
                tmp = f"{place}.tmp-{uuid.uuid4().hex}"
                journal.begin(context.step, intended, tmp=tmp)
                with _removed_on_failure(tmp, place, disk):
                    disk.write_new(tmp, data)
                    _publish(tmp, place, context)
            disk.sync_folder(os.path.dirname(place))
            journal.done(context.step, intended)
            disk.remove(tmp)
        return intended

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Remove the file, if it still holds what was written.

        Raises:
            ApplyError: It holds something else now; or the disk refuses.
        """
        place = self._place(step.place, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        tmp = record.notes.get("tmp")
        with told(f"{place} is not removed yet."):
            linked = tmp is not None and _same_file(tmp, place)
            if record.done is not None or record.intended is None or linked or record.undoing:
                if self.look(plan, step, context).standing is StepStanding.CHANGED:
                    raise ApplyError(
                        f"{place}: expected the file that was written, found it changed. Nothing was removed.",
                        fix="Remove it by hand if nobody needs it.",
                    )
                journal.undoing(context.step)
                disk.remove(place)
            if tmp is not None:
                disk.remove(tmp)
            if os.path.isdir(os.path.dirname(place)):
                disk.sync_folder(os.path.dirname(place))
            receipt_step = replace(step, state=StepState.UNDONE, told=f"{place} is gone.")
            journal.undone(context.step, receipt_step)
        return receipt_step

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        """Return whether the file stands there as it was written."""
        place = self._place(step.place, context)
        result = sha256_of_file(place)
        if result is None:
            return absent(step)
        if result != sha256(self.content(plan)[0].encode()):
            return SeenPlace(standing=StepStanding.CHANGED, told=f"{place} is not as it was written.")
        return SeenPlace(standing=StepStanding.AS_WRITTEN, told=f"{place} is as it was written.")

    def _taken(self, plan: Plan, place: str) -> str:
        taken = self.use(plan, place)
        return f" Its system takes it by: {taken}" if taken else ""

    def _place(self, uri: str | None, context: Context) -> str:
        return local_place(uri, context.write_roots, what=f"file for {self.called}", fix=self.fix)


def writer_of_start(text: Callable[[Plan], str], *, called: str, fix: str) -> TextFileWriter:
    """Return the writer of a file in which a job of shards is told where it begins."""

    def content(plan: Plan) -> tuple[str, tuple[NumberChange, ...]]:
        return text(plan), ()

    return TextFileWriter(content=content, called=called, parts="shard(s)", fix=fix)


def _require_absent(place: str) -> None:
    if os.path.lexists(place):
        raise OutputError(
            f"{place}: expected no file, found something there. Nothing was written to it.",
            fix="Choose another output, or remove it if nobody needs it.",
        )


def _publish(tmp: str, place: str, context: Context) -> None:
    try:
        linked = context.disk.link(tmp, place)
    except FileExistsError:
        linked = False
    if not linked:
        # Without links nothing can give a name only where none is; the look before it is then all there is.
        _require_absent(place)
        context.disk.rename(tmp, place)


def _same_file(tmp: str, place: str) -> bool:
    return os.path.lexists(tmp) and os.path.lexists(place) and os.path.samefile(tmp, place)


@contextmanager
def _removed_on_failure(tmp: str, place: str, disk: Disk) -> Iterator[None]:
    """Remove a temporary file where writing it fails, unless it stands at its final path already."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if not _same_file(tmp, place):
                disk.remove(tmp)
        raise
