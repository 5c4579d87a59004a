"""The state of every job of a migration, read from its clusters, checkpoints and folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from offsetwise import approval
from offsetwise.api import job_evidence
from offsetwise.api.readers import LiveReaders, SharedReaders
from offsetwise.api.working_folder import PlanFile, WorkingFolder, read_folder
from offsetwise.approval import ApprovalPolicy
from offsetwise.comparison import Scene
from offsetwise.config import Migration
from offsetwise.config.waves import in_order
from offsetwise.errors import ConfigError, OffsetwiseError
from offsetwise.model import (
    Cluster,
    Cutover,
    Finding,
    JobState,
    JobStatus,
    Snapshot,
    Status,
    Subject,
    SubjectKind,
    WaveStatus,
    time_of,
)
from offsetwise.plan.target import groups_of
from offsetwise.progress import Progress, no_progress
from offsetwise.status.evidence import JobEvidence
from offsetwise.status.findings import JobOfMigration, WaveOfJobs, WholeCase, judge_whole, waits_of
from offsetwise.status.rule import Rules, status_of
from offsetwise.streams.reader import read_cluster
from offsetwise.survey.naming import user_topics
from offsetwise.workflow.scenes import WantedJob, stage

_FOR_EVER: Final = -1
"""`retention.ms` of a topic that keeps its records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest:
    migration: Migration
    path: Path | None = None
    """The migration file, which a watch reads again if it has changed."""
    folder: Path | None = None
    """The folder with comparisons, plans, approvals and receipts; None if there is none."""
    wave: str | None = None
    """Only the jobs of one wave."""
    trust: tuple[Path, ...] = ()
    """The keys of reviewers besides those that the migration file trusts."""
    lag_at_most: int = 0
    """A job with at most this many records to read counts as caught up."""
    cutover: Cutover | None = None
    """The observations of the old logs; None to use those in the folder."""
    snapshots: tuple[Snapshot, Snapshot] | None = None
    """The old and the new cluster as read before, instead of the live ones."""

    @property
    def file(self) -> str:
        return str(self.path or "migration.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReading:
    status: Status
    unread: tuple[str, ...]
    """The files of the folder that could not be read, a sentence each."""
    topics: frozenset[str]
    """The topics of the old cluster that the jobs read, as far as their positions could be read."""


def read_status(request: StatusRequest, *, progress: Progress = no_progress) -> StatusReading:
    """Read the state of every job, with one reading of each cluster for all jobs.

    Args:
        request: The request.
        progress: Called with each step.

    Raises:
        ClusterError: A cluster does not answer, or both are the same.
        ConfigError: The migration file has no job, or no such wave.
        FileError: The folder cannot be read.
        NotApprovedError: A trusted key cannot be read.
    """
    return _StatusReading(request, progress).status()


class _StatusReading:
    """One reading of all evidence for the states of a migration's jobs."""

    def __init__(self, request: StatusRequest, progress: Progress) -> None:
        migration = request.migration
        self.request, self.migration = request, migration
        self.jobs = migration.all_jobs
        if not self.jobs:
            raise ConfigError(
                f"Migration {migration.name!r}: expected checkpoints or groups, the file has none. Nothing was read.",
                fix="Add them under `checkpoints` and `groups`.",
            )
        self.waves = tuple(
            WaveOfJobs(name=wave.name, after=wave.after, not_before_ms=wave.not_before_ms, window_ms=wave.window_ms)
            for wave in in_order(migration.waves)
        )
        self.waves_of = self._waves_of()
        self.shown = self.jobs if request.wave is None else migration.wave(request.wave).jobs_of(self.jobs)
        self.folder = WorkingFolder(path=Path()) if request.folder is None else read_folder(request.folder)
        self.plans = self._plans()
        targets = (target for plans in self.plans.values() for plan in plans for target in plan.document.targets)
        groups = tuple(sorted({*groups_of(targets)}))
        requested = tuple(WantedJob(kind=job.kind, name=job.name, newest=True) for job in self.jobs)
        scenes = stage(migration, requested, snapshots=request.snapshots, groups=groups, progress=progress)
        self.scenes: Mapping[Subject, Scene | OffsetwiseError] = {
            Subject(kind=job.kind, name=job.name): scene for job, scene in scenes.items()
        }
        self.activity = {
            job: job_evidence.activity_of(scene) for job, scene in self.scenes.items() if isinstance(scene, Scene)
        }
        self.policy: ApprovalPolicy = approval.policy_for(migration.approval, request.trust)
        self.readers = LiveReaders(migration=migration, progress=progress)
        self.now = datetime.now(UTC)

    @property
    def now_ms(self) -> int:
        return round(self.now.timestamp() * 1000)

    def status(self) -> StatusReading:
        rules = Rules(migration=self.request.file, now_ms=self.now_ms, lag_at_most=self.request.lag_at_most)
        by_job = {job: status_of(self._evidence(job), rules) for job in self.jobs}
        caught_up = {
            wave.name: _caught_up([by_job[job] for job in self.jobs if wave.name in self.waves_of[job]])
            for wave in self.waves
        }
        waits = {wave.name: waits_of(wave, caught_up, self.now_ms) for wave in self.waves}
        rank = {wave.name: number for number, wave in enumerate(self.waves)}
        jobs = [_waiting(by_job[job], waits) for job in self.shown]
        jobs.sort(key=lambda job: rank.get(job.wave or "", len(rank)))
        status = Status(
            migration=self.migration.name,
            taken_at=time_of(self.now),
            jobs=tuple(jobs),
            waves=tuple(
                WaveStatus(
                    wave=wave.name,
                    jobs=caught_up[wave.name][1],
                    caught_up=caught_up[wave.name][0],
                    not_before_ms=wave.not_before_ms,
                    window_ms=wave.window_ms,
                    waits_for=waits[wave.name],
                )
                for wave in self.waves
                if self.request.wave in (None, wave.name)
            ),
            findings=self._findings(),
        )
        return StatusReading(status=status, unread=tuple(self.folder.unread), topics=self._topics())

    def _topics(self) -> frozenset[str]:
        scenes = (scene for scene in self.scenes.values() if isinstance(scene, Scene))
        return frozenset(topic for scene in scenes for topic in scene.subject.topics(scene.old))

    def _waves_of(self) -> Mapping[Subject, tuple[str, ...]]:
        """Return the names of the waves of each job, in the order in which they begin."""
        results: dict[Subject, tuple[str, ...]] = dict.fromkeys(self.jobs, ())
        for wave in self.waves:
            for job in self.migration.wave(wave.name).jobs_of(self.jobs):
                results[job] = (*results[job], wave.name)
        return results

    def _plans(self) -> Mapping[Subject, Sequence[PlanFile]]:
        names = {("checkpoint", config.uri): config.name for config in self.migration.checkpoints}
        plans: dict[Subject, list[PlanFile]] = {}
        for plan in self.folder.plans:
            needs, document = plan.document.requirements, plan.document
            group = None if needs.old_group is None else needs.old_group.group
            kept_by = needs.kept_by(group or (document.positions[0].source if document.positions else None))
            name = names.get((kept_by.kind.value, kept_by.name), kept_by.name)
            if document.migration == self.migration.name:
                plans.setdefault(Subject(kind=kept_by.kind, name=name), []).append(plan)
        return plans

    def _evidence(self, job: Subject) -> JobEvidence:
        scene = self.scenes[job]
        waves = self.waves_of[job]
        evidence = JobEvidence(
            job=job,
            wave=waves[0] if waves else None,
            unread=job_evidence.unread_of(scene),
            comparison=job_evidence.comparison_of(job, self.folder, job_evidence.commits_of(scene)),
        )
        read = None if isinstance(scene, OffsetwiseError) else scene
        if read is not None:
            activity = self.activity[job]
            evidence = replace(
                evidence,
                missing=job_evidence.missing_topics(read),
                topics=len(read.subject.topics(read.old)),
                active=activity.active,
                moved_ms=activity.moved_ms,
                activity=activity.shown_by,
                stop=activity.stop,
                old_lag=job_evidence.old_lag_of(read),
                cutover=job_evidence.cutover_of(read, self.request.cutover or self.folder.cutover),
            )
        plan = job_evidence.chosen_plan(self.plans.get(job, ()), self.folder)
        if plan is None:
            return evidence
        readers = self.readers if read is None else SharedReaders(migration=self.migration, new=lambda: read.new)
        return replace(
            evidence,
            plan=job_evidence.plan_of(plan, read, self.folder.approvals, self.policy),
            applied=job_evidence.applied_of(
                plan.digest,
                self.folder,
                readers,
                None if read is None else read.new,
                self.migration.job_traits(job).new_checkpoint,
            ),
        )

    def _findings(self) -> tuple[Finding, ...]:
        jobs = tuple(map(self._job, self.jobs))
        used = {topic for job in jobs for topic in (*job.reads, *job.produces)}
        copies = {topic: self.migration.new_topic(topic) for topic in used}
        old, new = self.request.snapshots or (
            read_cluster(self.migration, side, topics=None, groups=(), mirror=False) for side in Cluster
        )
        there = {topic.name for topic in new.topics}
        return judge_whole(
            WholeCase(
                waves=self.waves,
                jobs=jobs,
                copies=copies,
                lacking=frozenset(topic for topic, name in copies.items() if name not in there),
                unread=frozenset(user_topics(old) - {topic for job in jobs for topic in job.reads}),
                now_ms=self.now_ms,
                retention=_retention(old, new, copies),
            )
        )

    def _job(self, job: Subject) -> JobOfMigration:
        scene, traits = self.scenes[job], self.migration.job_traits(job)
        read = None if isinstance(scene, OffsetwiseError) else scene
        activity = self.activity.get(job)
        groups = (job.name,) if job.kind is SubjectKind.GROUP else (traits.commits_to,) if traits.commits_to else ()
        return JobOfMigration(
            job=job,
            waves=self.waves_of[job],
            reads=frozenset(() if read is None else read.subject.topics(read.old)),
            produces=frozenset(traits.produces),
            groups=groups,
            moved_ms=None if activity is None else activity.moved_ms,
            active=None if activity is None else activity.active,
        )


def _caught_up(jobs: Sequence[JobStatus]) -> tuple[int, int]:
    return sum(job.state is JobState.CAUGHT_UP for job in jobs), len(jobs)


def _waiting(job: JobStatus, waits: Mapping[str, tuple[str, ...]]) -> JobStatus:
    if job.state in _MOVED:
        return job
    return replace(job, waits_for=waits.get(job.wave or "", ()))


_MOVED: Final = frozenset({JobState.APPLIED, JobState.STARTED, JobState.CAUGHT_UP, JobState.DIFFERENT})


def _retention(old: Snapshot, new: Snapshot, copies: Mapping[str, str]) -> Mapping[str, int]:
    """Return the shorter `retention.ms` of each topic and its copy, without those that keep records for ever."""
    retention_ms = {
        (side, topic.name): int(dict(topic.config).get("retention.ms", _FOR_EVER))
        for side, snapshot in ((Cluster.OLD, old), (Cluster.NEW, new))
        for topic in snapshot.topics
        if "delete" in topic.cleanup
    }
    results = {}
    for topic, copy in copies.items():
        times = [retention_ms.get((Cluster.OLD, topic), _FOR_EVER), retention_ms.get((Cluster.NEW, copy), _FOR_EVER)]
        finite = [time for time in times if time >= 0]
        if finite:
            results[topic] = min(finite)
    return results
