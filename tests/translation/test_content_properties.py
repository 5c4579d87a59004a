"""Translation safety on generated logs: the gate of the reliability spec, a part of it unless told otherwise."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from offsetwise.model import Exactness
from tests.gates import FULL, PART
from tests.translation.logs import answerable, cost_by_origin, cost_of_copied, generate, is_right, locate

PROVEN = (Exactness.EXACT, Exactness.POSITION_EXACT)
LOGS = 100_000 // PART
EXACT_FLOOR, PROVEN_FLOOR = (0.225, 0.5) if FULL else (0.215, 0.49)
"""Shares of the answerable cases; few logs scatter more. Of many nobody can tell that no copy is to come."""
SEED = int(os.environ.get("OFFSETWISE_SEED", "20251"))


@pytest.mark.timeout(3_600)
def test_no_exact_answer_is_wrong_and_nothing_is_ever_skipped(figure: Callable[[str], None]) -> None:
    tally: Counter[tuple[Exactness, bool]] = Counter()
    wrong: list[tuple[int, str]] = []
    for number in range(LOGS):
        pair = generate(Random(SEED * 1_000_003 + number))
        stated = number % 4 == 0 and not any(entry.origin is None for entry in pair.new)
        cut = locate(pair, natives_excluded=stated)
        assert cut.exactness is not None
        tally[cut.exactness, answerable(pair)] += 1
        if cut.offset is None:
            continue
        skip = min(cost_of_copied(pair, cut.offset).skip, cost_by_origin(pair, cut.offset).skip)
        if skip:
            wrong.append((number, f"{cut.exactness} skips {skip}"))
        if cut.exactness is Exactness.EXACT and not is_right(pair, cut.offset, natives_excluded=stated):
            wrong.append((number, f"EXACT at {cut.offset}"))
    answers = sum(count for (_, possible), count in tally.items() if possible)
    exact = tally[Exactness.EXACT, True]
    proven = exact + tally[Exactness.POSITION_EXACT, True]
    figure(f"seed {SEED}, {LOGS} logs: EXACT {exact} and proven {proven} of {answers} answerable; wrong: {wrong[:20]}")
    assert not wrong
    assert exact / answers > EXACT_FLOOR
    assert proven / answers > PROVEN_FLOOR


def test_nothing_is_skipped_that_only_an_earlier_run_of_the_mirror_copied(figure: Callable[[str], None]) -> None:
    tally: Counter[Exactness] = Counter()
    for number in range(LOGS):
        pair = generate(Random(SEED * 5_000_011 + number), uneven=True)
        cut = locate(pair)
        if cut.offset is None or cut.exactness is None:
            continue
        # What was not read, and is older than all that was, is said to be not examined.
        unread = [entry.time for entry in pair.old if entry.offset >= pair.target.position]
        since = cut.unread_since
        if not cut.ahead.examined and (since is None or any(time is None or time < since for time in unread)):
            continue
        tally[cut.exactness] += 1
        skip = min(cost_of_copied(pair, cut.offset).skip, cost_by_origin(pair, cut.offset).skip)
        assert not skip, f"log {number}: {cut.exactness} at {cut.offset} skips {skip}"
    told = ", ".join(f"{count} {exactness}" for exactness, count in tally.most_common())
    figure(f"seed {SEED}, runs of a mirror that end anywhere: {told}; nothing skipped")
    assert tally[Exactness.EXACT] > LOGS // 20


def test_nothing_is_skipped_that_the_old_log_got_after_it_was_read() -> None:
    proven = 0
    for number in range(LOGS):
        random = Random(SEED * 3_000_017 + number)
        pair = generate(random)
        if not pair.old or pair.old[0].time is None:
            continue
        read = random.randint(0, len(pair.old) - 1)
        end = pair.old[read].offset
        target = replace(
            pair.target,
            position=random.randint(pair.target.old.start, end),
            old=replace(pair.target.old, end=end),
        )
        earlier = replace(pair, old=pair.old[:read], target=target)
        place = locate(earlier, natives_excluded=all(entry.origin is not None for entry in pair.new)).offset
        if place is None:
            continue
        proven += 1
        ahead = {entry.origin for entry in pair.new if entry.offset >= place}
        below = {entry.origin for entry in pair.new if entry.offset < place and entry.origin is not None}
        later = {entry.offset for entry in pair.old[read:]}
        assert not (below - ahead) & later, f"log {number}: {target} at {place}"
    assert proven > LOGS // 10


def test_a_later_position_never_resumes_earlier() -> None:
    both_proven = 0
    for number in range(LOGS // 5):
        random = Random(SEED * 7_000_003 + number)
        pair = generate(random)
        target = replace(pair.target, budget=100_000)
        positions = sorted(random.randint(target.old.start, target.old.end) for _ in range(2))
        cuts = [locate(replace(pair, target=replace(target, position=position))) for position in positions]
        if all(cut.exactness in PROVEN for cut in cuts):
            both_proven += 1
            assert (cuts[0].offset or 0) <= (cuts[1].offset or 0), f"log {number}, positions {positions}"
    assert both_proven > LOGS // 25
