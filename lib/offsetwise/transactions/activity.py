"""Decide whether the job of a sink's transactions still runs, from two observations of the cluster."""

from __future__ import annotations

from typing import Final

from offsetwise.transactions.observed import Answer, Described, HeldTransactions, TransactionLook, TransactionState

_BY_THE_BROKER: Final = {
    (TransactionState.ONGOING, TransactionState.PREPARE_ABORT),
    (TransactionState.ONGOING, TransactionState.COMPLETE_ABORT),
    (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
    (TransactionState.PREPARE_EPOCH_FENCE, TransactionState.PREPARE_ABORT),
    (TransactionState.PREPARE_EPOCH_FENCE, TransactionState.COMPLETE_ABORT),
    (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
}
"""Transitions that a coordinator makes itself: it aborts what timed out, and completes what it has begun to end. An id
that expires is then dead."""


def movement(pending: HeldTransactions, first: TransactionLook, second: TransactionLook) -> str | None:
    """Return a clause with the evidence that the job still runs.

    Args:
        pending: The transactions of its checkpoint.
        first: The earlier observation.
        second: The later observation.

    Returns:
        None if nothing moved between the observations. A job that reads nothing between two checkpoints does not move.
    """
    own = pending.own(second.listed)
    sentences = [why for name in own if (why := _moved(name, first, second)) is not None]
    if sentences:
        return min(sentences)
    if not second.writes:
        return None
    producers = {second.listed[name].producer_id: name for name in own}
    before = {(write.partition, write.producer_id): write for write in first.writes}
    for open_write in second.writes:
        if open_write.producer_id not in producers:
            continue
        earlier = before.get((open_write.partition, open_write.producer_id))
        unseen = earlier is None and open_write.partition not in first.silent
        wrote = unseen or (earlier is not None and earlier.last_sequence != open_write.last_sequence)
        # A time after both observations proves nothing: producers may set any time.
        if wrote or first.taken_ms < open_write.last_timestamp_ms <= second.taken_ms:
            return f"{producers[open_write.producer_id]} wrote to {open_write.partition} between two looks"
    return None


def _moved(name: str, first: TransactionLook, second: TransactionLook) -> str | None:
    """Return a clause about the change of a transactional id between two observations; None if there is none."""
    before, now = first.listed.get(name), second.listed[name]
    if before is None:
        # A broker that did not answer the first time may have had it then.
        return None if first.unlisted else f"{name} appeared between two looks"
    by_the_broker = (before.state, now.state) in _BY_THE_BROKER or now.state == TransactionState.DEAD
    if before.state != now.state and not by_the_broker:
        return f"{name} went from {before.state} to {now.state} between two looks"
    answer = second.answers.get(name)
    if answer is not None and _another(first.answers.get(name), answer):
        return f"{name} was begun again between two looks"
    return None


def _another(first: Answer | None, second: Answer) -> bool:
    if not isinstance(first, Described) or not isinstance(second, Described):
        return False
    if second.state != TransactionState.ONGOING:
        return False
    same = (first.producer_id, first.epoch, first.start_ms) == (second.producer_id, second.epoch, second.start_ms)
    return not same or set(first.partitions) != set(second.partitions)
