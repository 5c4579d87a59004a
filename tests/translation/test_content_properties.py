"""Translation safety on generated logs: the gate of the reliability spec, at a twentieth unless told otherwise."""

from __future__ import annotations

import os
from collections import Counter
from random import Random

from offsetwise.model import Exactness
from tests.translation.logs import answerable, cost_by_content, cost_by_origin, generate, is_right, locate

FULL = os.environ.get("OFFSETWISE_GATES") == "full"
LOGS = 100_000 if FULL else 5_000
SEED = int(os.environ.get("OFFSETWISE_SEED", "20251"))


def test_no_exact_answer_is_wrong_and_nothing_is_ever_skipped() -> None:
    tally: Counter[tuple[Exactness, bool]] = Counter()
    wrong: list[tuple[int, str]] = []
    for number in range(LOGS):
        pair = generate(Random(SEED * 1_000_003 + number))
        natives = any(entry.origin is None for entry in pair.new)
        cut = locate(pair, natives_excluded=not natives and number % 4 == 0)
        assert cut.exactness is not None
        tally[cut.exactness, answerable(pair)] += 1
        if cut.offset is None:
            continue
        skip = min(cost_by_content(pair, cut.offset).skip, cost_by_origin(pair, cut.offset).skip)
        if skip:
            wrong.append((number, f"{cut.exactness} skips {skip}"))
        if cut.exactness is Exactness.EXACT and not is_right(pair, cut.offset):
            wrong.append((number, f"EXACT at {cut.offset}"))
    answers = sum(count for (_, possible), count in tally.items() if possible)
    exact = tally[Exactness.EXACT, True]
    proven = exact + tally[Exactness.POSITION_EXACT, True]
    print(f"\nseed {SEED}, {LOGS} logs: EXACT {exact} and proven {proven} of {answers} answerable; wrong: {wrong[:20]}")
    assert not wrong
    assert exact / answers > 0.23
    assert proven / answers > 0.55
