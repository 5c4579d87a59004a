"""Check that a transaction has ended as planned: by its coordinator, and by the logs of its partitions.

The coordinator alone is not enough. An abort with version 5 of EndTxn succeeds for a transaction that is already
committed, and the coordinator then reports it as aborted, although its records stay visible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from offsetwise.model import PlannedTransaction, Settlement, Turnout
from offsetwise.position import TopicPartition
from offsetwise.transactions.observed import FINISHING, Answer, Described, Missing, TransactionState

_OVER: Final = {
    Settlement.COMMIT: TransactionState.COMPLETE_COMMIT,
    Settlement.ABORT: TransactionState.COMPLETE_ABORT,
}


@dataclass(frozen=True, slots=True)
class TransactionPlace:
    partition: TopicPartition
    producer_id: int
    start_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTransaction:
    last_stable_offset: int | None
    """Where read_committed readers stop; None if the leader did not answer."""
    held_open: bool | None = None
    """Whether the leader has exactly this transaction open; None if it did not answer."""
    visible: bool | None = None
    """Whether a read_committed reader gets its first record; None if that is unknown."""
    records: int | None = None
    """How many records it holds, if they were counted within the limit."""
    problem: str = ""
    """Why it is unknown, as a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    cluster_id: str | None
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """By transactional id."""
    logs: Mapping[TransactionPlace, ShownTransaction] = field(default_factory=dict)


def places_of(planned: PlannedTransaction) -> tuple[TransactionPlace, ...]:
    """Return where a transaction has written; elsewhere its end cannot be seen in a log."""
    return tuple(
        TransactionPlace(at.topic_partition, planned.producer_id, at.start_offset)
        for at in planned.partitions
        if at.start_offset is not None
    )


def is_open(planned: PlannedTransaction, answer: Answer | None) -> bool:
    """Return whether exactly this transaction is open: only then a request to end it is sent."""
    return (
        isinstance(answer, Described)
        and answer.state == TransactionState.ONGOING
        and (answer.producer_id, answer.epoch) == (planned.producer_id, planned.epoch)
    )


def is_over(planned: PlannedTransaction, answer: Answer | None) -> bool:
    """Return whether the coordinator reports it as ended as planned. Its end may raise the epoch by one."""
    its = _its(planned, answer)
    return its is not None and its.state == _OVER[planned.decision]


def is_ending(planned: PlannedTransaction, answer: Answer | None) -> bool:
    its = _its(planned, answer)
    return its is not None and its.state in FINISHING


def judge(
    planned: PlannedTransaction, answer: Answer | None, logs: Mapping[TransactionPlace, ShownTransaction]
) -> tuple[Turnout, str]:
    """Compare a transaction that was ended with its coordinator and its logs.

    Args:
        planned: The planned end.
        answer: The coordinator's current answer; None for a hanging one.
        logs: The logs from each start offset on.

    Returns:
        The result, by the logs unless the coordinator contradicts them; and a sentence.
    """
    name, done = planned.name, "committed" if planned.decision is Settlement.COMMIT else "aborted"
    if is_open(planned, answer):
        return Turnout.DIFFERENT, f"{name}: expected it to be {done}, found it open."
    other = _OVER[Settlement.ABORT if planned.decision is Settlement.COMMIT else Settlement.COMMIT]
    its = _its(planned, answer)
    if its is not None and its.state == other:
        return Turnout.DIFFERENT, f"{name}: expected it to be {done}, found {its.state}."
    unresolved: list[str] = []
    for position in places_of(planned):
        turnout, message = _shown(planned, position, logs.get(position))
        if turnout is Turnout.DIFFERENT:
            return turnout, f"{name}: FAILED: {message}"
        if turnout is Turnout.UNKNOWN:
            unresolved.append(message)
    if is_ending(planned, answer):
        unresolved.append("the broker is still ending it")
    if answer in (Missing.DENIED, Missing.UNAVAILABLE):
        unresolved.append(f"its coordinator did not tell ({answer})")
    if not places_of(planned) and not is_over(planned, answer):
        unresolved.append("it wrote nothing, and its coordinator does not tell any more how it ended")
    if unresolved:
        return Turnout.UNKNOWN, f"{name}: it is not known whether it is {done}: {'; '.join(unresolved)}."
    how = "its records are visible" if planned.decision is Settlement.COMMIT else "its records are not visible"
    return Turnout.CONFIRMED, f"{name}: it is {done}, and {how} to read_committed readers."


def _its(planned: PlannedTransaction, answer: Answer | None) -> Described | None:
    if not isinstance(answer, Described) or answer.producer_id != planned.producer_id:
        return None
    ends = answer.state not in (TransactionState.ONGOING, TransactionState.EMPTY)
    return answer if answer.epoch == planned.epoch or (ends and answer.epoch == planned.epoch + 1) else None


def _shown(
    planned: PlannedTransaction, position: TransactionPlace, shown: ShownTransaction | None
) -> tuple[Turnout, str]:
    at = f"{position.partition} from offset {position.start_offset:,}"
    if shown is None or shown.last_stable_offset is None:
        why = "it was not read" if shown is None else shown.problem
        return Turnout.UNKNOWN, f"{at}: {why}"
    if shown.last_stable_offset <= position.start_offset and shown.held_open is False:
        return Turnout.UNKNOWN, f"{at}: another transaction, which began before, still holds readers up"
    if shown.last_stable_offset <= position.start_offset:
        message = f"{at}: read_committed readers still stop there, at {shown.last_stable_offset:,}."
        return Turnout.DIFFERENT, message
    if shown.visible is None:
        return Turnout.UNKNOWN, f"{at}: {shown.problem}"
    if shown.visible != (planned.decision is Settlement.COMMIT):
        visibility = "are visible" if shown.visible else "are not visible"
        return (
            Turnout.DIFFERENT,
            f"{at}: its records {visibility} to read_committed readers, whatever its coordinator says.",
        )
    return Turnout.CONFIRMED, ""
