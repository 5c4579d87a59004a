"""How findings are put into words: one shape for every check."""

from __future__ import annotations

from datetime import UTC, datetime

from offsetwise.findings.codes import KINDS, Code
from offsetwise.model import MAX_TIME_MS, Finding, PartitionComparison


def about(row: PartitionComparison, code: Code, message: str) -> Finding:
    """Make a finding about one partition, named as on the old cluster."""
    kind = KINDS[code]
    return Finding(
        code=code.value,
        severity=kind.severity,
        topic=row.topic,
        partition=row.partition,
        message=message,
        remedy=kind.remedy,
    )


def overall(code: Code, message: str, *, topic: str | None = None) -> Finding:
    """Make a finding about a topic, or about the whole migration."""
    kind = KINDS[code]
    return Finding(
        code=code.value,
        severity=kind.severity,
        topic=topic,
        partition=None,
        message=message,
        remedy=kind.remedy,
    )


def records(count: int) -> str:
    """Say a number of records.

    >>> records(1), records(1050)
    ('1 record', '1,050 records')
    """
    return "1 record" if count == 1 else f"{count:,} records"


def offsets(count: int) -> str:
    """Say a distance between offsets, which may hold fewer records."""
    return "1 offset" if count == 1 else f"{count:,} offsets"


def duration(milliseconds: int) -> str:
    """Say a span of time in its two largest units.

    >>> duration(90_000), duration(9 * 86_400_000), duration(400)
    ('1 min 30 s', '9 d', '0 s')
    """
    rest = milliseconds // 1000
    parts = []
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, rest = divmod(rest, seconds)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def utc(timestamp_ms: int) -> str:
    """Say a time in ISO 8601, UTC, to the second; one that no calendar has, in milliseconds.

    >>> utc(0), utc(2**62)
    ('1970-01-01T00:00:00Z', '4611686018427387904 ms')
    """
    if not 0 <= timestamp_ms <= MAX_TIME_MS:
        return f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
