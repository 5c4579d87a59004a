"""A finding that only the tests know: the job still has much to read on the old cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from offsetwise.findings import Case, finding
from offsetwise.model import Severity
from offsetwise.wording import many

MUCH_RECORDS: Final = 100_000


@finding(
    code="TOY_FAR_BEHIND",
    severity=Severity.WARNS,
    title="The job has much to read on the old cluster",
    remedy="Let the job catch up on the old cluster before it moves.",
    rank=990,
)
def far_behind(case: Case) -> Iterator[str]:
    """The lag on the old cluster is known, and large."""
    lag = case.row.lag_old
    if lag is not None and lag > MUCH_RECORDS:
        yield f"{case.row.topic_partition}: {many(lag, 'record')} are left to read on the old cluster."
