"""Decides which files of a Spark checkpoint a plan changes, and how, and proves it before anything is written.

Rules: `spec/spark-checkpoints.md`, "Writing: four ways", A. The restart batch's file gets the new positions, a pending
batch's file both its ends, and the file before a committed restart batch the same positions as the restart batch,
because Spark reads it too. If the plan goes back, later batches are dropped, and with them their state: once Spark
counts up to its version again, it would take the old snapshot for a new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from offsetwise.apply.edits import Edits, FileEdit
from offsetwise.apply.fitting import require_unmoved, requirement, unfit
from offsetwise.comparison.subjects import positions_of
from offsetwise.engines.repaired import Repaired, UnrepairableError
from offsetwise.errors import MissingError, StorageError
from offsetwise.model import Checkpoint, Plan, WrittenFile, offsets_by_partition
from offsetwise.plan.repair.draft import as_moving_plan
from offsetwise.plan.target import has_opaque_positions
from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.later_batches import Logs, after_batch, crc_of, crc_path
from offsetwise.plugins.spark.engine.offset_log import GarbledError, Lines, parse_offsets
from offsetwise.plugins.spark.engine.overlay import Overlay, read_file
from offsetwise.plugins.spark.engine.repairs.kinds import repair
from offsetwise.plugins.spark.engine.restart import Restart, decide_restart
from offsetwise.plugins.spark.targets.edit import Edited, edit_initial, edit_offsets
from offsetwise.plugins.spark.targets.kinesis.edit import shard_edits
from offsetwise.plugins.spark.targets.kinesis.spec import place_of
from offsetwise.plugins.spark.targets.state import refuse_running, require_state
from offsetwise.position import offset_of, offset_or_none
from offsetwise.storage.folders import FolderReader
from offsetwise.targets.moves import Move

_NO_STATE: Final = frozenset({"state"})
"""Positions do not depend on state, and measuring it takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRewrite(Edits):
    batch: int | None
    """The batch after which the job continues; None if it starts from the initial offsets."""
    pending: int | None
    """The batch that runs again."""

    def written(self, *, kept_in: str | None = None) -> tuple[WrittenFile, ...]:
        """Return the files as a receipt names them, and the commit that only a later run can write; see `Edits`."""
        files = Edits.written(self, kept_in=kept_in)
        path = f"commits/{self.pending}"
        return files if self.pending is None or path in self.dropped else (*files, WrittenFile(path=path, sha256=None))


def rewrite(plan: Plan, folder: FolderReader, *, young_s: float) -> CheckpointRewrite:
    """Decide what changes, and prove that a reader finds the planned positions afterwards.

    Args:
        plan: The plan.
        folder: The checkpoint it was drafted from.
        young_s: Minimum age of a pending batch in seconds; a younger one may be running.

    Raises:
        StalePlanError: The checkpoint is not as it was when the plan was drafted.
        RunningQueryError: A query seems to run on it.
        ApplyError: The plan does not fit it, or the state that it needs is missing.
        StorageError: It cannot be read.
    """
    required = requirement(plan)
    checkpoint = read_from(Overlay(folder=folder, replaced={}, dropped=_NO_STATE), batches=0)
    require_unmoved(checkpoint, required, folder)
    fixed = _repaired(plan, folder)
    base = folder if fixed is None else Overlay(folder=folder, replaced=fixed.replaced, dropped=fixed.dropped)
    logs = Logs.of(base)
    target = _target(plan, logs, decide_restart(logs.planned, logs.committed))
    edits = tuple(_moved(plan, base, checkpoint if fixed is None else fixed.checkpoint or checkpoint, target))
    refuse_running(checkpoint, folder, target.pending, young_s)
    sums = tuple(_checksums(base, edits))
    left_out = () if target.drop_above is None else after_batch(base, logs, target.drop_above)
    dropped = tuple(sorted({*left_out, *(() if fixed is None else fixed.dropped)}))
    if target.batch is not None:
        require_state(base, target.batch)
    logs = Logs.of(folder)
    newest = max((*logs.planned, *logs.committed), default=-1)
    checkpoint_rewrite = CheckpointRewrite(
        edits=tuple(_from_original(folder, fixed, (*edits, *sums))),
        dropped=dropped,
        repair="" if plan.repair is None else plan.repair.kind,
        guard=f"offsets/{newest + 1}",
        batch=target.batch,
        pending=target.pending,
    )
    _prove(plan, folder, checkpoint_rewrite, target)
    return checkpoint_rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    batch: int | None
    """Reading resumes at its end; None for the initial offsets."""
    pending: int | None
    """The batch that runs again."""
    previous: int | None
    """The file before, which Spark reads too if the batch is committed."""
    drop_above: int | None = None
    """Later batches are dropped; None if none are."""


def _repaired(plan: Plan, folder: FolderReader) -> Repaired | None:
    if plan.repair is None:
        return None
    try:
        repaired = repair(folder, plan.repair.kind, dict(plan.settings))
    except UnrepairableError as error:
        raise unfit(f"a checkpoint as when it was reviewed, found that the repair does not fit: {error}") from error
    if repaired.costs != plan.repair.costs or repaired.job_id != plan.repair.job_id:
        raise unfit("the repair that was reviewed, found one with other costs")
    return repaired


def _newest_kept(folder: FolderReader, target: _Target) -> Iterator[FileEdit]:
    """Yield the newest batch of a copy unchanged: with it in the receipt, a later run of a query can be detected."""
    newest = target.batch if target.pending is None else target.pending
    if newest is not None:
        path = f"offsets/{newest}"
        data = read_file(folder, path)
        yield FileEdit(path=path, before=data, after=data)


def _moved(plan: Plan, folder: FolderReader, checkpoint: Checkpoint, target: _Target) -> Iterator[FileEdit]:
    if plan.moves_nothing:
        return _newest_kept(folder, target)
    newest_batch = target.batch if target.pending is None else target.pending
    if has_opaque_positions(plan) and newest_batch is not None:
        pending = target.pending is not None
        return shard_edits(plan, folder, checkpoint, newest_batch, pending=pending)
    return _edits(plan, folder, target)


def _from_original(folder: FolderReader, fixed: Repaired | None, edits: tuple[FileEdit, ...]) -> Iterator[FileEdit]:
    if fixed is None:
        yield from edits
        return
    after = {path: FileEdit(path=path, before=None, after=data) for path, data in fixed.replaced.items()}
    after |= {edit.path: edit for edit in edits}
    for path, data in folder.read_many(dict.fromkeys(after)).items():
        if isinstance(data, StorageError) and not isinstance(data, MissingError):
            raise data
        yield replace(after[path], before=data if isinstance(data, bytes) else None)


def _target(plan: Plan, logs: Logs, restart: Restart) -> _Target:
    if plan.moves_nothing:
        return _Target(batch=restart.starts_after, pending=restart.reruns, previous=None)
    if plan.rewind_to is not None:
        return _rewound(plan.rewind_to, logs)
    if not restart.known and restart.last_planned is not None:
        raise unfit("a checkpoint that says where the job goes on, found one that does not")
    if plan.dropped_batch not in (None, restart.reruns):
        raise unfit(f"batch {plan.dropped_batch}, which the plan leaves out, to be planned and not committed")
    if restart.reruns is None:
        return _Target(batch=restart.starts_after, pending=None, previous=restart.previous)
    if plan.dropped_batch is not None:
        before = [batch for batch in logs.planned if restart.starts_after is not None and batch < restart.starts_after]
        return _Target(
            batch=restart.starts_after,
            pending=None,
            previous=before[-1] if before else None,
            drop_above=-1 if restart.starts_after is None else restart.starts_after,
        )
    ends = (point.batch for position in plan.positions for point in position.restart[1:])
    # For shards the ends need not be recorded: then the batch reads up to wherever they end.
    if not has_opaque_positions(plan) and restart.reruns not in ends:
        raise unfit(
            f"both ends of batch {restart.reruns}, which is planned and not committed, found in the plan only its start"
        )
    return _Target(batch=restart.starts_after, pending=restart.reruns, previous=None)


def _rewound(batch: int, logs: Logs) -> _Target:
    if batch not in logs.planned or batch not in logs.committed:
        raise unfit(f"batch {batch} to be retained in offsets/ and commits/, found it gone")
    before = [number for number in logs.planned if number < batch]
    if batch > 0 and batch - 1 not in before:
        raise unfit(f"offsets/{batch - 1}, which Spark reads when it goes on after batch {batch}, found it gone")
    return _Target(batch=batch, pending=None, previous=before[-1] if before else None, drop_above=batch)


def _edits(plan: Plan, folder: FolderReader, target: _Target) -> Iterator[FileEdit]:
    starts = _starts(plan)
    start = _offsets(folder, target.batch)
    pending = _offsets(folder, target.pending)
    lines: dict[str, tuple[Move, ...]] = {}
    known = {} if start is None else start[1]
    for source, moves in starts.items():
        line = known.get(source)
        if line is not None and line.kind is not None:
            lines[source] = moves
            continue
        path = f"sources/{source}/0"
        data = read_file(folder, path)
        edited = edit_initial(data, source, moves, subject=path)
        yield FileEdit(path=path, before=data, after=edited.data, numbers=edited.changes)
    if target.previous is not None:
        yield from _previous(folder, target.previous, lines)
    if start is not None:
        yield _edited(f"offsets/{target.batch}", start, lines)
    if pending is not None and target.pending is not None:
        yield _edited(f"offsets/{target.pending}", pending, _ends(plan, target.pending))


def _starts(plan: Plan) -> dict[str, tuple[Move, ...]]:
    results: defaultdict[str, list[Move]] = defaultdict(list)
    for position in plan.positions:
        name = str(position.topic_partition)
        point = position.restart[0] if position.restart else None
        if (point is None) != (position.old_offset is None) or (
            point is not None and (point.new, point.old) != (position.new_offset, position.old_offset)
        ):
            raise unfit(f"one new and one old number of {name} in the plan, found that it contradicts itself")
        if plan.rewind_to is not None and point is not None and point.batch != plan.rewind_to:
            raise unfit(f"{name} as it stood after batch {plan.rewind_to}, found it as after batch {point.batch}")
        results[position.source].append(Move.planned(position))
    return {source: tuple(moves) for source, moves in results.items()}


def _ends(plan: Plan, pending: int) -> dict[str, tuple[Move, ...]]:
    """Return the ends of the pending batch; a new partition ends at its start, so the batch reads nothing from it."""
    results: defaultdict[str, list[Move]] = defaultdict(list)
    for position in plan.positions:
        points = [point for point in position.restart[1:] if point.batch == pending]
        if position.restart and not points:
            continue
        old, new = (points[0].old, points[0].new) if points else (None, position.new_offset)
        if new is None:
            raise unfit(f"the end of batch {pending} in {position.topic_partition}, found none in the plan")
        results[position.source].append(
            Move(
                topic=position.topic,
                partition=position.partition,
                old=offset_or_none(old),
                new_topic=position.new_topic,
                new=offset_of(new),
                added=old is None,
            )
        )
    return {source: tuple(moves) for source, moves in results.items()}


def _previous(folder: FolderReader, batch: int, lines: Mapping[str, tuple[Move, ...]]) -> Iterator[FileEdit]:
    result = _offsets(folder, batch)
    if result is None:
        return
    here: dict[str, tuple[Move, ...]] = {}
    known = result[1]
    names = {move.topic: move.new_topic for moves in lines.values() for move in moves}
    for source, moves in lines.items():
        line = known.get(source)
        if line is not None and line.is_kafka:
            topics = {offset.topic for offset in line.offsets}
            relevant = (move for move in moves if move.topic in topics)
            moved = {move.topic_partition for move in moves}
            unmoved = ((at, offset) for at, offset in offsets_by_partition(line.offsets).items() if at not in moved)
            here[source] = (
                *(
                    Move(topic=m.topic, partition=m.partition, old=None, new_topic=m.new_topic, new=m.new, added=True)
                    for m in relevant
                ),
                # A topic that left the subscription since: Spark uses the last batch's line alone.
                *(
                    Move(
                        topic=at.topic,
                        partition=at.partition,
                        old=offset,
                        new_topic=names.get(at.topic, at.topic),
                        new=offset,
                    )
                    for at, offset in unmoved
                ),
            )
    yield _edited(f"offsets/{batch}", result, here)


def _edited(path: str, original: tuple[bytes, Lines], moves: Mapping[str, Iterable[Move]]) -> FileEdit:
    for source, line in original[1].items():
        if line.is_kafka and line.offsets and source not in moves:
            raise unfit(f"a position for source {source} of {path}, found none in the plan")
    edited: Edited = edit_offsets(original[0], moves, subject=path)
    return FileEdit(path=path, before=original[0], after=edited.data, numbers=edited.changes)


def _offsets(folder: FolderReader, batch: int | None) -> tuple[bytes, Lines] | None:
    if batch is None:
        return None
    data = read_file(folder, f"offsets/{batch}")
    try:
        return data, parse_offsets(data)[1]
    except GarbledError as error:
        raise unfit(f"offsets/{batch} to be an offset file, found it garbled: {error}") from error


def _checksums(folder: FolderReader, edits: Iterable[FileEdit]) -> Iterator[FileEdit]:
    paths = {crc_path(edit.path): edit for edit in edits}
    for path, data in folder.read_many(dict.fromkeys(paths)).items():
        if isinstance(data, MissingError):
            continue
        if isinstance(data, StorageError):
            raise data
        yield FileEdit(path=path, before=data, after=crc_of(paths[path].after))


def _prove(plan: Plan, folder: FolderReader, rewrite: CheckpointRewrite, target: _Target) -> None:
    """Read the checkpoint as it will be, and refuse unless a restart finds exactly the planned positions."""
    plan = as_moving_plan(plan)
    after = read_from(
        Overlay(
            folder=folder,
            replaced={edit.path: edit.after for edit in rewrite.edits},
            dropped=_NO_STATE.union(rewrite.dropped),
        ),
        batches=0,
    )
    elsewhere = _elsewhere(plan, after, target.pending)
    if elsewhere is not None:
        raise unfit(f"a restart at the planned positions, found another one at {elsewhere}")


def foreign(plan: Plan, folder: FolderReader) -> str | None:
    """Explain why a checkpoint is not one that a plan edited, or copied and edited; None if it is.

    Raises:
        OffsetwiseError: It cannot be read.
    """
    checkpoint = read_from(Overlay(folder=folder, replaced={}, dropped=_NO_STATE), batches=0)
    required = requirement(plan)
    if checkpoint.job_id != plan.job_id:
        return f"it is of the query {checkpoint.job_id}, and the plan is for {plan.job_id}."
    plan = as_moving_plan(plan)
    reruns = plan.rewind_to is None and plan.dropped_batch is None
    pending = {point.batch for position in plan.positions for point in position.restart[1:] if reruns}
    if has_opaque_positions(plan) and required.last_planned_batch != required.last_committed_batch:
        pending.add(required.last_planned_batch)
    elsewhere = _elsewhere(plan, checkpoint, max((batch for batch in pending if batch is not None), default=None))
    return None if elsewhere is None else f"it restarts at other positions than the planned ones: {elsewhere}."


def _elsewhere(plan: Plan, read: Checkpoint, pending: int | None) -> str | None:
    """Describe a partition that would not restart as planned; None if there is none."""
    shards = has_opaque_positions(plan)
    results = {
        (source.id, position.topic_partition): (position.offset, position.planned_offset)
        for source in read.sources
        if bool(source.shards) == shards
        for position in positions_of(source)
    }
    expected = {}
    for planned_position in plan.positions:
        ends = [point.new for point in planned_position.restart[1:] if point.batch == pending]
        new_end = planned_position.new_offset if pending is not None and not planned_position.restart else None
        begin = place_of(planned_position) if shards else planned_position.new_offset
        expected[planned_position.source, planned_position.new_topic_partition] = (begin, ends[0] if ends else new_end)
    if results == expected and read.details.progress.again == pending:
        return None
    differing = sorted(key for key in {*results, *expected} if results.get(key) != expected.get(key))
    shown = ", ".join(f"{at} of source {source}" for source, at in differing[:3])
    return shown or "another batch"
