"""The state of a job: the first row of a table that matches its evidence. docs/status.md shows the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from shlex import quote
from typing import Final

from offsetwise.model import CutoverState, JobState, JobStatus, Turnout
from offsetwise.status.evidence import AppliedEvidence, ComparisonEvidence, JobEvidence, PlanEvidence
from offsetwise.wording import clock, duration, first_of, many


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    migration: str
    """The migration file, as commands name it."""
    now_ms: int
    lag_at_most: int = 0
    """A job with at most this many records to read counts as caught up, even if it had fewer when it was moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    state: JobState
    evidence: str
    next: str | None
    since_ms: int | None = None
    taken_ms: int | None = None
    """When the evidence was taken; None for now."""


def status_of(evidence: JobEvidence, rules: Rules) -> JobStatus:
    """Return the status of a job.

    Args:
        evidence: The evidence about it.
        rules: The other inputs.
    """
    verdict = next(result for row in _ROWS if (result := row(evidence, rules)) is not None)
    age_ms = 0 if verdict.taken_ms is None else max(0, rules.now_ms - verdict.taken_ms)
    return JobStatus(
        job=str(evidence.job),
        wave=evidence.wave,
        state=verdict.state,
        since_ms=verdict.since_ms,
        age_ms=age_ms,
        evidence=verdict.evidence,
        next=verdict.next,
        lag=None if evidence.applied is None else evidence.applied.lag,
        old_lag=evidence.old_lag if _is_on_old(evidence) else None,
        stopped_ms=evidence.moved_ms if evidence.active is False else None,
    )


def _is_on_old(evidence: JobEvidence) -> bool:
    applied = evidence.applied
    return applied is None or 0 < applied.undone == applied.steps


def _command(verb: str, evidence: JobEvidence, rules: Rules, rest: str = "") -> str:
    name = f"--{evidence.job.kind} {quote(evidence.job.name)}"
    return f"offsetwise {verb} -m {quote(rules.migration)} {name}{rest}"


def _of_file(verb: str, file: str, rules: Rules, rest: str = "") -> str:
    return f"offsetwise {verb} {quote(file)} -m {quote(rules.migration)}{rest}"


def _rolled_back(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    applied = evidence.applied
    if applied is None or not applied.undone:
        return None
    if applied.undone < applied.steps:
        return _Verdict(
            state=JobState.BLOCKED,
            evidence=f"{applied.receipt}: {applied.undone:,} of {many(applied.steps, 'target')} taken back.",
            next=_of_file("rollback", applied.receipt, rules, " --execute"),
        )
    return _Verdict(
        state=JobState.ROLLED_BACK,
        evidence=f"What {applied.receipt} says was written has been taken back.",
        next=_command("compare", evidence, rules),
    )


def _unfinished(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    applied, plan = evidence.applied, evidence.plan
    if applied is None or applied.ended_ms is not None:
        return None
    file = applied.receipt if plan is None else plan.file
    return _Verdict(
        state=JobState.BLOCKED,
        evidence=f"An application of {file} has begun and not ended.",
        next=_of_file("apply", file, rules, f"{_given(plan)} --execute"),
    )


def _given(plan: PlanEvidence | None) -> str:
    if plan is None:
        return ""
    approvals = "".join(f" --approval {quote(file)}" for file in plan.approvals)
    return f"{approvals} --output …" if plan.takes_output else approvals


def _different(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    applied = evidence.applied
    if applied is None or applied.verification is None or not applied.verification.is_different:
        return None
    verification = applied.verification
    sentences = [position.told for position in verification.positions if position.turnout is Turnout.DIFFERENT]
    sentences += [ended.told for ended in verification.transactions if ended.turnout is Turnout.DIFFERENT]
    sentences += [] if verification.job is None else [verification.job.told]
    more = f" {many(len(sentences) - 1, 'more position')} likewise." if len(sentences) > 1 else ""
    return _Verdict(
        state=JobState.DIFFERENT,
        evidence=f"{sentences[0]}{more}",
        next=_of_file("rollback", applied.receipt, rules),
    )


def _moved(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    applied = evidence.applied
    if applied is None:
        return None
    verification = applied.verification
    if verification is None or not verification.started:
        unseen = verification is None or verification.is_unknown
        return _Verdict(
            state=JobState.APPLIED,
            evidence=_unseen(applied) if unseen else "What was written stands as planned; the job has not begun.",
            next=_of_file("verify", applied.receipt, rules, " --watch"),
            since_ms=applied.ended_ms,
        )
    if applied.lag is None:
        return _started(applied, "how much it has left to read is not known", rules)
    remaining = f"{many(applied.lag, 'record')} left to read"
    most = max(applied.lag_before or 0, rules.lag_at_most)
    if applied.lag > most:
        return _started(applied, f"it has {remaining}, of at most {most:,}", rules)
    return _Verdict(
        state=JobState.CAUGHT_UP,
        evidence=f"{_begun(applied)}, and has {remaining}, of at most {most:,}.",
        next=None,
    )


def _started(applied: AppliedEvidence, remaining: str, rules: Rules) -> _Verdict:
    return _Verdict(
        state=JobState.STARTED,
        evidence=f"{_begun(applied)}; {remaining}.",
        next=f"offsetwise status -m {quote(rules.migration)} --watch",
        since_ms=applied.ended_ms,
    )


def _begun(applied: AppliedEvidence) -> str:
    if applied.shows_start:
        return "The job began exactly at the planned positions"
    return "The job has moved on from the planned positions, none of which it stands before"


def _unseen(applied: AppliedEvidence) -> str:
    verification = applied.verification
    row = (
        None
        if verification is None
        else next((p for p in verification.positions if p.turnout is Turnout.UNKNOWN), None)
    )
    why = "" if row is None else f" {row.told}"
    return f"The plan was applied; whether the job has begun is not known.{why}"


def _unusable(evidence: JobEvidence, rules: Rules) -> _Verdict | None:  # noqa: ARG001 - the signature of every row
    if evidence.unread is not None:
        return _Verdict(state=JobState.BLOCKED, evidence=evidence.unread.problem, next=evidence.unread.fix)
    if evidence.missing:
        return _Verdict(
            state=JobState.BLOCKED,
            evidence=f"{many(len(evidence.missing), 'topic')} of the job not there: {first_of(evidence.missing, 5)}.",
            next="Mirror the topic, or correct `topics` in the migration file.",
        )
    return None


def _planned(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    plan = evidence.plan
    if plan is None:
        return None
    if plan.rejection is not None:
        return _Verdict(
            state=JobState.BLOCKED,
            evidence=f"Plan {plan.file}: {plan.rejection}",
            next=_command("draft", evidence, rules, " --target …"),
        )
    if plan.drift:
        more = f" {many(len(plan.drift) - 1, 'more thing')} changed." if len(plan.drift) > 1 else ""
        return _Verdict(
            state=JobState.STALE,
            evidence=f"Plan {plan.file}, {clock(plan.drafted_ms)}: {plan.drift[0]}{more}",
            next=_command("draft", evidence, rules, " --target …"),
        )
    if plan.approvers:
        return _Verdict(
            state=JobState.APPROVED,
            evidence=f"Plan {plan.file} is approved by {', '.join(plan.approvers)}.",
            next=_of_file("apply", plan.file, rules, f"{_given(plan)} --execute"),
            since_ms=plan.approved_ms,
        )
    return _Verdict(
        state=JobState.PLANNED,
        evidence=f"Plan {plan.file} was drafted, and logs, groups and positions are as it requires.",
        next=f"offsetwise sign {quote(plan.file)}",
        since_ms=plan.drafted_ms,
    )


def _running(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    if evidence.active is not True:
        return None
    return _Verdict(
        state=JobState.RUNNING,
        evidence=evidence.activity,
        next=f"{evidence.stop}, then: offsetwise cutover -m {quote(rules.migration)} --watch",
    )


def _compared(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    comparison = evidence.comparison
    if comparison is None or not _holds(comparison, evidence):
        return None
    if comparison.blocking:
        return _Verdict(
            state=JobState.BLOCKED,
            evidence=f"The comparison found {', '.join(comparison.blocking)}.",
            next=_command("compare", evidence, rules),
            taken_ms=comparison.taken_ms,
        )
    proven = comparison.summary.exact + comparison.summary.position_exact + comparison.summary.preserved
    if proven < comparison.summary.partitions:
        return None
    return _Verdict(
        state=JobState.COMPARED,
        evidence="Its partition is proven." if proven == 1 else f"All {many(proven, 'partition')} are proven.",
        next=_command("draft", evidence, rules, " --target …"),
        since_ms=comparison.taken_ms,
        taken_ms=comparison.taken_ms,
    )


def _holds(comparison: ComparisonEvidence, evidence: JobEvidence) -> bool:
    return not comparison.moved and (evidence.moved_ms is None or evidence.moved_ms <= comparison.taken_ms)


def _mirrored(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    cutover = evidence.cutover
    if cutover is None or cutover.state is not CutoverState.COPIED:
        return None
    return _Verdict(
        state=JobState.MIRRORED,
        evidence=f"The old logs have stood still for {duration(cutover.still_ms)}, and every record of them is on the "
        f"new cluster.{_unproven(evidence)}",
        next=_command("compare", evidence, rules),
        since_ms=cutover.taken_ms,
        taken_ms=cutover.taken_ms,
    )


def _unproven(evidence: JobEvidence) -> str:
    comparison = evidence.comparison
    if comparison is None or not _holds(comparison, evidence):
        return ""
    summary = comparison.summary
    unproven = summary.partitions - summary.exact - summary.position_exact - summary.preserved
    return f" Compared, {unproven:,} of {many(summary.partitions, 'partition')} are not proven." if unproven else ""


def _stopped(evidence: JobEvidence, rules: Rules) -> _Verdict | None:
    if evidence.active is not False:
        return None
    return _Verdict(
        state=JobState.STOPPED,
        evidence=f"{evidence.activity}{_unproven(evidence)}",
        next=f"offsetwise cutover -m {quote(rules.migration)} --watch",
        since_ms=evidence.moved_ms,
    )


def _ready(evidence: JobEvidence, rules: Rules) -> _Verdict:
    return _Verdict(
        state=JobState.READY,
        evidence=f"Its positions are read, and {many(evidence.topics, 'topic')} of it are on both clusters. Whether "
        f"it runs is not known.{_unproven(evidence)}",
        next=_command("compare", evidence, rules),
    )


_Row = Callable[[JobEvidence, Rules], _Verdict | None]
_ROWS: Final[tuple[_Row, ...]] = (
    *(_rolled_back, _unfinished, _different, _moved),
    *(_unusable, _planned, _running, _compared, _mirrored, _stopped, _ready),
)
