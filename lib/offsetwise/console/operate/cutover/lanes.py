"""The lanes of a cutover: a row per job with the states that it has passed, what it waits for, and its lags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Final
from urllib.parse import quote

from offsetwise.console.operate.cutover import clock
from offsetwise.console.widgets.escaping import plain
from offsetwise.console.widgets.palette import Palette
from offsetwise.model import JobState, JobStatus
from offsetwise.watch.status_history import StatusHistory
from offsetwise.wording import duration, number
from offsetwise.wording.status import STATE

WIDTH: Final = 132
HEIGHT: Final = 26
_EDGE: Final = 2
Points = Sequence[tuple[int, int | None, int | None]]
"""Time, and lag on the old cluster and on the new one; None if it is not known."""


def picture(points: Points, *, old: str, new: str) -> str | None:
    """Return a data URL of a chart with both lags, for `src`; None if fewer than two lags are known.

    Both have one scale, from 0 to the largest lag. A line breaks where its lag is not known.

    Args:
        points: The lags over time.
        old: Colour of the old cluster's line.
        new: Colour of the new cluster's line.
    """
    lags = [[(at_ms, values[side]) for at_ms, *values in points] for side in range(2)]
    known = [lag for line in lags for _, lag in line if lag is not None]
    if len(known) < 2:
        return None
    begin_ms, length_ms, most = points[0][0], max(1, points[-1][0] - points[0][0]), max(1, *known)
    paths = []
    for line, colour in zip(lags, (old, new), strict=True):
        for piece in _pieces(line):
            at = " ".join(
                f"{_EDGE + (WIDTH - 2 * _EDGE) * (at_ms - begin_ms) / length_ms:.0f},"
                f"{HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * lag / most:.0f}"
                for at_ms, lag in piece
            )
            # A line of length zero with round ends draws a single point as a dot.
            paths.append(f'<polyline points="{at}{f" {at}" if len(piece) == 1 else ""}" stroke="{colour}"/>')
    body = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" fill="none" stroke-width="2" '
        f'stroke-linecap="round" stroke-linejoin="round">{"".join(paths)}</svg>'
    )
    return f"data:image/svg+xml,{quote(body)}"


def _pieces(line: Sequence[tuple[int, int | None]]) -> Iterator[list[tuple[int, int]]]:
    piece: list[tuple[int, int]] = []
    for at_ms, lag in line:
        if lag is not None:
            piece.append((at_ms, lag))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


PATH: Final = tuple(state for state in JobState if state.is_on_its_way)
"""The regular states, in order."""
URGENT: Final = (JobState.DIFFERENT, JobState.BLOCKED, JobState.STALE, JobState.ROLLED_BACK)
"""States that need a person, the most serious first."""
PER_PAGE: Final = 50
_OPTION: Final = re.compile(r"(?<!\S)--?\w[\w-]*")
_UNBROKEN: Final = r"<span>\g<0></span>"
"""Browsers would break an option between its hyphens."""
_ON_NEW: Final = PATH.index(JobState.APPLIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLane:
    job: JobStatus
    passed: int
    """How many states of `PATH` it has reached; 0 if its state is not one of them."""
    for_ms: int | None
    """How long it has been in its state; None if that is not known."""
    why: str
    """Evidence of the state, and what it waits for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lanes:
    open: tuple[JobLane, ...]
    """Jobs that have not caught up: those that need a person first, then those that have come least far."""
    done: tuple[JobLane, ...]
    history: StatusHistory


def of_wave(jobs: Sequence[JobStatus], wave: str | None) -> tuple[JobStatus, ...]:
    return tuple(job for job in jobs if wave is None or job.wave == wave)


def ordered(jobs: Sequence[JobStatus]) -> tuple[JobStatus, ...]:
    """Return jobs by urgency: the most urgent first, then those that have come least far."""
    return tuple(sorted(jobs, key=_rank))


def _rank(job: JobStatus) -> int:
    return URGENT.index(job.state) if job.state in URGENT else len(URGENT) + PATH.index(job.state)


@lru_cache(maxsize=16)
def lanes(history: StatusHistory, wave: str | None) -> Lanes:
    jobs = () if history.newest is None else ordered(of_wave(history.newest.jobs, wave))
    all_lanes = [_lane(history, job) for job in jobs]
    return Lanes(
        open=tuple(lane for lane in all_lanes if lane.job.state is not JobState.CAUGHT_UP),
        done=tuple(lane for lane in all_lanes if lane.job.state is JobState.CAUGHT_UP),
        history=history,
    )


def _lane(history: StatusHistory, job: JobStatus) -> JobLane:
    entered = history.entered.get(job.job)
    since_ms = job.since_ms or (entered.at_ms if entered is not None and entered.observed else None)
    waits = [] if job.state in (JobState.RUNNING, JobState.READY) else job.waits_for
    return JobLane(
        job=job,
        passed=PATH.index(job.state) + 1 if job.state in PATH else 0,
        for_ms=None if since_ms is None or history.at_ms is None else max(0, history.at_ms - since_ms),
        why=" ".join((job.evidence, *waits)),
    )


def counts(jobs: Sequence[JobStatus]) -> Counter[JobState]:
    return Counter(job.state for job in jobs)


def style(colours: Palette) -> str:
    own = (
        f".cut {{ --old: {colours.old}; --new: {colours.new}; --right: {colours.right}; --wrong: {colours.wrong}; "
        f"--careful: {colours.careful}; --muted: {colours.muted}; --grid: {colours.grid}; --blank: {colours.blank} }}"
    )
    return f"<style>{own}{_CSS}</style>"


_CSS: Final = """
.cut { margin: 0 !important; padding: 0 !important; list-style: none; font-variant-numeric: tabular-nums }
ol.cut { display: flex; flex-wrap: wrap; gap: 4px }
ol.cut li {
    flex: 1 1 4.3rem; margin: 0; padding: 3px 0 0 4px; border-top: 5px solid var(--blank); line-height: 1.25;
    font-size: 0.875rem
}
ol.cut li b { display: block; font-size: 1.6rem; font-weight: 600 }
ol.cut li.none b { color: var(--muted); font-weight: 400 }
ol.cut li.old { border-color: var(--old) }
ol.cut li.new { border-color: var(--new) }
ol.cut li.right { border-color: var(--right) }
ol.cut li.wrong { border-color: var(--wrong) }
ol.cut li.wrong b { color: var(--wrong) }
ol.cut li.careful { border-color: var(--careful) }
ol.cut li.careful b { color: var(--careful) }
ul.cut li {
    display: grid; grid-template-columns: minmax(9rem, 15rem) 13.5rem 9.5rem minmax(0, 1fr); gap: 0 1rem;
    align-items: start; margin: 0; padding: 5px 0 6px 10px; border-left: 5px solid transparent;
    border-bottom: 1px solid var(--grid); line-height: 1.35
}
ul.cut li.wrong { border-left-color: var(--wrong) }
ul.cut li.careful { border-left-color: var(--careful) }
ul.cut small { display: block; font-size: 0.875rem; color: var(--muted) }
ul.cut .who { overflow-wrap: anywhere; font-weight: 600 }
ul.cut .who small { font-weight: 400 }
ul.cut .steps { display: flex; gap: 2px; margin: 5px 0 3px }
ul.cut .steps i { flex: 1; height: 9px; border-radius: 2px; background: var(--grid) }
ul.cut .steps .old { background: var(--old) }
ul.cut .steps .new { background: var(--new) }
ul.cut .steps .right { background: var(--right) }
ul.cut .steps .wrong { background: var(--wrong) }
ul.cut .steps .careful { background: var(--careful) }
ul.cut .state { font-weight: 600; white-space: nowrap }
ul.cut .state small { display: inline; font-weight: 400 }
ul.cut li.wrong .state b { color: var(--wrong) }
ul.cut li.careful .state b { color: var(--careful) }
ul.cut img { display: block; width: 132px; height: 26px }
ul.cut .lag { font-size: 0.875rem; color: var(--muted); white-space: nowrap }
ul.cut .why { overflow-wrap: anywhere }
ul.cut code {
    display: block; margin-top: 2px; padding: 0; background: none; color: var(--muted); font-size: 0.8125rem;
    overflow: hidden; text-overflow: ellipsis; white-space: nowrap; user-select: all
}
ul.cut code span { white-space: nowrap }
ul.cut li:is(.wrong, .careful) code { color: inherit; white-space: normal }
@media (max-width: 1100px) {
    ul.cut li { grid-template-columns: minmax(0, 1fr) 13.5rem }
    ul.cut .why { grid-column: 1 / -1 }
}
@media (max-width: 640px) {
    ol.cut li { flex: 1 1 28% }
    ul.cut li { grid-template-columns: minmax(0, 1fr) 9rem }
    ul.cut .who { grid-column: 1 / -1 }
    ul.cut li code { white-space: normal }
}
"""


@lru_cache(maxsize=64)
def strip(history: StatusHistory, wave: str | None) -> str:
    jobs = () if history.newest is None else of_wave(history.newest.jobs, wave)
    counted = counts(jobs)
    states = [*(state for state in URGENT if counted[state]), *PATH]
    items = "".join(
        f'<li class="{_kind(state) if counted[state] else "none"}"><b>{counted[state]:,}</b>{STATE[state].word}</li>'
        for state in states
    )
    return f'<ol class="cut" aria-label="Jobs by state">{items}</ol>'


def _kind(state: JobState) -> str:
    if state in URGENT:
        return STATE[state].tone.value
    if state is JobState.CAUGHT_UP:
        return "right"
    return "new" if PATH.index(state) >= _ON_NEW else "old"


@lru_cache(maxsize=64)
def rows(shown: Lanes, colours: Palette, first: int = 0, *, done: bool = False) -> str:
    """Return a page of lanes as HTML; `style` has its styles.

    Args:
        shown: The lanes.
        colours: The theme's colours, for the charts.
        first: Index of the page's first lane.
        done: Whether to show the jobs that have caught up, or all others.
    """
    page = (shown.done if done else shown.open)[first : first + PER_PAGE]
    return f'<ul class="cut" aria-label="Jobs">{"".join(_row(lane, shown.history, colours) for lane in page)}</ul>'


def _row(lane: JobLane, history: StatusHistory, colours: Palette) -> str:
    job = lane.job
    verdict, kind = STATE[job.state], _kind(job.state)
    time = "" if lane.for_ms is None else f" <small>for {duration(lane.for_ms)}</small>"
    step = _OPTION.sub(_UNBROKEN, _text((job.next or "").replace("`", "'")))
    command = f"<code>{step}</code>" if step else ""
    wave = "" if job.wave is None else f"<small>{_text(job.wave)}</small>"
    return (
        f'<li class="{kind}"><div class="who">{_text(job.job)}{wave}</div>'
        f'<div><div class="steps" aria-hidden="true">{_steps(lane, kind)}</div>'
        f'<div class="state"><b>{verdict.icon} {verdict.word}</b>{time}</div></div>'
        f"<div>{_lags(lane.job, history, colours)}</div>"
        f'<div class="why">{_text(lane.why)}{command}</div></li>'
    )


def _steps(lane: JobLane, kind: str) -> str:
    if not lane.passed:
        return f'<i class="{kind}"></i>'
    return "".join(
        f'<i class="{kind if lane.passed == len(PATH) else _kind(state)}"></i>' if index < lane.passed else "<i></i>"
        for index, state in enumerate(PATH)
    )


def _lags(job: JobStatus, history: StatusHistory, colours: Palette) -> str:
    said = lags(job)
    source = picture(clock.series(history, job.job), old=colours.old, new=colours.new)
    image = "" if source is None else f'<img src="{source}" alt="">'
    return f'{image}<div class="lag">{said}</div>'


def lags(job: JobStatus) -> str:
    """Format the known lags of a job.

    >>> from offsetwise.model import JobState
    >>> state = JobState.STARTED
    >>> lags(JobStatus(job="a", wave=None, state=state, since_ms=None, age_ms=0, evidence="", next=None, lag=7))
    'lag new 7'
    """
    known = (("old", job.old_lag), ("new", job.lag))
    return " · ".join(f"lag {side} {number(lag)}" for side, lag in known if lag is not None)


def _text(text: str) -> str:
    return escape(plain(text))
