"""The writer of copies of checkpoints and savepoints: a local folder by one rename, or an object store.

Files that an engine never edits in place become hard links if the file system allows, which is cheap and safe. All
others are copied, and edited files are always new ones. The copy appears as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from offsetwise.apply import object_store
from offsetwise.apply.copies import copy_at_rest, preview_copy, step_of_copy
from offsetwise.apply.digests import names_in
from offsetwise.apply.disk import explaining_os_errors
from offsetwise.apply.edits import Decide, Foreign
from offsetwise.apply.fitting import requirement
from offsetwise.apply.publish import journal_of, publish, require_free, scan_stopped, unpublish
from offsetwise.apply.write_locations import place_to_write
from offsetwise.apply.writing import Context, Preview, SeenPlace, Writer
from offsetwise.apply.written import Guard, Names, folder_changed, foreign_names, look_at_folder
from offsetwise.errors import OffsetwiseError, OutputError
from offsetwise.model import Plan, ReceiptStep, Target
from offsetwise.regular_files import below
from offsetwise.storage.folders import open_tree
from offsetwise.storage.location import Location


def _nothing_shows(step: ReceiptStep, names: Names) -> None:  # noqa: ARG001 - the signature of every engine
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyWriter(Writer):
    decide: Decide
    foreign: Foreign
    links: str
    """The prefix of paths whose files the engine never edits in place."""
    guard: Guard
    ran: Callable[[ReceiptStep, Names], str | None] = _nothing_shows
    """Returns evidence, from the names in the copy, that a job has run on it since; None if there is none."""
    folders: frozenset[str] = frozenset()
    """Names that the engine itself may create in the folder, whether or not the original has them."""

    def prepare(self, plan: Plan, target: Target, context: Context) -> Preview:
        """Return the changes that the copy would have, without writing anything.

        Raises:
            OffsetwiseError: The copy cannot be written now; the message says why.
        """
        output, source = _locations(plan, context)
        if output.scheme != "file":
            return object_store.prepare(plan, target, context, self.decide)
        require_free(output.path)
        edits = self.decide(plan, context)
        with explaining_os_errors("Nothing was written."):
            scan_stopped(source.path, young_s=context.young_s)
        return preview_copy(plan, target, output.path, edits)

    def write(self, plan: Plan, target: Target, context: Context) -> ReceiptStep:
        """Write the copy, under the journal.

        Raises:
            OffsetwiseError: The output is then missing or as it was before.
        """
        output, source = _locations(plan, context)
        if output.scheme != "file":
            return object_store.write(plan, target, context, self.decide)
        record = journal_of(context).record(context.step)
        if record.done is not None and record.undone is None:
            return record.done
        with explaining_os_errors("Nothing was written."):
            before = scan_stopped(source.path, young_s=context.young_s)
        edits = self.decide(plan, context)

        def build(folder: str) -> None:
            copy_at_rest(source.path, before, folder, edits, context, path=output.path, links=self.links)

        return publish(output.path, step_of_copy(plan, target, output.path, edits), context, build, like=source.path)

    def undo(self, plan: Plan, step: ReceiptStep, context: Context) -> ReceiptStep:
        """Remove the copy if it is as this plan wrote it.

        Raises:
            ApplyError: It is not: a query has run on it, so going back is a failback; or the disk returns an error.
        """
        location = place_to_write(step.place, context.write_roots)
        if location.scheme != "file":
            return object_store.undo(step, context, self._other(plan, step, context), guard=self.guard)
        return unpublish(step, context, refuse=lambda: self._wrong(plan, step, context), ran=self._ran)

    def look(self, plan: Plan, step: ReceiptStep, context: Context) -> SeenPlace:
        location = place_to_write(step.place, context.write_roots)
        if location.scheme != "file":
            return object_store.state_of(step, context, self._other(plan, step, context))
        return look_at_folder(step, lambda: self._wrong(plan, step, context))

    def _wrong(self, plan: Plan, step: ReceiptStep, context: Context) -> str | None:
        return self._ran(step) or folder_changed(step) or self._foreign(plan, step, context, names_in(step.place))

    def _ran(self, step: ReceiptStep) -> str | None:
        return self.ran(step, lambda folder: sorted(names_in(below(step.place, folder))))

    def _other(self, plan: Plan, step: ReceiptStep, context: Context) -> object_store.Other:
        return object_store.Other(
            ran=lambda names: self.ran(step, names),
            foreign=lambda names: self._foreign(plan, step, context, names),
        )

    def _foreign(self, plan: Plan, step: ReceiptStep, context: Context, names: Iterable[str]) -> str | None:
        own = {file.path.partition("/")[0] for file in step.files}.union(self.folders, _names(plan, context))
        try:
            return foreign_names(names, own) or self.foreign(plan, step, context)
        except OffsetwiseError as error:
            return f"whether this plan wrote it is unknown: {error.problem}"


def _names(plan: Plan, context: Context) -> Iterable[str]:
    try:
        return [entry.name for entry in open_tree(requirement(plan).uri, roots=context.read_roots).entries()]
    except OffsetwiseError:
        return ()


def _locations(plan: Plan, context: Context) -> tuple[Location, Location]:
    uri = requirement(plan).uri
    output = place_to_write(context.output, context.write_roots, apart_from=uri)
    source = open_tree(uri, roots=context.read_roots).location
    if output.scheme != source.scheme:
        raise OutputError(
            f"{context.output}: expected a location on the file system of the checkpoint ({source.scheme}), found "
            f"{output.scheme}. Nothing was written.",
            fix="Choose an output on the same file system; copy it elsewhere afterwards.",
        )
    return output, source
