"""What a person has decided for a plan so far, kept in their session until it is saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from offsetwise.model import Override, Plan, Start, TopicPartition
from offsetwise.plan.request import StartChoice


@dataclass(slots=True, kw_only=True)
class Work:
    """One person's draft of one plan. Belongs to one session."""

    plan: int | None = None
    """The kept plan that it is to be the next version of; None for a new plan."""
    base: str | None = None
    """The digest of the version that it began with."""
    before: Plan | None = None
    """That version."""
    overrides: dict[TopicPartition, Override] = field(default_factory=dict)
    starts: dict[str, StartChoice] = field(default_factory=dict)
    """By topic of the old cluster."""


def begun_with(plan: Plan, number: int, digest: str) -> Work:
    """Go on with a version that is kept, and with what people decided in it.

    Args:
        plan: The newest version.
        number: Of the kept plan.
        digest: Of that version.
    """
    made = Work(plan=number, base=digest, before=plan)
    whole = dict(_whole_topics(plan))
    made.starts = whole
    for one in plan.positions:
        if one.override is not None and one.topic not in whole:
            made.overrides[TopicPartition(topic=one.topic, partition=one.partition)] = one.override
    return made


def _whole_topics(plan: Plan) -> Iterator[tuple[str, StartChoice]]:
    """Find what was chosen for whole topics. What a time or a group gave is kept as the offsets that it gave."""
    for start in (Start.EARLIEST, Start.LATEST):
        chosen = [one for one in plan.positions if one.start is start and one.override is not None]
        for topic in dict.fromkeys(one.topic for one in chosen):
            of_topic = [one.override for one in chosen if one.topic == topic and one.override is not None]
            first = of_topic[0]
            yield topic, StartChoice(topic=topic, start=start, reason=first.reason, by=first.by)
