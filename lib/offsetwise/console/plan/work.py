"""The decisions of a person for a plan so far, and the plan that is drafted from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from offsetwise import files
from offsetwise.console.answers import Answers
from offsetwise.console.widgets.cached import cached, told_apart_by
from offsetwise.errors import ConfigError, PlanError
from offsetwise.model import Comparison, Override, Plan, Start, Subject, TopicPartition
from offsetwise.model.digest import digest
from offsetwise.plan.request import DraftRequest, SettlementChoice, StartChoice


@dataclass(slots=True, kw_only=True)
class Work:
    """One person's draft of one plan. Belongs to one session."""

    plan: int | None = None
    """The saved plan that it becomes the next version of; None for a new plan."""
    base: str | None = None
    """The digest of the version that it began with."""
    before: Plan | None = None
    """That version."""
    overrides: dict[TopicPartition, Override] = field(default_factory=dict)
    starts: dict[str, StartChoice] = field(default_factory=dict)
    """By topic of the old cluster."""
    leaves_unset: bool = False
    """Whether nothing is written for partitions without a committed offset of the group."""
    settlements: dict[str, SettlementChoice] = field(default_factory=dict)
    """By transactional id."""


_KEPT: Final = 8


@told_apart_by(lambda frozen: frozen.id)
@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """One reading of all inputs that plans are drafted from. Nothing is read again."""

    migration: str
    subject: Subject
    comparison: Comparison
    """With the snapshots that it was made with."""
    id: int
    """Changes whenever it is read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafted:
    plan: Plan
    content: bytes
    digest: str


def begun_with(plan: Plan, number: int, digest: str) -> Work:
    """Continue from a saved version, with the decisions in it.

    Args:
        plan: The newest version.
        number: Number of the saved plan.
        digest: Digest of that version.
    """
    work = Work(plan=number, base=digest, before=plan, leaves_unset=bool(plan.left_unset))
    whole = dict(_whole_topics(plan))
    work.starts = whole
    for position in plan.positions:
        if position.override is not None and position.topic not in whole:
            work.overrides[position.topic_partition] = position.override
    for transaction in plan.transactions:
        if transaction.by is not None and transaction.transactional_id is not None:
            work.settlements[transaction.transactional_id] = SettlementChoice(
                transactional_id=transaction.transactional_id,
                decision=transaction.decision,
                reason=transaction.reason,
                by=transaction.by,
            )
    return work


def _whole_topics(plan: Plan) -> Iterator[tuple[str, StartChoice]]:
    """Yield the choices for whole topics. A choice by time or group is kept as the offsets that it gave."""
    for start in (Start.EARLIEST, Start.LATEST):
        chosen = [position for position in plan.positions if position.start is start and position.override is not None]
        for topic in dict.fromkeys(position.topic for position in chosen):
            of_topic = [
                position.override for position in chosen if position.topic == topic and position.override is not None
            ]
            first = of_topic[0]
            yield topic, StartChoice(topic=topic, start=start, reason=first.reason, by=first.by)


@cached(_KEPT)
def drafted(
    _answers: Answers, frozen: Frozen, request: DraftRequest, drafted_at: str
) -> Drafted | PlanError | ConfigError:
    plan = plan_of(_answers, frozen, request)
    if not isinstance(plan, Plan):
        return plan
    plan = replace(plan, drafted_at=drafted_at)
    content = files.dump(plan).encode()
    return Drafted(plan=plan, content=content, digest=digest(content))


@cached(_KEPT)
def plan_of(_answers: Answers, frozen: Frozen, request: DraftRequest) -> Plan | PlanError | ConfigError:
    """Return the plan, drafted at the time of the comparison: the time changes nothing else in it."""
    comparison = frozen.comparison
    try:
        return _answers.reader.draft(frozen.migration, frozen.subject, comparison, request, comparison.taken_at)
    except (PlanError, ConfigError) as error:
        return error
