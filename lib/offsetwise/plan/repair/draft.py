"""The plan of a repaired copy, which reads no cluster unless it also moves the positions. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offsetwise.comparison.subjects import positions_of
from offsetwise.config import JobTraits
from offsetwise.engines.repaired import Repaired
from offsetwise.errors import PlanError
from offsetwise.model import (
    Checkpoint,
    CheckpointRequirement,
    ClusterRequirement,
    Exactness,
    IsolationLevel,
    JobProgress,
    LogRange,
    Method,
    Plan,
    PlannedPosition,
    Prediction,
    RawReuse,
    RawVerdict,
    Repair,
    RepairedPosition,
    Requirements,
    RestartPoint,
    Start,
)
from offsetwise.plan.draft import stated_of, totals_of
from offsetwise.plan.repair.kinds import repair_target, takes_repair
from offsetwise.plan.request import DraftRequest, check_request, takers
from offsetwise.plan.settings import accepted

UNNAMED: Final = "repair"
"""The migration name of a plan that only repairs; no migration file has it."""


def check_repair(request: DraftRequest) -> None:
    """Raise unless every target of a request is a repaired copy.

    Raises:
        UsageError: There is no such kind of repair.
        PlanError: A target is another one, or the request goes back to an earlier batch.
    """
    kind = request.repair or ""
    expected = repair_target(kind)
    check_request(request)
    wrong = next((target for target in request.targets if not takes_repair(target, kind)), None)
    if wrong is not None or request.rewind_to is not None:
        result = "--set rewind_to" if wrong is None else str(wrong)
        raise PlanError(
            f"The plan: expected a repair in a copy, {expected} alone, found {result}. Nothing was written.",
            fix="Leave it out, or draft a plan of its own for it from the repaired copy.",
        )


def draft_repair(before: Checkpoint, repaired: Repaired, request: DraftRequest, *, drafted_at: str) -> Plan:
    """Draft a plan of a repaired copy that moves nothing.

    Args:
        before: The checkpoint as it is.
        repaired: The content of the copy.
        request: The kind of repair, its settings, and its author.
        drafted_at: ISO 8601, UTC.

    Raises:
        PlanError: The request contradicts itself.
    """
    check_repair(request)
    none = ClusterRequirement(name="", cluster_id=None, topics=())
    plan = Plan(
        migration=UNNAMED,
        drafted_at=drafted_at,
        author=request.author,
        editors=request.editors,
        identities=request.identities,
        strategy=f"repaired copy ({request.repair})",
        targets=request.targets,
        rewind_to=None,
        compared_at=drafted_at,
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        job=stated_of(JobTraits(), request),
        positions=(),
        requirements=Requirements(old=none, new=none, checkpoint=None),
        gate=(),
        findings=(),
        prediction=Prediction(effect="unknown", told="No cluster was asked, and no position is moved."),
        keeps=("the checkpoint as it is", "every other file of the copy, byte for byte"),
        gives_up=(),
        totals=totals_of(()),
    )
    return with_repair(plan, before, repaired, request)


def with_repair(plan: Plan, before: Checkpoint, repaired: Repaired, request: DraftRequest) -> Plan:
    kind, known = request.repair or "", dict(repaired.pins).keys()
    progress = JobProgress() if repaired.checkpoint is None else repaired.checkpoint.details.progress
    required = replace(CheckpointRequirement.of(before), files=repaired.pins)
    return replace(
        plan,
        strategy=plan.strategy if not plan.positions else f"{plan.strategy}, repaired ({kind})",
        requirements=replace(plan.requirements, checkpoint=required),
        settings=accepted(takers(request), request.settings),
        repair=Repair(
            kind=kind,
            costs=repaired.costs,
            job_id=repaired.job_id,
            after_batch=progress.after,
            reruns_batch=progress.again,
            positions=_positions(repaired.checkpoint),
            made=tuple(sorted(path for path in repaired.replaced.keys() - known if not path.endswith(".crc"))),
        ),
    )


def _positions(checkpoint: Checkpoint | None) -> tuple[RepairedPosition, ...]:
    sources = () if checkpoint is None else checkpoint.sources
    return tuple(
        RepairedPosition(
            source=source.id,
            topic=position.topic,
            partition=position.partition,
            offset=position.offset,
            planned_offset=position.planned_offset,
        )
        for source in sources
        for position in positions_of(source)
    )


def as_moving_plan(plan: Plan) -> Plan:
    """Return a plan that moves nothing as one that moves every position of the repaired copy to where it is.

    So that rollback and verification compare it with the copy like any plan that moves positions.
    """
    if plan.repair is None or plan.positions:
        return plan
    return replace(plan, positions=tuple(_unmoved(plan.repair, position) for position in plan.repair.positions))


def _unmoved(repair: Repair, at: RepairedPosition) -> PlannedPosition:
    points = [RestartPoint(batch=repair.after_batch, old=at.offset, new=at.offset)]
    if at.planned_offset is not None:
        points.append(RestartPoint(batch=repair.reruns_batch, old=at.planned_offset, new=at.planned_offset))
    unread = LogRange(log_start=None, lso=None, hw=None)
    return PlannedPosition(
        source=at.source,
        topic=at.topic,
        partition=at.partition,
        old_offset=at.offset,
        new_topic=at.topic,
        new_offset=at.offset,
        start=Start.TRANSLATED,
        method=Method.NONE,
        exactness=Exactness.UNKNOWN,
        restart=tuple(points),
        bounds=(at.offset, at.offset),
        replay=None,
        skip=None,
        foreign_below=None,
        counted=False,
        old=unread,
        new=unread,
        raw=RawReuse(verdict=RawVerdict.UNKNOWN),
    )
