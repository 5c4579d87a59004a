"""The counted cut on logs that fit on a line. The properties over generated logs stand beside this file."""

from __future__ import annotations

from collections.abc import Iterable

from offsetwise.model import Ahead, Exactness, Side
from offsetwise.translation.content import anchors, decide
from offsetwise.translation.windows import Cut, LogWindow, Reason
from tests.with_cases import with_cases


def log(text: str, *, start: int = 0, at_start: bool = True, at_end: bool = True) -> LogWindow:
    """Read one record per character; a dot is an offset without a record."""
    held = [(start + index, letter) for index, letter in enumerate(text) if letter != "."]
    return LogWindow(
        start=start,
        end=start + len(text),
        at_start=at_start,
        at_end=at_end,
        offsets=[offset for offset, _ in held],
        identities=[letter for _, letter in held],
    )


def part(text: str, *, start: int = 0) -> LogWindow:
    """Read a stretch from the middle of a log."""
    return log(text, start=start, at_start=False, at_end=False)


def cut(
    position: int,
    old: str | LogWindow,
    new: str | LogWindow,
    *,
    natives_excluded: bool = False,
    aborted: Iterable[str] = (),
    last: bool = True,
) -> Cut:
    old, new = (log(each) if isinstance(each, str) else each for each in (old, new))
    return decide(position, old, new, natives_excluded=natives_excluded, aborted=aborted, last=last)


class TestAPlaceIsProven:
    def test_where_every_record_has_its_copy_at_another_offset(self) -> None:
        made = cut(5, log("abcdefgh", start=2), "abcdefgh")

        assert (made.offset, made.exactness, made.reason) == (3, Exactness.EXACT, Reason.PROVEN)
        assert (made.skip, made.replay, made.foreign_below) == (0, 0, 0)
        assert made.ahead == Ahead(examined=True, missing=0, duplicated=0, foreign=0)

    def test_at_the_start_of_both_logs_whatever_offsets_begin_them(self) -> None:
        made = cut(3, log("ab", start=3), log(".ab", start=1))

        assert (made.offset, made.exactness) == (1, Exactness.EXACT)

    def test_among_unread_records_alone_where_the_new_log_goes_on(self) -> None:
        made = cut(1, log("hfg", start=1), log("hfgz", start=2, at_end=False), natives_excluded=True, last=False)

        assert (made.offset, made.exactness, made.reason) == (2, Exactness.POSITION_EXACT, Reason.PROVEN)

    def test_where_transactions_left_gaps_on_the_old_log(self) -> None:
        assert cut(6, "ab.cd.ef.gh.", "abcdefgh").offset == 4

    def test_at_an_offset_that_holds_no_record(self) -> None:
        assert [cut(position, "ab.cd", "abcd").offset for position in (2, 3)] == [2, 2]

    def test_where_the_old_log_was_compacted_since_and_nobody_else_writes(self) -> None:
        made = cut(5, log("c.efgh", start=2), "abcdefgh", natives_excluded=True)

        assert (made.offset, made.exactness) == (5, Exactness.EXACT)

    def test_where_records_were_filtered_and_says_how_many_are_missing(self) -> None:
        made = cut(3, "abcdefgh", "acefh")

        assert (made.offset, made.missing) == (2, 2)
        assert made.exactness is Exactness.POSITION_EXACT
        assert made.ahead.missing == 2

    def test_where_a_run_of_identical_records_is_whole_on_both_sides(self) -> None:
        made = cut(4, "a" + "=" * 6 + "b", "a" + "=" * 6 + "b")

        assert (made.offset, made.exactness) == (4, Exactness.EXACT)

    def test_behind_the_last_copy_where_the_job_is_caught_up(self) -> None:
        made = cut(3, "abc", "abcxy", natives_excluded=False)

        assert (made.offset, made.caught_up) == (3, True)
        assert made.ahead.foreign == 2
        assert made.exactness is Exactness.POSITION_EXACT

    def test_at_the_log_start_where_nothing_was_read(self) -> None:
        assert (cut(0, "abc", "abc").offset, cut(0, "abc", "abc").exactness) == (0, Exactness.EXACT)

    def test_after_a_mirror_that_copied_everything_again(self) -> None:
        made = cut(2, "abcd", "ababcd")

        assert (made.offset, made.replay, made.skip) == (4, 0, 0)

    def test_where_another_producer_wrote_ahead_of_the_place(self) -> None:
        made = cut(2, "abcd", "abxcd")

        assert made.offset == 2
        assert made.ahead.foreign == 1
        assert made.exactness is Exactness.POSITION_EXACT


class TestAPlaceIsOnlyBounded:
    def test_where_second_copies_of_read_records_lie_ahead(self) -> None:
        made = cut(2, "abcd", "abcabd", natives_excluded=True)

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.REPLAY_UNAVOIDABLE)
        assert (made.offset, made.skip, made.replay) == (2, 0, 2)
        # The last copies may be others': then the mirror may have to copy b, c and d again.
        assert cut(2, "abcd", "abcabd").replay == 5

    def test_where_another_producer_wrote_below_it(self) -> None:
        made = cut(3, "abcd", "abxcd")

        assert (made.exactness, made.reason, made.foreign_below) == (Exactness.BOUNDED, Reason.NATIVE_BELOW, 1)
        assert made.offset == 2, "the plan would read the foreign record, not skip it"

    def test_where_identical_records_do_not_add_up(self) -> None:
        made = cut(4, "a" + "=" * 6 + "b", "a" + "=" * 4 + "b")

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.IDENTICAL_RECORDS)
        assert (made.lo, made.hi, made.skip) == (2, 5, 0), "any of the copies may be a second one of a read record"

    def test_where_retention_took_what_the_job_had_read(self) -> None:
        made = cut(2, log("cdef", start=2), "abcdef")

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.OLD_LOG_TRIMMED)
        assert (made.lo, made.hi) == (0, 2)

    def test_where_the_old_log_has_lost_records_that_the_job_may_have_read(self) -> None:
        whole, made = cut(1, "adefg", "abxdefg"), cut(3, "a..defg", "abxdefg")

        assert (whole.offset, whole.exactness, whole.ahead.foreign) == (1, Exactness.POSITION_EXACT, 2)
        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.OLD_RECORDS_GONE)
        assert (made.lo, made.hi, made.skip, made.replay) == (1, 3, 0, 2), "both may be copies of compacted ones"
        assert (made.raw_skip, made.raw_replay) == (0, 0), "the old number lies behind both"
        between = cut(2, "a.cdefg", "abxycdefg")
        assert (between.lo, between.hi, between.raw_skip, between.raw_replay) == (1, 4, None, None)

    def test_and_what_it_may_repeat_includes_copies_whose_originals_the_old_log_has_lost(self) -> None:
        kept, lost = cut(4, "abcdefg", "axbcdefg"), cut(5, "a.bcdefg", "axbcdefg")

        assert (kept.reason, lost.reason) == (Reason.NATIVE_BELOW, Reason.NATIVE_BELOW)
        assert (kept.offset, kept.replay) == (1, 3)
        assert (lost.offset, lost.replay) == (1, 4)

    def test_where_a_mirror_went_back_and_its_second_run_ended_before_the_first(self) -> None:
        made = cut(6, part("abcdefgh"), log("ghabcdef", start=8, at_start=False))

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.COPIES_BELOW)
        assert (made.offset, made.skip, made.hi) == (8, 0, 16)

    def test_behind_the_last_sure_anchor_where_the_windows_may_not_grow(self) -> None:
        made = cut(5, part("abcd==fg"), part("abcd.==fg"))

        assert (made.exactness, made.reason) == (Exactness.BOUNDED, Reason.FEW_ANCHORS)
        assert (made.offset, made.lo, made.hi, made.skip, made.replay) == (4, 4, None, 0, None)


class TestNothingIsClaimed:
    @with_cases(
        ("position", "old", "new", "reason"),
        [
            (2, "abcd", "wxyz", Reason.NO_COMMON_RECORD),
            (0, "", "", Reason.EMPTY_LOGS),
            (3, "abc", "ab", Reason.NOT_YET_MIRRORED),
            (2, part("abcd"), part("wxyz"), Reason.NO_COMMON_RECORD),
            (2, part("a=b="), part("=a=b"), Reason.FEW_ANCHORS),
        ],
        ids=["other records", "empty", "copy not there yet", "windows apart", "too few anchors"],
    )
    def test_where_records_do_not_tell(
        self, position: int, old: str | LogWindow, new: str | LogWindow, reason: Reason
    ) -> None:
        made = cut(position, old, new)

        assert (made.exactness, made.reason, made.offset) == (Exactness.UNKNOWN, reason, None)

    def test_before_the_windows_have_grown(self) -> None:
        made = cut(2, part("a=b="), part("=a=b"), last=False)

        assert made.exactness is None

    def test_but_a_direction_to_grow_in(self) -> None:
        assert cut(102, part("abcd", start=100), part("abzz", start=40), last=False).shift == -60


class TestWindows:
    def test_with_three_anchors_on_each_side_prove_the_place_and_leave_the_rest_unexamined(self) -> None:
        made = cut(1003, part("abcdef", start=1000), part("abcdef", start=900))

        assert (made.offset, made.exactness) == (903, Exactness.POSITION_EXACT)
        assert made.ahead == Ahead(examined=False)
        assert (made.anchors_before, made.anchors_after) == (3, 3)

    def test_with_two_anchors_on_one_side_prove_nothing(self) -> None:
        assert cut(1002, part("abcde", start=1000), part("abcde", start=900), last=False).exactness is None

    def test_count_nothing_outside_their_outermost_anchors(self) -> None:
        made = cut(1003, part("abcdef", start=1000), part("xxabcdefyy", start=898))

        assert (made.offset, made.foreign_below) == (903, 0)


class TestReusingTheOldNumber:
    def test_is_counted_in_records(self) -> None:
        made = cut(4, log("abcdefgh", start=2), "abcdefgh")

        assert (made.offset, made.raw_skip, made.raw_replay) == (2, 2, 0)

    def test_below_the_place_repeats_records(self) -> None:
        made = cut(2, "abcdefgh", log("xxabcdefgh"), natives_excluded=True)

        assert (made.offset, made.raw_skip, made.raw_replay) == (4, 0, 2)

    def test_is_not_counted_where_the_records_between_were_not_read(self) -> None:
        made = cut(1003, part("abcdef", start=1000), part("abcdef", start=900))

        assert (made.raw_skip, made.raw_replay) == (None, None)

    def test_is_seen_to_hit_another_record(self) -> None:
        assert cut(2, "abcd", "wxyz").raw_differs
        assert not cut(2, "abcd", "abcd").raw_differs


def test_inside_an_aborted_transaction_its_copies_are_no_records_that_the_old_log_has_lost() -> None:
    known = cut(4, "abc..def", "abcxydef", aborted="xy")
    assert (known.exactness, known.offset, known.replay) == (Exactness.POSITION_EXACT, 3, 0)

    lost = cut(4, "abc..def", "abcxydef", aborted="y")
    assert (lost.exactness, lost.reason, lost.offset) == (Exactness.BOUNDED, Reason.OLD_RECORDS_GONE, 3)


def test_aborted_records_that_became_ordinary_are_counted() -> None:
    made = cut(2, "ab..cd", "abxycd", aborted="xy")

    assert made.aborted_visible == 2


def test_stating_that_nobody_else_writes_turns_unexplained_records_below_into_expired_copies() -> None:
    unstated, stated = cut(3, "a.cd", "abcd"), cut(3, "a.cd", "abcd", natives_excluded=True)

    assert (unstated.exactness, unstated.foreign_below) == (Exactness.BOUNDED, 1)
    assert (stated.offset, stated.foreign_below, stated.exactness) == (3, 0, Exactness.EXACT)


def test_where_nobody_else_writes_what_the_old_log_has_lost_is_read_again_unless_it_surely_was_read() -> None:
    before, after = cut(2, "a.cd", "abcd", natives_excluded=True), cut(1, "a.cd", "abcd", natives_excluded=True)

    assert (before.offset, before.exactness) == (2, Exactness.EXACT)
    assert (after.offset, after.exactness, after.ahead.foreign) == (1, Exactness.POSITION_EXACT, 1)


def test_a_marker_before_the_end_of_the_old_log_is_no_record_that_it_has_lost() -> None:
    made = cut(4, "abc.", "abcde")

    assert (made.offset, made.exactness, made.ahead.foreign) == (3, Exactness.POSITION_EXACT, 2)


@with_cases(("position", "old", "place"), [(3, "abc", 3), (3, log("", start=3), 0)], ids=["caught up", "empty old log"])
def test_what_the_old_log_got_after_it_was_read_is_not_skipped(position: int, old: str | LogWindow, place: int) -> None:
    for natives_excluded in (False, True):
        assert cut(position, old, "abcde", natives_excluded=natives_excluded).offset == place


def test_the_evidence_shows_the_records_on_both_sides_of_the_cut() -> None:
    made = cut(4, log("abcdef", start=2), "abcdef")

    assert [(n.old_offset, n.new_offset, n.side) for n in made.neighbours] == [
        (2, 0, Side.READ),
        (3, 1, Side.READ),
        (4, 2, Side.UNREAD),
        (5, 3, Side.UNREAD),
        (6, 4, Side.UNREAD),
    ]


def test_among_identical_records_the_evidence_shows_the_nearest_that_stand_on_both_logs() -> None:
    made = cut(12, log("abc==========def", start=4), "abc==========def")

    on_both = [
        (n.old_offset, n.new_offset, n.side) for n in made.neighbours if None not in (n.old_offset, n.new_offset)
    ]
    assert on_both == [(6, 2, Side.READ), (17, 13, Side.UNREAD)]
    assert len([n for n in made.neighbours if n.identity == "="]) == 12, "as near as before, on each log"


class TestAnchors:
    def test_are_unique_on_both_sides(self) -> None:
        assert anchors("a=b=c", "a=bc") == [(0, 0), (2, 2), (4, 3)]

    def test_are_the_longest_row_that_keeps_the_order(self) -> None:
        assert anchors("abcde", "cabde") == [(0, 1), (1, 2), (3, 3), (4, 4)]

    def test_of_logs_without_a_common_record_are_none(self) -> None:
        assert anchors("abc", "xyz") == anchors("", "abc") == []
