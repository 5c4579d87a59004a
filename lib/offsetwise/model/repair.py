"""The repair of a checkpoint's copy in a plan."""

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
    """The end of the batch that runs again; None if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What is repaired in the copy of a checkpoint, and what that costs."""

    kind: str
    costs: tuple[str, ...]
    """Sentences about records read twice, batch ids that a sink ignores, and the state that is used."""
    job_id: str | None = None
    """The query's id in the copy, if the repair writes it."""
    after_batch: int | None = None
    """The batch after which the copy continues; None if it begins at its initial offsets."""
    reruns_batch: int | None = None
    """The batch that runs again in the copy."""
    positions: tuple[RepairedPosition, ...] = ()
    made: tuple[str, ...] = ()
    """Files of the copy that the original does not have."""
