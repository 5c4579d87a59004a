"""The plans of a set, one after the other: applied in their order, taken back in the reverse."""

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
    """As the set names it."""
    plan: str
    """The plan's digest, hex."""
    run: Callable[[], _T]
    """Does it, or goes on with it. The same call again finds what an earlier one has done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutcome(Generic[_T]):
    """What came of one plan of a set."""

    job: str
    """As the set names it."""
    plan: str
    """The plan's digest, hex."""
    result: _T | None
    """None where it failed before there was any."""
    error: OffsetwiseError | None
    """Why it failed; None where it did not."""


def one_by_one(
    steps: Iterable[PlanStep[_T]],
    *,
    keep_going: bool,
    heard: Callable[[PlanOutcome[_T]], None],
) -> tuple[PlanOutcome[_T], ...]:
    """Take the plans of a set one after the other.

    Args:
        steps: In the order in which they are done.
        keep_going: Whether to go on after one that fails.
        heard: Called with each outcome as soon as it is known.

    Returns:
        One for each plan that was reached; where one failed and nobody goes on, it is the last.
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
    """Return a step that also writes to the set's journal when it began, and when it ended or failed.

    Args:
        step: The step.
        action: What it does.
        journal: The journal of the set, which holds its lock.
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
