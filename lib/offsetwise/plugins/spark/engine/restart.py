"""The batch that a Spark query would run next, from the batch ids in its two logs alone.

Follows Spark's `MicroBatchExecution.populateStartOffsets` (and, for gaps, its asynchronous progress tracking).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from offsetwise.findings.reading import checkpoint_damaged, gap
from offsetwise.model import Problem
from offsetwise.plugins.spark.engine.findings import batch_missing

WHOLE: Final = 10
"""This many ids without a gap are of a query that skips none: asynchronous progress tracking skips one or many."""
RESTORE: Final = "Restore the folder from a copy, or take a new checkpoint of the running job."


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    last_planned: int | None
    last_committed: int | None
    reruns: int | None
    """The batch that was planned and not committed: it runs again."""
    starts_after: int | None
    """The batch after whose end reading resumes; None if that is at the initial offsets, or unknown."""
    from_initial: bool
    """Reading resumes at the initial offsets, because no batch has been committed."""
    previous: int | None
    """The offset file before the last one, which Spark reads too."""
    problems: tuple[Problem, ...]
    missing: range = range(0)
    """Ids right before the newest planned one whose files are lost, so that Spark does not start; see `lost_before`."""

    @property
    def uncommitted(self) -> range:
        """Ids right before the newest planned one that are planned and not committed: their commits are lost."""
        first = 0 if self.last_committed is None else self.last_committed + 1
        last = self.last_planned if self.reruns is not None and self.previous == self.reruns - 1 else None
        return range(0) if last is None else range(first, last)

    @property
    def known(self) -> bool:
        return self.from_initial or self.starts_after is not None


def decide_restart(planned: Sequence[int], committed: Sequence[int]) -> Restart:
    """Decide which batch runs next.

    Args:
        planned: The batch ids in `offsets/`, ascending.
        committed: The batch ids in `commits/`, ascending.
    """
    last = planned[-1] if planned else None
    done = committed[-1] if committed else None
    previous = planned[-2] if len(planned) > 1 else None
    missing = lost_before(planned, committed)
    problems = [*_holes(planned, committed, missing), *_uncommitted(planned, committed)]
    reruns = starts_after = None
    from_initial = False
    if last is None:
        from_initial = done is None
        if done is not None:
            problems.append(damaged(f"commits/{done} is there, but offsets/ has no batch: offsets/{done} is lost."))
    elif done is not None and done > last:
        effect = f"the end of batch {done} is lost, and Spark would run batch {last} again."
        problems.append(damaged(f"commits/ goes up to batch {done}, but offsets/ only to batch {last}: {effect}"))
    elif done == last:
        starts_after = last
    else:
        reruns = None if missing else last
        from_initial = last == 0
        if last != 0:
            starts_after, problem = _start_of_rerun(last, previous, done, committed)
            problems.extend([problem] if problem else [])
    return Restart(
        last_planned=last,
        last_committed=done,
        reruns=reruns,
        starts_after=starts_after,
        from_initial=from_initial,
        previous=previous,
        problems=tuple(problems),
        missing=missing,
    )


def lost_before(planned: Sequence[int], committed: Sequence[int]) -> range:
    """Return the ids right before the newest planned one that are in neither log of a query that skips no id.

    No other retained id may be missing. One may be missing, or several after at least `WHOLE` that are not: otherwise
    the logs look like those of asynchronous progress tracking.
    """
    if len(planned) < 2:
        return range(0)
    *earlier, newest = planned
    lost = range(earlier[-1] + 1, newest)
    whole = earlier[-1] - earlier[0] == len(earlier) - 1
    known = committed[bisect_left(committed, lost.start) : bisect_left(committed, lost.stop)]
    return lost if whole and not known and (len(lost) == 1 or len(earlier) >= WHOLE) else range(0)


def _start_of_rerun(
    last: int, previous: int | None, done: int | None, committed: Sequence[int]
) -> tuple[int | None, Problem | None]:
    if previous == last - 1:
        return previous, None
    if previous is not None and previous == done:
        return previous, None
    if last - 1 in committed[-2:]:
        return None, None
    return None, damaged(
        f"Batch {last} is planned and not committed, and the end of the batch before it is not in offsets/: "
        "where it starts is lost."
    )


def _holes(planned: Sequence[int], committed: Sequence[int], missing: range) -> Iterator[Problem]:
    """Report batch ids that are missing below the newest one.

    Ids below the oldest file are purged, which is normal, with one exception: Spark reads the second newest file, so a
    single file of a batch above 0 is a gap as well.
    """
    pairs = list(pairwise(planned))
    if len(planned) == 1 and planned[0] > 0:
        pairs = [(planned[0] - 2, planned[0])]
    for before, after in pairs:
        if after - before == 1:
            continue
        lost = committed[bisect_left(committed, before + 1) : bisect_left(committed, after)]
        newest = after == planned[-1]
        if lost:
            effect = " Spark reads it on restart and fails." if newest and after - 1 in lost else ""
            yield damaged(f"{_batches('offsets', lost[0], lost[-1])} missing, though committed.{effect}")
        if newest and missing:
            restartable = before - 1 in planned or before == 0
            yield from batch_missing(
                before + 1, after - 1, oldest=planned[0], restartable=restartable, committed=after in committed
            )
        elif len(lost) < after - before - 1:
            yield from gap(before + 1, after - 1, newest=newest)


def _uncommitted(planned: Sequence[int], committed: Sequence[int]) -> Iterator[Problem]:
    if not committed:
        return
    known = set(committed)
    lost = [batch for batch in planned if committed[0] < batch < committed[-1] and batch not in known]
    if lost:
        yield damaged(
            f"{_batches('commits', lost[0], lost[-1])} missing, though planned and followed by committed batches. "
            "Spark does not look at it on restart."
        )


def _batches(log: str, first: int, last: int) -> str:
    return f"{log}/{first} is" if first == last else f"Files between {log}/{first} and {log}/{last} are"


def damaged(message: str) -> Problem:
    return checkpoint_damaged.problem(message, fix=RESTORE)


def odd_name(log: str, batch: int, name: str, known: Sequence[int]) -> Problem:
    """Report a name that Spark lists as a batch, and opens under the number's canonical spelling."""
    delete = f"Delete {log}/{name} in a copy of the folder"
    if not 0 <= batch < 2**63:
        return checkpoint_damaged.problem(
            f"{log}/{name} is a number that no batch has: Spark wrote no such file.",
            fix=f"{delete}: no batch is lost with it.",
        )
    zeros = "a sign" if name[0] in "+-" else "leading zeros"
    message = f"{log}/{name} is a number spelled with {zeros}: Spark lists it as batch {batch}, and opens {log}/{batch}"
    if batch in known:
        return checkpoint_damaged.problem(
            f"{message}, which is there as well.", fix=f"{delete} if {log}/{batch} is right."
        )
    return checkpoint_damaged.problem(
        f'{message}, which is not there: it fails with "batch {batch} doesn\'t exist".',
        fix=f"Rename it to {log}/{batch} in a copy of the folder, and .{name}.crc to .{batch}.crc where there is one.",
    )


def stale_checksum(file: str, checksum: str) -> Problem:
    """Report that a checksum file does not match its file. The offsets stay: they are what Spark reads."""
    return checkpoint_damaged.problem(
        f"{checksum} does not fit {file}: the file was edited by hand or damaged. Spark's own reader does not "
        "notice; other Hadoop readers fail with ChecksumException.",
        fix=f"If the edit was meant, delete {checksum}; otherwise restore both files.",
    )
