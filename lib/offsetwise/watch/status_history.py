"""The history of a migration's status: lags over time, and when jobs stopped, began and caught up. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from offsetwise.model import JobState, JobStatus, Status, epoch_ms

MOST_MOMENTS: Final = 240
"""How many moments of a watch are kept; beyond that, every second one of the older half is dropped."""
BEGUN: Final = frozenset({JobState.STARTED, JobState.CAUGHT_UP})
"""The states in which a job has begun on the new cluster: its sink has taken a batch."""


class JobMark(NamedTuple):
    state: JobState
    old_lag: int | None
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookMoment:
    at_ms: int
    marks: Mapping[str, JobMark]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    at_ms: int
    """The time of the observation that showed it first."""
    observed: bool
    """Whether an earlier observation showed another state; otherwise it may have lasted for long."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatusHistory:
    """The observations of one watch, in their order."""

    newest: Status | None = None
    moments: tuple[LookMoment, ...] = ()
    stopped_ms: Mapping[str, int] = field(default_factory=dict)
    """When each job last moved its positions on the old cluster, as far as that is known."""
    entered: Mapping[str, Arrival] = field(default_factory=dict)
    """When each job entered its present state."""
    begun: Mapping[str, Arrival] = field(default_factory=dict)
    """When each job was first seen to have begun on the new cluster."""
    caught_up: Mapping[str, Arrival] = field(default_factory=dict)
    """When each job was first seen to have caught up."""

    @property
    def at_ms(self) -> int | None:
        """When the newest observation was made, epoch ms."""
        return self.moments[-1].at_ms if self.moments else None

    def with_look(self, status: Status) -> StatusHistory:
        """Return the history with one more observation.

        If the clock was set back since the last one, earlier times are shifted so that they are as long ago as before.
        """
        at_ms = epoch_ms(status.taken_at)
        if self.moments and at_ms < self.moments[-1].at_ms:
            return self._put_back(at_ms).with_look(status)
        before = self.moments[-1].marks if self.moments else None
        marks = {job.job: JobMark(job.state, job.old_lag, job.lag) for job in status.jobs}
        return replace(
            self,
            newest=status,
            moments=_thinned((*self.moments, LookMoment(at_ms=at_ms, marks=marks))),
            stopped_ms={
                job.job: stopped for job in status.jobs if (stopped := self._stopped(job, before, at_ms)) is not None
            },
            entered={
                name: self.entered[name]
                if before is not None and name in before and before[name].state is mark.state
                else Arrival(at_ms=at_ms, observed=before is not None)
                for name, mark in marks.items()
            },
            begun=_arrivals(self.begun, marks, BEGUN, at_ms, observed=before is not None),
            caught_up=_arrivals(
                self.caught_up, marks, frozenset({JobState.CAUGHT_UP}), at_ms, observed=before is not None
            ),
        )

    def _put_back(self, at_ms: int) -> StatusHistory:
        """Return the history for a clock set back since the last observation, assuming a constant interval."""
        last_ms = self.moments[-1].at_ms
        apart_ms = last_ms - self.moments[-2].at_ms if len(self.moments) > 1 else 0
        by_ms = last_ms + apart_ms - at_ms

        def earlier(arrivals: Mapping[str, Arrival]) -> Mapping[str, Arrival]:
            return {name: replace(arrival, at_ms=arrival.at_ms - by_ms) for name, arrival in arrivals.items()}

        return replace(
            self,
            moments=tuple(replace(moment, at_ms=moment.at_ms - by_ms) for moment in self.moments),
            # These are mostly times of files and batches, which come from other clocks.
            stopped_ms={job: min(stopped_ms, at_ms) for job, stopped_ms in self.stopped_ms.items()},
            entered=earlier(self.entered),
            begun=earlier(self.begun),
            caught_up=earlier(self.caught_up),
        )

    def _stopped(self, job: JobStatus, before: Mapping[str, JobMark] | None, at_ms: int) -> int | None:
        """Return when a job stopped on the old cluster; the first known time is kept, unless it runs again."""
        if job.state is JobState.RUNNING:
            return None
        known = self.stopped_ms.get(job.job)
        if known is not None:
            # A job that is written in place moves its positions again, on the new cluster.
            moved = job.state not in _ON_OLD or job.stopped_ms is None
            return known if moved else max(known, job.stopped_ms or known)
        if job.stopped_ms is not None:
            return job.stopped_ms
        was = None if before is None else before.get(job.job)
        return at_ms if was is not None and was.state is JobState.RUNNING else None


_ON_OLD: Final = frozenset(
    {JobState.READY, JobState.STOPPED, JobState.MIRRORED, JobState.COMPARED, JobState.PLANNED, JobState.STALE}
)
"""The states in which nothing was written for the job yet."""


def _arrivals(
    before: Mapping[str, Arrival],
    marks: Mapping[str, JobMark],
    states: frozenset[JobState],
    at_ms: int,
    *,
    observed: bool,
) -> Mapping[str, Arrival]:
    return {
        name: before.get(name) or Arrival(at_ms=at_ms, observed=observed)
        for name, mark in marks.items()
        if mark.state in states
    }


def _thinned(moments: tuple[LookMoment, ...]) -> tuple[LookMoment, ...]:
    if len(moments) <= MOST_MOMENTS:
        return moments
    half = len(moments) // 2
    return (*moments[:half:2], *moments[half:])
