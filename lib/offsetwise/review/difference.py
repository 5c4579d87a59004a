from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from offsetwise.model import Plan, PlannedPosition

_OF_A_VERSION: Final = frozenset({"positions", "drafted_at", "editors", "identities", "totals"})
"""Fields of a plan that are compared separately, or that every version changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionChange:
    source: str
    topic: str
    partition: int
    before: PlannedPosition | None
    """None if only the later version has it."""
    after: PlannedPosition | None
    """None if only the earlier version has it."""
    parts: tuple[str, ...]
    """The names of the fields that differ: `new_offset`, `override`, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    before: str
    """Digest of the earlier version."""
    after: str
    """Digest of the later version."""
    positions: tuple[PositionChange, ...]
    parts: tuple[str, ...]
    """The names of other fields of the plan that differ: `strategy`, `targets`, `requirements`, …"""


def difference(before: Plan, after: Plan, *, digests: tuple[str, str]) -> Difference:
    """Return the differences between two versions, partitions with a changed offset first.

    Args:
        before: The earlier version.
        after: The later version.
        digests: Their digests.
    """
    changes = sorted(_positions(before, after), key=lambda change: "new_offset" not in change.parts)
    parts = tuple(
        field.name
        for field in fields(Plan)
        if field.name not in _OF_A_VERSION and getattr(before, field.name) != getattr(after, field.name)
    )
    return Difference(before=digests[0], after=digests[1], positions=tuple(changes), parts=parts)


def _positions(before: Plan, after: Plan) -> Iterator[PositionChange]:
    old = {_key(position): position for position in before.positions}
    new = {_key(position): position for position in after.positions}
    for key in sorted(old.keys() | new.keys()):
        planned_position, other = old.get(key), new.get(key)
        if planned_position == other:
            continue
        parts = tuple(
            field.name
            for field in fields(PlannedPosition)
            if planned_position is None
            or other is None
            or getattr(planned_position, field.name) != getattr(other, field.name)
        )
        source, topic, partition = key
        yield PositionChange(
            source=source, topic=topic, partition=partition, before=planned_position, after=other, parts=parts
        )


def _key(position: PlannedPosition) -> tuple[str, str, int]:
    return position.source, position.topic, position.partition
