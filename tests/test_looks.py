"""What many looks at a migration show together, the clock of a cutover, and its lanes."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from hypothesis import given, strategies

from offsetwise.console.operate.cutover import clock, lanes
from offsetwise.console.operate.cutover.clock import Estimate
from offsetwise.console.widgets.palette import LIGHT
from offsetwise.model import JobState, JobStatus
from offsetwise.watch.status_history import MOST_MOMENTS, StatusHistory
from tests.status_looks import BEGAN_MS, history, job, many, status
from tests.with_cases import with_cases

S: Final = JobState


def looks(*states: JobState | tuple[JobState, int | None], every_s: int = 5) -> StatusHistory:
    """Return the history of one job in some states, with its lag on the new cluster where given."""
    pairs = [each if isinstance(each, tuple) else (each, None) for each in states]
    return history(*(status(job("a", state, lag=lag), seconds=every_s * n) for n, (state, lag) in enumerate(pairs)))


def jobs_of(shown: StatusHistory) -> tuple[JobStatus, ...]:
    assert shown.newest is not None
    return shown.newest.jobs


def test_a_job_stopped_when_its_positions_moved_last_and_that_stays_known() -> None:
    at_ms = BEGAN_MS - 60_000
    shown = history(
        status(job("a", S.STOPPED, stopped_ms=at_ms)),
        status(job("a", S.APPLIED), seconds=5),
        status(job("a", S.STARTED, stopped_ms=BEGAN_MS + 8_000), seconds=10),
    )
    assert shown.stopped_ms == {"checkpoint a": at_ms}, "what it moves on the new cluster is no stop on the old one"


def test_a_job_without_a_time_stopped_at_the_look_that_saw_it() -> None:
    assert looks(S.RUNNING, S.STOPPED).stopped_ms == {"checkpoint a": BEGAN_MS + 5_000}
    assert looks(S.STOPPED, S.MIRRORED).stopped_ms == {}, "nobody knows since when"


def test_a_job_that_runs_again_is_not_stopped_any_more() -> None:
    assert looks(S.RUNNING, S.STOPPED, S.RUNNING).stopped_ms == {}


def test_arrivals_are_those_that_a_look_saw() -> None:
    shown = looks(S.APPLIED, S.STARTED, S.CAUGHT_UP)
    assert (shown.begun["checkpoint a"].at_ms, shown.begun["checkpoint a"].observed) == (BEGAN_MS + 5_000, True)
    assert shown.caught_up["checkpoint a"].at_ms == BEGAN_MS + 10_000
    assert not looks(S.STARTED).begun["checkpoint a"].observed
    assert looks(S.STARTED, S.DIFFERENT).begun == {}


def test_a_long_watch_keeps_so_many_moments_with_the_first_and_the_newest() -> None:
    shown = looks(*(S.RUNNING,) * (3 * MOST_MOMENTS))
    assert len(shown.moments) <= MOST_MOMENTS
    assert shown.moments[0].at_ms == BEGAN_MS
    assert shown.at_ms == BEGAN_MS + 5_000 * (3 * MOST_MOMENTS - 1)


@given(back_s=strategies.integers(6, 7_200), at=strategies.integers(2, 29))
def test_a_clock_that_was_put_back_changes_nothing_about_rates_and_durations(back_s: int, at: int) -> None:
    """Looks are five seconds apart, and the clock is put back by more than that right before one of them."""

    def seen(back_s: int) -> StatusHistory:
        count = [*range(30)]
        leaving = [(S.STARTED, 9_000 - 250 * n) if n < 20 else (S.CAUGHT_UP, 0) for n in count]
        return history(
            *(
                status(
                    job("a", state, lag=lag),
                    job("b", S.STARTED, lag=20_000 - 100 * n),
                    job("c", S.APPLIED if n < 9 else S.STARTED, lag=10_000 - 100 * n),
                    seconds=5 * n - (back_s if n >= at else 0),
                )
                for n, (state, lag) in zip(count, leaving, strict=True)
            )
        )

    plain, jumped = seen(0), seen(back_s)
    assert clock.estimate(jumped, jobs_of(jumped)).ms == clock.estimate(plain, jobs_of(plain)).ms
    assert [moment.at_ms + 1_000 * back_s for moment in jumped.moments] == [moment.at_ms for moment in plain.moments]
    for before, after in ((plain.caught_up, jumped.caught_up), (plain.begun, jumped.begun)):
        assert {name: arrival.at_ms - 1_000 * back_s for name, arrival in before.items()} == {
            name: arrival.at_ms for name, arrival in after.items()
        }


def test_the_clock_runs_from_the_first_stop_to_the_last_that_caught_up() -> None:
    first, last = BEGAN_MS - 100_000, BEGAN_MS - 40_000
    shown = history(
        status(
            job("a", S.STOPPED, stopped_ms=first), job("b", S.STOPPED, stopped_ms=last), job("c"), job("d", S.APPLIED)
        )
    )
    stopped = clock.downtime(shown, jobs_of(shown))
    assert (stopped.first_ms, stopped.last_ms, stopped.running, stopped.without_time) == (first, last, 1, 1)
    assert stopped.length_ms(BEGAN_MS) == 100_000

    over = shown.with_look(status(job("a", S.CAUGHT_UP), job("b", S.CAUGHT_UP), seconds=30))
    assert clock.downtime(over, jobs_of(over)).length_ms(BEGAN_MS + 999_000) == 130_000, "it stands still"


def test_the_point_of_no_return_is_the_first_job_that_began() -> None:
    shown = history(
        status(job("a", S.APPLIED), job("b", S.APPLIED)),
        status(job("a", S.APPLIED), job("b", S.STARTED), seconds=5),
        status(job("a", S.CAUGHT_UP), job("b", S.STARTED), seconds=10),
    )
    passed = clock.no_return(shown, jobs_of(shown))
    assert passed is not None
    assert (passed.job, passed.at_ms, passed.observed, passed.jobs) == ("checkpoint b", BEGAN_MS + 5_000, True, 2)
    assert clock.no_return(looks(S.APPLIED), jobs_of(looks(S.APPLIED))) is None


FALLING: Final = looks((S.STARTED, 1_000), (S.STARTED, 900), (S.STARTED, 800))


@with_cases(
    ("shown", "ms", "why"),
    [
        (looks(S.CAUGHT_UP), 0, "Every job has caught up."),
        (FALLING, 40_000, "The lags fall at the rate so far."),
        (looks((S.STARTED, 1_000), (S.STARTED, 900)), None, "its rate is not measured yet"),
        (looks((S.STARTED, 800), (S.STARTED, 900), (S.STARTED, 900)), None, "does not catch up: its lag of 900"),
        (
            looks(
                (S.STARTED, None),
            ),
            None,
            "how much it has left to read is not known",
        ),
        (looks(S.RUNNING, S.STOPPED), None, "1 job has not started, and fewer than two were seen to start"),
        (looks(S.BLOCKED), None, "It waits for people: 1 job cannot go on."),
    ],
    ids=["over", "falling", "one rate", "growing", "unknown", "no pace", "blocked"],
)
def test_the_end_is_what_rates_say_or_not_known(shown: StatusHistory, ms: int | None, why: str) -> None:
    found = clock.estimate(shown, jobs_of(shown))
    assert found.ms == ms
    assert why in found.why


def test_the_pace_at_which_jobs_start_and_catch_up_tells_the_end_of_the_others() -> None:
    names = "abcd"

    def look(begun: int, done: int) -> list[JobStatus]:
        states = [S.CAUGHT_UP if n < done else S.STARTED if n < begun else S.APPLIED for n in range(len(names))]
        return [
            job(name, state, lag=0 if state is S.CAUGHT_UP else None) for name, state in zip(names, states, strict=True)
        ]

    shown = history(
        *(status(*look(*each[:2]), seconds=each[2]) for each in ((0, 0, 0), (1, 0, 10), (1, 1, 30), (2, 2, 40)))
    )
    assert clock.estimate(shown, jobs_of(shown)) == Estimate(
        ms=2 * 30_000 + 10_000, why="2 jobs to start at the pace so far: 1 min; then to catch up: 10 s."
    )


def test_lanes_come_by_urgency_and_then_by_what_is_least_far() -> None:
    states = (S.CAUGHT_UP, S.APPLIED, S.STALE, S.READY, S.DIFFERENT, S.BLOCKED, S.ROLLED_BACK)
    shown = lanes.lanes(history(status(*(job(state.value, state) for state in states))), None)
    assert [lane.job.state for lane in shown.open] == [
        *(S.DIFFERENT, S.BLOCKED, S.STALE, S.ROLLED_BACK),
        *(S.READY, S.APPLIED),
    ]
    assert [lane.job.state for lane in shown.done] == [S.CAUGHT_UP]
    assert [lane.passed for lane in shown.open] == [0, 0, 0, 0, 1, 8]


def test_every_job_is_in_one_lane_and_each_is_drawn_once_over_the_pages() -> None:
    shown = lanes.lanes(many(200, looks=2), None)
    pages = [lanes.rows(shown, LIGHT, first) for first in range(0, len(shown.open), lanes.PER_PAGE)]
    pages += [lanes.rows(shown, LIGHT, first, done=True) for first in range(0, len(shown.done), lanes.PER_PAGE)]
    drawn = "".join(pages)
    assert drawn.count("<li") == 200
    assert all(drawn.count(f"/job-{number:03}<small>") == 1 for number in range(200))


def test_a_lag_that_is_not_known_breaks_the_line_and_both_clusters_have_one_scale() -> None:
    points = ((0, 100, None), (10, None, None), (20, 50, None), (30, None, 200))
    drawn = lanes.picture(points, old="#00f", new="#f80")
    assert drawn is not None
    assert unquote(drawn).count("<polyline") == 3
    assert unquote(drawn).count('stroke="#f80"') == 1
    assert lanes.picture(((0, 5, None),), old="#00f", new="#f80") is None, "one point is no line"


def test_lags_over_time_are_thinned_to_what_a_picture_shows() -> None:
    shown = looks(*((S.STARTED, 1_000 - n) for n in range(200)))
    points = clock.series(shown, "checkpoint a", most=60)
    assert len(points) <= 60
    assert points[-1] == (BEGAN_MS + 5_000 * 199, None, 801)
