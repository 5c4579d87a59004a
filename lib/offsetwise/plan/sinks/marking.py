"""Decide which transactions the copy of a savepoint marks as committed, and collect the objections. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from offsetwise.config import JobTraits, Migration
from offsetwise.errors import PlanError
from offsetwise.findings import Stage, finding
from offsetwise.findings.committed import held_back
from offsetwise.model import (
    Details,
    MarkedTransaction,
    PlannedTransaction,
    Problem,
    Settlement,
    Severity,
    SinkRequirement,
    Target,
    Transaction,
)
from offsetwise.plan.refusals import cluster_id
from offsetwise.plan.request import DraftRequest, refuse
from offsetwise.plan.settings import MarkSettings
from offsetwise.plan.target import takes
from offsetwise.transactions.decisions import Decision, SinkTransaction
from offsetwise.transactions.observed import TransactionState
from offsetwise.transactions.report import SinkTransactions

COMMITTED_BEFORE: Final = "This plan commits it before the copy is made."


@finding(
    code="MARK_NOT_SETTLED",
    severity=Severity.BLOCKS,
    title="A transaction that is not known to be committed would be marked",
    remedy="Commit it first: add --target sink-transactions. Else draft without --set mark_settled.",
    rank=350,
    stage=Stage.PLAN,
    of_sink=True,
)
def mark_not_settled(name: str, row: SinkTransaction | None) -> Iterator[str]:
    """A restore skips marked transactions, so the records of one that is not committed would be lost."""
    if row is None:
        yield f"{name}: the cluster of the sink was not asked about it."
    elif row.decision is Decision.SETTLED:
        yield f"{name}: its id has been used again since ({row.broker_state}), and no log shows that it is committed."
    else:
        yield f"{name} is {row.decision}, not SETTLED: {row.reason}"


def marks_of(
    details: Details | None,
    request: DraftRequest,
    job: JobTraits,
    ended: Collection[PlannedTransaction] = (),
) -> tuple[MarkedTransaction, ...]:
    """Return a mark for every transaction that a restore from the savepoint would commit.

    Args:
        details: What the engine keeps in the checkpoint that the plan is drafted from.
        request: The targets, and the transactions on the sink's cluster now.
        job: What the migration file states about the job.
        ended: The transactions that the same plan ends first.

    Raises:
        PlanError: A transaction is not known to be committed, there is none, the job runs, or no target takes marks.
    """
    transactions = request.sink
    rows = {_key(row): row for row in (() if transactions is None else transactions.transactions) if row.held}
    commits = {_key(transaction) for transaction in ended if transaction.decision is Settlement.COMMIT}
    marks: list[MarkedTransaction] = []
    problems = [*_against_rows(transactions, job)]
    for pending in () if details is None else held_back(details):
        if pending.producer_id is None or pending.epoch is None:
            continue
        row, is_ended = rows.get(_key(pending)), _key(pending) in commits
        if is_ended or (row is not None and is_committed(row)):
            reason = COMMITTED_BEFORE if is_ended or row is None else row.reason
            name, producer, epoch = pending.transactional_id, pending.producer_id, pending.epoch
            marks.append(MarkedTransaction(transactional_id=name, producer_id=producer, epoch=epoch, reason=reason))
        else:
            problems += mark_not_settled(_named(pending), row)
    refuse(tuple(problems))
    if not marks:
        raise _nothing_to_mark()
    return tuple(marks)


def _against_rows(sink: SinkTransactions | None, job: JobTraits) -> Iterator[Problem]:
    for row in rows_against(sink, tolerates_replay=job.tolerates_replay):
        yield from mark_not_settled(_named(row), row)


def _nothing_to_mark() -> PlanError:
    return PlanError(
        "The plan: expected transactions of a sink in the savepoint to mark as committed, found none that a "
        "restore would commit. Nothing was written.",
        fix="Draft it without --set mark_settled.",
    )


def _key(
    transaction: SinkTransaction | PlannedTransaction | Transaction,
) -> tuple[str | None, int | None, int | None]:
    return transaction.transactional_id, transaction.producer_id, transaction.epoch


def rows_against(sink: SinkTransactions | None, *, tolerates_replay: bool | None) -> Iterator[SinkTransaction]:
    for row in () if sink is None else sink.transactions:
        went_on = row.decision is Decision.SINK_WENT_ON and tolerates_replay is not True
        if row.decision in (Decision.LIVE, Decision.WRONG_CLUSTER) or went_on:
            yield row


def is_committed(row: SinkTransaction) -> bool:
    """Return whether the coordinator or the log shows that a held transaction is committed: a mark loses nothing."""
    shown = row.broker_state == TransactionState.COMPLETE_COMMIT or bool(row.partitions)
    return row.decision is Decision.SETTLED and shown


def requirement_of(
    migration: Migration, job: JobTraits, request: DraftRequest, marks: Collection[MarkedTransaction]
) -> SinkRequirement | None:
    """Return the state of the marked transactions that must still hold when a plan that ends none is applied.

    Returns:
        None if nothing is marked.

    Raises:
        PlanError: The cluster did not return its id, so that the plan could not be bound to it.
    """
    transactions = request.sink
    if not marks or transactions is None:
        return None
    if transactions.cluster_id is None:
        refuse((cluster_id.problem("The sink's cluster did not tell its id, so the plan could not be held to it."),))
    names = {"old": migration.source.name, "new": migration.target.name}
    stated = job.sink_cluster or job.sink_servers or ""
    keys = {(mark.transactional_id, mark.producer_id, mark.epoch) for mark in marks}
    return SinkRequirement(
        name=names.get(stated, stated),
        cluster_id=str(transactions.cluster_id),
        states=tuple(
            row.as_required
            for row in transactions.transactions
            if row.held and (row.transactional_id, row.producer_id, row.epoch) in keys
        ),
        topics=tuple(dict.fromkeys((*request.sink_topics, *transactions.topics_of_ends))),
    )


def contradictions(
    marks: Sequence[MarkedTransaction], targets: Sequence[Target], sink: SinkRequirement | None
) -> Iterator[str]:
    if not any(takes(target, MarkSettings) for target in targets):
        yield "it marks transactions, and none of its targets is a copy of a savepoint"
    if sink is None:
        yield "it marks transactions, and does not say of which cluster"
    keys = {(mark.transactional_id, mark.producer_id, mark.epoch) for mark in marks}
    if len(keys) != len(marks):
        yield "it marks a transaction twice"
    for transaction in marks:
        if (
            min(transaction.producer_id, transaction.epoch) < 0
            or not transaction.transactional_id
            or not transaction.reason.strip()
        ):
            yield f"its mark of {transaction.transactional_id[:300]!r} has a negative number, or no name or reason"


def _named(transaction: Transaction | SinkTransaction) -> str:
    return f"{transaction.transactional_id} (producer {transaction.producer_id}, epoch {transaction.epoch})"
