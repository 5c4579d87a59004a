"""What the job has left beside its state: the offsets that it commits to Kafka, and the transactions of its sink."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.register import Stage, finding
from offsetwise.model import Checkpoint, GroupOffset, Severity, Transaction
from offsetwise.transactions.timing import DEFAULT_TIMEOUT_MS, PREPARED
from offsetwise.wording import duration, many, utc

SETTLED = frozenset({"failed", "committed"})


@finding(
    code="GROUP_AHEAD",
    severity=Severity.WARNS,
    title="The job's group is ahead of the checkpoint",
    remedy="Take a new savepoint as you stop the job, and compare again.",
    rank=270,
    stage=Stage.MIGRATION,
)
def group_ahead(case: MigrationCase) -> Iterator[str]:
    """The group that the job commits to has read past the checkpoint."""
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
)
def group_behind(case: MigrationCase) -> Iterator[str]:
    """The group that the job commits to has read less than the checkpoint."""
    behind = [(-distance, commit) for distance, commit in _apart(case) if distance < 0]
    if behind and case.committed is not None and case.checkpoint is not None:
        yield (
            f"Group {case.committed.name} has committed less than the {case.checkpoint.details.kind} holds "
            f"{_where(behind)}: a start from the group's offsets would read again what the state has counted."
        )


@finding(
    code="TRANSACTION_EXPIRED",
    severity=Severity.WARNS,
    title="Transactions of the sink may have run out",
    remedy="Count the sink's records of the last interval; if some are missing, start from an earlier checkpoint. Ask:",
    rank=260,
    stage=Stage.MIGRATION,
)
def transaction_expired(case: MigrationCase) -> Iterator[tuple[str, str]]:
    """Transactions that the checkpoint holds open have run out, unless they were committed before."""
    deadline = deadline_of(case.checkpoint, case.job.transaction_timeout_ms)
    if case.checkpoint is None or deadline is None or deadline > case.now_ms:
        return
    told, ask = ask_about(case.checkpoint, case.job.sink_servers)
    yield (
        f"{told} ran out by {utc(deadline)}, {duration(case.now_ms - deadline)} before the clusters were read "
        f"({timeout_told(case.job.transaction_timeout_ms)}): what was not committed until then is lost.",
        f"{transaction_expired.remedy} {ask}",
    )


def open_transactions(checkpoint: Checkpoint | None) -> tuple[Transaction, ...]:
    """Give the transactions that are not known to be settled."""
    held = () if checkpoint is None else checkpoint.details.transactions
    return tuple(each for each in held if each.state not in SETTLED)


def held_back(checkpoint: Checkpoint | None) -> tuple[Transaction, ...]:
    """Give the transactions that a restore commits: those whose producer is known, and that are not finished."""
    return tuple(each for each in open_transactions(checkpoint) if each.producer_id is not None)


def deadline_of(checkpoint: Checkpoint | None, timeout_ms: int | None) -> int | None:
    """Give when the broker aborts the last of the open transactions that run out; None where none does, or unknown.

    They began before the checkpoint was written, so this is the latest moment.
    """
    running = [each for each in open_transactions(checkpoint) if each.schema != PREPARED]
    if checkpoint is None or checkpoint.details.written_ms is None or not running:
        return None
    return checkpoint.details.written_ms + (timeout_ms or DEFAULT_TIMEOUT_MS)


def timeout_told(timeout_ms: int | None) -> str:
    """Say how long transactions live, and who says so."""
    if timeout_ms is None:
        return f"transaction.timeout.ms is not stated; KafkaSink's default is {duration(DEFAULT_TIMEOUT_MS)}"
    return f"transaction.timeout.ms is stated as {duration(timeout_ms)}"


def ask_about(checkpoint: Checkpoint, servers: str | None) -> tuple[str, str]:
    """Name the open transactions with the cluster they belong to, and give the command that asks about the first."""
    names = list(dict.fromkeys(each.transactional_id for each in open_transactions(checkpoint)))
    more = f" and {len(names) - 1:,} more transactions" if len(names) > 1 else ""
    at = f" on {servers}" if servers else ""
    return (
        f"{names[0]}{more} of the sink{at}",
        f"kafka-transactions.sh --bootstrap-server {quote(servers or 'HOST:PORT')} describe --transactional-id "
        f"{quote(names[0])}",
    )


def _apart(case: MigrationCase) -> list[tuple[int, GroupOffset]]:
    """Give how far past the checkpoint the group has committed, with its commit, where both have a position."""
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
    """Say in how many partitions, and where it is furthest."""
    distance, commit = max(apart, key=lambda each: each[0])
    count = many(len(apart), "partition")
    furthest = f"{commit.topic_partition}: {commit.offset:,} committed, {many(distance, 'offset')} apart"
    return f"in {count}, furthest {furthest}"
