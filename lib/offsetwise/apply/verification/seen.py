"""The observed state of one position at one target, and functions that all targets share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from offsetwise.model import AnyPosition, PartitionState, Plan, TopicPartition, Turnout

Places = Mapping[TopicPartition, int]
"""Offsets by topic and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    found: AnyPosition | None
    turnout: Turnout
    told: str
    started: bool = False


def for_all(plan: Plan, turnout: Turnout, message: str) -> list[Seen]:
    return [Seen(found=None, turnout=turnout, told=message) for _ in plan.positions]


def number(value: AnyPosition | None) -> str:
    return "nothing" if value is None else str(value)


def topics_of(plan: Plan) -> tuple[str, ...]:
    return tuple(sorted({position.new_topic for position in plan.positions}))


def seen_offset(
    at: TopicPartition, planned: AnyPosition, offset: int | None, log: PartitionState | None, *, who: str
) -> Seen:
    """Compare a committed offset of one partition with the plan.

    Args:
        at: The partition of the new cluster.
        planned: The offset of the plan.
        offset: The committed offset now; None if there is none.
        log: The partition now; None if it cannot be read.
        who: Who committed it, such as `the group`.
    """
    end = None if log is None else log.hw
    if offset == planned:
        return Seen(found=offset, turnout=Turnout.CONFIRMED, told=f"{at}: {who} is at {offset:,}, as planned.")
    if offset is None:
        message = f"{at}: expected {planned:,}, found no offset: it expired or was deleted."
    elif offset < planned:
        message = f"{at}: expected {planned:,} or more, found {who} at {offset:,}: somebody went back."
    elif end is None:
        message = f"{at}: {who} is at {offset:,}, and its log cannot be read to tell whether that can be."
        return Seen(found=offset, turnout=Turnout.UNKNOWN, told=message)
    elif offset > end:
        message = f"{at}: {who} is at {offset:,}, past the end of the log {end:,}: nobody can have read up to there."
    else:
        message = f"{at}: {who} has gone on from {planned:,} to {offset:,}."
        return Seen(found=offset, turnout=Turnout.MOVED_ON, told=message, started=True)
    return Seen(found=offset, turnout=Turnout.DIFFERENT, told=message)
