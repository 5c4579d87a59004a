"""What a position costs: windows, whatever the size of the logs."""

from __future__ import annotations

import pytest

from offsetwise.model import Exactness
from offsetwise.translation.content import decide
from offsetwise.translation.search import Phase, Span, Target, Windows, better, first_windows, next_windows
from offsetwise.translation.windows import Cut, LogWindow

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


def _search(target: Target) -> tuple[Cut, list[Windows]]:
    windows = first_windows(target)
    reads: list[Windows] = []
    best: Cut | None = None
    while True:
        reads.append(windows)
        cut = decide(
            target.position,
            _window(windows.old, target.old, 0),
            _window(windows.new, target.new, SHIFT),
            last=windows.last,
        )
        best = cut if best is None or windows.phase is Phase.LOCATE else better(best, cut)
        following = next_windows(target, windows, cut)
        if following is None:
            return best, reads
        windows = following


def _target(records: int, *, behind: int, brackets: tuple[Span, ...] = ()) -> Target:
    old = Span(start=SHIFT, end=SHIFT + records)
    return Target(position=old.end - behind, old=old, new=Span(start=0, end=records), brackets=brackets, budget=50_000)


@pytest.mark.parametrize("records", [10**6, 10**7, 10**9], ids=["a million", "ten million", "a billion"])
def test_a_position_far_behind_costs_the_same_in_a_log_of_any_size(records: int) -> None:
    cut, reads = _search(_target(records, behind=records // 2))

    assert (cut.exactness, cut.offset) == (Exactness.POSITION_EXACT, records // 2)
    assert sum(len(each.old) + len(each.new) for each in reads) < 1_500
    assert len(reads) <= 2


@pytest.mark.parametrize("records", [10**6, 10**9], ids=["a million", "a billion"])
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
