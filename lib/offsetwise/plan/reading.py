"""Strict reading of plans: the file must be a plan without contradictions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from offsetwise import files
from offsetwise.engines.registry import engine_of, engines, labels
from offsetwise.errors import PlanError
from offsetwise.model import (
    CUTOVER_CONDITIONS,
    MAX_PARTITIONS,
    AnyPosition,
    CheckpointRequirement,
    CutoverRequirement,
    NewSavepoint,
    Plan,
    PlannedPosition,
    Repair,
    Requirements,
    Target,
)
from offsetwise.plan.draft import totals_of
from offsetwise.plan.repair.kinds import repair_kinds, takes_repair
from offsetwise.plan.settings import Settings, objections
from offsetwise.plan.sinks.ending import contradictions as of_transactions
from offsetwise.plan.sinks.marking import contradictions as of_marks
from offsetwise.plan.target import TargetRole, takers_of, target_type
from offsetwise.position import of_one_stream, offset_or_none
from offsetwise.regular_files import stays_below

_SALT: Final = re.compile("([0-9a-f]{2})+")


def plan_bytes(path: Path) -> bytes:
    """Return all bytes of a plan's file; of a file that is too large, only as many as it takes to reject it.

    Raises:
        FileError: The file cannot be read, or is larger than any plan.
    """
    most = files.MAX_PLAN_BYTES
    return files.read_bytes(path, "a plan", fix="Give the file that `offsetwise draft` wrote.", most=most)


def read_plan(data: bytes, *, subject: str) -> Plan:
    """Parse a plan.

    Args:
        data: The whole file. Its digest is over exactly these bytes.
        subject: The name of the file in errors, usually its path.

    Raises:
        FileError: Not a plan's file; see `files.load`.
        PlanError: The plan needs an engine or feature that this release does not know, or its parts contradict each
            other, so that `offsetwise draft` cannot have written it.
    """
    plan: Plan = files.load(data, "plan", subject=subject)
    unrecognized = next(_unrecognized(plan.requirements), None)
    if unrecognized is not None:
        expected, result = unrecognized
        raise PlanError(
            f"{subject}: expected {expected}, found {result}, which this release does not know. Nothing was used from "
            "it.",
            fix="Use the release of Offsetwise that wrote the file.",
        )
    wrong = next(contradictions(plan), None)
    if wrong is not None:
        raise PlanError(
            f"{subject}: expected a plan as it was drafted, but {wrong}. Nothing was used from it.",
            fix="Use the file that `offsetwise draft` wrote, or draft it again.",
        )
    return plan


def _unrecognized(requirements: Requirements) -> Iterator[tuple[str, str]]:
    required, cutover = requirements.checkpoint, requirements.cutover
    if required is not None and required.engine not in {engine.name for engine in engines()}:
        yield f"the plan of a checkpoint of {labels()}", f"one of {required.engine[:80]!r}"
    for state in () if cutover is None else cutover.states:
        if state not in CUTOVER_CONDITIONS:
            yield f"a plan that requires the old logs to be {' or '.join(CUTOVER_CONDITIONS)}", repr(state[:80])


def contradictions(plan: Plan) -> Iterator[str]:
    if not plan.targets:
        yield "it names no target"
    if (
        not plan.positions
        and plan.repair is None
        and not all(target_type(target.kind).role is TargetRole.TRANSACTIONS for target in plan.targets)
    ):
        yield "it has no positions"
    yield from _counts(plan.requirements, plan.savepoint)
    taken = takers_of(plan.targets)
    if plan.repair is not None:
        taken = {**taken, plan.repair.kind: repair_kinds().get(plan.repair.kind, Settings)}
    stated = dict(pair for target in plan.targets for pair in target_type(target.kind).stated(plan.savepoint))
    yield from (f"its settings have {what}" for what in objections(taken, (*plan.settings, *stated.items())))
    if plan.repair is not None:
        yield from _of_repair(plan.repair, plan.requirements, plan.targets)
    yield from of_transactions(plan.targets, plan.transactions, plan.requirements.sink, marked=bool(plan.marks))
    if plan.marks:
        yield from of_marks(plan.marks, plan.targets, plan.requirements.sink)
    if plan.requirements.checkpoint is not None:  # a group's name may be anything, and is in no path
        yield from _paths(plan.requirements.checkpoint, {position.source for position in plan.positions})
    visited: set[tuple[str, str, int]] = set()
    for planned_position in plan.positions:
        key = planned_position.source, planned_position.topic, planned_position.partition
        if key in visited:
            yield f"{planned_position.topic_partition} is in it twice"
        visited.add(key)
        yield from _position(planned_position)
    if plan.left_unset:
        yield from _left_unset(plan)
    yield from _of_cutover(
        plan.requirements.cutover, moves=any(position.old_offset is not None for position in plan.positions)
    )
    if plan.totals != totals_of(plan.positions):
        yield "its totals are not the sums of its positions"


def _left_unset(plan: Plan) -> Iterator[str]:
    required = plan.requirements
    of_group = required.checkpoint is None and required.old_group is not None
    of_file = required.checkpoint is not None and engine_of(required.engine).details.begins_by_setting
    if not of_group and not of_file:
        yield "it leaves partitions unset, and is of a job that begins them itself"
    known = {position.topic_partition for position in plan.positions}
    for unset in plan.left_unset:
        if unset.topic_partition in known:
            yield f"it leaves {unset.topic_partition} unset, and has it twice or with a position"
        known.add(unset.topic_partition)


def _of_cutover(required: CutoverRequirement | None, *, moves: bool) -> Iterator[str]:
    if required is None:
        return
    if required.objection is not None:
        yield f"where {required.objection[0]} is expected, it has {required.objection[1]}"
    if not moves:
        yield "it requires that the old logs stand still, and has no position there"


def _counts(requirements: Requirements, created: NewSavepoint | None) -> Iterator[str]:
    """Yield counts above their limits, so that no later step allocates memory for them."""
    for topic in (*requirements.old.topics, *requirements.new.topics):
        if not 0 <= topic.partitions <= MAX_PARTITIONS:
            yield f"topic {topic.name[:300]!r} has {topic.partitions:,} partitions, expected at most {MAX_PARTITIONS:,}"
    if created is not None and (result := created.impossible) is not None:
        yield f"its savepoint is of a job with {result}"


def _of_repair(repair: Repair, requirements: Requirements, targets: Sequence[Target]) -> Iterator[str]:
    if repair.kind not in repair_kinds():
        yield f"{repair.kind[:80]!r} is not a kind of repair"
    if requirements.checkpoint is None or not all(takes_repair(target, repair.kind) for target in targets):
        yield "it repairs a checkpoint, and writes no copy of one"
    if not repair.costs:
        yield "its repair has no costs, and every repair says what it costs"


def _paths(required: CheckpointRequirement, source_names: Collection[str]) -> Iterator[str]:
    """Yield names that are unsafe as paths: only the files of the checkpoint's folder are paths in a plan."""
    engine = engine_of(required.engine)
    for source in sorted(source_names):
        if not engine.source_name.fullmatch(source):
            yield f"its source {source[:300]!r} is no name that {required.engine} gives"
    for path, _ in required.files:
        if not stays_below(path):
            yield f"its checkpoint's file {path[:300]!r} is no path inside the checkpoint"


def _position(position: PlannedPosition) -> Iterator[str]:
    name = str(position.topic_partition)
    if position.partition < 0 or _negative(position.new_offset) or _negative(position.old_offset):
        yield f"{name} has a negative number, and no position is one"
    chosen = None if position.override is None else position.override.offset
    of_old, of_new = ((log.log_start, log.lso, log.hw) for log in (position.old, position.new))
    old = (position.old_offset, *(point.old for point in position.restart), *of_old)
    new = (position.new_offset, *(point.new for point in position.restart), *of_new)
    if not (of_one_stream(*old) and of_one_stream(*new, chosen, *position.bounds)):
        yield f"{name} has positions of several streams"
        return
    if any(proof is not None and not _SALT.fullmatch(proof.salt) for proof in (position.proof, position.end_proof)):
        yield f"the proof of {name} has no salt in hexadecimal digits, so its records could not be read again"
    if (position.old_offset is None) != (not position.restart):
        yield f"{name} has an old offset without a restart, or the other way round"
    if position.restart and (position.restart[0].old, position.restart[0].new) != (
        position.old_offset,
        position.new_offset,
    ):
        yield f"the restart of {name} begins elsewhere than at its offsets"
    if any(point.new is None or _negative(point.new) for point in position.restart):
        yield f"an end of the batch of {name} has no position"
    if position.end_proof is not None and len(position.restart) < 2:
        yield f"{name} proves the end of a batch, and none is pending"
    if position.override is not None and position.override.offset != position.new_offset:
        yield f"{name} starts at {position.new_offset:,}, but {position.override.offset:,} was decided"
    if position.override is not None and not position.override.reason.strip():
        yield f"{name} was decided without a reason"
    if min(position.replay or 0, position.skip or 0, position.foreign_below or 0) < 0:
        yield f"{name} has a negative count"


def _negative(position: AnyPosition | None) -> bool:
    offset = offset_or_none(position)
    return offset is not None and offset < 0
