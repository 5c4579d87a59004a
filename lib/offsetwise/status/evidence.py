"""The evidence about one job: the only input of its state."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model import CutoverState, Subject, UnreadJob, Verification
from offsetwise.model.comparison import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoverEvidence:
    state: CutoverState
    """Of the log that is furthest behind."""
    taken_ms: int
    still_ms: int
    """For how long none of them has grown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEvidence:
    taken_ms: int
    """When the new cluster was read for it."""
    summary: Summary
    blocking: tuple[str, ...]
    """The codes of its blocking findings."""
    moved: bool = False
    """Whether the compared positions are known to differ from the job's present ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEvidence:
    file: str
    digest: str
    drafted_ms: int
    drift: tuple[str, ...]
    """What has changed since the review, a sentence each."""
    approvers: tuple[str, ...]
    """Who approved it; empty until the required number has."""
    approved_ms: int | None
    """When the last of them did."""
    rejection: str | None
    """Who rejected it, in a sentence; None if nobody did."""
    approvals: tuple[str, ...] = ()
    """The files of the approvals."""
    takes_output: bool = False
    """Whether it writes a copy or a file, whose path `apply` needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedEvidence:
    receipt: str
    ended_ms: int | None
    """None if the application has not ended."""
    undone: int
    """How many of its steps have been rolled back."""
    steps: int
    verification: Verification | None
    """The current state of the targets; None if it was not read."""
    lag_before: int | None
    """How many records the job had to read on the old cluster when it was moved; None if not all are known."""
    lag: int | None
    """How many records it has to read on the new cluster now; None if not all are known."""
    shows_start: bool = False
    """Whether every target shows where a started job began, and not only its current position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvidence:
    job: Subject
    wave: str | None = None
    unread: UnreadJob | None = None
    """Why its positions, or its topics, cannot be used; None if they can."""
    missing: tuple[str, ...] = ()
    """Its topics that one of both clusters lacks, each with the cluster."""
    topics: int = 0
    """The number of topics that it reads."""
    active: bool | None = None
    """Whether it moves its positions now; None if unknown."""
    moved_ms: int | None = None
    """When its positions last moved, epoch ms; None if unknown."""
    activity: str = ""
    """What shows whether it runs, as a sentence."""
    stop: str = "Stop the job when its wave begins"
    """How to stop the job for its move, as the beginning of a sentence."""
    old_lag: int | None = None
    """How many records it has to read on the old cluster; None if not all are known."""
    cutover: CutoverEvidence | None = None
    comparison: ComparisonEvidence | None = None
    plan: PlanEvidence | None = None
    applied: AppliedEvidence | None = None
