"""What the job has left beside its state: the offsets that it commits to Kafka, and the transactions of its sink."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from shlex import quote

from offsetwise.findings.case import MigrationCase
from offsetwise.findings.codes import Code
from offsetwise.findings.sentence import overall
from offsetwise.model import Checkpoint, Finding, GroupOffset, Transaction
from offsetwise.wording import duration, many, utc

DEFAULT_TIMEOUT_MS = 3_600_000
"""What KafkaSink gives its producer as `transaction.timeout.ms` where the job sets none."""

SETTLED = frozenset({"failed", "committed"})
NO_TIMEOUT = "FLIP-319"
"""Transactions that the broker has prepared (KIP-939) do not run out."""


def group_apart(case: MigrationCase) -> Iterator[Finding]:
    """The group that the job commits to stands elsewhere than the checkpoint."""
    group = case.committed
    if group is None or case.checkpoint is None:
        return
    positions = {(row.topic, row.partition): row.old_offset for row in case.rows if row.old_offset is not None}
    both = [(each, positions[key]) for each in group.offsets if (key := (each.topic, each.partition)) in positions]
    what = _called(case.checkpoint)
    ahead = [(each.offset - position, each) for each, position in both if each.offset > position]
    if ahead:
        yield overall(
            Code.GROUP_AHEAD,
            f"Group {group.name} has committed past the {what} {_where(ahead)}: the job went on after the {what} was "
            "taken, and would read that again from it.",
        )
    behind = [(position - each.offset, each) for each, position in both if each.offset < position]
    if behind:
        yield overall(
            Code.GROUP_BEHIND,
            f"Group {group.name} has committed less than the {what} holds {_where(behind)}: a start from the group's "
            "offsets would read again what the state has counted.",
        )


def transaction_expired(case: MigrationCase) -> Iterator[Finding]:
    """Transactions that the checkpoint holds open have run out, unless they were committed before."""
    deadline = deadline_of(case.checkpoint, case.job.transaction_timeout_ms)
    if case.checkpoint is None or deadline is None or deadline > case.now_ms:
        return
    told, fix = ask_about(case.checkpoint, case.job.sink_servers)
    made = overall(
        Code.TRANSACTION_EXPIRED,
        f"{told} ran out by {utc(deadline)}, {duration(case.now_ms - deadline)} before the clusters were read "
        f"({timeout_told(case.job.transaction_timeout_ms)}): what was not committed until then is lost.",
    )
    yield replace(made, remedy=f"{made.remedy} {fix}")


def open_transactions(checkpoint: Checkpoint | None) -> tuple[Transaction, ...]:
    """Give the transactions that are not known to be settled."""
    held = () if checkpoint is None else checkpoint.transactions
    return tuple(each for each in held if each.state not in SETTLED)


def deadline_of(checkpoint: Checkpoint | None, timeout_ms: int | None) -> int | None:
    """Give when the broker aborts the last of the open transactions that run out; None where none does, or unknown.

    They began before the checkpoint was written, so this is the latest moment.
    """
    running = [each for each in open_transactions(checkpoint) if each.schema != NO_TIMEOUT]
    if checkpoint is None or checkpoint.saved is None or checkpoint.saved.written_ms is None or not running:
        return None
    return checkpoint.saved.written_ms + (timeout_ms or DEFAULT_TIMEOUT_MS)


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


def _called(checkpoint: Checkpoint) -> str:
    return "checkpoint" if checkpoint.saved is None else checkpoint.saved.kind or "checkpoint"


def _where(apart: list[tuple[int, GroupOffset]]) -> str:
    """Say in how many partitions, and where it is furthest."""
    distance, commit = max(apart, key=lambda each: each[0])
    count = many(len(apart), "partition")
    furthest = f"{commit.topic}-{commit.partition}: {commit.offset:,} committed, {many(distance, 'offset')} apart"
    return f"in {count}, furthest {furthest}"
