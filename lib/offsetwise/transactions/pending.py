"""Decide about a transaction that a checkpoint holds: by its coordinator, and once it is over by the logs."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from offsetwise.model import NamingStrategy, OpenPartition, Transaction
from offsetwise.transactions.decisions import Decided, Decision
from offsetwise.transactions.names import parse
from offsetwise.transactions.observed import (
    FINISHING,
    Answer,
    Described,
    HeldTransactions,
    LoggedTransaction,
    LogSearch,
    Missing,
    TransactionLook,
    TransactionState,
    is_past,
)
from offsetwise.transactions.reasons import (
    ABORTED,
    FALSE_ALARM,
    IN_USE_AGAIN,
    MISSING,
    begun_since,
    not_in_logs,
    records_told,
    written_since,
)


class TransactionVerdict(NamedTuple):
    decision: Decision
    reason: str
    partitions: tuple[OpenPartition, ...] = ()


def decide_pending(
    transaction: Transaction,
    answer: Answer,
    pending: HeldTransactions,
    observation: TransactionLook,
    search: LogSearch | None,
) -> TransactionVerdict:
    """Decide about a transaction that the checkpoint holds.

    Args:
        transaction: The transaction.
        answer: The coordinator's answer about its id.
        pending: The transactions of the checkpoint.
        observation: The whole observation of the cluster.
        search: The search of the logs; None if they were not searched.
    """
    decision, reason = _by_coordinator(transaction, answer, pending)
    if not isinstance(answer, Described) or not is_past(transaction, answer):
        return TransactionVerdict(decision, reason)
    logged = _by_logs(transaction, answer, pending, search)
    if logged is None:
        verdict = TransactionVerdict(decision, reason + _unsearched(decision, search))
    elif decision is logged.decision is Decision.SETTLED:
        verdict = TransactionVerdict(decision, reason)
    else:
        verdict = logged
    open_ = [
        at for at in observation.writes if (at.producer_id, at.epoch) == (transaction.producer_id, transaction.epoch)
    ]
    if verdict.decision is Decision.SETTLED and open_:
        return TransactionVerdict(Decision.UNKNOWN, _open_in_log(answer, open_[0].partition, open_[0].start_offset))
    return verdict


def _unsearched(decision: Decision, search: LogSearch | None) -> str:
    lacking = not_in_logs(search)
    match decision:
        case Decision.LOST:
            return f" How many records it held is not known: {lacking}"
        case Decision.UNKNOWN:
            return f" {lacking[0].upper()}{lacking[1:]}"
    return ""


def _by_logs(
    transaction: Transaction, answer: Described, pending: HeldTransactions, search: LogSearch | None
) -> TransactionVerdict | None:
    """Decide by the control records of exactly its producer and epoch; None if the logs show none."""
    shown = [
        at
        for at in (() if search is None else search.transactions)
        if (at.producer_id, at.epoch) == (transaction.producer_id, transaction.epoch)
    ]
    ends = {at.committed for at in shown} - {None}
    if not ends:
        return None
    newest = max(shown, key=lambda at: at.last_timestamp_ms)
    if pending.written_before(newest.last_timestamp_ms):
        return TransactionVerdict(Decision.UNKNOWN, written_since(newest.last_timestamp_ms))
    if len(ends) > 1:
        return TransactionVerdict(
            Decision.UNKNOWN,
            f"The logs have several transactions of producer {transaction.producer_id} with epoch "
            f"{transaction.epoch}, of which some "
            "are committed and others aborted: which one the checkpoint holds is not known. Start from a newer "
            "checkpoint, which does not hold it.",
        )
    partitions = _partitions(shown)
    unended = [at for at in shown if at.committed is None]
    if unended and ends == {True}:
        return TransactionVerdict(
            Decision.UNKNOWN, _open_in_log(answer, unended[0].topic_partition, unended[0].start_offset), partitions
        )
    message = records_told(partitions, whole=search is not None and not search.unread)
    if ends == {False}:
        return TransactionVerdict(Decision.LOST, f"It was aborted, as the log says, {ABORTED} {message}", partitions)
    alarm = FALSE_ALARM.format(epoch=answer.epoch)
    return TransactionVerdict(Decision.SETTLED, f"It is committed, as the log says. {message}{alarm}", partitions)


def _partitions(shown: Collection[LoggedTransaction]) -> tuple[OpenPartition, ...]:
    return tuple(
        OpenPartition(topic=at.topic, partition=at.partition, start_offset=at.start_offset, records=at.records)
        for at in sorted(shown, key=lambda at: (at.topic, at.partition, at.start_offset))
    )


def _open_in_log(answer: Described, partition: object, offset: int) -> str:
    return (
        f"Its coordinator says that it is over ({answer.state}), but the log of {partition} has it open from offset "
        f"{offset:,}: read_committed readers do not get its records there. Look again; where it stays so, start from a "
        "newer checkpoint, which does not hold it."
    )


def _by_coordinator(transaction: Transaction, answer: Answer, pending: HeldTransactions) -> Decided:
    if answer is Missing.DENIED:
        return Decision.DENIED, _denied(transaction.transactional_id)
    if not isinstance(answer, Described):
        return Decision.UNKNOWN, MISSING[answer]
    if transaction.producer_id is None or transaction.epoch is None:
        return _named_only(answer)
    return _described(transaction, transaction.epoch, answer, pending)


def _described(transaction: Transaction, epoch: int, answer: Described, pending: HeldTransactions) -> Decided:
    if answer.producer_id != transaction.producer_id or answer.epoch < epoch:
        return Decision.FOREIGN, (
            f"The id belongs to producer {answer.producer_id} with epoch {answer.epoch} now, the checkpoint holds "
            f"producer {transaction.producer_id} with epoch {epoch}: it was made anew, or the checkpoint's sink writes "
            "to another cluster."
        )
    later = answer.epoch - epoch
    # The end of a transaction may raise the epoch by one; a transaction that began after the checkpoint is another one.
    same = later <= 1 and not pending.written_before(answer.start_ms)
    match answer.state:
        case TransactionState.ONGOING if later == 0 and pending.written_before(answer.start_ms):
            return Decision.UNKNOWN, begun_since(answer)
        case TransactionState.ONGOING if later == 0:
            return _open(transaction)
        case TransactionState.ONGOING if transaction.strategy is NamingStrategy.POOLING:
            return Decision.UNKNOWN, IN_USE_AGAIN.format(now=answer.epoch, then=epoch)
        case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT if later <= 1:
            return Decision.WAIT, f"The broker is ending it ({answer.state}). Look again."
        case TransactionState.PREPARE_EPOCH_FENCE:
            return Decision.WAIT, "The broker is ending it because another producer took its id. Look again."
        case TransactionState.COMPLETE_COMMIT if same:
            return Decision.SETTLED, f"It is committed.{FALSE_ALARM.format(epoch=answer.epoch) if later else ''}"
        case TransactionState.COMPLETE_ABORT if same:
            return Decision.LOST, f"It was aborted, by its time-out or by somebody, {ABORTED}"
    return Decision.UNKNOWN, (
        f"The id has gone on: it is {answer.state} with epoch {answer.epoch}, the checkpoint holds epoch {epoch}. "
        "The coordinator does not keep how that one ended; the control records in the topic's log tell."
    )


def _open(transaction: Transaction) -> Decided:
    if transaction.state in ("failed", "committed"):
        return Decision.UNEXPLAINED, (
            f"The checkpoint has it as {transaction.state}, so that no restore commits it, and the broker has it open. "
            "A person has to say whether it is committed or aborted."
        )
    return Decision.COMMIT, "The checkpoint holds it, and the broker has it open with the same producer and epoch."


def _named_only(answer: Described) -> Decided:
    if answer.state == TransactionState.ONGOING:
        return Decision.UNEXPLAINED, (
            "The writer's state names it without a producer and an epoch, and the broker has it open: nothing shows "
            "that it is the same transaction. A person has to say whether it is committed or aborted."
        )
    if answer.state in FINISHING:
        return Decision.WAIT, f"The broker is ending it ({answer.state}). Look again."
    return Decision.NOTHING, "The writer's state names it, and nothing of it is open."


def _denied(transactional_id: str) -> str:
    name = parse(transactional_id)
    of = repr(transactional_id if name is None else f"{name.prefix}-")
    return (
        f"The user may not describe it: grant DESCRIBE on TransactionalId {of}, prefixed. That the list of "
        "transactions is empty does not mean that there are none."
    )
