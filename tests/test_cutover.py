"""What looks at the old logs say: for how long they have stood still, who grows, and what is copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from offsetwise.lag.cutover import CopiesFound, LogWatch, findings_of, late_commits, state_of
from offsetwise.model import (
    CutoverPartition,
    CutoverState,
    GroupBefore,
    GroupOffset,
    GroupState,
    LogWriter,
    Outcome,
    TopicPartition,
)
from offsetwise.ports.log_observations import LogEnd, LogsLook
from tests.with_cases import with_cases

AT: Final = TopicPartition("orders", 0)
STILL_MS: Final = 10_000
COPIED: Final = CopiesFound(end=100, outcome=Outcome.PASSED, message="Its last record is on the new cluster.")
DAY_MS: Final = 1_795_759_200_000
Ends = Sequence[tuple[int | None, int | None]]


def watched(
    ends: Ends, every_ms: int = 1_000, took_ms: int = 0, still_ms: int = STILL_MS, writers: tuple[LogWriter, ...] = ()
) -> LogWatch:
    """Look as often as there are ends, each with its last stable offset."""
    watch = LogWatch(still_for_ms=still_ms)
    for number, (end, stable) in enumerate(ends):
        began = number * every_ms
        look = LogsLook(cluster_id="a", logs={AT: LogEnd(end, stable)}, writers={AT: writers} if number else {})
        watch.heard(look, began_ms=began, over_ms=began + took_ms, clock_ms=DAY_MS + began)
    return watch


def judged(watch: LogWatch, copies: CopiesFound | None = None) -> CutoverPartition:
    (row,) = watch.partitions(lambda name: f"new.{name}", {} if copies is None else {AT: copies})
    return row


def stable(*ends: int | None) -> list[tuple[int | None, int | None]]:
    return [(end, end) for end in ends]


@with_cases(
    ("ends", "state", "told"),
    [
        (stable(100), CutoverState.OPEN, "It ends at 100; one look does not tell whether it grows."),
        (stable(100, 120), CutoverState.OPEN, "It grew by 20 offsets since the first look, to 120."),
        (stable(100, 90), CutoverState.OPEN, "The log became shorter: it ended at 100, and now at 90."),
        (stable(100, None), CutoverState.OPEN, "Where the log ends is not known: its leader did not say."),
        (stable(100, 100), CutoverState.DRAINING, "It has ended at 100 for 1 s of 10 s."),
        (stable(100, 120, 120), CutoverState.DRAINING, "It has ended at 120 for 1 s of 10 s."),
        (stable(100, None, 100), CutoverState.DRAINING, "It has ended at 100 for 0 s of 10 s."),
        ([(100, 90)] * 12, CutoverState.DRAINING, "It has ended at 100 for 11 s, and a transaction is open"),
        (stable(*[1_100] * 11), CutoverState.FROZEN, "It has ended at 1,100 for 10 s."),
    ],
)
def test_a_log_is_judged_by_its_ends_alone(ends: Ends, state: CutoverState, told: str) -> None:
    row = judged(watched(ends))
    assert (row.state, row.told[: len(told)]) == (state, told)
    assert row.new_topic == "new.orders"


def test_copies_count_only_for_the_end_that_they_were_looked_for_at() -> None:
    frozen = stable(*[100] * 11)

    assert judged(watched(frozen), COPIED).state is CutoverState.COPIED
    assert judged(watched([*frozen, *stable(101)]), COPIED).state is CutoverState.OPEN
    assert judged(watched([*frozen, *stable(*[101] * 11)]), COPIED).state is CutoverState.FROZEN
    for outcome in (Outcome.FAILED, Outcome.UNKNOWN):
        row = judged(watched(frozen), CopiesFound(end=100, outcome=outcome, message="30 records have no copy."))
        assert (row.state, row.told) == (
            CutoverState.FROZEN,
            "It has ended at 100 for 10 s. 30 records have no copy.",
        )


@given(
    ends=st.lists(st.one_of(st.none(), st.integers(100, 103)), min_size=1, max_size=40),
    every_ms=st.integers(100, 5_000),
    took_ms=st.integers(0, 4_000),
    still_ms=st.integers(1, 20_000),
)
def test_it_is_never_frozen_unless_every_look_of_that_time_found_the_same_end(
    ends: list[int | None], every_ms: int, took_ms: int, still_ms: int
) -> None:
    """A look may take longer than the time between two, and its answer be of any moment of it."""
    apart = every_ms + took_ms
    row = judged(watched(stable(*ends), every_ms=apart, took_ms=took_ms, still_ms=still_ms))
    same = 0
    while same < len(ends) and ends[-1 - same] == ends[-1]:
        same += 1
    certain_ms = (same - 1) * apart - took_ms if same > 1 else 0

    assert row.still_ms == (0 if ends[-1] is None else max(0, certain_ms))
    if row.state is CutoverState.FROZEN:
        assert ends[-1] is not None
        assert same > 1
        assert certain_ms >= still_ms
    known = [end for end in ends if end is not None]
    assert row.grown == (0 if ends[-1] is None else max(0, ends[-1] - known[0]))


@given(st.lists(st.integers(100, 103), min_size=2, max_size=12))
def test_a_watch_is_over_once_a_log_grows_or_all_have_stood_still(ends: list[int]) -> None:
    watch = watched(stable(*ends), still_ms=3_000)
    row = judged(watch)

    assert watch.is_over == (row.state is CutoverState.OPEN or row.still_ms >= 3_000)
    assert watch.frozen_topics == ({"orders"} if row.state is CutoverState.FROZEN else set())


def test_a_topic_is_frozen_once_all_of_its_logs_are_while_another_one_goes_on() -> None:
    watch = LogWatch(still_for_ms=STILL_MS)
    still, late, other = AT, TopicPartition("orders", 1), TopicPartition("clicks", 0)
    frozen = []
    for second in range(20):
        ends = {still: 100, late: min(100, 95 + second), other: 100 + second}
        logs = {at: LogEnd(end, end) for at, end in ends.items()}
        look = LogsLook(cluster_id="a", logs=logs, writers={})
        watch.heard(look, began_ms=1_000 * second, over_ms=1_000 * second, clock_ms=DAY_MS + 1_000 * second)
        frozen.append(watch.frozen_topics)

    assert frozen == [frozenset()] * 15 + [{"orders"}] * 5


def test_a_look_that_came_to_nothing_begins_the_time_anew() -> None:
    watch = watched(stable(*[100] * 11))
    watch.missed()
    assert judged(watch, COPIED).told == "Where the log ends is not known: the cluster gave no answer."

    watch.heard(LogsLook(cluster_id="a", logs={AT: LogEnd(100, 100)}), began_ms=60_000, over_ms=60_000, clock_ms=DAY_MS)

    assert (judged(watch, COPIED).state, judged(watch).still_ms) == (CutoverState.DRAINING, 0)


def test_a_clock_that_is_set_back_shortens_no_time() -> None:
    watch = LogWatch(still_for_ms=2_000)
    for at, clock in ((0, DAY_MS), (1_000, DAY_MS - 3_600_000), (2_000, DAY_MS + 3_600_000)):
        look = LogsLook(cluster_id="a", logs={AT: LogEnd(100, 100)})
        watch.heard(look, began_ms=at, over_ms=at, clock_ms=clock)

    assert (judged(watch).state, judged(watch).still_ms) == (CutoverState.FROZEN, 2_000)


def test_all_together_are_as_far_as_the_partition_furthest_behind() -> None:
    rows = [judged(watched(stable(*ends)), COPIED) for ends in ([100] * 11, [100, 100], [100, 120])]

    assert state_of(rows[:1]) is CutoverState.COPIED
    assert state_of(rows[:2]) is CutoverState.DRAINING
    assert state_of(rows) is CutoverState.OPEN


def test_who_grows_most_is_named_with_its_producers_and_nobody_once_it_stands_still() -> None:
    writers = (LogWriter(producer_id=4_001, last_timestamp_ms=DAY_MS), LogWriter(producer_id=7, last_timestamp_ms=None))
    more = judged(watched(stable(100, 150), writers=writers))
    fewer = judged(watched(stable(100, 120)))
    slow = judged(watched(stable(100, 120, 120)))

    (found,) = findings_of([fewer, more, slow], None, ())

    assert (found.code, found.topic_partition) == ("OLD_LOG_GROWS", AT)
    assert found.message == (
        "orders-0 grew by 50 offsets to 150, last seen at 2026-11-27 06:00:01 UTC; the producers that its leader "
        "remembers, the last to write first: 4,001, 7; so in 2 more partitions."
    )
    assert not findings_of([judged(watched(stable(100, *[120] * 12)))], None, ()), "it has stopped"


def test_every_commit_that_is_not_as_planned_is_late() -> None:
    then = GroupBefore(group="etl", state="Empty", offsets=(("orders", 0, 10), ("orders", 1, 20), ("orders", 2, 30)))
    now = GroupState(
        name="etl",
        offsets=tuple(
            GroupOffset(topic="orders", partition=partition, offset=offset)
            for partition, offset in ((0, 10), (1, 25), (2, 28), (3, 1))
        ),
    )

    late = late_commits(then, now)
    (found,) = findings_of((), "etl", late)

    assert [(each.partition, each.planned, each.committed) for each in late] == [(1, 20, 25), (2, 30, 28), (3, None, 1)]
    assert found.message == (
        "Group etl has committed 25 in orders-1 on the old cluster; when the plan was drafted, 20; so in 2 more "
        "partitions."
    )
    assert late_commits(then, None) == ()
