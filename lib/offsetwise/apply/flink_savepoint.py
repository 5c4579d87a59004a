"""Copies of a Flink savepoint: with other positions, or without its Kafka sources. The original stays untouched.

Flink never edits the files of a savepoint in place, and a job that claims the copy removes its own names only, so all
files without other bytes are linked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.edit import Move
from offsetwise.apply.edits import Edits, FileEdit
from offsetwise.apply.fitting import require_unmoved, requirement, unfit
from offsetwise.apply.flink_drop import without_sources
from offsetwise.apply.flink_edit import edit_savepoint
from offsetwise.apply.writing import Context
from offsetwise.apply.written import SAVEPOINT_GUARD
from offsetwise.errors import StalePlanError
from offsetwise.model import Plan, ReceiptStep, Start
from offsetwise.sources.flink_checkpoint import read_from
from offsetwise.sources.flink_folder import METADATA
from offsetwise.sources.flink_uid import operator_id
from offsetwise.sources.held import HeldFolder
from offsetwise.sources.storage import open_tree


def _moved(plan: Plan, context: Context) -> Edits:
    """Decide what changes, and prove that a reader finds the planned positions afterwards."""
    held, uri = _held(plan, context)
    edited = edit_savepoint(held, _moves(plan), uri=uri)
    return Edits(
        edits=tuple(
            FileEdit(path=path, before=held[path], after=data, numbers=edited.changes[path])
            for path, data in sorted(edited.files.items())
        ),
        guard=SAVEPOINT_GUARD,
    )


def _dropped(plan: Plan, context: Context) -> Edits:
    """Decide what is left without the sources, and prove that a reader finds all else afterwards."""
    held, uri = _held(plan, context)
    sources = sorted({one.source for one in plan.positions})
    made = without_sources(held, sources, uri=uri)
    edit = FileEdit(path=METADATA, before=held[METADATA], after=made)
    return Edits(edits=(edit,), guard=SAVEPOINT_GUARD, sources=tuple(sources))


def _held(plan: Plan, context: Context) -> tuple[Mapping[str, bytes], str]:
    """Give the files that positions come from, as they were reviewed, and where they stand."""
    required = requirement(plan)
    if required.engine != "flink":
        raise unfit(f"a Flink savepoint, found a checkpoint of {required.engine}")
    folder = open_tree(required.uri, roots=context.read_roots).for_large_files()
    found = folder.read_many(dict.fromkeys(path for path, _ in required.files))
    held = {path: data for path, data in found.items() if isinstance(data, bytes)}
    if METADATA not in held:
        raise StalePlanError(
            f"{required.uri}: expected {METADATA} as reviewed, found that it cannot be read. Nothing was written.",
            fix="Take a new savepoint, compare again and draft a new plan.",
        )
    kept = HeldFolder(uri=required.uri, files=held)
    require_unmoved(read_from(kept), required, kept)
    return held, required.uri


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


def _not_moved(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    """Say where a savepoint has other positions than the planned ones."""
    folder = open_tree(step.place, roots=context.write_roots).for_large_files()
    read = folder.read_many(dict.fromkeys(path for path, _ in requirement(plan).files))
    kept = HeldFolder(uri=step.place, files={path: data for path, data in read.items() if isinstance(data, bytes)})
    found = {
        (source.id, at.topic, at.partition): at.offset
        for source in read_from(kept).sources
        if source.kind == "kafka"
        for at in source.positions
    }
    ids = {source for source, _, _ in found}
    wanted = {
        (one.source if one.source in ids else operator_id(one.source), one.new_topic, one.partition): one.new_offset
        for one in plan.positions
        if one.old_offset is not None
    }
    return None if found == wanted else "its sources stand at other positions than the planned ones."


def _not_dropped(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    """Say why a savepoint is not the reviewed one without its sources. Only the original can tell."""
    return (
        None if step.files == _dropped(plan, context).written() else "it is not the reviewed one without its sources."
    )


_COPIES = CopyWriter(decide=_moved, foreign=_not_moved, links="")
prepare, write, undo, look = _COPIES.prepare, _COPIES.write, _COPIES.undo, _COPIES.look
WITHOUT_SOURCES = CopyWriter(decide=_dropped, foreign=_not_dropped, links="")
