"""The rule against mirrors that were simulated: each answer must hold now, and after the mirror has caught up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from offsetwise.model import Exactness, IsolationLevel, Link, LogRange, Outcome, PartitionComparison, RawVerdict
from offsetwise.plan.gate import mirrored
from offsetwise.position import offset_of
from offsetwise.translation.query import Query, QuerySource
from offsetwise.translation.resolve import Match, resolve
from offsetwise.translation.search import ROUNDS, SearchPhase, SearchTarget, Span, Windows
from offsetwise.translation.windows import Cut
from offsetwise.translation.worker import Answer
from tests.gates import PART
from tests.translation.logs import Entry, Pair, decide_on, locate
from tests.translation.mirrors import Mirrored, right_places, simulate, truth
from tests.with_cases import with_cases

CASES = 100_000 // PART
SEED = int(os.environ.get("OFFSETWISE_SEED", "20251"))
PROVEN = (Exactness.EXACT, Exactness.POSITION_EXACT)


def target_of(case: Mirrored, claims: Sequence[int] = ()) -> SearchTarget:
    """Return what is asked of the rule, and how much it may read."""
    return SearchTarget(
        position=case.position,
        old=Span(start=case.old_start, end=case.old_start + len(case.old)),
        new=Span(start=0, end=len(case.new)),
        brackets=tuple(Span(start=claim, end=claim) for claim in claims),
        window=case.window,
        budget=case.budget,
    )


def answer_of(case: Mirrored, *, claims: Sequence[int] = (), timed: bool = False) -> tuple[Cut, PartitionComparison]:
    """Ask the rule."""
    times = {record: 10 * index for index, record in enumerate(case.old)} if timed else {}
    pair = Pair(
        old=tuple(Entry(case.old_start + i, h, i, i, times.get(h)) for i, h in enumerate(case.old)),
        new=tuple(Entry(j, h, j, None, times.get(h)) for j, h in enumerate(case.new)),
        target=target_of(case, claims),
    )
    cut = locate(pair, natives_excluded=case.mirror_only)
    return cut, row_of(case, Answer(cut=cut, timed=timed))


def row_of(case: Mirrored, answer: Answer) -> PartitionComparison:
    """Return the row of the comparison that an answer leads to."""
    end = case.old_start + len(case.old)
    position = Query(
        of=QuerySource(source="s", isolation=IsolationLevel.READ_UNCOMMITTED),
        topic="t",
        partition=0,
        new_topic="t",
        offset=case.position,
        old=LogRange(log_start=case.old_start, lso=end, hw=end),
        new=LogRange(log_start=0, lso=len(case.new), hw=len(case.new)),
    )
    return resolve(Match(query=position, answer=answer))


def wrong(case: Mirrored, claims: Sequence[int] = ()) -> Iterator[str]:
    """Yield what an answer claims that is not so."""
    yield from wrong_in(case, *answer_of(case, claims=claims))


def wrong_in(case: Mirrored, cut: Cut, row: PartitionComparison) -> Iterator[str]:
    """Yield what a row claims that is not so."""
    gate = mirrored(row, Link.MIRRORMAKER)
    if gate is Outcome.PASSED and case.to_come:
        yield "gate: passed"
    if gate is Outcome.FAILED and not case.to_come and not Counter(case.old) - Counter(case.new) and case.mirror_only:
        yield "gate: failed"
    whole = max(len(case.old), len(case.new)) <= case.budget
    if case.old_start <= case.position and 0 <= case.position <= len(case.new):
        raw = truth(case, case.position, caught_up=False)
        if row.raw.verdict is RawVerdict.SAME and (raw.skip or raw.replay) and whole:
            yield "raw: SAME"
        if (
            row.raw.verdict is RawVerdict.LOSS
            and (whole or row.raw.skip is None)
            and not raw.skip
            and not truth(case, case.position, caught_up=True).skip
        ):
            yield "raw: LOSS"
    if row.new_offset is None or row.exactness in (Exactness.UNKNOWN, Exactness.CLAIMED):
        return
    offset = offset_of(row.new_offset)
    now, later = (truth(case, offset, caught_up=each) for each in (False, True))
    name = row.exactness.value
    if later.skip:
        yield f"{name}: skips"
    if row.exactness is Exactness.EXACT and (later.skip or later.replay or later.foreign_below):
        yield f"EXACT: {later}"
    shown = case.mirror_only and case.old.count(case.new[-1] if case.new else "") == 1
    repeated = later.replay if shown else later.replay_of_read
    if row.exactness is Exactness.POSITION_EXACT and whole and repeated > (row.ahead.duplicated or 0):
        yield "POSITION_EXACT: repeats"
    if row.replay is not None and row.exactness is Exactness.BOUNDED and max(now.replay, later.replay) > row.replay:
        yield "BOUNDED: replay"
    low, high = row.bounds
    right = right_places(case) if row.exactness is Exactness.BOUNDED and whole else ()
    if right and not any((low or 0) <= at and (high is None or at <= high) for at in right):
        yield "BOUNDED: bounds"
    if row.ahead.examined and cut.exactness is not Exactness.BOUNDED:
        if row.ahead.duplicated is not None and now.replay > row.ahead.duplicated:
            yield f"{name}: duplicated"
        if row.ahead.missing == 0 and case.to_come and cut.exactness is Exactness.EXACT:
            yield f"{name}: missing"


@pytest.mark.timeout(3_600)
def test_every_answer_holds_now_and_after_the_mirror_has_caught_up(figure: Callable[[str], None]) -> None:
    tally: Counter[str] = Counter()
    failures: dict[str, list[int]] = {}
    for number in range(CASES):
        case = simulate(Random(SEED * 7_000_003 + number))
        if case.looks_complete:
            continue
        tally[answer_of(case)[1].exactness.value] += 1
        for failure in wrong(case):
            failures.setdefault(failure.split("Truth")[0], []).append(number)
    listed = {name: (len(numbers), numbers[:5]) for name, numbers in failures.items()}
    figure(f"seed {SEED}, {CASES} mirrors: {dict(tally.most_common())}; wrong: {listed}")
    assert not failures
    assert tally["EXACT"] > CASES // 20


def case_of(
    position: int, old: str, new: str, to_come: str, *, mirror_only: bool = False, window: int = 64, budget: int = 10**6
) -> Mirrored:
    """Make two logs of one record a character."""
    return Mirrored(
        old_start=0,
        old=tuple(old),
        new=tuple(new),
        to_come=tuple(to_come),
        position=position,
        mirror_only=mirror_only,
        budget=budget,
        window=window,
    )


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@with_cases("mirror_only", [True, False])
@with_cases(
    "case",
    [
        *(
            case_of(position, "abcdef" + "=" * 40, "abcdef" + "=" * (40 - lag), "=" * lag)
            for position in (6, 10, 26, 46)
            for lag in (1, 15, 30, 40)
        ),
        *(case_of(len(LETTERS), LETTERS, LETTERS + LETTERS[:at], LETTERS[at:]) for at in (1, 5, 20, 51)),
        *(case_of(0, "abcd", "abcd" + "abcd"[:at], "abcd"[at:]) for at in (1, 2, 3)),
        case_of(4, "abee", "abee", "e"),
        case_of(2, "abee", "abee", "e"),
    ],
)
def test_copies_that_are_still_to_come_count(case: Mirrored, *, mirror_only: bool) -> None:
    case = replace(case, mirror_only=mirror_only)
    _, row = answer_of(case)

    assert not [*wrong(case)]
    assert row.exactness is not Exactness.EXACT
    assert mirrored(row, Link.MIRRORMAKER) is not Outcome.PASSED


@with_cases("lag", [2, 10, 50])
@with_cases("behind", [0, 1, 2, 10])
@with_cases("copy", ["last", "unread"])
def test_one_copy_by_somebody_else_proves_nothing(lag: int, behind: int, copy: str) -> None:
    reached = len(LETTERS) - lag
    position = len(LETTERS) - min(behind, lag - 1)
    by_others = LETTERS[-1] if copy == "last" or position == len(LETTERS) else LETTERS[position]
    case = case_of(position, LETTERS, LETTERS[:reached] + by_others, LETTERS[reached:])
    _, row = answer_of(case)

    assert row.exactness is Exactness.UNKNOWN
    assert mirrored(row, Link.MIRRORMAKER) is not Outcome.PASSED


@with_cases("count", [46, 147])
@with_cases("window", [1, 4])
@with_cases("budget", [8, 20, 60, 140])
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


@with_cases("latest", [1, 4, 50])
@with_cases("position", [100, 101, 103, 140])
@with_cases("budget", [200, 400, 800])
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


@with_cases("number", range(400 // PART or 20))
def test_a_block_of_copies_where_claims_lead_is_not_taken_for_the_mirrors_own(number: int) -> None:
    random = Random(SEED * 31 + number)
    size, length = random.randint(200, 900), random.choice([16, 40, 128])
    first = random.randint(0, size - length)
    old = [f"r{index}" for index in range(size)]
    at = random.randint(0, size)
    new = [*old[:at], *old[first : first + length], *old[at:]]
    position = random.randint(first, first + length)
    case = Mirrored(
        old_start=0,
        old=tuple(old),
        new=tuple(new),
        to_come=(),
        position=position,
        mirror_only=False,
        budget=random.choice([20, 60, size // 3, 2 * size]),
        window=random.choice([2, 4, 8]),
    )

    assert [*wrong(case, claims=[at + position - first])] == []


@with_cases("mirror_only", [True, False])
@with_cases("timed", [True, False])
@with_cases("runs", [1, 2])
@with_cases("ends", [(290, 295), (280, 299), (292, 296), (270, 271)])
def test_a_place_that_an_earlier_run_left_is_no_answer_without_what_lies_ahead(
    ends: tuple[int, int], runs: int, *, timed: bool, mirror_only: bool
) -> None:
    copied, position = ends
    names = tuple(f"r{number}" for number in range(300))
    for budget in (100_000, 400, 50):
        case = Mirrored(
            old_start=0,
            old=names,
            new=names * runs + names[:copied],
            to_come=names[copied:],
            position=position,
            mirror_only=mirror_only,
            budget=budget,
            window=4,
        )
        _, row = answer_of(case, timed=timed)

        assert row.exactness not in PROVEN
        assert row.raw.verdict is not RawVerdict.SAME
        assert row.replay is None or row.replay >= copied
        assert mirrored(row, Link.MIRRORMAKER) is not Outcome.PASSED


@with_cases("mirror_only", [True, False])
@with_cases("equal", [False, True])
def test_of_a_log_read_in_part_repeats_and_losses_hold_while_the_mirror_runs_again(
    equal: bool, *, mirror_only: bool
) -> None:
    """Records from below the window of the old log are copied again, and records of others stand between."""
    names = tuple("m" if equal and 50 < number < 55 else f"r{number}" for number in range(150))
    counted = 0
    for number in range(300):
        random = Random(SEED * 17 + number)
        copied = random.randint(4, 149)
        others = () if mirror_only else (*names[copied - 3 : copied][::-1], "other")[: random.randint(0, 4)]
        first = random.choice([0, 0, random.randint(0, 149)])
        case = Mirrored(
            old_start=7,
            old=names,
            new=names[first:] + names[:copied] + others,
            to_come=names[copied:],
            position=7 + random.choice([150, 149, random.randint(0, 150)]),
            mirror_only=mirror_only,
            budget=random.choice([40, 100]),
            window=random.choice([3, 8]),
        )
        if not case.looks_complete:
            assert [*wrong(case)] == [], case
            counted += 1
    assert counted > 200


def test_a_located_place_is_examined_in_two_further_windows_of_each_log_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[SearchPhase] = []

    def counted(pair: Pair, windows: Windows, *, natives_excluded: bool = False) -> Cut:
        read.append(windows.phase)
        return decide_on(pair, windows, natives_excluded=natives_excluded)

    monkeypatch.setattr("tests.translation.logs.decide_on", counted)
    most, located = 0, 0
    for number in range(2_000):
        read.clear()
        random = Random(SEED * 13 + number)
        answer_of(simulate(random), claims=[random.randint(0, 60)][: number % 2], timed=number % 3 == 0)
        locating = read.count(SearchPhase.LOCATE)
        most, located = max(most, len(read) - locating), max(located, locating)

    assert 1 <= most <= 2
    assert 1 < located <= ROUNDS
