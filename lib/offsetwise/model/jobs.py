"""The jobs of one migration: compared together, and the state of each."""

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
    """The expected and actual values, and the effect."""
    fix: str
    """The next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedJob:
    """One job: a checkpoint, or a consumer group. One of both is given."""

    checkpoint: str | None
    """Its name in the migration file."""
    group: str | None
    file: str | None
    """The file of its comparison, in the folder of this file; None for a job that could not be compared."""
    taken_at: Time | None
    """When the new cluster was read for it."""
    reused: bool
    """Whether the comparison comes from an earlier command, and was still valid."""
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
    """None if no job could be compared."""
    new: ClusterRef | None
    jobs: tuple[ComparedJob, ...]
    """In the order of the migration file."""
    unread: int
    """How many jobs could not be compared."""
    summary: Summary
    """The sum over all other jobs: a partition that two of them read counts twice."""


class JobState(StrEnum):
    """How far a job has come. Nobody states it: it follows from what is read."""

    READY = "READY"
    """Its positions are read, and its topics are on both clusters."""
    RUNNING = "RUNNING"
    """It moves its positions on the old cluster."""
    STOPPED = "STOPPED"
    """It does not move its positions."""
    MIRRORED = "MIRRORED"
    """Its old logs do not grow, and every record of them is on the new cluster."""
    COMPARED = "COMPARED"
    """Its present positions have been compared, and every one is proven."""
    PLANNED = "PLANNED"
    """A plan is drafted, and its requirements still hold."""
    APPROVED = "APPROVED"
    """The required number of people have approved that plan."""
    APPLIED = "APPLIED"
    """The plan is written, and its targets are as planned."""
    STARTED = "STARTED"
    """The job began at the planned positions, as far as its output shows."""
    CAUGHT_UP = "CAUGHT_UP"
    """It has no more records to read than when it was moved."""
    BLOCKED = "BLOCKED"
    """Something must be done first."""
    STALE = "STALE"
    """The requirements of its plan hold no longer."""
    DIFFERENT = "DIFFERENT"
    """A target differs from the plan, or the job began elsewhere."""
    ROLLED_BACK = "ROLLED_BACK"
    """The plan's changes have been rolled back."""

    @property
    def is_on_its_way(self) -> bool:
        """Whether it is one of the consecutive states from READY to CAUGHT_UP."""
        return self not in (JobState.BLOCKED, JobState.STALE, JobState.DIFFERENT, JobState.ROLLED_BACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """How far one job has come."""

    job: str
    """`checkpoint NAME` or `group NAME`."""
    wave: str | None
    """The first wave that names it; None if none does."""
    state: JobState
    since_ms: int | None
    """Since when, by the evidence, epoch ms; None if unknown."""
    age_ms: int
    """The age of the evidence when the status was taken; 0 if it was read for it."""
    evidence: str
    """The evidence for the state, in one or two sentences."""
    next: str | None
    """The next step: a command, or a sentence; None if there is none."""
    waits_for: tuple[str, ...] = ()
    """The conditions that its wave waits for, a sentence each."""
    lag: Count | None = None
    """How many records it has to read on the new cluster, once it is moved; None if unknown."""
    old_lag: Count | None = None
    """How many records it has to read on the old cluster, until it is moved; None if unknown."""
    stopped_ms: int | None = None
    """When it last moved its positions on the old cluster, epoch ms; None while it runs, or if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveStatus:
    """How far one wave has come."""

    wave: str
    jobs: int
    caught_up: int
    not_before_ms: int | None
    window_ms: int | None
    waits_for: tuple[str, ...]
    """The conditions that it waits for, a sentence each; empty if it may begin, or has begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How far a migration has come."""

    migration: str
    taken_at: Time
    jobs: tuple[JobStatus, ...]
    """In the order of their waves; those without a wave last."""
    waves: tuple[WaveStatus, ...]
    """In the order in which they begin."""
    findings: tuple[Finding, ...]
    """About the migration as a whole."""

    @property
    def is_done(self) -> bool:
        return all(job.state is JobState.CAUGHT_UP for job in self.jobs)

    @property
    def is_different(self) -> bool:
        return any(job.state is JobState.DIFFERENT for job in self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOfSet:
    """One plan of a set."""

    job: str
    """`checkpoint NAME` or `group NAME`, as in the migration file."""
    file: str
    """The name of the plan's file, in the folder of the set's file."""
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
    """The expected and actual values, and the effect."""
    fix: str
    """The next step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSet:
    """Plans that are approved together and applied one after the other."""

    migration: str
    wave: str | None
    """The wave of these jobs in the migration file; None if they were chosen otherwise."""
    plans: tuple[PlanOfSet, ...]
    """In the order in which they are applied."""
    refused: tuple[RefusedJob, ...]
    """Jobs that were requested and could not be planned. An approval of the set does not cover them."""
