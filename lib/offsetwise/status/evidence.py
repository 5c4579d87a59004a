"""What was read about one job: the only input of its state."""

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
    """For how long all of them have stood still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonEvidence:
    taken_ms: int
    """When the new cluster was read for it."""
    summary: Summary
    blocking: tuple[str, ...]
    """The codes of its findings that block."""
    moved: bool = False
    """Whether the positions that were compared are known to be others than the job has now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEvidence:
    file: str
    digest: str
    drafted_ms: int
    drift: tuple[str, ...]
    """What is no longer as it was reviewed, in a sentence each."""
    approvers: tuple[str, ...]
    """Who approved it; empty until there are as many as are required."""
    approved_ms: int | None
    """When the last of them did."""
    rejection: str | None
    """Who rejected it, in a sentence; None where nobody did."""
    approvals: tuple[str, ...] = ()
    """The files of the approvals."""
    takes_output: bool = False
    """Whether it writes a copy or a file, which `apply` has to be told the path of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedEvidence:
    receipt: str
    ended_ms: int | None
    """None where the application has not ended."""
    undone: int
    """How many of its steps have been taken back."""
    steps: int
    verification: Verification | None
    """What stands at the targets now; None where that was not looked at."""
    lag_before: int | None
    """Records of the old cluster that the job had left to read when it was moved; None where not all are known."""
    lag: int | None
    """Records of the new cluster that it has left to read now; None where not all are known."""
    shows_start: bool = False
    """Whether every target shows where a job that has started began, and not only where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvidence:
    job: Subject
    wave: str | None = None
    unread: UnreadJob | None = None
    """Why its positions, or its topics, cannot be used; None where they can."""
    missing: tuple[str, ...] = ()
    """Its topics that one of both clusters lacks, each with the cluster."""
    topics: int = 0
    """How many it reads."""
    active: bool | None = None
    """Whether it moves its positions now; None where that is not known."""
    moved_ms: int | None = None
    """When its positions moved last, epoch ms; None where that is not known."""
    activity: str = ""
    """What shows whether it runs, as a sentence."""
    stop: str = "Stop the job when its wave begins"
    """What stops it so that it can be moved, as the start of a sentence."""
    old_lag: int | None = None
    """Records of the old cluster that it has left to read; None where not all are known."""
    cutover: CutoverEvidence | None = None
    comparison: ComparisonEvidence | None = None
    plan: PlanEvidence | None = None
    applied: AppliedEvidence | None = None
