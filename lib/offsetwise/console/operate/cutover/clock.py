"""The clock of a cutover: how long jobs have been stopped, whether they can still go back, and when it may end.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from offsetwise.model import JobState, JobStatus
from offsetwise.watch.status_history import BEGUN, StatusHistory
from offsetwise.wording import duration, many, number

RATE_WINDOW_MS: Final = 120_000
"""Time before the newest look over which a rate is computed."""
LEAST_MS: Final = 8_000
"""Minimum time between two looks for a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtime:
    first_ms: int | None
    """When the first job stopped, epoch ms; None if none did, or it is not known."""
    last_ms: int | None
    """When the last job stopped, epoch ms."""
    until_ms: int | None
    """When the last job had caught up, epoch ms; None while it goes on."""
    running: int
    """Jobs that run on the old cluster."""
    without_time: int
    """Jobs that have stopped or moved at an unknown time."""

    def length_ms(self, now_ms: int) -> int | None:
        return None if self.first_ms is None else max(0, (self.until_ms or now_ms) - self.first_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoReturn:
    """The first job whose sink took a batch read from the new cluster."""

    job: str
    at_ms: int
    observed: bool
    """Whether an earlier look showed that it had not begun; if not, `at_ms` is only the time of the first look."""
    jobs: int
    """Jobs that have begun on the new cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    ms: int | None
    """From the newest look; None if no rate yields an estimate."""
    why: str
    """Basis of the estimate, or why there is none, as a sentence."""


def downtime(history: StatusHistory, jobs: Sequence[JobStatus]) -> Downtime:
    stops = [history.stopped_ms[job.job] for job in jobs if job.job in history.stopped_ms]
    running = sum(job.state is JobState.RUNNING for job in jobs)
    done = [history.caught_up[job.job].at_ms for job in jobs if job.job in history.caught_up]
    moved = sum(job.state not in _BEFORE_STOP and job.job not in history.stopped_ms for job in jobs)
    return Downtime(
        first_ms=min(stops, default=None),
        last_ms=max(stops, default=None),
        until_ms=max(done) if jobs and len(done) == len(jobs) else None,
        running=running,
        without_time=moved,
    )


_BEFORE_STOP: Final = frozenset({JobState.READY, JobState.RUNNING, JobState.BLOCKED})


def no_return(history: StatusHistory, jobs: Sequence[JobStatus]) -> NoReturn | None:
    """Return the first job that has begun on the new cluster; None if all can still go back without loss."""
    begun = {job.job: history.begun[job.job] for job in jobs if job.job in history.begun}
    if not begun:
        return None
    name = min(begun, key=lambda job: (begun[job].at_ms, job))
    return NoReturn(job=name, at_ms=begun[name].at_ms, observed=begun[name].observed, jobs=len(begun))


def estimate(history: StatusHistory, jobs: Sequence[JobStatus]) -> Estimate:
    """Estimate when all of the jobs have caught up, from the rates at which jobs start and their lags fall.

    If a rate was not measured, the end is unknown.
    """
    remaining = [job for job in jobs if job.state is not JobState.CAUGHT_UP]
    if not remaining:
        return Estimate(ms=0, why="Every job has caught up." if jobs else "There is no job.")
    wrong = [job for job in remaining if not job.state.is_on_its_way]
    if wrong:
        return Estimate(ms=None, why=f"It waits for people: {many(len(wrong), 'job')} cannot go on.")
    waiting = [job for job in remaining if job.state not in BEGUN]
    starts_ms = _starts_ms(history, jobs, len(waiting))
    if starts_ms is None:
        return Estimate(
            ms=None,
            why=f"{many(len(waiting), 'job')} {_have(len(waiting))} not started, and fewer than two were seen to "
            "start: their pace is not measured.",
        )
    catching_ms, lacking = _catching_ms(
        history, jobs, [job for job in remaining if job.state in BEGUN], waiting=bool(waiting)
    )
    if catching_ms is None:
        return Estimate(ms=None, why=lacking)
    parts = [f"{many(len(waiting), 'job')} to start at the pace so far: {duration(starts_ms)}"] if waiting else []
    parts.append(f"then to catch up: {duration(catching_ms)}" if waiting else "The lags fall at the rate so far")
    return Estimate(ms=starts_ms + catching_ms, why=f"{'; '.join(parts)}.")


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _starts_ms(history: StatusHistory, jobs: Sequence[JobStatus], waiting: int) -> int | None:
    """Return the time until `waiting` jobs have started, at the mean interval between observed starts."""
    if not waiting:
        return 0
    arrivals = [history.begun[job.job] for job in jobs if job.job in history.begun]
    observed = sorted(arrival.at_ms for arrival in arrivals if arrival.observed)
    if len(observed) < 2 or observed[-1] == observed[0]:
        return None
    return round((observed[-1] - observed[0]) / (len(observed) - 1) * waiting)


def _catching_ms(
    history: StatusHistory, jobs: Sequence[JobStatus], draining: Sequence[JobStatus], *, waiting: bool
) -> tuple[int | None, str]:
    """Return how long the slowest of the started jobs takes to catch up; None and the reason if it is not known."""
    times = [0]
    for job in draining:
        rate = falling_per_s(history, job.job)
        if job.lag is None:
            return None, f"{job.job} has started; how much it has left to read is not known."
        if rate is None:
            return None, f"{job.job} has started; its rate is not measured yet."
        if rate <= 0:
            return None, f"{job.job} does not catch up: its lag of {number(job.lag)} has not fallen."
        times.append(round(1_000 * job.lag / rate))
    if waiting:
        took = [
            history.caught_up[job.job].at_ms - history.begun[job.job].at_ms
            for job in jobs
            if job.job in history.caught_up and job.job in history.begun and history.begun[job.job].observed
        ]
        if took:
            times.append(round(sum(took) / len(took)))
        elif not draining:
            return None, "No job was seen to catch up: how long that takes is not measured."
    return max(times), ""


def falling_per_s(history: StatusHistory, job: str) -> float | None:
    """Return by how many records a second the lag of a started job falls; None if that was not measured."""
    if not history.moments:
        return None
    since_ms = history.moments[-1].at_ms - RATE_WINDOW_MS
    marks = ((moment.at_ms, moment.marks.get(job)) for moment in history.moments if moment.at_ms >= since_ms)
    known = [
        (at_ms, mark.lag) for at_ms, mark in marks if mark is not None and mark.lag is not None and mark.state in BEGUN
    ]
    if len(known) < 2 or known[-1][0] - known[0][0] < LEAST_MS:
        return None
    (first_ms, first), (last_ms, last) = known[0], known[-1]
    return 1_000 * (first - last) / (last_ms - first_ms)


def series(history: StatusHistory, job: str, *, most: int = 60) -> tuple[tuple[int, int | None, int | None], ...]:
    """Return the lags of a job over time as (epoch ms, old lag, new lag): at most `most` looks, evenly spaced."""
    moments = history.moments
    step = max(1, -(-len(moments) // most))
    retained = moments[::-step][::-1]
    results = []
    for moment in retained:
        mark = moment.marks.get(job)
        results.append((moment.at_ms, None, None) if mark is None else (moment.at_ms, mark.old_lag, mark.lag))
    return tuple(results)
