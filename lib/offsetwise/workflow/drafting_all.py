from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Comparison, Plan, PlanOfSet, PlanSet, RefusedJob, time_of
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.sets.file import require_few
from offsetwise.plan.sets.several_jobs import request_of, require_for_several
from offsetwise.progress import Progress, no_progress
from offsetwise.workflow.comparing import compare_each
from offsetwise.workflow.comparing_all import MAX_AGE_S, all_jobs, file_names
from offsetwise.workflow.plan_folder import JobPlan, PlanFolder, plan_name
from offsetwise.workflow.planning import draft_compared, newest_of
from offsetwise.workflow.scenes import WantedJob

Heard: TypeAlias = Callable[[WantedJob, Comparison | OffsetwiseError], None]
"""Called with a job, and its comparison or why it could not be compared."""


def _ignored(_: WantedJob, __: Comparison | OffsetwiseError) -> None:
    return None


def draft_all(
    migration: Migration,
    request: DraftRequest,
    requested: Sequence[WantedJob] | None = None,
    *,
    wave: str | None = None,
    out: Path | None = None,
    max_age_s: float = MAX_AGE_S,
    compared: Mapping[WantedJob, Comparison] = MappingProxyType({}),
    heard: Heard = _ignored,
    progress: Progress = no_progress,
) -> Iterator[tuple[WantedJob, JobPlan | OffsetwiseError]]:
    """Draft a plan for each of many jobs from one reading of each cluster, and one search for the records of all.

    Args:
        migration: The migration of the jobs.
        request: The targets and decisions. Each job gets the targets that move jobs of its engine.
        requested: The jobs; None for all of the migration file.
        wave: The wave of the jobs.
        out: A folder for the plans, their comparisons and the set. Still valid plans in it are not drafted again.
        max_age_s: The maximum age of the comparison of such a plan, in seconds.
        compared: Fresh comparisons with their snapshots: these jobs are not compared again.
        heard: Called with each comparison.
        progress: Called with each step.

    Yields:
        Each job as soon as it is ready, with the same result as drafting it alone, or why it cannot be drafted.

    Raises:
        OffsetwiseError: Nothing more can be drafted. Files written before are kept.
    """
    jobs = _jobs(migration, request, requested)
    names = file_names(migration, jobs)
    folder = None if out is None else PlanFolder(out, migration, request, max_age_s, names)
    done: dict[WantedJob, JobPlan | OffsetwiseError] = {}
    comparisons = _compared(migration, jobs, compared, folder, heard, progress)
    for job, outcome in _planned(migration, request, names, comparisons, folder, progress):
        yield job, done.setdefault(job, outcome)
    if folder is not None:
        folder.finish(plan_set_of(migration, [(job, done[job]) for job in jobs], wave=wave))


def _jobs(migration: Migration, request: DraftRequest, requested: Sequence[WantedJob] | None) -> tuple[WantedJob, ...]:
    """Return the jobs of a request, each once, after checking that it may have several."""
    require_for_several(request)
    jobs = tuple(dict.fromkeys(requested or all_jobs(migration)))
    require_few(len(jobs), "draft: expected")
    return jobs


def _planned(  # noqa: PLR0917 - the input of a draft, and the names of files
    migration: Migration,
    request: DraftRequest,
    names: Mapping[WantedJob, str],
    comparisons: Iterable[tuple[WantedJob, Comparison | JobPlan | OffsetwiseError]],
    folder: PlanFolder | None,
    progress: Progress,
) -> Iterator[tuple[WantedJob, JobPlan | OffsetwiseError]]:
    compared: dict[WantedJob, Comparison] = {}
    for job, outcome in comparisons:
        if isinstance(outcome, Comparison):
            compared[job] = outcome
        else:
            yield job, outcome
    for job, drafted in _drafted_each(migration, request, compared, progress):
        plan = drafted if isinstance(drafted, OffsetwiseError) else JobPlan.of(job, drafted, plan_name(names[job]))
        if folder is not None:
            folder.keep(plan, compared[job])
        yield job, plan


def _compared(  # noqa: PLR0917 - the compared values, and the callback
    migration: Migration,
    jobs: Sequence[WantedJob],
    compared: Mapping[WantedJob, Comparison],
    folder: PlanFolder | None,
    heard: Heard,
    progress: Progress,
) -> Iterator[tuple[WantedJob, Comparison | JobPlan | OffsetwiseError]]:
    yield from ((job, compared[job]) for job in jobs if job in compared)
    remaining = [job for job in jobs if job not in compared]
    if not remaining:
        return
    start_spark = folder is None or not all(map(folder.has, remaining))
    known = None if folder is None else folder.known
    for job, outcome in compare_each(migration, remaining, progress=progress, known=known, spark_beside=start_spark):
        heard(job, outcome)
        yield job, outcome if folder is None else folder.reused.get(job, outcome)


def _drafted_each(
    migration: Migration, request: DraftRequest, compared: Mapping[WantedJob, Comparison], progress: Progress
) -> Iterator[tuple[WantedJob, Plan | OffsetwiseError]]:
    newest = newest_of(migration, [*compared.values()]) if compared else []
    for (job, comparison), times in zip(compared.items(), newest, strict=True):
        now = time_of(datetime.now(UTC))
        try:
            job_request = replace(request_of(request, job, comparison), newest=times)
            yield job, draft_compared(migration, job_request, comparison, drafted_at=now, progress=progress)
        except OffsetwiseError as error:
            yield job, error


def plan_set_of(
    migration: Migration,
    drafted: Iterable[tuple[WantedJob, JobPlan | OffsetwiseError]],
    *,
    wave: str | None = None,
) -> PlanSet:
    """Return the set of the drafted plans, with the reason of each job without one.

    Args:
        migration: The migration.
        drafted: The jobs, in the order in which their plans are to be applied.
        wave: The wave of the jobs.
    """
    plans, refused = [], []
    for job, outcome in drafted:
        if isinstance(outcome, JobPlan):
            plans.append(PlanOfSet(job=str(job), file=outcome.file, digest=digest_of(outcome.content)))
        else:
            error, problem, fix = type(outcome).__name__, outcome.problem, outcome.fix
            refused.append(RefusedJob(job=str(job), error=error, problem=problem, fix=fix))
    return PlanSet(migration=migration.name, wave=wave, plans=tuple(plans), refused=tuple(refused))
