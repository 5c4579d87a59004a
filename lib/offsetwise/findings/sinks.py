from __future__ import annotations

from collections.abc import Iterator

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.committed import held_back
from offsetwise.findings.register import Fact, Stage, finding
from offsetwise.model import Severity
from offsetwise.transactions.timing import Timeout
from offsetwise.transactions.upgrade import TransactionFacts, timeout_refused
from offsetwise.wording import many


@finding(
    code="SINK_MOVES_WITH_PENDING",
    severity=Severity.WARNS,
    title="The sink moves, and the savepoint holds transactions of its old cluster",
    remedy="Settle them on the old cluster, then draft the plan with --set mark_settled=true.",
    rank=252,
    stage=Stage.MIGRATION,
    of_sink=True,
    needs={Fact.TRANSACTIONS},
)
def sink_moves_with_pending(case: MigrationCase) -> Iterator[str]:
    """A restore would try to commit transactions of the old cluster on the new one, and fail."""
    pending, job = () if case.checkpoint is None else held_back(case.checkpoint.details), case.job
    if pending and job.new_sink_cluster is not None and job.new_sink_cluster != job.sink_cluster:
        yield (
            f"The savepoint holds {many(len(pending), 'transaction')} of a sink, for example "
            f"{pending[0].transactional_id}, "
            f"which will write to {job.new_sink_cluster!r}. {restore_fails(job.new_sink_cluster)}"
        )


def restore_fails(cluster: str) -> str:
    return (
        f"A restore commits them there: {cluster!r} knows no such transaction and answers InvalidPidMapping, the job "
        "fails, and restarts until its restart strategy gives up."
    )


@finding(
    code="PREFIX_OVERLAPS",
    severity=Severity.WARNS,
    title="A pooled sink's prefix is the beginning of another one's",
    remedy="Give every sink a transactional id prefix of its own that none begins with, before the job starts again.",
    rank=254,
    stage=Stage.READER,
    of_sink=True,
)
def prefix_overlaps(prefix: str, other: str) -> Iterator[str]:
    """A sink with pooled names aborts at its start open transactions whose ids begin with its prefix."""
    yield (
        f"The sink with the prefix {prefix!r} has the naming strategy POOLING, and {other} begins with that: as the "
        "job starts, the sink aborts open transactions whose ids begin with its prefix, on its topics, the other's too."
    )


@finding(
    code="TRANSACTION_TIMEOUT_REFUSED",
    severity=Severity.WARNS,
    title="The cluster refuses the time-out of the sink's transactions",
    remedy="Raise transaction.max.timeout.ms of the brokers, or shorten transaction.timeout.ms of the sink's producer.",
    rank=256,
    stage=Stage.READER,
    of_sink=True,
)
def transaction_timeout_refused(facts: TransactionFacts, timeout: Timeout) -> Iterator[tuple[str, str]]:
    """The maximum time-out of the cluster that the sink will write to is shorter than the job's."""
    refused = timeout_refused(facts, timeout)
    if refused is not None:
        yield refused
