"""The jobs of a migration as the console knows them, problems first: their comparison and their plan.

Nothing is read for it: comparisons are those in memory, plans those of the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from offsetwise.console.answers import Answers, CachedAnswer, Question, Reading
from offsetwise.console.offered import Offered
from offsetwise.console.reader import Reader
from offsetwise.console.widgets.cached import cached
from offsetwise.errors import OffsetwiseError
from offsetwise.findings import describe
from offsetwise.model import Comparison, Finding, Severity, Subject, SubjectKind
from offsetwise.review.board import Board
from offsetwise.review.exports import job_of
from offsetwise.review.people import Person
from offsetwise.review.sets.sheet import SetStanding, SetState
from offsetwise.review.sheet import Waiting
from offsetwise.store.review_rows import PlanRow, SetRow, State
from offsetwise.wording import many

_MOST: Final = 2_000
_WORST: Final = list(Severity)


class JobStep(StrEnum):
    """State of a job in this console, in the order of tables: what needs attention first."""

    FAILED = "not readable"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    UNCOMPARED = "not compared"
    COMPARED = "compared"
    DRAFT = "draft"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    APPLIED = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLine:
    subject: Subject
    waves: tuple[str, ...]
    engine: str
    """Empty if the job was not compared, so that its engine is not known."""
    step: JobStep
    partitions: int | None
    changed: int | None
    """Partitions that resume at another offset; None if the job was not compared."""
    worst: Finding | None
    """The worst finding of its comparison; findings about the old numbers explain why they are translated."""
    error: str
    """Why the last comparison failed; empty if it did not."""
    plan: PlanRow | None
    """The open plan, else the one that changed last."""
    of_set: int | None
    """Number of the set in which the plan waits."""
    why: str
    """What the plan waits for the person for; empty if it does not."""

    @property
    def name(self) -> str:
        return str(self.subject)

    @property
    def wave(self) -> str:
        return ", ".join(self.waves)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownJobs:
    plans: tuple[PlanRow, ...] = ()
    """Most recently changed first."""
    of_sets: Mapping[int, int] = field(default_factory=dict)
    """Number of the set in which a plan is decided, by the plan's number."""
    waiting: Mapping[int, Waiting] = field(default_factory=dict)
    """What waits for the person, by the number of the plan."""


def kept_of(board: Board, person: Person | None) -> KnownJobs:
    return known_jobs(board.plans(person), board.sets(person), board.waiting_for(person))


def known_jobs(
    plans: tuple[PlanRow, ...], sets: Iterable[tuple[SetRow, SetStanding]], waiting: Iterable[Waiting]
) -> KnownJobs:
    """Index what was read from the store by plan.

    Args:
        plans: Most recently changed first.
        sets: The newest first.
        waiting: What waits for the person.
    """
    of_sets: dict[int, int] = {}
    for row, set_standing in sets:
        if set_standing.state is not SetState.CHANGED:
            of_sets = {member.plan: row.id for member in row.members} | of_sets
    by_plan: dict[int, Waiting] = {}
    for waiting_plan in waiting:
        numbers = (
            [waiting_plan.plan]
            if waiting_plan.of_set is None
            else [plan for plan, of in of_sets.items() if of == waiting_plan.of_set]
        )
        by_plan |= dict.fromkeys(numbers, waiting_plan)
    return KnownJobs(plans=plans, of_sets=of_sets, waiting=by_plan)


def jobs(answers: Answers, migration: Offered, known_jobs: KnownJobs) -> list[JobLine]:
    """Return the jobs of a migration, those that need attention first.

    Args:
        answers: The answers in memory.
        migration: The migration.
        known_jobs: The store's plans of the jobs.
    """
    by_job = _plans_by_job(migration, known_jobs.plans)
    order = list(JobStep)
    known = answers.known([Question.of(Reader.comparison, migration.name, job) for job in migration.subjects])
    lines = [
        _line(migration, job, by_job.get(job), known_jobs, answer, reading)
        for job, (answer, reading) in zip(migration.subjects, known, strict=True)
    ]
    return sorted(lines, key=lambda line: (order.index(line.step), _severity(line.worst)))


def _plans_by_job(migration: Offered, plans: Sequence[PlanRow]) -> dict[Subject, PlanRow]:
    names = {migration.name, migration.name.removesuffix(" (sample)")}
    results: dict[Subject, PlanRow] = {}
    for row in plans:
        if row.migration not in names:
            continue
        kind = SubjectKind.CHECKPOINT if row.moves.startswith("checkpoint ") else SubjectKind.GROUP
        job = Subject(kind=kind, name=job_of(row.moves, migration.destination.checkpoints))
        there = results.get(job)
        if there is None or (row.state.open and not there.state.open):
            results[job] = row
    return results


def _line(  # noqa: PLR0917 - all facts about one job
    migration: Offered,
    job: Subject,
    plan: PlanRow | None,
    known_jobs: KnownJobs,
    answer: CachedAnswer[Comparison] | None,
    reading: Reading[Comparison] | None,
) -> JobLine:
    error = None if reading is None or not reading.outcome.done() else reading.error
    said = error.problem if isinstance(error, OffsetwiseError) else "" if error is None else type(error).__name__
    summary = None if answer is None else _summary_of(answer)
    return JobLine(
        subject=job,
        waves=migration.waves_of(job),
        engine="" if summary is None else summary.engine,
        step=_step(plan, summary, failed=bool(said)),
        partitions=None if summary is None else summary.partitions,
        changed=None if summary is None else summary.changed,
        worst=None if summary is None else summary.worst,
        error=said,
        plan=plan,
        of_set=None if plan is None else known_jobs.of_sets.get(plan.id),
        why=known_jobs.waiting[plan.id].why if plan is not None and plan.id in known_jobs.waiting else "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ComparisonSummary:
    engine: str
    partitions: int
    changed: int
    worst: Finding | None


@cached(_MOST)
def _summary_of(answer: CachedAnswer[Comparison]) -> _ComparisonSummary:
    comparison = answer.value
    return _ComparisonSummary(
        engine=comparison.engine,
        partitions=len(comparison.partitions),
        changed=sum(row.new_offset is not None and row.old_offset != row.new_offset for row in comparison.partitions),
        worst=min(
            (finding for finding in comparison.findings if not describe(finding.code).unedited),
            key=_severity,
            default=None,
        ),
    )


def _severity(finding: Finding | None) -> int:
    return len(_WORST) if finding is None else _WORST.index(finding.severity)


_STEPS: Final = {
    State.DRAFT: JobStep.DRAFT,
    State.SUBMITTED: JobStep.SUBMITTED,
    State.APPROVED: JobStep.APPROVED,
    State.APPLIED: JobStep.APPLIED,
    State.REJECTED: JobStep.REJECTED,
}


def _step(plan: PlanRow | None, summary: _ComparisonSummary | None, *, failed: bool) -> JobStep:
    if plan is not None and plan.state in _STEPS:
        return _STEPS[plan.state]
    if failed:
        return JobStep.FAILED
    if summary is None:
        return JobStep.UNCOMPARED
    blocked = summary.worst is not None and summary.worst.severity is Severity.BLOCKS
    return JobStep.BLOCKED if blocked else JobStep.COMPARED


def in_short(migration: Offered, lines: Sequence[JobLine]) -> str:
    """Summarise the jobs of a migration: how many, in how many waves, and in which states, problems first.

    >>> from offsetwise.console.offered import Offered
    >>> in_short(Offered(name="m", old="a", new="b", subjects=(), recorded=False), [])
    '0 jobs'
    """
    waves = [many(len(lines), "job"), *([f"in {many(len(migration.waves), 'wave')}"] if migration.waves else [])]
    counts = Counter(line.step for line in lines)
    return " · ".join([" ".join(waves), *(f"{counts[step]:,} {step}" for step in JobStep if counts[step])])


def next_wave(migration: Offered, lines: Sequence[JobLine]) -> str | None:
    """Return the first wave with a job that is not approved yet; None if there is none."""
    done = {line.subject for line in lines if line.step in (JobStep.APPROVED, JobStep.APPLIED)}
    return next((name for name, subjects in migration.waves if set(subjects) - done), None)
