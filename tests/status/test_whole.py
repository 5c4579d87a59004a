"""Findings about a migration as a whole: each with a case that shows it, and one close to it that does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from offsetwise.findings import Stage
from offsetwise.findings.register import findings
from offsetwise.model import Subject, SubjectKind
from offsetwise.status.findings import JobOfMigration, WaveOfJobs, WholeCase, judge_whole, waits_of
from tests.with_cases import with_cases

NOW: Final = 1_800_000_000_000
HOUR: Final = 3_600_000


def job(name: str, *waves: str, reads: str = "", produces: str = "", groups: str = "") -> JobOfMigration:
    """Make a job; topics and groups are words."""
    return JobOfMigration(
        job=Subject(kind=SubjectKind.GROUP, name=name),
        waves=waves,
        reads=frozenset(reads.split()),
        produces=frozenset(produces.split()),
        groups=tuple((groups or name).split()),
    )


def wave(name: str, *after: str, at_h: int | None = None, hours: int | None = None) -> WaveOfJobs:
    """Make a wave that may begin so many hours from now."""
    return WaveOfJobs(
        name=name,
        after=after,
        not_before_ms=None if at_h is None else NOW + at_h * HOUR,
        window_ms=None if hours is None else hours * HOUR,
    )


CLEAN: Final = WholeCase(
    waves=(wave("first", at_h=1, hours=1), wave("second", "first", at_h=3, hours=1)),
    jobs=(
        job("a", "first", reads="orders", produces="sums"),
        job("b", "second", reads="clicks", produces="orders"),
        job("c", "first", reads="sums"),
    ),
    copies={"orders": "orders", "clicks": "old.clicks", "sums": "sums"},
    lacking=frozenset(),
    unread=frozenset(),
    now_ms=NOW,
    retention={"orders": 5 * HOUR},
)
STILL: Final = replace(CLEAN.jobs[0], active=False, moved_ms=NOW - 3 * HOUR - 1)

CASES: Final[dict[str, tuple[WholeCase, WholeCase, str]]] = {
    "JOB_IN_TWO_WAVES": (
        replace(CLEAN, jobs=(job("a", "first", "second"),)),
        replace(CLEAN, jobs=(job("a", "first"),)),
        "group a is named by the waves first, second.",
    ),
    "JOB_IN_NO_WAVE": (
        replace(CLEAN, jobs=(*CLEAN.jobs, job("d"))),
        replace(CLEAN, waves=(), jobs=(job("d"),)),
        "1 job of 4 in no wave: group d.",
    ),
    "WAVE_ORDER": (
        replace(CLEAN, waves=(wave("first", at_h=1, hours=3), wave("second", "first", at_h=3))),
        replace(CLEAN, waves=(wave("first", at_h=1, hours=2), wave("second", "first", at_h=3))),
        "first, which it comes after, may take until",
    ),
    "PRODUCER_MISSES_READER": (
        replace(CLEAN, jobs=(job("a", "first", produces="sums"), job("b", "second", reads="sums"))),
        replace(CLEAN, jobs=(job("a", "second", produces="sums"), job("b", "first", reads="sums"))),
        "group a (wave first) writes sums, which group b (wave second) still read",
    ),
    "GROUP_SHARED": (
        replace(CLEAN, jobs=(job("a", "first", groups="etl"), job("b", "first", groups="etl"))),
        replace(CLEAN, jobs=(job("a", "first", groups="etl etl"), job("b", "first", groups="other"))),
        "Group etl is the group of group a, group b.",
    ),
    "TOPIC_NOT_MIRRORED": (
        replace(CLEAN, lacking=frozenset({"clicks"})),
        replace(CLEAN, lacking=frozenset({"nobody-uses-it"})),
        "clicks is not on the new cluster as old.clicks, and 1 job of the migration use it.",
    ),
    "TOPIC_UNREAD": (
        replace(CLEAN, unread=frozenset({"audit"})),
        CLEAN,
        "1 topic of the old cluster read by no job: audit.",
    ),
    "WAVE_AFTER_RETENTION": (
        replace(CLEAN, jobs=(STILL,)),
        replace(CLEAN, jobs=(replace(STILL, moved_ms=NOW - 3 * HOUR),)),
        "group a may stand still for 5 h until wave first has ended, and orders keeps records for 5 h.",
    ),
}


def codes(case: WholeCase) -> list[str]:
    """Return the codes that are found."""
    return [finding.code for finding in judge_whole(case)]


def test_every_finding_about_the_whole_has_a_case() -> None:
    assert {kind.code for kind in findings().values() if kind.stage is Stage.WHOLE} == CASES.keys()


@with_cases("code", CASES)
def test_is_found_where_the_case_shows_it_and_not_close_to_it(code: str) -> None:
    shown, close, message = CASES[code]

    assert message in next(finding.message for finding in judge_whole(shown) if finding.code == code)
    assert code not in codes(close)


def test_a_migration_in_order_has_no_finding() -> None:
    assert codes(CLEAN) == []


def test_the_most_serious_comes_first() -> None:
    case = replace(
        CLEAN, unread=frozenset({"x"}), lacking=frozenset({"sums"}), jobs=(*CLEAN.jobs, job("d", reads="sums"))
    )

    found = codes(case)
    assert found[-1] == "TOPIC_UNREAD"
    assert found[0] in ("PRODUCER_MISSES_READER", "TOPIC_NOT_MIRRORED")


def test_a_job_that_runs_stands_still_from_the_beginning_of_its_wave_only() -> None:
    running = replace(STILL, active=True)

    assert codes(replace(CLEAN, jobs=(running,), retention={"orders": HOUR})) == []
    assert codes(replace(CLEAN, jobs=(running,), retention={"orders": HOUR - 1})) == ["WAVE_AFTER_RETENTION"]


def test_a_wave_waits_for_its_time_and_for_those_that_it_comes_after() -> None:
    second = CLEAN.waves[1]

    assert waits_of(second, {"first": (2, 2)}, NOW + 3 * HOUR) == ()
    assert waits_of(second, {"first": (1, 2)}, NOW + 3 * HOUR) == ("Wave first comes first: 1 of 2 jobs caught up.",)
    assert len(waits_of(second, {"first": (1, 2)}, NOW)) == 2
