"""A drawer outside of the library that brings a finding of its own."""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings import Case, finding
from offsetwise.model import Severity


@finding(
    code="LEASE_LOST",
    severity=Severity.BLOCKS,
    title="Another worker holds the lease",
    remedy="Stop the other worker.",
    rank=5,
)
def lease_lost(case: Case) -> Iterator[str]:
    """The reference position is held by another worker."""
    if case.row.old_offset == 1050:
        yield f"{case.row.topic_partition} is leased to another worker."
