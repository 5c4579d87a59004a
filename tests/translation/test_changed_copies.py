"""The rule where what copies records changes some of them: a header that it drops, a value that it masks.

A changed copy looks like a record of nobody. Where only the mirror writes, it may be one of a record that the old log
has lost, which the job has read, or one of a record that the job has yet to read: no answer may leave that below.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from offsetwise.model import Exactness
from offsetwise.translation.search import SearchTarget, Span
from tests.gates import PART
from tests.translation.logs import Entry, Pair, cost_by_origin, locate
from tests.translation.test_mirrors import SEED
from tests.with_cases import with_cases

CASES = 100_000 // PART


def mirrored(random: Random) -> Pair:
    """Make a log of 3 to 60 records and its copies, of which some are changed and some, at the end, are to come."""
    count = random.choice([3, 6, 12, 30, 60])
    start, changed = random.choice([0, 0, 100]), random.choice([0.05, 0.2, 0.5])
    old = [Entry(start + i, ("record", i), i, start + i, 10 * i) for i in range(count)]
    copied = old[: count - random.choice([0, 0, 1, 3])]
    if random.random() < 0.2:  # the mirror goes back
        again = random.randint(0, len(copied))
        copied = copied[: random.randint(again, len(copied))] + copied[again:]
    new = [
        replace(e, offset=j, identity=("changed", e.offset) if random.random() < changed else e.identity)
        for j, e in enumerate(copied)
    ]
    position = random.randint(start, start + count)
    if random.random() < 0.3:  # compaction has taken some of what was read since, or retention all below one
        old = [e for e in old if e.offset >= position or random.random() < 0.5]
    if old and random.random() < 0.5:
        start = old[0].offset
    target = SearchTarget(
        position=max(position, start),
        old=Span(start=start, end=old[-1].offset + 1 if old else position),
        new=Span(start=0, end=len(new)),
        window=random.choice([2, 4, 8]),
        budget=random.choice([20, 100_000]),
    )
    return Pair(old=tuple(old), new=tuple(new), target=target)


@with_cases("stated", [True, False], ids=["mirror-only", "unknown"])
def test_nothing_is_skipped_of_which_the_mirror_changed_the_copy(*, stated: bool) -> None:
    tally: Counter[Exactness] = Counter()
    for number in range(CASES):
        pair = mirrored(Random(SEED * 11_000_027 + number))
        cut = locate(pair, natives_excluded=stated)
        if cut.offset is None or cut.exactness is None:
            continue
        tally[cut.exactness] += 1
        assert not cost_by_origin(pair, cut.offset).skip, f"log {number}: {cut.exactness} at {cut.offset}"
    assert tally[Exactness.POSITION_EXACT] > CASES // 50
