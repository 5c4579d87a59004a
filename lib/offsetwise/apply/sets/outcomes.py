"""Run the plans of a set one after the other: applied in their order, rolled back in the reverse order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from offsetwise.apply.sets.journal import EventKind, SetAction, SetEvent, SetJournal
from offsetwise.errors import OffsetwiseError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep(Generic[_T]):
    job: str
    """The name in the set."""
    plan: str
    """The plan's digest, hex."""
    run: Callable[[], _T]
    """Runs or continues it. Calling it again finds what an earlier call has done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutcome(Generic[_T]):
    """What came of one plan of a set."""

    job: str
    """The name in the set."""
    plan: str
    """The plan's digest, hex."""
    result: _T | None
    """None if it failed without a result."""
    error: OffsetwiseError | None
    """Why it failed; None if it did not."""


def one_by_one(
    steps: Iterable[PlanStep[_T]],
    *,
    keep_going: bool,
    heard: Callable[[PlanOutcome[_T]], None],
) -> tuple[PlanOutcome[_T], ...]:
    """Run the plans of a set one after the other.

    Args:
        steps: In the order to run.
        keep_going: Whether to continue after a failure.
        heard: Called with each outcome as soon as it is known.

    Returns:
        One for each plan that was reached; without `keep_going` a failed one is the last.
    """
    outcomes: list[PlanOutcome[_T]] = []
    for step in steps:
        result, failure = None, None
        try:
            result = step.run()
        except OffsetwiseError as error:
            failure = error
        outcomes.append(PlanOutcome(job=step.job, plan=step.plan, result=result, error=failure))
        heard(outcomes[-1])
        if failure is not None and not keep_going:
            break
    return tuple(outcomes)


def recorded(step: PlanStep[_T], action: SetAction, journal: SetJournal, time: Callable[[], str]) -> PlanStep[_T]:
    """Return a step that also records in the set's journal when it began, and when it ended or failed.

    Args:
        step: The step.
        action: What it does.
        journal: The journal of the set, locked.
        time: Returns the time, ISO 8601, UTC.
    """

    def record(kind: EventKind, problem: str | None = None) -> None:
        event = SetEvent(action=action, event=kind, job=step.job, plan=step.plan, at=time(), problem=problem)
        journal.record(event)

    def run() -> _T:
        record(EventKind.BEGAN)
        try:
            result = step.run()
        except OffsetwiseError as error:
            record(EventKind.FAILED, error.problem)
            raise
        record(EventKind.ENDED)
        return result

    return replace(step, run=run)
