"""Draft many jobs at once, as a set of plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from offsetwise import workflow
from offsetwise.api.job import Job
from offsetwise.api.plan import Plan
from offsetwise.api.plan_set import PlanSet
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Subject
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sets.file import SET_FILE
from offsetwise.progress import Progress
from offsetwise.workflow import JobPlan, WantedJob

if TYPE_CHECKING:
    from offsetwise.api.migration import Migration


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedJob:
    """The result of drafting one job of many: its plan, or why it could not be drafted."""

    job: Job
    plan: Plan | None
    error: OffsetwiseError | None
    reused: bool
    """Whether the plan comes from an earlier call, and is still valid."""


def draft_all(
    migration: Migration,
    request: DraftRequest,
    named: Iterable[Job] | None,
    *,
    wave: str | None,
    out: str | Path | None,
    max_age_s: float,
    heard: Callable[[DraftedJob], None],
    progress: Progress,
) -> PlanSet:
    folder = None if out is None else Path(out)
    requested = None if named is None else [WantedJob.of(job.named()) for job in named]
    jobs = tuple(dict.fromkeys(requested or workflow.all_jobs(migration.settings)))
    outcomes: dict[WantedJob, JobPlan | OffsetwiseError] = {}
    plans: dict[WantedJob, Plan] = {}
    for wanted_job, outcome in workflow.draft_all(
        migration.settings, request, jobs, wave=wave, out=folder, max_age_s=max_age_s, progress=progress
    ):
        outcomes[wanted_job] = outcome
        error = outcome if isinstance(outcome, OffsetwiseError) else None
        if isinstance(outcome, JobPlan):
            path = None if folder is None else folder / outcome.file
            plans[wanted_job] = Plan(document=outcome.plan, content=outcome.content, migration=migration, path=path)
        job = Job(migration, Subject(kind=wanted_job.kind, name=wanted_job.name))
        reused = isinstance(outcome, JobPlan) and outcome.reused
        heard(DraftedJob(job=job, plan=plans.get(wanted_job), error=error, reused=reused))
    document = workflow.plan_set_of(migration.settings, [(job, outcomes[job]) for job in jobs], wave=wave)
    drafted = PlanSet.of(document, [plans[job] for job in jobs if job in plans], migration=migration)
    drafted.path = None if folder is None else folder / SET_FILE
    return drafted
