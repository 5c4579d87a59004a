from __future__ import annotations

from collections.abc import Sequence

from offsetwise.model import AnyPosition, Behind, Left, PartBehind, QuotaUse, TopicPartition
from offsetwise.position import in_partitions
from offsetwise.wording import clock, duration, many, size


def lag_text(of: Behind | None) -> str:
    """Describe how far a position is behind; `?` if unknown.

    Has a number of records only if all were read.

    >>> lag_text(Behind(left=Left.RECORDS, ms=90_000)), lag_text(Behind(left=Left.RECORDS, ms=0, records=1))
    ('1 min 30 s', '0 s, 1 record')
    >>> lag_text(Behind(left=Left.NOTHING, ms=0, last_ms=1_795_335_840_000)), lag_text(Behind(left=Left.ENDED))
    ('0 s, no record since 2026-11-22 08:24:00 UTC', 'ended')
    >>> lag_text(Behind(left=Left.UNKNOWN)), lag_text(None)
    ('?', '?')
    """
    if of is None:
        return "?"
    match of.left:
        case Left.ENDED:
            return "ended"
        case Left.UNKNOWN:
            return "?"
        case Left.NOTHING:
            return duration(of.ms) + ("" if of.last_ms is None else f", no record since {clock(of.last_ms)}")
    return duration(of.ms) + (f", {many(of.records, 'record')}" if of.records is not None else "")


def short(of: Behind | None) -> str:
    """Describe the lag for little room; including whether it was not requested, or is unknown.

    >>> short(Behind(left=Left.RECORDS, ms=90_000)), short(Behind(left=Left.NOTHING, ms=0, last_ms=0))
    ('1 min 30 s behind', 'at the end')
    >>> short(Behind(left=Left.RECORDS, ms=0, records=7))
    '0 s behind, 7 records'
    >>> short(None), short(Behind(left=Left.UNKNOWN))
    ('lag not asked', 'lag unknown')
    """
    if of is None:
        return "lag not asked"
    if of.left is Left.UNKNOWN:
        return "lag unknown"
    if of.left is Left.RECORDS:
        return f"{duration(of.ms)} behind" + (f", {many(of.records, 'record')}" if of.records is not None else "")
    return "at the end" if of.left is Left.NOTHING else "ended"


def parts(at: TopicPartition, position: AnyPosition, overall: Behind | None, of: Sequence[PartBehind]) -> list[str]:
    """Describe a position, and how far it is behind: a line for each of its shards, or one for all.

    Args:
        at: The partition of the position.
        position: The position.
        overall: How far the whole position is behind.
        of: How far each of its parts is, for a position in several shards.
    """
    positions = in_partitions(at, position)
    several = {part.partition: part.behind for part in of}
    lags = (several.get(part.partition) if len(positions) > 1 else overall for part, _ in positions)
    return [
        f"shard {part.partition}: {shard_position}, {short(lag)}"
        for (part, shard_position), lag in zip(positions, lags, strict=True)
    ]


def quota(of: QuotaUse) -> str:
    """Describe the quota that reading used, which is shared with the jobs.

    >>> print(quota(QuotaUse(partitions=3, reads=4, most_reads=2, read_bytes=1_200, reads_per_second=1,
    ...     allowed_per_second=5, allowed_bytes_per_second=2_097_152)))
    The lag took 4 reads of 3 shards, at most 2 of one, and 1.2 KiB. Of a shard it takes at most 1 read a second, of \
the 5 reads and 2.0 MiB a second that all its readers share.
    """
    return (
        f"The lag took {many(of.reads, 'read')} of {many(of.partitions, 'shard')}, at most {of.most_reads:,} of one, "
        f"and {size(of.read_bytes)}. Of a shard it takes at most {many(of.reads_per_second, 'read')} a second, of the "
        f"{many(of.allowed_per_second, 'read')} and {size(of.allowed_bytes_per_second)} a second that all its readers "
        "share."
    )
