from __future__ import annotations

from dataclasses import replace

from offsetwise.model import Ahead, Exactness
from offsetwise.translation.search import (
    ROUNDS,
    SearchPhase,
    SearchTarget,
    Span,
    Windows,
    better,
    earlier_windows,
    first_windows,
    in_doubt,
    next_windows,
    settled,
    wants_time,
)
from offsetwise.translation.windows import Cut, Reason
from tests.golden import GOLDEN
from tests.translation.logs import Entry, Pair, decide_on
from tests.with_cases import with_cases

LARGE = SearchTarget(
    position=1_050_000, old=Span(start=100_000, end=1_200_000), new=Span(start=0, end=1_100_000), window=64, budget=1000
)
UNDECIDED = Cut(exactness=None, reason=Reason.FEW_ANCHORS)
PROVEN = Cut(exactness=Exactness.POSITION_EXACT, reason=Reason.PROVEN, offset=950_000)


class TestTheFirstWindows:
    def test_of_small_logs_are_the_whole_logs_and_the_last(self) -> None:
        small = SearchTarget(position=1050, old=Span(start=100, end=1100), new=Span(start=0, end=1000))

        assert first_windows(small) == Windows(old=small.old, new=small.new, last=True)

    def test_of_large_logs_are_narrow_whatever_their_size(self) -> None:
        windows = first_windows(LARGE)

        assert windows.old == Span(start=1_050_000 - 64, end=1_050_000 + 64)
        assert len(windows.new) <= 2 * 64
        assert not windows.last

    def test_without_a_bracket_look_as_far_from_the_end_as_the_position_is(self) -> None:
        assert first_windows(LARGE).new == Span(start=950_000 - 64, end=950_000 + 64)

    def test_look_around_the_narrowest_bracket(self) -> None:
        wide, narrow = Span(start=900_000, end=900_400), Span(start=910_000, end=910_100)

        windows = first_windows(replace(LARGE, brackets=(wide, narrow)))

        assert windows.new == Span(start=910_000 - 64, end=910_100 + 64)

    def test_pass_over_a_bracket_above_half_the_budget(self) -> None:
        windows = first_windows(replace(LARGE, brackets=(Span(start=0, end=501),)))

        assert windows.new == first_windows(LARGE).new

    @with_cases("bracket", [Span(start=-50, end=-10), Span(start=2_000_000, end=2_000_001)])
    def test_stay_inside_the_log_whatever_a_bracket_says(self, bracket: Span) -> None:
        windows = first_windows(replace(LARGE, brackets=(bracket,)))

        assert 0 <= windows.new.start < windows.new.end <= 1_100_000


class TestAfterAnUndecidedCut:
    def test_windows_grow_fourfold(self) -> None:
        following = next_windows(LARGE, first_windows(LARGE), UNDECIDED)

        assert following is not None
        assert (len(following.old), following.round) == (4 * 128, 2)

    def test_windows_follow_the_shift_of_the_records_that_paired(self) -> None:
        following = next_windows(LARGE, first_windows(LARGE), replace(UNDECIDED, shift=-100_500))

        assert following is not None
        assert following.new == Span(start=949_500 - 256, end=949_500 + 256)

    def test_windows_go_where_the_timestamp_points_when_nothing_paired(self) -> None:
        following = next_windows(LARGE, first_windows(LARGE), UNDECIDED, at_time=700_000)

        assert following is not None
        assert following.new == Span(start=700_000 - 256, end=700_000 + 256)

    def test_a_timestamp_is_asked_for_only_once_and_only_without_another_clue(self) -> None:
        first = first_windows(LARGE)

        assert wants_time(first, UNDECIDED)
        assert not wants_time(replace(first, round=2), UNDECIDED)
        assert not wants_time(first, replace(UNDECIDED, shift=0))
        assert not wants_time(first, PROVEN)

    def test_the_rounds_and_the_budget_end_the_search(self) -> None:
        windows: Windows | None = first_windows(LARGE)
        seen = []
        while windows is not None and not windows.last:
            seen.append(windows)
            windows = next_windows(LARGE, windows, replace(UNDECIDED, shift=-100_000))

        assert windows is not None
        assert len(seen) < ROUNDS
        assert max(len(windows.old), len(windows.new)) <= 2 * 64 * 4 ** (ROUNDS - 1)

    def test_the_last_look_takes_whole_logs_only_within_the_budget(self) -> None:
        target = replace(LARGE, new=Span(start=0, end=900))
        windows = next_windows(target, replace(first_windows(target), round=3), UNDECIDED)

        assert windows is not None
        assert windows.last
        assert windows.new == target.new
        assert windows.old != target.old


@with_cases(
    "asked",
    GOLDEN["timestamp_lookup_on_transactional_log"]["for_timestamp_of_record"],
    ids=lambda asked: f"record {asked['record']}",
)
def test_a_timestamp_that_points_to_a_marker_far_off_does_not_become_the_place(asked: dict[str, int]) -> None:
    # 100 transactions of 10 records, each followed by its marker; the mirror is 1,000 records behind.
    record, end = asked["record"], 1_000
    target = SearchTarget(position=record, old=Span(start=0, end=2 * end), new=Span(start=0, end=1_100), window=8)
    copies = tuple(Entry(offset=number + number // 10, identity=number, key=0, origin=number) for number in range(end))
    pair = Pair(old=tuple(Entry(number, number, 0, number) for number in range(2 * end)), new=copies, target=target)
    assert copies[record].offset == asked["true_offset"]

    windows: Windows | None = first_windows(target)
    asked_for = 0
    while windows is not None:
        cut = decide_on(pair, windows)
        looked_up = wants_time(windows, cut)
        asked_for += looked_up
        windows = next_windows(target, windows, cut, at_time=asked["returned"] if looked_up else None)

    assert (cut.exactness, cut.offset) == (Exactness.POSITION_EXACT, asked["true_offset"])
    assert asked_for == (record > 0)


class TestAfterADecidedCut:
    def test_everything_ahead_is_read_where_the_budget_allows(self) -> None:
        target = replace(LARGE, budget=200_000)

        following = next_windows(target, first_windows(target), PROVEN)

        assert following is not None
        assert following.phase is SearchPhase.CONFIRM
        assert (following.old.end, following.new.end) == (1_200_000, 1_100_000)
        assert following.old.start > target.old.start

    def test_what_lies_ahead_stays_unread_above_the_budget(self) -> None:
        near = replace(PROVEN, offset=1_049_950)

        following = next_windows(replace(LARGE, new=Span(start=0, end=1_199_950)), first_windows(LARGE), near)

        assert following is not None
        assert following.new.end < 1_199_950
        assert following.new.start <= 1_049_950 - 0
        assert following.new.end >= 1_050_000, "the raw number is read too, since it is near"

    def test_whole_logs_are_read_where_both_fit(self) -> None:
        target = replace(LARGE, budget=2_000_000)

        following = next_windows(target, first_windows(target), PROVEN)

        assert following is not None
        assert (following.old, following.new) == (target.old, target.new)

    def test_nothing_is_read_again_that_was_read_already(self) -> None:
        target = replace(LARGE, budget=2_000_000)
        whole = Windows(old=target.old, new=target.new)

        assert next_windows(target, whole, PROVEN) is None

    def test_no_round_follows_a_confirming_one(self) -> None:
        confirming = replace(first_windows(LARGE), phase=SearchPhase.CONFIRM)

        assert next_windows(LARGE, confirming, PROVEN) is None

    def test_without_a_place_the_records_at_the_raw_number_are_still_compared(self) -> None:
        unknown = Cut(exactness=Exactness.UNKNOWN, reason=Reason.NO_COMMON_RECORD)

        following = next_windows(LARGE, first_windows(LARGE), unknown)

        assert following is not None
        assert following.phase is SearchPhase.RAW_ONLY
        assert following.new == Span(start=1_050_000 - 64, end=1_050_000 + 64)
        assert next_windows(replace(LARGE, new=Span(start=0, end=1000)), first_windows(LARGE), unknown) is None


class TestBetweenTwoCuts:
    def test_the_one_from_larger_windows_knows_more(self) -> None:
        confirmed = replace(PROVEN, exactness=Exactness.EXACT)

        assert better(PROVEN, confirmed) is confirmed

    @with_cases("reason", [Reason.FEW_ANCHORS, Reason.NO_COMMON_RECORD])
    def test_one_that_lost_its_anchors_takes_nothing_away(self, reason: Reason) -> None:
        lost = Cut(exactness=Exactness.UNKNOWN, reason=reason, raw_differs=True)

        assert better(PROVEN, lost) == replace(PROVEN, raw_differs=True)


class TestAPlaceThatMaySkipCopiesFurtherDown:
    """A mirror that went back leaves first copies below; timestamps say from where on copies of unread records lie."""

    LOCATED = replace(PROVEN, new_from=949_936, unread_since=1, lo=950_000, hi=950_000, skip=0, replay=0)
    EXAMINED = Ahead(examined=True, missing=0, duplicated=0, foreign=0)

    @with_cases(
        ("cut", "expected"),
        [
            (replace(LOCATED, ahead=EXAMINED), False),
            (replace(LOCATED, ahead=EXAMINED, unfound=True), True),
            (LOCATED, True),
            (replace(LOCATED, unread_since=None), True),
            (replace(LOCATED, unread_since=None, ahead=EXAMINED), False),
            (replace(LOCATED, new_from=None, unfound=True), False),
            (replace(LOCATED, offset=None, unfound=True), False),
        ],
        ids=[
            "all found",
            "some without a copy",
            "not read ahead",
            "not read ahead, and times do not tell",
            "all found, and times do not tell",
            "read from the start",
            "nowhere",
        ],
    )
    def test_is_in_doubt_where_unread_records_were_not_found_above_it(self, cut: Cut, *, expected: bool) -> None:
        assert in_doubt(cut) is expected

    def test_is_read_again_from_where_such_copies_may_begin(self) -> None:
        target = replace(LARGE, budget=2_000)
        read = first_windows(target)

        assert earlier_windows(target, read, self.LOCATED, 949_500) == Windows(
            old=Span(start=1_049_000, end=1_050_064),
            new=Span(start=949_500, end=950_064),
            phase=SearchPhase.EARLIER,
            last=True,
            round=2,
        )
        assert earlier_windows(target, read, self.LOCATED, 949_000) is None, "more than the budget"
        assert earlier_windows(target, read, self.LOCATED, 949_936) is None, "read already"

    def test_stands_where_everything_from_there_on_was_read(self) -> None:
        assert settled(self.LOCATED, 949_936) == self.LOCATED

    def test_is_only_bounded_otherwise_and_what_it_repeats_is_not_known(self) -> None:
        made = settled(replace(self.LOCATED, raw_skip=0, raw_replay=0, replay=2), 900_000)

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.COPIES_BELOW)
        assert (made.offset, made.lo, made.hi) == (900_000, 900_000, 950_000)
        assert (made.skip, made.replay, made.foreign_below) == (0, None, None)
        assert (made.raw_skip, made.raw_replay) == (None, None), "what the raw number skips is not known to be nothing"

    def test_what_is_below_may_be_read_twice_where_all_that_lies_ahead_was_counted(self) -> None:
        counted = replace(self.LOCATED, ahead=self.EXAMINED, unfound=True, replay=2)

        assert settled(counted, 949_000).replay == 1_002

    def test_is_bounded_on_one_side_only_where_no_time_says_where_other_copies_lie(self) -> None:
        made = settled(replace(self.LOCATED, unread_since=None, raw_skip=3, raw_replay=0), 0)

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.AHEAD_NOT_READ)
        assert (made.offset, made.lo, made.hi) == (0, 0, None)
        assert (made.skip, made.replay, made.raw_skip, made.raw_replay) == (0, None, None, None)


class TestASpan:
    @with_cases(
        ("low", "high", "expected"),
        [(50, 150, (100, 150)), (150, 500, (150, 200)), (0, 50, (100, 100)), (300, 400, (200, 200)), (170, 160, None)],
        ids=["below", "above", "before it", "behind it", "backward"],
    )
    def test_is_clipped_to_a_part_of_itself(self, low: int, high: int, expected: tuple[int, int] | None) -> None:
        found = Span(start=100, end=200).clip(low, high)

        assert (found.start, found.end) == (expected or (170, 170))
        assert len(found) == found.end - found.start
