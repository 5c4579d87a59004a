"""Many jobs of one migration compared at once, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model.comparison import ClusterRef, Summary
from offsetwise.model.offsets import Time


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadJob:
    """Why a job could not be compared."""

    error: str
    """The kind of error."""
    problem: str
    """What was expected and found, and the effect."""
    fix: str
    """The next thing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedJob:
    """One job: a checkpoint, or a consumer group. One of both is given."""

    checkpoint: str | None
    """Its name in the migration file."""
    group: str | None
    file: str | None
    """Of its comparison, beside this file; None for a job that could not be compared."""
    taken_at: Time | None
    """When the new cluster was read for it."""
    reused: bool
    """Whether the comparison was made by an earlier command, and still held."""
    summary: Summary | None
    findings: tuple[str, ...]
    """The codes of its findings, each once."""
    unread: UnreadJob | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetComparison:
    """What comparing many jobs came to."""

    migration: str
    written_at: Time
    old: ClusterRef | None
    """None where no job could be compared."""
    new: ClusterRef | None
    jobs: tuple[ComparedJob, ...]
    """In the order of the migration file."""
    unread: int
    """Jobs that could not be compared."""
    summary: Summary
    """Of all other jobs together: a partition that two of them read counts twice."""
