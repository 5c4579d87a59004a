"""The plans of many jobs, drafted in the background from recent comparisons and from new ones made for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from offsetwise import files, workflow
from offsetwise.config import Migration
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Comparison, Identity, Plan, PlanSet, RefusedJob, Subject, Target
from offsetwise.model.digest import digest
from offsetwise.plan.request import DraftRequest
from offsetwise.progress import Progress
from offsetwise.review.drafting import DraftedVersion
from offsetwise.review.sets.drafting import DraftedSet
from offsetwise.workflow.plan_folder import JobPlan

MAX_AGE: Final = timedelta(hours=1)
"""Maximum age of a comparison that a plan of a set is drafted from; an older one is made again."""
Keep = Callable[[Subject, Comparison], Comparison]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRequest:
    jobs: tuple[Subject, ...]
    wave: str | None
    targets: tuple[str, ...]
    """Kinds of targets; each job gets those that migrate jobs of its engine."""
    author: str
    identities: tuple[Identity, ...]
    left_out: tuple[RefusedJob, ...] = ()
    """Jobs of the wave that are not drafted, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftedJobs:
    request: SetRequest
    plans: tuple[tuple[Subject, Plan], ...]
    """In the order in which they are applied."""
    refused: tuple[RefusedJob, ...]
    drafted: DraftedSet | None
    """The set to submit; None if no job could be drafted."""
    comparisons: Mapping[Subject, Comparison | OffsetwiseError] = field(compare=False)
    """The comparisons made for the set, as the console keeps them; or the error."""


@dataclass(slots=True, kw_only=True)
class _JobComparisons:
    keep: Keep
    sources: dict[workflow.WantedJob, Comparison]
    """With both clusters' snapshots."""
    outcomes: dict[Subject, Comparison | OffsetwiseError] = field(default_factory=dict)

    def heard(self, job: workflow.WantedJob, outcome: Comparison | OffsetwiseError) -> None:
        subject = Subject(kind=job.kind, name=job.name)
        if isinstance(outcome, Comparison):
            self.sources[job] = outcome
            outcome = self.keep(subject, outcome)
        self.outcomes[subject] = outcome


def draft_jobs(
    migration: Migration,
    request: SetRequest,
    compared: Mapping[Subject, Comparison],
    keep: Keep,
    progress: Progress,
) -> DraftedJobs:
    """Draft a plan for each of the jobs; compare those without a recent comparison first.

    Args:
        migration: Their migration.
        request: Which jobs, and which targets.
        compared: Earlier comparisons of jobs, with both clusters' snapshots.
        keep: Stores a new comparison, and returns it as the console keeps it.
        progress: Called at each step.

    Raises:
        OffsetwiseError: Nothing can be drafted.
    """
    requested = {workflow.WantedJob.of(job): job for job in request.jobs}
    now = datetime.now(UTC)
    fresh = {job: compared[subject] for job, subject in requested.items() if _is_fresh(compared.get(subject), now)}
    comparisons = _JobComparisons(keep=keep, sources=dict(fresh))
    targets = tuple(Target(kind=kind) for kind in request.targets)
    draft_request = DraftRequest(targets=targets, author=request.author, identities=request.identities)
    drafted = partial(workflow.draft_all, migration, draft_request, tuple(requested), wave=request.wave)
    outcomes = dict(drafted(compared=fresh, heard=comparisons.heard, progress=progress))
    in_order = [(job, outcomes[job]) for job in requested]
    document = workflow.plan_set_of(migration, in_order, wave=request.wave)
    document = replace(document, refused=(*request.left_out, *document.refused))
    plans = [(job, outcome) for job, outcome in in_order if not isinstance(outcome, OffsetwiseError)]
    return DraftedJobs(
        request=request,
        plans=tuple((requested[job], outcome.plan) for job, outcome in plans),
        refused=document.refused,
        drafted=_set_of(document, [_version(outcome, comparisons.sources.get(job)) for job, outcome in plans]),
        comparisons=comparisons.outcomes,
    )


def _is_fresh(comparison: Comparison | None, now: datetime) -> bool:
    if comparison is None:
        return False
    return now - datetime.fromisoformat(comparison.taken_at) <= MAX_AGE


def _version(plan: JobPlan, comparison: Comparison | None) -> DraftedVersion:
    return DraftedVersion(
        plan=plan.plan, content=plan.content, digest=digest(plan.content), base=None, comparison=comparison
    )


def _set_of(document: PlanSet, versions: Sequence[DraftedVersion]) -> DraftedSet | None:
    if not versions:
        return None
    return DraftedSet(document=document, content=files.dump(document).encode(), plans=tuple(versions))
