"""What one position at one target looks like now, and the words that every target needs for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.model import PartitionState, Plan, Snapshot, TopicPartition, Turnout

Places = Mapping[tuple[str, int], int]
"""Offsets by topic and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One position at one target."""

    found: int | None
    turnout: Turnout
    told: str
    started: bool = False


def for_all(plan: Plan, turnout: Turnout, told: str) -> list[Seen]:
    """Say one thing about every position of a plan."""
    return [Seen(found=None, turnout=turnout, told=told) for _ in plan.positions]


def number(value: int | None) -> str:
    """Name an offset in a sentence."""
    return "nothing" if value is None else str(value)


def topics_of(plan: Plan) -> tuple[str, ...]:
    """Name the topics on the new cluster, each once, sorted."""
    return tuple(sorted({position.new_topic for position in plan.positions}))


def logs_of(now: Snapshot) -> dict[TopicPartition, PartitionState]:
    """Give what a snapshot tells of each partition."""
    return {TopicPartition(topic=t.name, partition=p.partition): p for t in now.topics for p in t.partitions}
