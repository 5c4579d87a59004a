"""What a position costs: windows, whatever the size of the logs."""

from __future__ import annotations

from dataclasses import replace

from offsetwise.model import Exactness
from offsetwise.translation.content import decide
from offsetwise.translation.search import (
    SearchPhase,
    SearchTarget,
    Span,
    Windows,
    affordable,
    better,
    earlier_windows,
    first_windows,
    next_windows,
)
from offsetwise.translation.windows import Cut, LogWindow, Reason
from tests.with_cases import with_cases

SHIFT = 100


def _window(span: Span, whole: Span, first_serial: int) -> LogWindow:
    """Read a log whose record at offset n is number n + first_serial, without holding it in memory."""
    offsets = range(span.start, span.end)
    return LogWindow(
        start=span.start,
        end=span.end,
        at_start=span.start <= whole.start,
        at_end=span.end >= whole.end,
        offsets=offsets,
        identities=[offset + first_serial for offset in offsets],
    )


def _search(
    target: SearchTarget, *, record_bytes: int | None = None, others: frozenset[int] = frozenset()
) -> tuple[Cut, list[Windows]]:
    """Search logs in which the new one has, at the offsets of `others`, copies of the last old record by others."""
    windows = first_windows(target)
    reads: list[Windows] = []
    best: Cut | None = None
    while True:
        reads.append(windows)
        new = _window(windows.new, target.new, SHIFT)
        copies = {offset - new.start for offset in others if offset in new.offsets}
        if copies:
            last = target.old.end - 1
            new = replace(new, identities=[last if at in copies else one for at, one in enumerate(new.identities)])
        cut = decide(target.position, _window(windows.old, target.old, 0), new, last=windows.last)
        best = cut if best is None or windows.phase is SearchPhase.LOCATE else better(best, cut)
        following = next_windows(affordable(target, record_bytes), windows, cut)
        if following is None:
            return best, reads
        windows = following


def _target(records: int, *, behind: int, brackets: tuple[Span, ...] = ()) -> SearchTarget:
    old = Span(start=SHIFT, end=SHIFT + records)
    return SearchTarget(
        position=old.end - behind, old=old, new=Span(start=0, end=records), brackets=brackets, budget=50_000
    )


@with_cases("records", [10**6, 10**7, 10**9], ids=["a million", "ten million", "a billion"])
def test_a_position_far_behind_costs_the_same_in_a_log_of_any_size(records: int) -> None:
    cut, reads = _search(_target(records, behind=records // 2))

    assert (cut.exactness, cut.offset) == (Exactness.POSITION_EXACT, records // 2)
    assert sum(len(each.old) + len(each.new) for each in reads) < 1_500
    assert len(reads) <= 2


@with_cases("records", [10**6, 10**9], ids=["a million", "a billion"])
def test_what_lies_ahead_is_read_only_where_it_fits_the_budget(records: int) -> None:
    cut, reads = _search(_target(records, behind=1_000))

    assert cut.ahead.examined
    assert sum(len(each.old) + len(each.new) for each in reads) < 5_000


def test_a_wrong_bracket_costs_a_few_rounds_and_no_wrong_answer() -> None:
    wrong = Span(start=900_000, end=900_000)
    target = _target(10**6, behind=10**6 - 40_000, brackets=(wrong, Span(start=30_000, end=50_000)))
    cut, reads = _search(target)

    assert (cut.exactness, cut.offset) == (Exactness.POSITION_EXACT, 40_000)
    assert len(reads) <= 6
    assert max(len(each.new) for each in reads) < 70_000


@with_cases(
    ("record_bytes", "examined"),
    [(None, True), (1_000, True), (1_000_000, True), (1_000_001, False), (10_000_000, False)],
    ids=["size unknown", "small records", "just within the bytes", "just above", "large records"],
)
def test_what_lies_ahead_is_read_only_where_its_bytes_fit_their_budget_too(
    record_bytes: int | None, *, examined: bool
) -> None:
    cut, reads = _search(_target(10**6, behind=1_000), record_bytes=record_bytes)

    assert (cut.exactness, cut.offset) == (Exactness.POSITION_EXACT, 10**6 - 1_000)
    assert cut.ahead.examined is examined
    assert any(each.old.end == 10**6 + SHIFT for each in reads) is examined


def test_windows_do_not_grow_beyond_what_their_bytes_allow_nor_fall_below_the_first() -> None:
    far = Span(start=900_000, end=900_000)
    target = _target(10**6, behind=10**6 - 40_000, brackets=(far,))

    for record_bytes, most in ((1_000_000, 1_000), (100_000_000, 2 * 64), (10**12, 2 * 64)):
        _, reads = _search(target, record_bytes=record_bytes)

        assert max(len(span) for each in reads for span in (each.old, each.new)) <= most


def test_a_wide_bracket_is_read_only_when_the_size_of_the_records_is_known() -> None:
    target = _target(10**6, behind=10**6 - 40_000, brackets=(Span(start=30_000, end=50_000),))
    behind_the_mirror = replace(target, new=replace(target.new, end=900_000))

    cut, reads = _search(behind_the_mirror, record_bytes=100)
    assert cut.offset == 40_000
    assert [len(each.new) > 20_000 for each in reads][:2] == [False, True]

    _, reads = _search(behind_the_mirror, record_bytes=1_000_000)
    assert max(len(each.new) for each in reads) <= 1_000


def test_copies_further_down_are_looked_for_only_where_the_bytes_allow() -> None:
    target = _target(10**6, behind=1_000)
    read = first_windows(target)
    place = 10**6 - 1_000
    cut = Cut(exactness=Exactness.BOUNDED, reason=Reason.COPIES_BELOW, offset=place, new_from=read.new.start)

    within = earlier_windows(affordable(target, 100_000), read, cut, read.new.start - 500)
    assert within is not None
    assert within.new.start == read.new.start - 500
    assert earlier_windows(affordable(target, 1_000_000), read, cut, read.new.start - 500) is None


def test_bytes_never_allow_more_records_than_the_budget_of_records() -> None:
    target = _target(10**6, behind=1_000)

    assert affordable(target, 1).budget == target.budget
    assert affordable(replace(target, budget=10), 10**9).budget == 10


@with_cases("lag", [2, 50, 1_000, 100_000])
@with_cases("behind", [0, 1, 10, 5_000])
def test_a_copy_by_somebody_else_costs_two_further_windows_of_each_log_at_most(lag: int, behind: int) -> None:
    mirrored = 10**6 - lag
    alone = replace(_target(10**6, behind=behind), new=Span(start=0, end=mirrored))
    _, usual = _search(alone)

    cut, reads = _search(replace(alone, new=Span(start=0, end=mirrored + 1)), others=frozenset({mirrored}))

    assert cut.exactness is not Exactness.EXACT
    for spans, before in zip(_spans(reads), _spans(usual), strict=True):
        assert len(spans) <= len(before) + 2


def _spans(reads: list[Windows]) -> tuple[set[Span], set[Span]]:
    """Return the windows of the old and of the new log that were read."""
    return {read.old for read in reads}, {read.new for read in reads}
