"""Plans put together by hand: every position is proven and starts where it stood, shifted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from offsetwise.model import (
    ClusterRequirement,
    Exactness,
    IsolationLevel,
    LogRange,
    Method,
    Neighbour,
    Plan,
    PlannedPosition,
    PlanTotals,
    Prediction,
    Proof,
    RawReuse,
    RawVerdict,
    ReceiptStep,
    Requirements,
    RestartPoint,
    Side,
    Start,
    StatedJob,
    StepState,
    Target,
    TopicRequirement,
    WrittenFile,
    WrittenOffset,
)
from offsetwise.position import offset_of, offset_or_none


def planned(
    topic: str, partition: int, *restart: RestartPoint, source: str = "0", new_topic: str | None = None
) -> PlannedPosition:
    """Plan one position that starts at the first of its restart points."""
    old, new = restart[0].old, restart[0].new
    assert new is not None
    return PlannedPosition(
        source=source,
        topic=topic,
        partition=partition,
        old_offset=old,
        new_topic=topic if new_topic is None else new_topic,
        new_offset=new,
        start=Start.TRANSLATED,
        method=Method.CONTENT,
        exactness=Exactness.EXACT,
        restart=restart,
        bounds=(new, new),
        replay=0,
        skip=0,
        foreign_below=0,
        counted=True,
        old=LogRange(log_start=0, lso=10_000, hw=10_000),
        new=LogRange(log_start=0, lso=10_000, hw=10_000),
        raw=RawReuse(verdict=RawVerdict.CONFUSION),
        proof=proof_of(restart[0]),
        end_proof=proof_of(restart[-1]) if len(restart) > 1 else None,
    )


def proof_of(point: RestartPoint) -> Proof | None:
    """Prove a position by the records on both sides of it; None for one that is no offset."""
    old, new = offset_or_none(point.old), offset_or_none(point.new)
    if old is None or new is None:
        return None
    before, after = (
        Neighbour(old_offset=old + by, new_offset=new + by, timestamp_ms=None, identity=f"{old + by:032x}", side=side)
        if min(old, new) + by >= 0
        else None
        for by, side in ((-1, Side.READ), (0, Side.UNREAD))
    )
    return Proof(salt="00" * 16, identity="timestamp, key, value and headers", before=before, after=after)


def steps_of(plan: Plan) -> tuple[ReceiptStep, ...]:
    """Return what a receipt says of a plan of copies and of groups without a commit."""
    offsets = tuple(
        WrittenOffset(topic=one.new_topic, partition=one.partition, offset=offset_of(one.new_offset), before=None)
        for one in plan.positions
    )
    required = plan.requirements.checkpoint
    reviewed = (("offsets/6", "cd" * 32),) if required is None else required.files
    edited = tuple(WrittenFile(path=path, sha256="ab" * 32, before_sha256=before) for path, before in reviewed)
    return tuple(
        ReceiptStep(target=each, place="/copy", state=StepState.DONE, told="It is.", files=edited)
        if each.group is None
        else ReceiptStep(target=each, place=each.group, state=StepState.DONE, told="It is.", offsets=offsets)
        for each in plan.targets
    )


def plan_of(*positions: PlannedPosition, **changes: Any) -> Plan:
    """Plan positions that are to go into a copy of a checkpoint.

    Args:
        positions: All of them.
        changes: What is otherwise in the plan.
    """
    topics: dict[str, int] = {}
    for one in positions:
        topics[one.new_topic] = max(topics.get(one.new_topic, 0), one.partition + 1)
    made = Plan(
        migration="test",
        drafted_at="2026-11-21T00:00:00Z",
        author="a",
        editors=(),
        strategy="state-preserving edit",
        targets=(Target(kind="spark-checkpoint"),),
        rewind_to=None,
        compared_at="2026-11-21T00:00:00Z",
        isolation_level=IsolationLevel.READ_UNCOMMITTED,
        job=StatedJob(),
        positions=positions,
        requirements=Requirements(
            old=ClusterRequirement(name="old", cluster_id="o", topics=()),
            new=ClusterRequirement(
                name="new",
                cluster_id="n",
                topics=tuple(TopicRequirement(name=name, id=None, partitions=count) for name, count in topics.items()),
            ),
            checkpoint=None,
        ),
        gate=(),
        findings=(),
        prediction=Prediction(effect="unknown", told=""),
        keeps=(),
        gives_up=(),
        totals=PlanTotals(partitions=len(positions), overridden=0, replay=0, skip=0, uncounted=0),
    )
    return replace(made, **changes)
