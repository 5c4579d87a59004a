"""A job's data outside its state: the offsets that it commits to Kafka, and the transactions of its sink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.register import Fact, Stage, finding
from offsetwise.model import Details, GroupOffset, Severity, Transaction, epoch_ms
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import SinkAnswer
from offsetwise.transactions.timing import DEFAULT_TIMEOUT_MS, PREPARED
from offsetwise.wording import duration, many, utc

SETTLED = frozenset({"failed", "committed"})
_OPEN = (Decision.COMMIT, Decision.ABORT, Decision.LIVE, Decision.NOT_NEWEST)
"""The decisions about transactions that are still open at their coordinator."""


@finding(
    code="GROUP_AHEAD",
    severity=Severity.WARNS,
    title="The job's group is ahead of the checkpoint",
    remedy="Take a new savepoint as you stop the job, and compare again.",
    rank=270,
    stage=Stage.MIGRATION,
    needs={Fact.COMMITS},
)
def group_ahead(case: MigrationCase) -> Iterator[str]:
    ahead = [(distance, commit) for distance, commit in _apart(case) if distance > 0]
    if ahead and case.committed is not None and case.checkpoint is not None:
        what = case.checkpoint.details.kind
        yield (
            f"Group {case.committed.name} has committed past the {what} {_where(ahead)}: the job went on after the "
            f"{what} was taken, and would read that again from it."
        )


@finding(
    code="GROUP_BEHIND",
    severity=Severity.INFORMS,
    title="The job's group is behind the checkpoint",
    remedy="Take positions from the checkpoint; before a start from the group's offsets, write the translated "
    "ones to it.",
    rank=70,
    stage=Stage.MIGRATION,
    needs={Fact.COMMITS},
)
def group_behind(case: MigrationCase) -> Iterator[str]:
    lagging = [(-distance, commit) for distance, commit in _apart(case) if distance < 0]
    if lagging and case.committed is not None and case.checkpoint is not None:
        yield (
            f"Group {case.committed.name} has committed less than the {case.checkpoint.details.kind} holds "
            f"{_where(lagging)}: a start from the group's offsets would read again what the state has counted."
        )


@finding(
    code="TRANSACTION_EXPIRED",
    severity=Severity.WARNS,
    title="Transactions of the sink may have run out",
    remedy="Ask the sink's cluster whether they were committed. The records of those that were not are lost: start "
    "from an earlier checkpoint, or write them again.",
    rank=260,
    stage=Stage.MIGRATION,
    of_sink=True,
    needs={Fact.TRANSACTIONS},
)
def transaction_expired(case: MigrationCase) -> Iterator[tuple[str, str]]:
    """Transactions that the checkpoint holds open have timed out, unless they were committed before."""
    rows = {} if case.sink is None else _by_producer(case.sink)
    seen_ms = None if case.sink is None else case.sink.timeout_ms
    timeout_ms = seen_ms or case.job.transaction_timeout_ms
    details = Details() if case.checkpoint is None else case.checkpoint.details
    expired = []
    for transaction in open_transactions(details):
        row = rows.get((transaction.transactional_id, transaction.producer_id, transaction.epoch))
        deadline = _deadline(row, _latest(transaction, details.written_ms, timeout_ms), case.now_ms)
        if deadline is not None and deadline <= case.now_ms:
            expired.append((transaction, deadline))
    if not expired:
        return
    last = max(deadline for _, deadline in expired)
    names, command = ask_about([transaction for transaction, _ in expired], case.job.sink_servers)
    yield (
        f"{names} ran out by {utc(last)}, {duration(case.now_ms - last)} before the clusters were read "
        f"({timeout_told(case.job.transaction_timeout_ms, seen_ms)}): what was not committed until then is lost.",
        f"Ask whether they were committed: {command}. The records of those that were not are lost: start from an "
        "earlier checkpoint, or write them again.",
    )


def open_transactions(details: Details) -> tuple[Transaction, ...]:
    return tuple(transaction for transaction in details.transactions if transaction.state not in SETTLED)


def held_back(details: Details) -> tuple[Transaction, ...]:
    """Return the transactions that a restore commits: those with a known producer that are not finished."""
    return tuple(transaction for transaction in open_transactions(details) if transaction.producer_id is not None)


def deadline_of(details: Details, timeout_ms: int | None) -> int | None:
    """Return when the broker aborts the last open transaction that times out; None if none does, or it is unknown.

    They began before the checkpoint was written, so this is the latest possible time.
    """
    latest = [_latest(transaction, details.written_ms, timeout_ms) for transaction in open_transactions(details)]
    return max((moment_ms for moment_ms in latest if moment_ms is not None), default=None)


def _by_producer(sink: SinkAnswer) -> dict[tuple[str | None, int | None, int | None], SinkTransaction]:
    """Return the transactions of a sink by id, producer and epoch; of several with one key the first."""
    return {
        (transaction.transactional_id, transaction.producer_id, transaction.epoch): transaction
        for transaction in reversed(sink.transactions)
    }


def _deadline(row: SinkTransaction | None, latest: int | None, now_ms: int) -> int | None:
    """Return when the broker aborts a transaction of the checkpoint; None if it never does, or has committed it.

    Args:
        row: The transaction on the cluster of the sink; None if the cluster did not report it.
        latest: See `_latest`.
        now_ms: When the clusters were read.
    """
    if row is not None and row.decision is Decision.SETTLED:
        return None
    if row is not None and row.decision in _OPEN:
        return None if row.deadline is None else epoch_ms(row.deadline)
    lost = row is not None and row.decision is Decision.LOST
    return min(latest or now_ms, now_ms) if lost else latest


def _latest(transaction: Transaction, written_ms: int | None, timeout_ms: int | None) -> int | None:
    """Return the latest time at which the broker aborts a transaction: it began before the checkpoint was written."""
    if transaction.schema == PREPARED or written_ms is None:
        return None
    return written_ms + (timeout_ms or DEFAULT_TIMEOUT_MS)


def timeout_told(stated_ms: int | None, seen_ms: int | None = None) -> str:
    """Describe the time-out of transactions, and its source.

    Args:
        stated_ms: The value in the migration file.
        seen_ms: The value of the job's transactions on the sink's cluster; None if unknown.
    """
    if seen_ms is not None:
        return f"transaction.timeout.ms of the job's transactions is {duration(seen_ms)} there"
    if stated_ms is not None:
        return f"transaction.timeout.ms is stated as {duration(stated_ms)}"
    return f"transaction.timeout.ms is not stated; KafkaSink's default is {duration(DEFAULT_TIMEOUT_MS)}"


def ask_about(transactions: Sequence[Transaction], servers: str | None) -> tuple[str, str]:
    """Return the names of transactions with their cluster, and the command that shows the first."""
    names = list(dict.fromkeys(transaction.transactional_id for transaction in transactions))
    more = f" and {many(len(names) - 1, 'more transaction')}" if len(names) > 1 else ""
    at = f" on {servers}" if servers else ""
    return (
        f"{names[0]}{more} of the sink{at}",
        f"kafka-transactions.sh --bootstrap-server {quote(servers or 'HOST:PORT')} describe --transactional-id "
        f"{quote(names[0])}",
    )


def _apart(case: MigrationCase) -> list[tuple[int, GroupOffset]]:
    if case.committed is None or case.checkpoint is None:
        return []
    positions = {row.topic_partition: row.old_offset for row in case.rows if row.old_offset is not None}
    commits = case.committed.offsets
    return [
        (distance, commit)
        for commit in commits
        if (key := commit.topic_partition) in positions and (distance := commit.offset - positions[key]) is not None
    ]


def _where(apart: list[tuple[int, GroupOffset]]) -> str:
    distance, commit = max(apart, key=lambda pair: pair[0])
    count = many(len(apart), "partition")
    furthest = f"{commit.topic_partition}: {commit.offset:,} committed, {many(distance, 'offset')} apart"
    return f"in {count}, furthest {furthest}"
