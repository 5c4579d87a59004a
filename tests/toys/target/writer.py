"""Writes a folder with the positions as a CSV."""

from __future__ import annotations

from hashlib import sha256

from offsetwise.apply import publish
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification import seen
from offsetwise.apply.verification.files import changed_file
from offsetwise.apply.write_locations import local_place
from offsetwise.apply.writing import Context, FileChange, Preview, SeenPlace, Writer
from offsetwise.apply.written import folder_changed, look_at_folder
from offsetwise.config import Migration
from offsetwise.model import Plan, ReceiptStep, StepState, Target, Turnout, WrittenFile
from offsetwise.regular_files import below
from tests.toys.target.spec import FILE, csv


class CsvWriter(Writer):
    """Writes the folder, whole or not at all."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:  # noqa: ARG002 - the protocol's
        """Return what would be made."""
        place = _place(context.output, context)
        publish.require_free(place)
        change = FileChange(path=FILE, what="made")
        return Preview(target=target, place=place, told=f"{place} would be made.", files=(change,))

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Make the folder, under the journal."""
        place, data = _place(context.output, context), csv(plan)
        intended = ReceiptStep(
            target=target,
            place=place,
            state=StepState.DONE,
            told=f"{place} has the positions.",
            files=(WrittenFile(path=FILE, sha256=sha256(data).hexdigest()),),
        )
        return publish.publish(
            place, intended, context, lambda folder: context.disk.write_new(below(folder, FILE), data)
        )

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:  # noqa: ARG002 - the protocol's
        """Remove the folder."""
        _place(step.place, context)
        return publish.unpublish(step, context, refuse=lambda: folder_changed(step))

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:  # noqa: ARG002 - the protocol's
        """Return whether the folder is as it was written."""
        _place(step.place, context)
        return look_at_folder(step, lambda: folder_changed(step))


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    """Return the writer."""
    return CsvWriter()


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[seen.Seen]:  # noqa: ARG001
    """Hold the file against the plan."""
    changed = changed_file(step, readers, gone_is_fine=False)
    if changed is not None:
        return seen.for_all(plan, Turnout.DIFFERENT, changed)
    return [
        seen.Seen(found=position.new_offset, turnout=Turnout.CONFIRMED, told=f"{step.place} has it.")
        for position in plan.positions
    ]


def _place(uri: str | None, context: Context) -> str:
    return local_place(uri, context.write_roots, what="folder", fix="Write it locally.")
