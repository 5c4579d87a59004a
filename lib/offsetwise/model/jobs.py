"""Many jobs of one migration: compared at once, and how far each has come."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.comparison import ClusterRef, Summary
from offsetwise.model.findings import Finding
from offsetwise.model.offsets import Count, Time


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


class JobState(StrEnum):
    """How far a job has come. Nobody states it: it follows from what is read."""

    READY = "READY"
    """Its positions are read, and its topics are on both clusters."""
    RUNNING = "RUNNING"
    """It moves its positions on the old cluster."""
    STOPPED = "STOPPED"
    """It does not."""
    MIRRORED = "MIRRORED"
    """Every record of its old logs, which stand still, is on the new cluster."""
    COMPARED = "COMPARED"
    """Its present positions have been compared, and every one is proven."""
    PLANNED = "PLANNED"
    """A plan is drafted, and what it requires still holds."""
    APPROVED = "APPROVED"
    """As many people as are required have approved that plan."""
    APPLIED = "APPLIED"
    """The plan is written, and what it wrote stands as planned."""
    STARTED = "STARTED"
    """The job began at the planned positions, as far as what it writes shows that."""
    CAUGHT_UP = "CAUGHT_UP"
    """It has no more left to read than when it was moved."""
    BLOCKED = "BLOCKED"
    """Something has to be done first."""
    STALE = "STALE"
    """What its plan requires holds no longer."""
    DIFFERENT = "DIFFERENT"
    """Something else than the plan stands at a target, or the job began elsewhere."""
    ROLLED_BACK = "ROLLED_BACK"
    """What the plan wrote has been taken back."""

    @property
    def is_on_its_way(self) -> bool:
        """Whether it is one of those that follow one another, from READY to CAUGHT_UP."""
        return self not in (JobState.BLOCKED, JobState.STALE, JobState.DIFFERENT, JobState.ROLLED_BACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """How far one job has come."""

    job: str
    """`checkpoint NAME` or `group NAME`."""
    wave: str | None
    """The first wave that names it; None where none does."""
    state: JobState
    since_ms: int | None
    """Since when, as far as the evidence says, epoch ms; None where it does not."""
    age_ms: int
    """How old the evidence was when the status was taken; 0 where it was read for it."""
    evidence: str
    """What shows the state, in one or two sentences."""
    next: str | None
    """What leads on: a command, or a sentence; None where there is nothing left to do."""
    waits_for: tuple[str, ...] = ()
    """What its wave waits for, in a sentence each."""
    lag: Count | None = None
    """Records of the new cluster that it has left to read, once it is moved; None where that is not known."""
    old_lag: Count | None = None
    """Records of the old cluster that it has left to read, until it is moved; None where that is not known."""
    stopped_ms: int | None = None
    """When it moved its positions on the old cluster last, epoch ms; None while it runs, or where it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveStatus:
    """How far one wave has come."""

    wave: str
    jobs: int
    caught_up: int
    not_before_ms: int | None
    window_ms: int | None
    waits_for: tuple[str, ...]
    """What it waits for, in a sentence each; empty where it may begin, or has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a migration has come."""

    migration: str
    taken_at: Time
    jobs: tuple[JobStatus, ...]
    """In the order of their waves; those of no wave last."""
    waves: tuple[WaveStatus, ...]
    """In the order in which they begin."""
    findings: tuple[Finding, ...]
    """About the migration as a whole."""

    @property
    def is_done(self) -> bool:
        """Whether every job has caught up."""
        return all(job.state is JobState.CAUGHT_UP for job in self.jobs)

    @property
    def is_different(self) -> bool:
        """Whether something else than its plan stands at the target of a job."""
        return any(job.state is JobState.DIFFERENT for job in self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOfSet:
    """One plan of a set."""

    job: str
    """`checkpoint NAME` or `group NAME`, as in the migration file."""
    file: str
    """The name of the plan's file, beside the file of the set."""
    digest: str
    """The SHA-256 of that file, hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedJob:
    """A job that the set has no plan for, and why."""

    job: str
    """`checkpoint NAME` or `group NAME`."""
    error: str
    """The kind of error."""
    problem: str
    """What was expected and found, and the effect."""
    fix: str
    """The next thing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSet:
    """Plans that are approved together and applied one after the other."""

    migration: str
    wave: str | None
    """The wave of the migration file whose jobs these are; None where they were chosen otherwise."""
    plans: tuple[PlanOfSet, ...]
    """In the order in which they are applied."""
    refused: tuple[RefusedJob, ...]
    """Jobs that were asked for and could not be planned. An approval of the set says nothing about them."""
