"""What one position at one target looks like now, and the words that every target needs for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.model import AnyPosition, Plan, TopicPartition, Turnout

Places = Mapping[TopicPartition, int]
"""Offsets by topic and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One position at one target."""

    found: AnyPosition | None
    turnout: Turnout
    told: str
    started: bool = False


def for_all(plan: Plan, turnout: Turnout, told: str) -> list[Seen]:
    """Return one thing about every position of a plan."""
    return [Seen(found=None, turnout=turnout, told=told) for _ in plan.positions]


def number(value: AnyPosition | None) -> str:
    """Name an offset in a sentence."""
    return "nothing" if value is None else str(value)


def topics_of(plan: Plan) -> tuple[str, ...]:
    """Name the topics on the new cluster, each once, sorted."""
    return tuple(sorted({position.new_topic for position in plan.positions}))
