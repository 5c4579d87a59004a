"""What looks at the jobs of a migration show, as values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from offsetwise.model import JobState, JobStatus, Status, WaveStatus, epoch_ms, time_of
from offsetwise.watch.status_history import StatusHistory

BEGAN: Final = datetime(2026, 11, 28, 2, 0, tzinfo=UTC)
BEGAN_MS: Final = epoch_ms(time_of(BEGAN))
WAVES: Final = ("pilot", "core", "rest")
SPREAD: Final = (
    *(JobState.DIFFERENT, JobState.BLOCKED, JobState.STALE, JobState.ROLLED_BACK),
    *(state for state in JobState if state.is_on_its_way),
    *(JobState.CAUGHT_UP,) * 6,
)
"""The states of generated jobs, again and again."""


def job(name: str, state: JobState = JobState.RUNNING, **changes: Any) -> JobStatus:
    """Return a job; `changes` are other fields of it."""
    given: dict[str, Any] = {
        "job": f"checkpoint {name}",
        "wave": None,
        "state": state,
        "since_ms": None,
        "age_ms": 0,
        "evidence": f"What shows that it is {state}.",
        "next": None if state is JobState.CAUGHT_UP else f"offsetwise compare -m migration.yaml --checkpoint {name}",
    }
    return JobStatus(**given | changes)


def status(*jobs: JobStatus, seconds: float = 0, waves: Iterable[str] = (), **changes: Any) -> Status:
    """Return a look at some jobs, so many seconds after the first."""
    return Status(
        migration="orders-to-new",
        taken_at=time_of(BEGAN + timedelta(seconds=seconds)),
        jobs=jobs,
        waves=tuple(_wave(wave, jobs) for wave in waves),
        **{"findings": (), **changes},
    )


def _wave(name: str, jobs: Sequence[JobStatus]) -> WaveStatus:
    own = [each for each in jobs if each.wave == name]
    return WaveStatus(
        wave=name,
        jobs=len(own),
        caught_up=sum(each.state is JobState.CAUGHT_UP for each in own),
        not_before_ms=None,
        window_ms=7_200_000,
        waits_for=(),
    )


def history(*looks: Status) -> StatusHistory:
    """Return what some looks have shown together."""
    shown = StatusHistory()
    for each in looks:
        shown = shown.with_look(each)
    return shown


def many(count: int, looks: int = 30) -> StatusHistory:
    """Return the history of so many jobs in three waves, in every state, whose lags fall."""
    return history(*(look(count, number) for number in range(looks)))


def look(count: int, at: int) -> Status:
    """Return one of the looks of `many`, by its number."""
    jobs = []
    for number in range(count):
        state = SPREAD[number % len(SPREAD)]
        begun, left = state in (JobState.STARTED, JobState.CAUGHT_UP), max(0, 9_000 + number - 250 * at)
        jobs.append(
            job(
                f"team-{number % 7}/job-{number:03}",
                state,
                wave=WAVES[number * len(WAVES) // count],
                evidence=f"All of 20 partitions are proven, and the plan out/plan-{number:03}.json was drafted.",
                old_lag=None if begun else left,
                lag=left if begun else None,
                stopped_ms=None if state is JobState.RUNNING else BEGAN_MS - 60_000 * (number % 9),
            )
        )
    return status(*jobs, seconds=5 * at, waves=WAVES)


def all_caught_up(shown: StatusHistory) -> StatusHistory:
    """Return a history with one more look, at which every job has caught up."""
    assert shown.newest is not None
    jobs = (
        replace(each, state=JobState.CAUGHT_UP, next=None, old_lag=None, lag=0, since_ms=None)
        for each in shown.newest.jobs
    )
    return shown.with_look(status(*jobs, seconds=5 * len(shown.moments), waves=WAVES))
