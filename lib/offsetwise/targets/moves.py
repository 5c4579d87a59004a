from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from offsetwise.apply.writing import NumberChange
from offsetwise.errors import ApplyError
from offsetwise.model import Plan, PlannedPosition, TopicPartition
from offsetwise.plan.exports import starting_form
from offsetwise.position import HIGHEST_OFFSET, OfTwins, offset_of, offset_or_none

_TOPIC: Final = re.compile(r"[A-Za-z0-9._\-]{1,249}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Move(OfTwins):
    topic: str
    partition: int
    old: int | None
    """The expected old number; None for any."""
    new_topic: str
    new: int
    added: bool = False
    """Whether the file may lack the partition: then it is added."""

    @classmethod
    def planned(cls, position: PlannedPosition) -> Move:
        """Return the planned move of a partition; one without an old offset is added."""
        return cls(
            topic=position.topic,
            partition=position.partition,
            old=offset_or_none(position.old_offset),
            new_topic=position.new_topic,
            new=offset_of(position.new_offset),
            added=position.old_offset is None,
        )


def by_place(moves: tuple[Move, ...], subject: str) -> dict[TopicPartition, Move]:
    """Return moves by topic and partition.

    Args:
        moves: The moves of one source.
        subject: The name of the file in errors.

    Raises:
        ApplyError: A partition is repeated, a move has no valid topic or offset, or two topics would become one.
    """
    results: dict[TopicPartition, Move] = {}
    renamed: dict[str, str] = {}
    for move in moves:
        if not 0 <= move.new <= HIGHEST_OFFSET:
            raise refused(subject, f"a position to write for {move.topic_partition}, the plan has {move.new}")
        if not _TOPIC.fullmatch(move.new_topic):
            raise refused(subject, f"a topic name to write, the plan has {move.new_topic[:60]!r}")
        if results.setdefault(move.topic_partition, move) is not move:
            raise refused(subject, f"{move.topic_partition} once in the plan, it is there twice")
        if renamed.setdefault(move.topic, move.new_topic) != move.new_topic:
            raise refused(subject, f"one new name of {move.topic!r} in the plan, it has two")
    if len(set(renamed.values())) != len(renamed):
        raise refused(subject, "a new name of its own for every topic, the plan gives one to two of them")
    return results


def refused(subject: str, expected: str) -> ApplyError:
    return ApplyError(
        f"{subject}: expected {expected}. Nothing was written.",
        fix="Take a new comparison and draft the plan again.",
    )


def starting_positions(plan: Plan) -> tuple[str, tuple[NumberChange, ...]]:
    """Return the text with a job's starting positions, and its numbers.

    Raises:
        PlanError: The plan has several sources, or not exactly the partitions of the new topics.
        ApplyError: A partition is repeated, or has a number that is no position.
    """
    numbers = tuple(
        NumberChange(
            source=planned_position.source,
            topic=planned_position.topic,
            partition=planned_position.partition,
            before=None,
            new_topic=planned_position.new_topic,
            after=offset_of(planned_position.new_offset),
        )
        for planned_position in sorted(plan.positions, key=lambda position: position.new_topic_partition)
    )
    for change in numbers:
        if change.after < 0:
            raise refused("startingOffsets", f"a position for {change.new_topic_partition}, found {change.after}")
    form = starting_form(plan.targets, plan.requirements.engine)
    if len({(form.by_source and number.source, number.new_topic, number.partition) for number in numbers}) != len(
        numbers
    ):
        raise refused("startingOffsets", "every partition once, found one twice")
    return form.text(plan), numbers
