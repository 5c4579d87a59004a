"""The file that says where a job without positions of its own begins: exactly all partitions.

Spark fails on a partition that is left out or does not exist, Flink begins it at its start, so the file lists what the
new topics have, no more and no less. Its text is what `offsetwise export --as starting-offsets` gives.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from dataclasses import replace

from offsetwise.apply.digests import sha256, sha256_of_file
from offsetwise.apply.disk import told
from offsetwise.apply.places import local_place
from offsetwise.apply.publish import absent, journal_of
from offsetwise.apply.writing import Context, FileChange, Preview, Seen, Standing, Writer
from offsetwise.config import Migration
from offsetwise.errors import ApplyError, OutputError
from offsetwise.model import Plan, ReceiptStep, StepState, Target, WrittenFile
from offsetwise.plan.exports import starting_offsets
from offsetwise.targets.moves import starting_positions
from offsetwise.targets.starting_offsets.verification import verify

__all__ = ["StartingOffsetsWriter", "verify", "writer"]


class StartingOffsetsWriter(Writer):
    """Writes files of starting offsets."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Say what the file would hold. Nothing is written.

        Raises:
            OffsetwiseError: It could not be written as things stand; the message says why.
        """
        place = _place(context.output, context)
        _require_absent(place)
        _, numbers = starting_positions(plan)
        return Preview(
            target=target,
            place=place,
            told=f"A startingOffsets file with {len(numbers)} partition(s) would be written to {place}.",
            files=(FileChange(path=os.path.basename(place), what="made", numbers=numbers),),
        )

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the file, under the journal: whole or not at all, and never over another one.

        Raises:
            OffsetwiseError: There is nothing at the output then, or what stood there before.
        """
        place = _place(context.output, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is None and record.done is not None:
            with told(f"{place} holds the whole file."):
                disk.remove(record.notes["tmp"])
            return record.done
        text, numbers = starting_positions(plan)
        data = text.encode()
        intended = ReceiptStep(
            target=target,
            place=place,
            state=StepState.DONE,
            told=f"{place} gives startingOffsets for {len(numbers)} partition(s).",
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
                try:
                    disk.write_new(tmp, data)
                    _publish(tmp, place, context)
                except BaseException:
                    with suppress(OSError):
                        if not _same_file(tmp, place):
                            disk.remove(tmp)
                    raise
            disk.sync_folder(os.path.dirname(place))
            journal.done(context.step, intended)
            disk.remove(tmp)
        return intended

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Remove the file, if it still holds what was written.

        Raises:
            ApplyError: It holds something else now; or the disk refuses.
        """
        place = _place(step.place, context)
        journal, disk = journal_of(context), context.disk
        record = journal.record(context.step)
        if record.undone is not None:
            return record.undone
        tmp = record.notes.get("tmp")
        with told(f"{place} is not removed yet."):
            linked = tmp is not None and _same_file(tmp, place)
            if record.done is not None or record.intended is None or linked or record.undoing:
                if self.look(plan, step, context).standing is Standing.CHANGED:
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
            gone = replace(step, state=StepState.UNDONE, told=f"{place} is gone.")
            journal.undone(context.step, gone)
        return gone

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> Seen:
        """Say whether the file stands there as it was written."""
        place = _place(step.place, context)
        found = sha256_of_file(place)
        if found is None:
            return absent(step)
        if found != sha256(starting_offsets(plan).encode()):
            return Seen(standing=Standing.CHANGED, told=f"{place} is not as it was written.")
        return Seen(standing=Standing.AS_WRITTEN, told=f"{place} is as it was written.")


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    """Give the writer; see `WriterModule`."""
    return StartingOffsetsWriter()


def _place(uri: str | None, context: Context) -> str:
    return local_place(
        uri,
        context.write_roots,
        what="file for startingOffsets",
        fix="Write it locally, or print it: offsetwise export --as starting-offsets.",
    )


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
