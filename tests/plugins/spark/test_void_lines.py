"""A source that has no offset in a batch behind one in which it had: Spark writes that only before the first one."""

from __future__ import annotations

from itertools import product

from offsetwise.plugins.spark.engine.checkpoint import read_from
from offsetwise.plugins.spark.engine.offset_log import VOID
from tests.plugins.spark.folders import MemoryFolder, checkpoint
from tests.with_cases import with_cases


def orders(end: int) -> str:
    return f'{{"orders":{{"0":{end}}}}}'


@with_cases("committed", [True, False])
@with_cases("retained", [1, 2, 9])
@with_cases("void", [1, 2])
def test_is_damage_and_no_other_log(committed: bool, retained: int, void: int) -> None:
    """Of a committed batch it was called numbers of another cluster, with the initial offsets as its positions."""
    real, last = range(3, 3 + retained), 2 + retained + void
    lines = {batch: orders(100 * batch) for batch in real} | dict.fromkeys(range(3 + retained, last + 1), VOID)
    commits = tuple(lines) if committed else tuple(batch for batch in lines if batch < last)

    read = read_from(MemoryFolder(checkpoint(lines, commits)))

    codes = {each.code for each in read.problems}
    assert "CHECKPOINT_DAMAGED" in codes
    assert not codes & {"CHECKPOINT_POLLUTED", "PENDING_BATCH"}
    assert "runs again" not in read.restart
    held = [each.message for each in read.problems if "no offset stands there" in each.message]
    assert f"though offsets/{max(real)} has one of this source" in held[0]
    # Where the void batch is where a start begins, no position is said; of a pending one that is the batch before.
    expected = set() if committed or void > 1 else {100 * max(real)}
    assert {at.offset for source in read.sources for at in source.positions} == expected


@with_cases("batches", [1, 2, 5])
def test_before_the_first_offset_it_is_none(batches: int) -> None:
    for committed, real in product((True, False), (0, 1)):
        lines = dict.fromkeys(range(batches), VOID) | {batches: orders(40) if real else VOID}
        commits = tuple(lines) if committed else tuple(batch for batch in lines if batch < batches)

        read = read_from(MemoryFolder(checkpoint(lines, commits)))

        assert not [each for each in read.problems if "no offset stands there" in each.message]
