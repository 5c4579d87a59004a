"""Decide about each transaction of a job's sinks, by transactional id, producer id and epoch, never by name alone.

Two rules of Kafka are enough. Producer id and epoch are compared and set: a commit with another epoch or producer
changes nothing. And an id has one transaction at a time, so that a later epoch of the same producer means that the
earlier transaction is over; since transaction.version 2 its own end already raises the epoch by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from offsetwise.model import NamingStrategy, OpenPartition, Transaction
from offsetwise.transactions.activity import movement
from offsetwise.transactions.decisions import Decided, Decision, SinkTransaction
from offsetwise.transactions.hanging import hanging
from offsetwise.transactions.names import parse
from offsetwise.transactions.observed import (
    FINISHING,
    OPEN,
    Answer,
    Described,
    HeldTransactions,
    ListedTransaction,
    LogSearch,
    Missing,
    OpenWrite,
    TransactionLook,
    TransactionState,
)
from offsetwise.transactions.pending import decide_pending
from offsetwise.transactions.reasons import MISSING, UNSEARCHED
from offsetwise.transactions.timing import deadline, left_ms

_OFFERED: Final = (Decision.COMMIT, Decision.ABORT, Decision.WAIT, Decision.UNEXPLAINED, Decision.NOT_NEWEST)
"""Decisions that a running job overrides with LIVE, because it decides itself."""
_STATES: Final = frozenset(TransactionState)


def decide(
    pending: HeldTransactions,
    first: TransactionLook,
    second: TransactionLook,
    *,
    search: LogSearch | None = None,
    elsewhere: str | None = None,
) -> tuple[SinkTransaction, ...]:
    """Decide about every transaction that a checkpoint holds, or that a sink of its job has on the cluster.

    Args:
        pending: The transactions of the checkpoint.
        first: The earlier observation of the cluster, which only shows what moved.
        second: The later one, which decides.
        search: The logs of transactions that coordinators no longer describe; None if they were not searched.
        elsewhere: A sentence why the sink writes to another cluster than this one; None if nothing shows that.

    Returns:
        One for each id, producer id and epoch, sorted by id; then those that only partitions know.
    """
    rows = [*_all_held(pending, second, search), *_all_others(pending, second)]
    rows.sort(key=_order)
    producers = {(transaction.producer_id, transaction.epoch) for transaction in pending.transactions}
    rows += [
        _hanging(write, sees_all=second.sees_all, is_pending=(write.producer_id, write.epoch) in producers)
        for write in hanging(first, second)
    ]
    moved = movement(pending, first, second)
    if moved is not None:
        message = f"The job still runs: {moved}. It decides about its transactions itself; stop it and look again."
        live = partial(replace, decision=Decision.LIVE, reason=message)
        rows = [live(row) if row.decision in _OFFERED else row for row in rows]
    if elsewhere is not None:
        rows = [
            row
            if row.decision is Decision.OTHER_JOB
            else replace(row, decision=Decision.WRONG_CLUSTER, reason=elsewhere)
            for row in rows
        ]
    return tuple(rows)


def _order(row: SinkTransaction) -> tuple[str, int]:
    return str(row.transactional_id), row.epoch or 0


def _all_held(
    pending: HeldTransactions, observation: TransactionLook, search: LogSearch | None
) -> Iterator[SinkTransaction]:
    visited = set()
    for transaction in pending.transactions:
        key = transaction.transactional_id, transaction.producer_id, transaction.epoch
        if key not in visited:
            visited.add(key)
            answer = observation.answers.get(transaction.transactional_id, Missing.UNAVAILABLE)
            verdict = decide_pending(transaction, answer, pending, observation, search)
            yield SinkTransaction(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                epoch=transaction.epoch,
                held=True,
                held_state=transaction.state,
                broker_state=answer.state if isinstance(answer, Described) else None,
                left_ms=left_ms(answer, observation.taken_ms) if _is_now(transaction, answer) else None,
                decision=verdict.decision,
                reason=verdict.reason + (_when(answer, observation) if verdict.decision is Decision.COMMIT else ""),
                partitions=verdict.partitions,
            )


def _all_others(pending: HeldTransactions, observation: TransactionLook) -> Iterator[SinkTransaction]:
    of_id: dict[str, list[Transaction]] = {}
    for pending_transaction in pending.transactions:
        of_id.setdefault(pending_transaction.transactional_id, []).append(pending_transaction)
    strategies = pending.strategies()
    superseded = _superseded(pending, observation)
    for transactional_id in {*observation.listed, *of_id}:
        listed, answer = observation.listed.get(transactional_id), observation.answers.get(transactional_id)
        name, holding = parse(transactional_id), of_id.get(transactional_id, [])
        own = name is not None and name.prefix in strategies
        if isinstance(answer, Described):
            if any(transaction.producer_id is None or _is_of(transaction, answer, pending) for transaction in holding):
                continue
        elif holding or listed is None:
            continue  # the row of the held one has the reason
        if not own and not holding:
            if transactional_id.startswith(pending.prefixes) and listed is not None:
                yield _row(
                    transactional_id,
                    listed,
                    None,
                    observation,
                    _other_job(transactional_id, pending.prefixes, strategies),
                )
            continue
        if holding and isinstance(answer, Described) and _is_foreign(holding, answer):
            message = "The checkpoint holds this id with another producer: see there."
            yield _row(transactional_id, listed, answer, observation, (Decision.FOREIGN, message))
            continue
        number = None if name is None or strategies.get(name.prefix) is NamingStrategy.POOLING else name.number
        decided = _other(listed, answer, number, pending)
        if decided is not None:
            row = _row(transactional_id, listed, answer, observation, decided)
            unsure = decided[0] is Decision.ABORT and transactional_id in superseded
            yield replace(row, reason=row.reason + UNSEARCHED, newer_may_hold=True) if unsure else row


def _superseded(pending: HeldTransactions, observation: TransactionLook) -> frozenset[str]:
    """Return the ids, open and not held, that a newer checkpoint may hold which could not be searched for.

    A sink's subtask begins its next transaction when a checkpoint passes it: with a higher number, or if names are
    pooled under another name, which stays empty or open until the next checkpoint is complete. So an id without a later
    one of its subtask is held by no checkpoint that was completed since.
    """
    if pending.searched or pending.newer is not None:
        return frozenset()
    strategies = pending.strategies()
    now = {transaction.transactional_id: transaction for transaction in pending.transactions}
    of: dict[tuple[str, int], list[tuple[int, str]]] = {}
    for name, listed in observation.listed.items():
        parts, answer = parse(name), observation.answers.get(name)
        if parts is None or parts.prefix not in strategies:
            continue
        pooled = strategies[parts.prefix] is NamingStrategy.POOLING
        if pooled and listed.state not in (TransactionState.EMPTY, *OPEN):
            continue
        if pooled and name in now and answer is not None and _is_now(now[name], answer):
            continue
        of.setdefault((parts.prefix, parts.subtask), []).append((0 if pooled else parts.number, name))
    results: set[str] = set()
    for (prefix, _), names in of.items():
        last = max(names)[0]
        pooled = strategies[prefix] is NamingStrategy.POOLING
        results |= {name for number, name in names if (len(names) > 1 if pooled else number < last)}
    return frozenset(results)


def _other(
    listed: ListedTransaction | None, answer: Answer | None, number: int | None, pending: HeldTransactions
) -> Decided | None:
    """Decide about a transaction of this job that is not held; `number` is None if names are pooled.

    Returns:
        None for one that has disappeared meanwhile.
    """
    match answer:
        case None if listed is not None:  # most of them: they are over, and were not described
            state = listed.state
        case Described():
            state = answer.state
        case Missing.UNAVAILABLE if listed is not None:
            return Decision.UNKNOWN, MISSING[Missing.UNAVAILABLE]
        case Missing.DENIED if listed is not None:
            return Decision.DENIED, "The user may list it and not describe it."
        case Missing.NOT_ASKED | Missing.UNSUPPORTED if listed is not None:
            state = listed.state
        case _:
            return None
    if state in FINISHING:
        return Decision.WAIT, f"The broker is ending it ({state}). Look again."
    after = number is not None and number > pending.checkpoint_id
    if state == TransactionState.COMPLETE_COMMIT and (
        after or (number is None and isinstance(answer, Described) and pending.written_before(answer.start_ms))
    ):
        instead = "" if pending.newer is None else f" The newest retained checkpoint is {pending.newer}."
        return Decision.SINK_WENT_ON, (
            f"It was committed after checkpoint {pending.checkpoint_id}: the job went on, and a start from this "
            f"checkpoint writes its records again.{instead}"
        )
    if state not in _STATES:
        return Decision.UNKNOWN, f"The broker calls its state {state!r}, which this release does not know."
    if state != TransactionState.ONGOING:
        return Decision.NOTHING, f"The checkpoint does not hold it, and nothing of it is open ({state})."
    if number is not None and not after:
        return Decision.UNEXPLAINED, (
            f"It is open and ends with checkpoint {number}, at or before checkpoint {pending.checkpoint_id}, which "
            "does not hold it: no checkpoint explains it. A person has to say whether it is committed or aborted."
        )
    if pending.newer is not None:
        return Decision.NOT_NEWEST, (
            f"Checkpoint {pending.checkpoint_id} does not hold it, but checkpoint {pending.newer}, which is newer, "
            "may: what "
            "that one holds would be lost by an abort. Start from the newest one, or state that the job is taken back."
        )
    return Decision.ABORT, (
        "The checkpoint does not hold it: its records come after the checkpoint, and the job writes them again."
    )


def _other_job(
    transactional_id: str, prefixes: tuple[str, ...], strategies: Mapping[str, NamingStrategy | None]
) -> Decided:
    prefix = max((candidate for candidate in prefixes if transactional_id.startswith(candidate)), key=len)
    message = f"It is another job's, whose prefix begins with this job's prefix {prefix!r}. It is never touched."
    if strategies[prefix] is NamingStrategy.POOLING:
        message += (
            " But this job, which pools its names, aborts it when it starts: give the jobs prefixes of their own."
        )
    return Decision.OTHER_JOB, message


def _row(
    transactional_id: str,
    listed: ListedTransaction | None,
    answer: Answer | None,
    observation: TransactionLook,
    decided: Decided,
) -> SinkTransaction:
    decision, reason = decided
    described = answer if isinstance(answer, Described) else None
    state = described.state if described is not None else None if listed is None else listed.state
    producer = described.producer_id if described is not None else None if listed is None else listed.producer_id
    return SinkTransaction(
        transactional_id=transactional_id,
        producer_id=producer,
        epoch=None if described is None else described.epoch,
        held=False,
        held_state=None,
        broker_state=state,
        left_ms=None if described is None else left_ms(described, observation.taken_ms),
        decision=decision,
        reason=reason + (_when(answer, observation) if decision in (Decision.ABORT, Decision.UNEXPLAINED) else ""),
    )


def _hanging(write: OpenWrite, *, sees_all: bool | None, is_pending: bool) -> SinkTransaction:
    message = f"The leader of {write.partition} has it open from offset {write.start_offset:,}, and "
    match sees_all:
        case True if is_pending:
            decision = Decision.UNKNOWN
            message += (
                "no coordinator knows it, but the checkpoint holds its producer and epoch: an abort would lose records "
                "that the checkpoint counts as written. Start from a checkpoint that does not hold it, to abort it."
            )
        case True:
            decision = Decision.HANGING
            message += "no coordinator knows it: nothing ends it, and read_committed readers stop there."
        case False:
            decision = Decision.DENIED
            message += (
                "no coordinator that this user may see knows it. It may be another job's, whose transactional ids the "
                "user may not describe: grant DESCRIBE on TransactionalId '*' to know whether it hangs."
            )
        case None:
            decision = Decision.UNKNOWN
            message += (
                "no coordinator that this user may see knows it. Whether the user sees all of them, no coordinator "
                "said. Ask again."
            )
    return SinkTransaction(
        transactional_id=None,
        producer_id=write.producer_id,
        epoch=write.epoch,
        held=False,
        held_state=None,
        broker_state=None,
        left_ms=None,
        partitions=(OpenPartition(**write.partition._asdict(), start_offset=write.start_offset),),
        coordinator_epoch=write.coordinator_epoch,
        decision=decision,
        reason=message,
    )


def _is_now(transaction: Transaction, answer: Answer) -> bool:
    return isinstance(answer, Described) and (answer.producer_id, answer.epoch) == (
        transaction.producer_id,
        transaction.epoch,
    )


def _is_of(transaction: Transaction, answer: Described, pending: HeldTransactions) -> bool:
    if _is_now(transaction, answer):
        return True
    if (
        answer.producer_id != transaction.producer_id
        or transaction.epoch is None
        or answer.epoch != transaction.epoch + 1
    ):
        return False
    over = answer.state not in (TransactionState.ONGOING, TransactionState.EMPTY)
    return over and not pending.written_before(answer.start_ms)


def _is_foreign(holding: list[Transaction], answer: Described) -> bool:
    return any(
        transaction.producer_id != answer.producer_id
        or (transaction.epoch is not None and transaction.epoch > answer.epoch)
        for transaction in holding
    )


def _when(answer: Answer | None, observation: TransactionLook) -> str:
    open_ = isinstance(answer, Described) and answer.state == TransactionState.ONGOING
    return deadline(answer, observation.taken_ms) if open_ and isinstance(answer, Described) else ""
