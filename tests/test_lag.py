"""The rules about lag: signed, never clamped, unknown never 0, times only with their method, gaps as gaps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offsetwise import files
from offsetwise.lag.alerts import Alert, alerts
from offsetwise.lag.amounts import drift, lag, total, totals
from offsetwise.lag.archive import Recording
from offsetwise.lag.moments import Moment, ends_of, starts_of
from offsetwise.lag.rates import rate, start_reaches
from offsetwise.lag.series import GAP_INTERVALS, Tick, gap_between, thin
from offsetwise.lag.subject import LagSubject
from offsetwise.lag.times import TimeMethod, time_lag
from offsetwise.lag.view import lag_view, partition_view
from offsetwise.model import Cluster, GroupPosition, IsolationLevel, LagPart, LogRange, Subject, SubjectKind
from tests.lag_samples import BEGIN_MS, growing, row, sample
from tests.with_cases import with_cases

ORDERS = LagSubject(migration="orders-to-new", kind=SubjectKind.CHECKPOINT, name="orders")
KEY = ("0", "orders", 0)
UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED
DAY_MS = 24 * 3_600_000

amounts = st.lists(st.none() | st.integers(-(2**63), 2**63))
growths = st.lists(st.tuples(st.integers(1, 100_000), st.integers(0, 1_000_000)), min_size=1, max_size=30)
"""Milliseconds and records between one moment and the next."""


def moments(grown: list[tuple[int, int]]) -> list[Moment]:
    made = [Moment(at_ms=0, offset=100)]
    for elapsed, records in grown:
        made.append(Moment(at_ms=made[-1].at_ms + elapsed, offset=made[-1].offset + records))
    return made


def codes(found: tuple[Alert, ...]) -> list[str]:
    return [each.finding.code for each in found]


class TestAmounts:
    def test_lag_is_signed_on_both_clusters(self) -> None:
        past = row(position=1300, new_position=1050)
        assert lag(past, Cluster.OLD, UNCOMMITTED) == -100
        assert lag(past, Cluster.NEW, UNCOMMITTED) == 50

    @with_cases("unread", [row(position=None), row(old=(0, None))])
    def test_what_is_unread_is_unknown(self, unread: object) -> None:
        assert lag(unread, Cluster.OLD, UNCOMMITTED) is None  # type: ignore[arg-type] # a row

    def test_a_read_committed_job_reads_to_the_last_stable_offset(self) -> None:
        log = LogRange(log_start=0, lso=90, hw=100)
        assert log.end(IsolationLevel.READ_COMMITTED) == 90
        assert log.end(UNCOMMITTED) == 100

    @given(amounts)
    def test_no_sign_hides_the_other_and_nothing_is_lost(self, each: list[int | None]) -> None:
        added = total(each)
        known = [amount for amount in each if amount is not None]

        assert added.known + added.unknown == len(each)
        assert added.left >= 0
        assert added.past >= 0
        assert added.net == (sum(known) if known else None)
        assert added.left + added.past == sum(map(abs, known))

    def test_of_nothing_known_the_total_is_unknown_and_not_0(self) -> None:
        assert total([None, None]).net is None
        assert total([]).net is None

    def test_drift_is_signed_and_unknown_without_a_commit(self) -> None:
        assert drift(row(groups=(GroupPosition(old=1090, new=None),)), 0) == 40
        assert drift(row(groups=(GroupPosition(old=1000, new=None),)), 0) == -50
        assert drift(row(groups=(GroupPosition(old=None, new=5),)), 0) is None
        assert drift(row(position=None), 0) is None

    def test_partitions_without_a_commit_do_not_count_as_unknown_drift(self) -> None:
        nobody = row(partition=1, groups=(GroupPosition(old=None, new=None),))
        (of,) = totals(sample(row(), nobody)).drift
        assert (of.known, of.unknown, of.net) == (1, 0, -50)


class TestTimes:
    @given(growths, st.integers(0, 40_000_000))
    def test_an_estimate_lies_between_its_bounds(self, grown: list[tuple[int, int]], position: int) -> None:
        ends = moments(grown)
        found = time_lag(ends, position)

        match found.method:
            case TimeMethod.INTERPOLATED:
                assert found.at_least_ms is not None
                assert found.estimate_ms is not None
                assert found.at_most_ms is not None
                assert 0 <= found.at_least_ms <= found.estimate_ms <= found.at_most_ms
            case TimeMethod.OLDER:
                assert position < ends[0].offset
                assert found.at_least_ms == ends[-1].at_ms - ends[0].at_ms
                assert found.at_most_ms is None
            case TimeMethod.AT_END:
                assert position == ends[-1].offset
            case TimeMethod.PAST_END:
                assert position > ends[-1].offset
                assert found.estimate_ms is None
            case TimeMethod.UNKNOWN:
                pytest.fail("both were known")

    @given(growths, st.integers(0, 40_000_000), st.integers(0, 1_000_000))
    def test_a_later_record_is_never_older(self, grown: list[tuple[int, int]], position: int, more: int) -> None:
        ends = moments(grown)
        before, after = time_lag(ends, position), time_lag(ends, position + more)
        if before.estimate_ms is not None and after.estimate_ms is not None:
            assert after.estimate_ms <= before.estimate_ms

    def test_it_is_interpolated_between_the_samples_around_it(self) -> None:
        ends = [Moment(at_ms=0, offset=100), Moment(at_ms=10_000, offset=200), Moment(at_ms=20_000, offset=300)]
        found = time_lag(ends, 150)
        assert (found.at_least_ms, found.estimate_ms, found.at_most_ms) == (10_000, 15_000, 20_000)

    def test_an_unknown_position_has_an_unknown_age(self) -> None:
        assert time_lag([Moment(at_ms=0, offset=1)], None).method is TimeMethod.UNKNOWN
        assert time_lag([], 5).method is TimeMethod.UNKNOWN

    def test_a_log_that_went_back_is_another_log_from_then_on(self) -> None:
        history = [sample(row(old=(0, hw)), seconds=at) for at, hw in enumerate((500, 600, 40, 50))]
        assert [each.offset for each in ends_of(history, KEY, Cluster.OLD)] == [40, 50]

    def test_moments_that_were_not_read_are_left_out(self) -> None:
        history = [sample(row(old=(0, hw)), seconds=at) for at, hw in enumerate((500, None, 600))]
        assert [each.offset for each in ends_of(history, KEY, Cluster.OLD)] == [500, 600]


class TestRates:
    def test_one_moment_has_no_rate(self) -> None:
        assert rate([Moment(at_ms=0, offset=1)]) is None
        assert rate([]) is None

    @given(growths, st.integers(0, 10_000_000))
    def test_the_log_start_never_reaches_a_position_in_the_past(self, grown: list[tuple[int, int]], ahead: int) -> None:
        starts = moments(grown)
        left = start_reaches(starts, starts[-1].offset + ahead)

        if starts[-1].offset == starts[0].offset:
            assert left is None
        else:
            assert left is not None
            assert left >= 0

    def test_a_deadline_follows_the_rate_of_the_log_start(self) -> None:
        starts = [Moment(at_ms=0, offset=0), Moment(at_ms=60_000, offset=600)]
        assert start_reaches(starts, 1_200) == 60_000
        assert start_reaches(starts, 599) == 0
        assert start_reaches(starts, None) is None
        assert start_reaches([], 5) is None


class TestSeries:
    def test_a_sample_that_comes_too_late_leaves_a_gap(self) -> None:
        first = Tick(taken_at_ms=0, interval_ms=30_000)
        on_time = int(GAP_INTERVALS * 30_000)
        assert not gap_between(first, Tick(taken_at_ms=on_time, interval_ms=30_000))
        assert gap_between(first, Tick(taken_at_ms=on_time + 1, interval_ms=30_000))

    def test_single_samples_have_no_gaps_and_a_changed_interval_is_none(self) -> None:
        once = Tick(taken_at_ms=0, interval_ms=None)
        assert not gap_between(once, Tick(taken_at_ms=10**9, interval_ms=None))
        assert not gap_between(Tick(taken_at_ms=0, interval_ms=10_000), Tick(taken_at_ms=60_000, interval_ms=60_000))

    @given(st.lists(st.tuples(st.integers(1, 200_000), st.booleans()), max_size=200), st.integers(2, 50))
    def test_thinning_keeps_both_ends_and_every_gap_and_stays_within_its_bound(
        self, steps: list[tuple[int, bool]], most: int
    ) -> None:
        ticks, at = [], 0
        for step, missing in steps:
            at += step
            ticks.append(Tick(taken_at_ms=at, interval_ms=30_000, missing=missing))
        kept = thin(ticks, most)

        assert len(kept) <= most
        assert [each.index for each in kept] == sorted({each.index for each in kept})
        if ticks:
            assert (kept[0].index, kept[-1].index) == (0, len(ticks) - 1)
        for before, after in pairwise(kept):
            between = ticks[before.index : after.index + 1]
            assert after.after_gap == any(gap_between(one, other) for one, other in pairwise(between))

    def test_a_moment_without_a_cluster_is_not_thinned_away(self) -> None:
        ticks = [Tick(taken_at_ms=at * 1000, interval_ms=1000, missing=at == 333) for at in range(1_000)]
        assert 333 in [each.index for each in thin(ticks, 20)]


class TestAlerts:
    def test_nothing_wrong_is_no_finding(self) -> None:
        assert alerts(sample(seconds=30), sample()) == ()

    def test_a_position_below_a_log_start_names_the_worst_partition_and_counts_the_others(self) -> None:
        (found,) = alerts(sample(row(old=(1100, 1200)), row(partition=1, old=(1200, 1300)), row(partition=2)), None)
        assert found.finding.code == "BELOW_LOG_START"
        assert (found.finding.topic, found.finding.partition, found.partitions) == ("orders", 1, 2)
        assert "so in 1 more partition" in found.finding.message

    def test_a_place_past_the_new_end_is_not_mirrored_yet(self) -> None:
        (found,) = alerts(sample(row(new=(0, 900))), None)
        assert found.finding.code == "NOT_YET_MIRRORED"
        assert "950, 50 offsets past the end" in found.finding.message

    def test_a_group_that_moved_either_way_has_drifted_and_one_that_stands_has_not(self) -> None:
        for to in (1_090, 900):
            moved = row(groups=(GroupPosition(old=to, new=None),))
            assert codes(alerts(sample(moved, seconds=30), sample())) == ["GROUP_DRIFT"]
        apart = row(groups=(GroupPosition(old=5, new=None),))
        assert alerts(sample(apart, seconds=30), sample(apart)) == ()

    def test_a_group_that_was_unread_once_has_not_drifted(self) -> None:
        unread = row(groups=(GroupPosition(old=None, new=None),))
        assert alerts(sample(seconds=30), sample(unread)) == ()
        assert alerts(sample(unread, seconds=30), sample()) == ()

    def test_groups_are_matched_by_name_and_not_by_place(self) -> None:
        both = (GroupPosition(old=7, new=None), GroupPosition(old=1000, new=None))
        now = sample(row(groups=both), groups=("another", "orders-etl"), seconds=30)
        assert alerts(now, sample()) == ()

    def test_an_old_heartbeat_is_a_stalled_mirror_and_none_says_nothing(self) -> None:
        assert codes(alerts(sample(heartbeat_ms=BEGIN_MS - 60_001), None)) == ["MIRROR_STALLED"]
        assert alerts(sample(heartbeat_ms=BEGIN_MS - 60_000), None) == ()
        assert alerts(sample(heartbeat_ms=BEGIN_MS - DAY_MS, missing=(LagPart.NEW,)), None) == ()

    def test_a_log_start_that_comes_near_the_place_is_retention_before_the_cutover(self) -> None:
        before = sample(row(new=(0, 1100)))
        assert codes(alerts(sample(row(new=(10, 1100)), seconds=60), before)) == ["RETENTION_BEFORE_CUTOVER"]
        slow = sample(row(new=(1, 1100)), seconds=60 * 60 * 5)
        assert alerts(slow, before) == ()

    def test_what_blocks_comes_first(self) -> None:
        moved = row(new=(0, 900), groups=(GroupPosition(old=1, new=None),))
        found = alerts(sample(moved, seconds=30, heartbeat_ms=0), sample())
        assert codes(found) == ["NOT_YET_MIRRORED", "MIRROR_STALLED", "GROUP_DRIFT"]

    def test_ten_thousand_partitions_make_one_finding_of_each_kind(self) -> None:
        many = [row(partition=number, old=(2_000, 3_000)) for number in range(10_000)]
        (found,) = alerts(sample(*many), None)
        assert found.partitions == 10_000


class TestViews:
    def test_a_view_ends_with_the_newest_sample_and_judges_movement_since_its_begin(self) -> None:
        moving = [
            replace(each, partitions=(replace(each.partitions[0], groups=(GroupPosition(old=900 + at, new=None),)),))
            for at, each in enumerate(growing(40))
        ]
        shown = lag_view(Recording(moving), ORDERS, 600_000)

        assert shown is not None
        assert shown.points[-1].head.taken_at_ms == shown.newest.sample.taken_at_ms == moving[-1].taken_at_ms
        assert len(shown.points) == 21
        (found,) = shown.alerts
        assert "from 919 to 939 within 10 min" in found.finding.message

    def test_of_nothing_there_is_no_view(self) -> None:
        assert lag_view(Recording(()), ORDERS, 1) is None
        assert partition_view(Recording(()), ORDERS, KEY, 1) is None

    def test_without_its_log_end_in_the_newest_sample_an_age_is_unknown(self) -> None:
        away = sample(row(old=(None, None)), seconds=300, missing=(LagPart.OLD,))
        shown = partition_view(Recording([*growing(5), away]), ORDERS, KEY, DAY_MS)

        assert shown is not None
        assert shown.old.time.method is TimeMethod.UNKNOWN
        assert shown.old.start_reaches_ms is None
        assert shown.new.time.method is not TimeMethod.UNKNOWN

    def test_a_partition_that_vanished_is_none_and_not_an_error(self) -> None:
        shown = partition_view(Recording([sample(), sample(row("payments"), seconds=30)]), ORDERS, KEY, DAY_MS)
        assert shown is not None
        assert shown.row is None
        assert shown.old.time.method is TimeMethod.UNKNOWN

    def test_starts_and_ends_come_from_the_cluster_asked_for(self) -> None:
        history = growing(2)
        assert [each.offset for each in starts_of(history, KEY, Cluster.OLD)] == [100, 100]
        assert [each.offset for each in ends_of(history, KEY, Cluster.NEW)] == [1100, 1110]


def test_a_sample_is_a_file_of_its_own_kind() -> None:
    written = sample(row(), row(partition=1, position=None), missing=(LagPart.NEW,))
    text = files.dump(written, indent=None)

    assert text.count("\n") == 1
    assert '"format": "offsetwise/lag-sample"' in text
    assert files.load(text, "lag-sample", subject="a line") == written


def test_a_subject_is_a_checkpoint_or_a_group() -> None:
    assert str(LagSubject(migration="m", kind=SubjectKind.GROUP, name="etl")) == "group etl"
    assert Subject.either(checkpoint="orders", group=None) == Subject(kind=SubjectKind.CHECKPOINT, name="orders")
    for checkpoint, group in ((None, None), ("orders", "etl")):
        with pytest.raises(ValueError, match="either"):
            Subject.either(checkpoint=checkpoint, group=group)
