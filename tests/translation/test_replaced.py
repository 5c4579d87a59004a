"""A log that cannot be the one that the job read."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from offsetwise.model import Exactness, IsolationLevel
from offsetwise.translation.identify import Records
from offsetwise.translation.old_log import read_too_early
from offsetwise.translation.resolve import Match, resolve
from offsetwise.translation.search import Span
from offsetwise.translation.worker import Answer, RecordQuestion, Task, answer
from tests.translation.test_resolve import CUT, POSITION
from tests.with_cases import with_cases

SAVED_MS, NOW_MS, SKEW_MS = 1_766_000_000_000, 1_795_000_000_000, 300_000
LATEST = SAVED_MS + SKEW_MS
"""The latest time of a record that was read."""
FUTURE = NOW_MS + SKEW_MS + 1


def records(first: int, times: list[int | None]) -> Records:
    count = len(times)
    return Records(
        offsets=list(range(first, first + count)),
        timestamps=times,
        log_append=[False] * count,
        content=[b"%d" % each for each in range(count)],
        masked=[None] * count,
        key_schema=[None] * count,
        value_schema=[None] * count,
        headers=[()] * count,
    )


def told(times: list[int | None], *, position: int | None = None, by_broker: bool = False) -> int | None:
    """Read a log of records of these times, and say what the position tells of it."""
    whole = Span(start=0, end=len(times))
    at = len(times) if position is None else position
    log = replace(records(0, times), log_append=[by_broker] * len(times))
    task = Task(question=RecordQuestion.CUT, position=at, old=whole, new=whole, old_whole=whole, new_whole=whole)
    given = answer(task, log, Records(), Records())
    return read_too_early(given.times, saved_ms=SAVED_MS, clock_skew_ms=SKEW_MS, now_ms=NOW_MS)


@with_cases(
    "times",
    [
        [LATEST + 1] * 3,
        [SAVED_MS - 9_000 * number for number in range(90)] + [LATEST + 1, LATEST + 2, LATEST + 3],
        [LATEST + 86_400_000 * number for number in range(1, 150)],
        [NOW_MS, NOW_MS, NOW_MS],
        [SAVED_MS - SKEW_MS - 1, SAVED_MS - 2 * SKEW_MS - 2, LATEST + 1, LATEST + 1, LATEST + 1],
    ],
    ids=["as little as that", "the last three of many", "all of them", "written just now", "behind times out of order"],
)
def test_a_run_of_records_that_are_younger_than_the_batch_shows_another_log(times: list[int | None]) -> None:
    assert told(times) == times[-1]


@with_cases("read", [0, 1, 2, 149])
@with_cases("unread", [0, 1, 40])
@with_cases("jitter_ms", [0, SKEW_MS], ids=["in order", "as far as clocks differ"])
def test_of_times_in_order_the_last_one_before_the_position_is_enough(read: int, unread: int, jitter_ms: int) -> None:
    before: list[int | None] = [SAVED_MS - 9_000 * (read - number) - jitter_ms * (number % 2) for number in range(read)]
    after: list[int | None] = [LATEST + 2 - jitter_ms * (number % 2) for number in range(unread)]
    assert told([*before, LATEST + 2, *after], position=read + 1) == LATEST + 2
    assert told([*before, LATEST, *after], position=read + 1) is None
    assert told([*before, FUTURE, *after], position=read + 1) is None


@with_cases("position", [None, 200])
def test_one_time_that_is_ahead_of_those_behind_it_shows_nothing(position: int | None) -> None:
    ahead: list[int | None] = [SAVED_MS] * 200
    ahead[50] = SAVED_MS + 2 * SKEW_MS
    ahead[199] = LATEST + 1
    assert told(ahead, position=position) is None
    assert told([*ahead, SAVED_MS], position=position) is None
    assert told([*ahead[:50], *ahead[51:]], position=None) == LATEST + 1


@with_cases(
    "times",
    [
        [LATEST] * 200,
        [SAVED_MS, 0, SAVED_MS, LATEST + 1],
        [SAVED_MS, 0, SAVED_MS, LATEST + 1, LATEST + 1],
        [LATEST + 1, LATEST + 1, SAVED_MS],
        [FUTURE] * 200,
        [SAVED_MS, FUTURE, *[LATEST + 1] * 9],
        [LATEST + 1, LATEST + 1, None],
        [],
    ],
    ids=[
        "as far as clocks differ",
        "one ahead of times out of order",
        "two ahead of times out of order",
        "not the last",
        "all still to come",
        "one still to come",
        "one without a time",
        "no record",
    ],
)
def test_times_of_producers_that_may_be_ahead_show_nothing(times: list[int | None]) -> None:
    assert told(times) is None


@with_cases("before", [0, 1, 2, 50])
def test_one_time_that_a_broker_set_is_enough(before: int) -> None:
    old: list[int | None] = [SAVED_MS] * before
    assert told([*old, LATEST + 1], by_broker=True) == LATEST + 1
    assert told([*old, FUTURE], by_broker=True) == FUTURE
    assert told([*old, LATEST], by_broker=True) is None


def test_unread_records_are_younger_than_the_batch_as_they_should_be() -> None:
    for by_broker in (True, False):
        assert told([*[SAVED_MS] * 10, *[NOW_MS] * 90], position=10, by_broker=by_broker) is None


def test_without_a_time_of_the_batch_nothing_is_told() -> None:
    whole = Span(start=0, end=3)
    task = Task(question=RecordQuestion.CUT, position=3, old=whole, new=whole, old_whole=whole, new_whole=whole)
    given = answer(task, records(0, [LATEST + 1] * 3), Records(), Records())
    assert read_too_early(given.times, saved_ms=None, clock_skew_ms=SKEW_MS, now_ms=NOW_MS) is None


@with_cases("preserved", [False, True], ids=["found by records", "kept by the link"])
def test_no_answer_is_proven_of_a_log_that_was_replaced(preserved: bool) -> None:
    match = Match(
        query=replace(POSITION, of=replace(POSITION.of, isolation=IsolationLevel.READ_UNCOMMITTED)),
        answer=Answer(cut=replace(CUT, raw_skip=0)),
        preserved=preserved,
        probed="Probed.",
        replaced="It is another log.",
    )

    row = resolve(match)

    assert (row.exactness, row.new_offset, row.bounds) == (Exactness.UNKNOWN, None, (None, None))
    assert (row.raw.verdict, row.raw.skip, row.evidence.reason) == ("UNKNOWN", None, "It is another log.")


def test_of_generated_logs_those_that_were_made_again_are_told_and_no_others() -> None:
    """A topic that was deleted, made again and grew past the position, beside one that only grew; clocks differ."""
    random = Random(28)
    for _ in range(400):
        read, apart_ms = random.randint(1, 120), random.choice([1, 1_000, 90_000])
        by_broker, jitter_ms = random.random() < 0.3, random.choice([0, 0, apart_ms // 3])

        def life(ends_ms: int, count: int, apart: int = apart_ms, jitter: int = jitter_ms) -> list[int | None]:
            times = [ends_ms - apart * (count - 1 - number) - random.randint(0, jitter) for number in range(count)]
            return [*times[:-1], ends_ms]

        grown = [*life(SAVED_MS + random.randint(-SKEW_MS, SKEW_MS), read), *life(NOW_MS, random.randint(0, 50) or 1)]
        count = read + random.randint(0, 50)
        begun = LATEST + 1 + jitter_ms + random.randint(0, 10**9)
        again = [time + apart_ms * number for number, time in enumerate([begun] * count)]

        assert told(grown, position=read, by_broker=by_broker) is None
        assert told([*again], position=read, by_broker=by_broker) == again[read - 1]
        # A clock that is ahead of all others shows nothing, unless it is a broker's own.
        assert by_broker or told([FUTURE + time - begun for time in again], position=read) is None
