"""Whether a log is the one that the job read: what it read cannot be younger than the batch that says so.

A topic that was deleted, created again and has grown past the position holds other records there. Offsets do not tell;
times do. What a broker stamped is certain: it had the record before anybody read it. What a producer stamped may be
ahead of every clock, as where it is the time of an event to come. So a producer's times count only where none of those
read before the position is still to come when the clusters are read, which shows times that are no clock's, and where
the record does not stand alone: several in a row say the same, or all times read are in order.
"""

from __future__ import annotations

from offsetwise.translation.worker import RUN, Times


def read_too_early(times: Times, *, saved_ms: int | None, clock_skew_ms: int, now_ms: int) -> int | None:
    """Return the time of the record before a position, where that record cannot be one that the job read.

    Args:
        times: Of the records before the position on the old log.
        saved_ms: When the job had read up to the position at the latest, epoch ms; None where nobody says.
        clock_skew_ms: How far two clocks may differ.
        now_ms: When the clusters were read.

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
