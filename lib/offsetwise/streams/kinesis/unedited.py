"""What engines do, without being told places, where a stream was resharded."""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings import Stage, finding
from offsetwise.findings.case import MigrationCase
from offsetwise.model import Severity
from offsetwise.streams.kinesis.findings import closed_shard_unread


@finding(
    code="CLOSED_SHARD_DROPPED",
    severity=Severity.BLOCKS,
    title="An unedited query never reads what a closed shard has left",
    remedy="Begin a query anew at a starting position that names the shard, or use the connector before 2.0.",
    rank=1180,
    stage=Stage.MIGRATION,
    unedited=True,
)
def closed_shard_dropped(case: MigrationCase) -> Iterator[str]:
    """The awslabs connector takes a closed shard of its checkpoint for finished, from 2.0 on."""
    if case.checkpoint is None or not any("/shard-source/" in path for path, _ in case.checkpoint.pins):
        return
    for problem in case.old.problems:
        if problem.code == closed_shard_unread.code:
            yield (
                f"{problem.message} From 2.0 on the awslabs connector takes such a shard for finished: an unedited "
                "query never reads them, without an error."
            )
