"""A copy of a Spark checkpoint with other positions: state, commits and query id kept, the original untouched.

Way A of `spec/spark-checkpoints.md`. State files are hard links where the file system can: Spark never edits them in
place, so a link costs nothing and can lose nothing. Everything else is copied, and edited files are always new ones.
Copies on object stores are made by `object_store`.
"""

from __future__ import annotations

from offsetwise.apply import object_store
from offsetwise.apply.copies import copy_at_rest, preview_copy, step_of_copy
from offsetwise.apply.disk import told
from offsetwise.apply.fitting import requirement
from offsetwise.apply.places import place_to_write
from offsetwise.apply.publish import journal_of, publish, require_free, scan_stopped, unpublish
from offsetwise.apply.rewrite import Rewrite, rewrite
from offsetwise.apply.writing import Context, Preview, Seen
from offsetwise.apply.written import folder_changed, look_at_folder
from offsetwise.errors import OutputError
from offsetwise.model import Plan, ReceiptStep, Target
from offsetwise.sources.location import Location
from offsetwise.sources.storage import open_tree

_STATE = "state/"


def prepare(plan: Plan, target: Target, context: Context) -> Preview:
    """Say which numbers would change in the copy. Nothing is written.

    Raises:
        OffsetwiseError: The copy could not be made as things stand; the message says why.
    """
    place = _place(plan, context)
    if place.scheme != "file":
        return object_store.prepare(plan, target, context)
    require_free(place.path)
    made = _decided(plan, context)
    with told("Nothing was written."):
        scan_stopped(_source(plan, context), young_s=context.young_s)
    return preview_copy(plan, target, place.path, made)


def write(plan: Plan, target: Target, context: Context) -> ReceiptStep:
    """Make the copy, under the journal.

    Raises:
        OffsetwiseError: Nothing stands at the output then, or what stood there before.
    """
    place = _place(plan, context)
    if place.scheme != "file":
        return object_store.write(plan, target, context)
    record = journal_of(context).record(context.step)
    if record.done is not None and record.undone is None:
        return record.done
    made = _decided(plan, context)
    source = _source(plan, context)
    intended = step_of_copy(plan, target, place.path, made)

    def build(folder: str) -> None:
        copy_at_rest(source, folder, made, context, place=place.path, links=_STATE)

    return publish(place.path, intended, context, build)


def undo(step: ReceiptStep, context: Context) -> ReceiptStep:
    """Remove the copy, as long as no query has run on it.

    Raises:
        ApplyError: A query has run on it, so going back is a failback; or the disk refuses.
    """
    place = place_to_write(step.place, context.write_roots)
    if place.scheme != "file":
        return object_store.undo(step, context)
    return unpublish(step, context, refuse=lambda: folder_changed(step))


def look(step: ReceiptStep, context: Context) -> Seen:
    """Say whether the copy stands there as it was written."""
    place = place_to_write(step.place, context.write_roots)
    if place.scheme != "file":
        return object_store.look(step, context)
    return look_at_folder(step)


def _place(plan: Plan, context: Context) -> Location:
    source = requirement(plan).uri
    place = place_to_write(context.output, context.write_roots, apart_from=source)
    scheme = open_tree(source, roots=context.read_roots).location.scheme
    if place.scheme != scheme:
        raise OutputError(
            f"{context.output}: expected a place on the file system of the checkpoint ({scheme}), found "
            f"{place.scheme}. Nothing was written.",
            fix="Choose an output on the same file system; copy it elsewhere afterwards.",
        )
    return place


def _source(plan: Plan, context: Context) -> str:
    return open_tree(requirement(plan).uri, roots=context.read_roots).location.path


def _decided(plan: Plan, context: Context) -> Rewrite:
    folder = open_tree(requirement(plan).uri, roots=context.read_roots)
    return rewrite(plan, folder, young_s=context.young_s)
