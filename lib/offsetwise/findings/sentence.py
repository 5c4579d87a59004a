"""How findings are put into words: one shape for every check."""

from __future__ import annotations

from offsetwise.findings.codes import KINDS, Code
from offsetwise.model import Finding, PartitionComparison


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
