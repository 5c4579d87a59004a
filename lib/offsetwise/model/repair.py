"""What a plan repairs in the copy of a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model.offsets import AnyPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedPosition:
    """Where a repaired copy goes on in one partition, before anything is moved."""

    source: str
    topic: str
    partition: int
    offset: AnyPosition
    planned_offset: AnyPosition | None
    """The end of the batch that runs again; None where none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What is repaired in the copy of a checkpoint, and what that costs."""

    kind: str
    costs: tuple[str, ...]
    """Sentences: records read twice, batch ids that a sink ignores, the state that is used."""
    job_id: str | None = None
    """The query's id in the copy, where the repair writes it."""
    after_batch: int | None = None
    """The batch that the copy goes on after; None where it begins at its initial offsets."""
    reruns_batch: int | None = None
    """The batch that runs again in the copy."""
    positions: tuple[RepairedPosition, ...] = ()
    made: tuple[str, ...] = ()
    """Files of the copy that the original does not have."""
