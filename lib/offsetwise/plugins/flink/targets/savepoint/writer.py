"""Writes copies of a Flink savepoint with other positions. The original is not changed.

Flink never edits the files of a savepoint in place, and a job that claims the copy removes only its own names, so all
unchanged files are linked.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Final

from offsetwise.apply.copying import CopyWriter
from offsetwise.apply.edits import Edits, FileEdit
from offsetwise.apply.fitting import requirement, unfit
from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen
from offsetwise.apply.writing import Context, Writer
from offsetwise.config import Migration
from offsetwise.findings.several_clusters import on_cluster
from offsetwise.model import Plan, ReceiptStep, Start
from offsetwise.plan.target import has_opaque_positions
from offsetwise.plugins.flink.engine.checkpoint import read_from
from offsetwise.plugins.flink.engine.uid import operator_id
from offsetwise.plugins.flink.targets.dynamic import MovedCluster
from offsetwise.plugins.flink.targets.edit import edit_savepoint
from offsetwise.plugins.flink.targets.kinesis.editing import edited_savepoint
from offsetwise.plugins.flink.targets.kinesis.proving import misplaced
from offsetwise.plugins.flink.targets.kinesis.verification import shards_as_planned, shards_restored
from offsetwise.plugins.flink.targets.marks import mark_committed, unmarked
from offsetwise.plugins.flink.targets.reviewed import GUARD, GUARD_FILE, reviewed_files
from offsetwise.plugins.flink.targets.savepoint.spec import TYPE
from offsetwise.plugins.flink.targets.verification import as_planned, verified
from offsetwise.ports.stream import has_offsets
from offsetwise.storage.folders import open_tree
from offsetwise.storage.memory import HeldFolder
from offsetwise.targets.moves import Move


def _moved(plan: Plan, context: Context) -> Edits:
    TYPE.require_fit(plan, "The copy")
    contents, uri = reviewed_files(plan, context)
    shards = has_opaque_positions(plan)
    edited = (
        edited_savepoint(plan, contents, uri=uri)
        if shards
        else edit_savepoint(contents, _moves(plan), uri=uri, moved=MovedCluster.of(plan.job))
    )
    files = {**edited.files, **mark_committed({**contents, **edited.files}, plan.marks, uri=uri)}
    return Edits(
        edits=tuple(
            FileEdit(path=path, before=contents[path], after=data, numbers=edited.changes.get(path, ()))
            for path, data in sorted(files.items())
        ),
        guard=GUARD_FILE,
        marked=len(plan.marks),
    )


def _moves(plan: Plan) -> dict[str, tuple[Move, ...]]:
    by_source: defaultdict[str, list[Move]] = defaultdict(list)
    for position in plan.positions:
        named = position.old_offset is not None
        if named and [(point.old, point.new) for point in position.restart] != [
            (position.old_offset, position.new_offset)
        ]:
            raise unfit(
                f"one new and one old number of {position.topic_partition} in the plan, found that it contradicts "
                "itself"
            )
        # Flink itself begins partitions that the savepoint does not name, always at the earliest record.
        by_source[position.source].append(
            replace(Move.planned(position), added=not named and position.start is Start.EARLIEST)
        )
    return {source: tuple(moves) for source, moves in by_source.items()}


def _not_moved(plan: Plan, step: ReceiptStep, context: Context) -> str | None:
    folder = open_tree(step.place, roots=context.write_roots).for_large_files()
    read = folder.read_many(dict.fromkeys(path for path, _ in requirement(plan).files))
    written_folder = HeldFolder(
        uri=step.place, files={path: data for path, data in read.items() if isinstance(data, bytes)}
    )
    copy = on_cluster(read_from(written_folder), plan.job.dynamic_cluster)
    if has_opaque_positions(plan):
        return _ELSEWHERE if misplaced(plan, copy) else unmarked(plan.marks, copy)
    results = {
        (source.id, at.topic, at.partition): at.offset
        for source in copy.sources
        if has_offsets(source.kind)
        for at in source.positions
    }
    ids = {source for source, _, _ in results}
    planned = {
        (
            position.source if position.source in ids else operator_id(position.source),
            position.new_topic,
            position.partition,
        ): position
        for position in plan.positions
    }
    expected = {
        key: position.new_offset
        for key, position in planned.items()
        if key in results or position.old_offset is not None or position.start is not Start.EARLIEST
    }
    if results != expected:
        return _ELSEWHERE
    return unmarked(plan.marks, copy)


_ELSEWHERE: Final = "its sources are at other positions than the planned ones."
_COPIES: Final = CopyWriter(decide=_moved, foreign=_not_moved, links="", guard=GUARD)


def writer(migration: Migration) -> Writer:  # noqa: ARG001 - as every target's
    return _COPIES


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:
    if has_opaque_positions(plan):
        return verified(plan, step, readers, checkpoint, shards_as_planned, restored=shards_restored)
    return verified(plan, step, readers, checkpoint, as_planned)
