"""The rule where retention took records of the old log after a mirror had copied them, also twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import takewhile
from random import Random

from offsetwise.model import Exactness, Link, Outcome, RawVerdict
from offsetwise.plan.gate import mirrored
from tests.gates import PART
from tests.translation.mirrors import Mirrored, simulate
from tests.translation.test_mirrors import LETTERS, SEED, answer_of, case_of, wrong_in
from tests.with_cases import with_cases

CASES = 100_000 // PART


def trimmed(case: Mirrored, count: int) -> Mirrored:
    """Return what is left once retention has taken so many records of the old log; the mirror copies none of them."""
    reached = len(case.old) - len(case.to_come)
    return replace(
        case, old_start=case.old_start + count, old=case.old[count:], to_come=case.to_come[max(0, count - reached) :]
    )


def is_like_others(left: Mirrored) -> bool:
    """Return whether what a mirror has copied last, and the old log lost, looks like what other producers may write."""
    last = [*takewhile(lambda record: record not in left.old, reversed(left.new))]
    return not left.mirror_only and bool(last) and all(left.new.count(record) == 1 for record in last)


def wrong(case: Mirrored, count: int) -> set[str]:
    """Ask about what is left, and say what an answer claims that is not so of all that there was."""
    left = trimmed(case, count)
    cut, row = answer_of(left)
    everything = replace(case, to_come=left.to_come)
    return {said.split("Truth")[0] for said in wrong_in(everything, cut, row) if not said.startswith("gate: failed")}


def test_answers_hold_of_what_the_old_log_has_lost_since_it_was_copied() -> None:
    failures: dict[str, list[int]] = {}
    tally: Counter[Exactness] = Counter()
    for number in range(CASES):
        random = Random(SEED * 9_000_011 + number)
        case = simulate(random)
        if len(set(case.old)) < len(case.old) or not case.mirror_only:
            continue
        case = replace(case, mirror_only=random.random() < 0.5)  # nobody else writes, whether or not that is stated
        count = random.randint(0, case.position - case.old_start)
        left = trimmed(case, count)
        if is_like_others(left):
            continue
        tally[answer_of(left)[1].exactness] += 1
        for said in wrong(case, count):
            failures.setdefault(said, []).append(number)
    assert {said: (len(numbers), numbers[:5]) for said, numbers in failures.items()} == {}
    assert tally[Exactness.EXACT] > CASES // 50
    assert tally[Exactness.BOUNDED] > CASES // 50


@with_cases("mirror_only", [True, False])
@with_cases("again", [1, 5, 12, 20])
@with_cases("position", [20, 22, 40])
def test_the_old_number_is_not_said_to_repeat_nothing_where_it_repeats_what_is_gone(
    position: int, again: int, *, mirror_only: bool
) -> None:
    case = case_of(position, LETTERS, LETTERS[:again] + LETTERS, "", mirror_only=mirror_only)
    assert wrong(case, 20) == set()
    row = answer_of(trimmed(case, 20))[1]

    assert row.raw.verdict is not RawVerdict.SAME


@with_cases("mirror_only", [True, False])
@with_cases("again", [1, 2, 15])
@with_cases("behind", [0, 1, 20])
def test_a_mirror_that_went_back_below_the_old_log_has_not_mirrored_everything(
    behind: int, again: int, *, mirror_only: bool
) -> None:
    case = case_of(len(LETTERS) - behind, LETTERS, LETTERS + LETTERS[:again], LETTERS[again:], mirror_only=mirror_only)
    row = answer_of(trimmed(case, 15))[1]

    assert wrong(case, 15) == set()
    assert row.exactness not in (Exactness.EXACT, Exactness.POSITION_EXACT)
    assert mirrored(row, Link.MIRRORMAKER) is not Outcome.PASSED


@with_cases("again", [1, 3, 10])
def test_a_bound_counts_second_copies_of_what_is_gone(again: int) -> None:
    case = case_of(20, LETTERS, LETTERS[:30] + LETTERS[:again] + LETTERS[25:], "", mirror_only=True)
    row = answer_of(trimmed(case, 15))[1]

    assert wrong(case, 15) == set()
    assert row.exactness is Exactness.BOUNDED
    assert row.replay is None or row.replay >= again + 5
