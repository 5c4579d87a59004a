"""A copy of a Flink savepoint with other positions: all state kept, the original untouched.

State files are hard links where the file system can: Flink never edits them in place, and a job that claims the copy
removes its own names only. Files with other bytes are always new ones. The copy appears whole, by one rename.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from offsetwise.apply.copies import copy_at_rest, preview_copy, step_of_copy
from offsetwise.apply.disk import told
from offsetwise.apply.edit import Move
from offsetwise.apply.edits import Edits, FileEdit
from offsetwise.apply.fitting import require_unmoved, requirement, unfit
from offsetwise.apply.flink_edit import edit_savepoint
from offsetwise.apply.places import place_to_write
from offsetwise.apply.publish import journal_of, publish, require_free, scan_stopped, unpublish
from offsetwise.apply.writing import Context, Preview, Seen
from offsetwise.apply.written import folder_changed, look_at_folder
from offsetwise.errors import OutputError, StalePlanError
from offsetwise.model import Plan, ReceiptStep, Start, Target
from offsetwise.sources.flink_checkpoint import read_from
from offsetwise.sources.flink_folder import METADATA
from offsetwise.sources.held import HeldFolder
from offsetwise.sources.storage import MAX_READ_BYTES, open_tree


def prepare(plan: Plan, target: Target, context: Context) -> Preview:
    """Say which numbers would change in the copy. Nothing is written.

    Raises:
        OffsetwiseError: The copy could not be made as things stand; the message says why.
    """
    place, source = _places(plan, context)
    require_free(place)
    made = _decided(plan, context)
    with told("Nothing was written."):
        scan_stopped(source, young_s=context.young_s)
    return preview_copy(plan, target, place, made)


def write(plan: Plan, target: Target, context: Context) -> ReceiptStep:
    """Make the copy, under the journal.

    Raises:
        OffsetwiseError: Nothing stands at the output then, or what stood there before.
    """
    place, source = _places(plan, context)
    record = journal_of(context).record(context.step)
    if record.done is not None and record.undone is None:
        return record.done
    made = _decided(plan, context)

    def build(folder: str) -> None:
        copy_at_rest(source, folder, made, context, place=place, links="")

    return publish(place, step_of_copy(plan, target, place, made), context, build)


def undo(step: ReceiptStep, context: Context) -> ReceiptStep:
    """Remove the copy, as long as it is as it was written.

    Raises:
        ApplyError: It is not; or the disk refuses.
    """
    place_to_write(step.place, context.write_roots)
    return unpublish(step, context, refuse=lambda: folder_changed(step))


def look(step: ReceiptStep, context: Context) -> Seen:
    """Say whether the copy stands there as it was written."""
    place_to_write(step.place, context.write_roots)
    return look_at_folder(step)


def _places(plan: Plan, context: Context) -> tuple[str, str]:
    """Give the paths of the copy and of the savepoint, both local."""
    uri = requirement(plan).uri
    place = place_to_write(context.output, context.write_roots, apart_from=uri)
    source = open_tree(uri, roots=context.read_roots).location
    for where, location in ((context.output, place), (uri, source)):
        if location.scheme != "file":
            raise OutputError(
                f"{where}: expected a local savepoint and a local output, found {location.scheme}. "
                "Nothing was written.",
                fix="Copy the savepoint to a local folder, compare and plan there, and copy the result back: it holds "
                "no path of its own folder.",
            )
    return place.path, source.path


def _decided(plan: Plan, context: Context) -> Edits:
    """Decide what changes, and prove that a reader finds the planned positions afterwards."""
    required = requirement(plan)
    if required.engine != "flink":
        raise unfit(f"a Flink savepoint, found a checkpoint of {required.engine}")
    folder = replace(open_tree(required.uri, roots=context.read_roots), max_file_bytes=MAX_READ_BYTES)
    found = folder.read_many(dict.fromkeys(path for path, _ in required.files))
    held = {path: data for path, data in found.items() if isinstance(data, bytes)}
    if METADATA not in held:
        raise StalePlanError(
            f"{required.uri}: expected {METADATA} as reviewed, found that it cannot be read. Nothing was written.",
            fix="Take a new savepoint, compare again and draft a new plan.",
        )
    kept = HeldFolder(uri=required.uri, files=held)
    require_unmoved(read_from(kept), required, kept)
    edited = edit_savepoint(held, _moves(plan), uri=required.uri)
    return Edits(
        edits=tuple(
            FileEdit(path=path, before=held[path], after=data, numbers=edited.changes[path])
            for path, data in sorted(edited.files.items())
        )
    )


def _moves(plan: Plan) -> dict[str, tuple[Move, ...]]:
    made: defaultdict[str, list[Move]] = defaultdict(list)
    for one in plan.positions:
        name = f"{one.topic}-{one.partition}"
        added = one.old_offset is None
        if added and one.start is not Start.EARLIEST:
            raise unfit(f"{name} to begin at its earliest record, as Flink begins new partitions, found {one.start}")
        if not added and [(point.old, point.new) for point in one.restart] != [(one.old_offset, one.new_offset)]:
            raise unfit(f"one new and one old number of {name} in the plan, found that it contradicts itself")
        made[one.source].append(Move.planned(one))
    return {source: tuple(moves) for source, moves in made.items()}
