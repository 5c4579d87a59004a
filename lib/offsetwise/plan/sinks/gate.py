"""The start gate of a job's sinks: their held transactions, and whether they can be restored on the sink's cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from offsetwise.config import JobTraits
from offsetwise.findings.committed import ask_about, deadline_of, held_back, open_transactions, timeout_told
from offsetwise.findings.sinks import restore_fails, sink_moves_with_pending, transaction_timeout_refused
from offsetwise.model import (
    Details,
    GateCheck,
    MarkedTransaction,
    Outcome,
    PlannedTransaction,
    Settlement,
    Transaction,
    epoch_ms,
)
from offsetwise.plan.request import DraftRequest
from offsetwise.plan.target import TargetRole, target_type
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.report import SinkTransactions
from offsetwise.wording import duration, many, utc

PENDING: Final = "transactions of the sink"
RESTORE: Final = "restore where the sink writes"
TIMEOUT: Final = "time-out of the sink's transactions"
_OVER: Final = (Decision.SETTLED, Decision.NOTHING)
_WRONG: Final = (Decision.LOST, Decision.FOREIGN, Decision.WRONG_CLUSTER, Decision.LIVE, Decision.SINK_WENT_ON)
_NOT_THERE: Final = (Decision.UNKNOWN, Decision.FOREIGN)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkGrounds:
    open: tuple[Transaction, ...]
    """The open transactions of the savepoint."""
    pending: tuple[Transaction, ...]
    """Those of `open` that a restore commits."""
    deadline_ms: int | None
    """When the last of the transactions that time out does, epoch ms; None if none does, or it is unknown."""
    job: JobTraits
    report: SinkTransactions | None
    """The transactions on the sink's cluster now; None if it was not read."""
    until_ms: int
    """When the job is to start, or else when the clusters were read; epoch ms."""
    restored: bool
    """Whether the job starts from the savepoint, so that it restores its sinks."""
    marks: tuple[MarkedTransaction, ...] = ()
    ended: tuple[PlannedTransaction, ...] = ()
    """The transactions that the plan ends first."""

    @property
    def after(self) -> str | None:
        return self.job.new_sink_cluster or self.job.sink_cluster

    @property
    def rows(self) -> tuple[SinkTransaction, ...]:
        return () if self.report is None else tuple(row for row in self.report.transactions if row.held)


def grounds_of_sinks(
    details: Details | None,
    request: DraftRequest,
    job: JobTraits,
    marks: tuple[MarkedTransaction, ...],
    ended: tuple[PlannedTransaction, ...],
    *,
    read_ms: int,
) -> SinkGrounds | None:
    """Return the inputs of the checks; None for a group.

    Args:
        details: What the engine keeps in the checkpoint that the plan is drafted from; None for a group.
        request: The targets, and the transactions on the sink's cluster.
        job: What the migration file states about the job.
        marks: The transactions that the copy marks as committed.
        ended: The transactions that the plan ends first.
        read_ms: When the clusters were read, epoch ms.
    """
    if details is None:
        return None
    roles = {target_type(target.kind).role for target in request.targets} - {TargetRole.TRANSACTIONS}
    return SinkGrounds(
        open=open_transactions(details),
        pending=held_back(details),
        deadline_ms=deadline_of(details, job.transaction_timeout_ms),
        job=job,
        report=request.sink,
        until_ms=read_ms if request.cutover_ms is None else request.cutover_ms,
        restored=not roles <= {TargetRole.START},
        marks=marks,
        ended=ended,
    )


def sink_checks(on: SinkGrounds) -> Iterator[GateCheck]:
    """Yield the checks of a job's sinks; none if the savepoint holds no transaction of theirs."""
    if on.open:
        yield _unasked(on) if on.report is None else _committed_check(on)
    if on.restored and on.pending:
        yield from _restore(on)
    for finding in () if on.report is None else on.report.findings:
        if finding.code == transaction_timeout_refused.code:
            yield GateCheck(name=TIMEOUT, outcome=Outcome.FAILED, told=f"{finding.message} {finding.remedy}")


def _unasked(on: SinkGrounds) -> GateCheck:
    message, command = ask_about(on.open, on.job.sink_servers)
    deadline = on.deadline_ms
    outcome = Outcome.UNKNOWN
    if deadline is None:
        remaining = "do not run out, or when they do is not known"
    elif deadline <= on.until_ms:
        outcome = Outcome.FAILED
        remaining = f"run out by {utc(deadline)}, {duration(on.until_ms - deadline)} before the start"
    else:
        remaining = f"run out by {utc(deadline)}, {duration(deadline - on.until_ms)} after the start"
    because = "" if deadline is None else f" ({timeout_told(on.job.transaction_timeout_ms)})"
    return GateCheck(
        name=PENDING,
        outcome=outcome,
        told=f"{message}: if not committed yet, they {remaining}{because}. Each must be CompleteCommit: {command}",
    )


def _committed_check(on: SinkGrounds) -> GateCheck:
    commits = {
        (transaction.transactional_id, transaction.producer_id, transaction.epoch)
        for transaction in on.ended
        if transaction.decision is Settlement.COMMIT
    }
    transactions = [
        row
        for row in on.rows
        if row.decision not in _OVER and (row.transactional_id, row.producer_id, row.epoch) not in commits
    ]
    if not transactions:
        planned = f", {many(len(commits), 'transaction')} of them by this plan before the copy is made"
        message = f"Everything that the savepoint holds is committed{planned if commits else ''}: it loses no record."
        return GateCheck(name=PENDING, outcome=Outcome.PASSED, told=message)
    wrong = [row for row in transactions if row.decision in _WRONG]
    late = [row for row in transactions if row.decision is Decision.COMMIT and _runs_out(row, on)]
    first = (wrong or late or transactions)[0]
    more = f" So are {len(transactions) - 1:,} more not committed." if len(transactions) > 1 else ""
    soon = " It runs out before the start." if first in late else ""
    return GateCheck(
        name=PENDING,
        outcome=Outcome.FAILED if wrong or late else Outcome.UNKNOWN,
        told=f"{first.transactional_id} is held and not committed ({first.decision}): {first.reason}{soon}{more} "
        "`offsetwise transactions` lists them; --target sink-transactions commits what is open.",
    )


def _runs_out(row: SinkTransaction, on: SinkGrounds) -> bool:
    return row.deadline is not None and epoch_ms(row.deadline) <= on.until_ms


def _restore(on: SinkGrounds) -> Iterator[GateCheck]:
    """Yield a check whether a restore commits transactions that the sink's cluster does not know."""
    moves = on.after is not None and on.after != on.job.sink_cluster
    absent = [row for row in on.rows if row.decision in _NOT_THERE and row.broker_state is None]
    foreign = [row for row in on.rows if row.decision is Decision.FOREIGN]
    if not moves and not (absent or foreign):
        return
    pending = on.pending
    marked = {(mark.transactional_id, mark.producer_id, mark.epoch) for mark in on.marks}
    unmarked = [
        transaction
        for transaction in pending
        if (transaction.transactional_id, transaction.producer_id, transaction.epoch) not in marked
    ]
    if not unmarked:
        message = (
            f"{many(len(pending), 'transaction')} that the savepoint holds will be marked as committed in the copy, so "
            f"that a restore with the sink on {on.after!r} passes over them."
        )
        yield GateCheck(name=RESTORE, outcome=Outcome.PASSED, told=message)
        return
    owner = (
        f"of the cluster {on.job.sink_cluster or 'that the sink wrote to'!r}, and the sink will write to {on.after!r}"
        if moves
        else f"that the cluster {on.after!r}, which its sink writes to, does not know"
    )
    stated = "" if moves else " State as sink_cluster the one that has them, and as new_sink_cluster this one."
    yield GateCheck(
        name=RESTORE,
        outcome=Outcome.FAILED,
        told=f"{sink_moves_with_pending.code}: the savepoint holds {many(len(unmarked), 'transaction')} {owner}. "
        f"{restore_fails(str(on.after))}{stated} Once each is committed where it was begun, draft with --set "
        "mark_settled=true: the copy then says so, and a restore passes over them.",
    )
