"""The rule against mirrors that were simulated: each answer must hold now, and after the mirror has caught up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from offsetwise.model import Exactness, IsolationLevel, LogRange, PartitionComparison, RawVerdict
from offsetwise.position import offset_of
from offsetwise.translation.resolve import Position, Told, resolve
from offsetwise.translation.search import Span, Target
from offsetwise.translation.windows import Cut
from offsetwise.translation.worker import Answer
from tests.translation.logs import Entry, Pair, locate
from tests.translation.mirrors import Mirrored, truth


def answer_of(case: Mirrored, *, claims: Sequence[int] = (), timed: bool = False) -> tuple[Cut, PartitionComparison]:
    """Ask the rule."""
    end = case.old_start + len(case.old)
    target = Target(
        position=case.position,
        old=Span(start=case.old_start, end=end),
        new=Span(start=0, end=len(case.new)),
        brackets=tuple(Span(start=claim, end=claim) for claim in claims),
        window=case.window,
        budget=case.budget,
    )
    times = {record: 10 * index for index, record in enumerate(case.old)} if timed else {}
    pair = Pair(
        old=tuple(Entry(case.old_start + i, h, i, i, times.get(h)) for i, h in enumerate(case.old)),
        new=tuple(Entry(j, h, j, None, times.get(h)) for j, h in enumerate(case.new)),
        target=target,
    )
    cut = locate(pair, natives_excluded=case.mirror_only)
    position = Position(
        source="s",
        topic="t",
        partition=0,
        new_topic="t",
        offset=case.position,
        old=LogRange(log_start=case.old_start, lso=end, hw=end),
        new=LogRange(log_start=0, lso=len(case.new), hw=len(case.new)),
        isolation=IsolationLevel.READ_UNCOMMITTED,
    )
    return cut, resolve(position, Told(answer=Answer(cut=cut)))


@pytest.mark.parametrize("count", [46, 147])
@pytest.mark.parametrize("window", [1, 4])
@pytest.mark.parametrize("budget", [8, 20, 60, 140])
def test_an_upper_end_that_is_open_stays_open(count: int, window: int, budget: int) -> None:
    letters = [f"r{number}" for number in range(count)]
    for lag, behind, claim in product((0, 1, 2), (0, 1, 2), (0, 21, 40, 67)):
        case = Mirrored(
            old_start=0,
            old=tuple(letters),
            new=tuple(letters[: count - lag]),
            to_come=tuple(letters[count - lag :]),
            position=count - behind,
            mirror_only=False,
            budget=budget,
            window=window,
        )
        cut, row = answer_of(case, claims=(claim,))

        high = row.bounds[1]
        assert cut.exactness is not Exactness.BOUNDED or high is None or high >= case.position, case
        assert row.raw.verdict is not RawVerdict.LOSS, case


@pytest.mark.parametrize("latest", [1, 4, 50])
@pytest.mark.parametrize("position", [100, 101, 103, 140])
@pytest.mark.parametrize("budget", [200, 400, 800])
def test_what_the_window_of_the_old_log_does_not_explain_is_not_lost(latest: int, position: int, budget: int) -> None:
    names = [f"r{number}" for number in range(100, 2_100)]
    for since, copied, window in product((1_000, 1_500), (300, 1_000), (4, 16, 64)):
        case = Mirrored(
            old_start=100,
            old=tuple(names),
            new=(*names[since : since + latest], *names[:copied]),  # begun at the latest record, then at the first one
            to_come=tuple(names[copied:]),
            position=position,
            mirror_only=True,
            budget=budget,
            window=window,
        )
        _, row = answer_of(case)

        assert row.new_offset is None or not truth(case, offset_of(row.new_offset), caught_up=False).skip, case
