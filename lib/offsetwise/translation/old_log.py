"""Cases in which the old log itself decides: it holds no record, or is not the one that the job read.

**A log without records.** No anchor can be paired, and nothing can be lost. The whole old log was read and holds no
record for the job, and the position lies inside it. So every record that the old log ever had lay below the position
and was read: a record of the new log is a copy of a read one, or was written by somebody else. If the new log is empty
as well, its end skips and repeats nothing and has no foreign record below. If it holds at most as many records as the
old log ever did, all older than the batch that ended at the position by more than clocks may differ, they are the
copies of those, and its end is right, unless a transaction is open on the old log: a mirror may have copied its
records, which a job that waits for its end has not read. Otherwise some are foreign, as all are if the old log was
never written to: only both ends of the new log bound the position, and a person decides.

**A log that was replaced.** A topic that was deleted, created again and has grown past the position holds other records
there. Offsets do not show that; times do: what the job read cannot be younger than the batch that recorded it. A
broker's timestamp is certain: it had the record before anybody read it. A producer's timestamp may be ahead of every
clock, as the time of a future event. So producers' timestamps count only if none of those read before the position lies
after the time when the clusters were read, which would show times that are no clock's, and if the record is not the
only evidence: several in a row agree, or all times read are in order.
"""

from __future__ import annotations

from dataclasses import replace

from offsetwise.model import (
    Ahead,
    AnyPosition,
    Evidence,
    Exactness,
    IsolationLevel,
    LogRange,
    Method,
    PartitionComparison,
    RawReuse,
    RawVerdict,
)
from offsetwise.position import offset_or_none
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import RUN, Answer, Times


def only_place(log: LogRange | None) -> AnyPosition | None:
    """Return the only position in an empty log, where a job begins by any setting; None for another log."""
    return log.hw if log is not None and log.hw == log.log_start else None


def begun(row: PartitionComparison, starts_at: str) -> PartitionComparison:
    """Return the row of a partition that the checkpoint names without an offset.

    Args:
        row: If its old log is empty, the row translates the only position in it.
        starts_at: The start in the checkpoint instead of an offset.
    """
    message = f"The checkpoint has no offset for {row.topic_partition} but its start, {starts_at}"
    if row.old_offset is None:
        return replace(
            row,
            new_offset=None,
            exactness=Exactness.UNKNOWN,
            method=Method.NONE,
            bounds=(None, None),
            evidence=Evidence(reason=f"{message}: where that is is chosen when the job starts, and is not translated."),
        )
    same = row.exactness is Exactness.EXACT and only_place(row.new) is not None
    return replace(
        row,
        raw=RawReuse(verdict=RawVerdict.SAME, skip=0, replay=0) if same else RawReuse(verdict=RawVerdict.UNKNOWN),
        evidence=replace(
            row.evidence, reason=f"{message}, which is the end of a log without records. {row.evidence.reason}"
        ),
    )


def in_empty_log(
    position: int,
    answer: Answer,
    *,
    old: LogRange,
    new: LogRange,
    isolation: IsolationLevel,
    batch_ms: int | None,
    clock_skew_ms: int,
) -> Answer:
    """Return the answer with the cut that follows from an empty old log; any other answer unchanged.

    Args:
        position: The next record to read on the old log.
        answer: The answer from the records.
        old: The old log.
        new: The new log.
        isolation: The isolation level of the job.
        batch_ms: When the batch that ended at the position was planned, epoch ms; None if unknown.
        clock_skew_ms: The maximum difference between two clocks.
    """
    cut, read = answer.cut, answer.times
    start, end = (offset_or_none(bound) for bound in (new.log_start, new.end(isolation)))
    if cut is None or not read.old_is_empty or start is None or end is None:
        return answer
    first = offset_or_none(old.log_start)
    none_lost = first is not None and position >= first
    older = batch_ms is not None and read.newest_new is not None and read.newest_new < batch_ms - clock_skew_ms
    # At most as many as the old log ever held, none of them in a transaction that the job has still to see.
    copies = older and cut.new_records <= position and not _is_open(old, isolation)
    adjusted = replace(cut, reason=Reason.EMPTY_PARTITION, skip=0, hi=end, unfound=False, new_from=None, at_raw=())
    if none_lost and read.new_is_whole and (copies or not cut.new_records):
        result = _all_read(adjusted, read, position, start=start, end=end)
    else:
        result = _anywhere_in_log(adjusted, read, start=start, end=end)
    return replace(answer, cut=result)


def _is_open(log: LogRange, isolation: IsolationLevel) -> bool:
    return isolation is IsolationLevel.READ_COMMITTED and (log.lso is None or log.lso != log.hw)


def _all_read(cut: Cut, read: Times, position: int, *, start: int, end: int) -> Cut:
    inside = start <= position <= end
    return replace(
        cut,
        exactness=Exactness.EXACT,
        offset=end,
        lo=end,
        replay=0,
        foreign_below=0,
        ahead=Ahead(examined=True, missing=0, duplicated=0, foreign=0),
        caught_up=True,
        raw_skip=0 if inside else None,
        raw_replay=read.new_ahead if inside else None,
    )


def _anywhere_in_log(cut: Cut, read: Times, *, start: int, end: int) -> Cut:
    """Return a cut that only both ends of the new log bound: which of its records are copies is unknown."""
    return replace(
        cut,
        exactness=Exactness.BOUNDED,
        offset=start,
        lo=start,
        replay=cut.new_records if read.new_is_whole else end - start,
        foreign_below=None,
        ahead=Ahead(examined=False),
        caught_up=False,
        raw_skip=None,
        raw_replay=None,
    )


def read_too_early(times: Times, *, saved_ms: int | None, clock_skew_ms: int, now_ms: int) -> int | None:
    """Return the time of the record before a position if the job cannot have read that record; else None.

    Args:
        times: The times of the records before the position on the old log.
        saved_ms: The latest time at which the job had read up to the position, epoch ms; None if unknown.
        clock_skew_ms: The maximum difference between two clocks.
        now_ms: When the clusters were read, epoch ms.

    >>> times = Times(before=(8_000, 9_000, 9_500), newest_before=9_500)
    >>> read_too_early(times, saved_ms=5_000, clock_skew_ms=1_000, now_ms=20_000)
    9500
    >>> read_too_early(times, saved_ms=5_000, clock_skew_ms=1_000, now_ms=6_000)
    """
    if saved_ms is None or not times.before:
        return None
    latest = saved_ms + clock_skew_ms
    last = times.before[-1]
    if times.by_broker:
        return last if last > latest else None
    newest = times.newest_before
    if newest is None or newest > now_ms + clock_skew_ms:
        return None
    in_a_row = len(times.before) == RUN and min(times.before) > latest
    in_order = last > latest and times.back_ms is not None and times.back_ms <= clock_skew_ms
    return last if in_a_row or in_order else None
