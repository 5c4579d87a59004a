"""Hanging transactions: they block readers of a partition while no coordinator knows them (KIP-664)."""

from __future__ import annotations

from offsetwise.transactions.observed import OPEN, Described, OpenWrite, TransactionLook


def hanging(first: TransactionLook, second: TransactionLook) -> tuple[OpenWrite, ...]:
    """Return the open transactions of partitions that no coordinator will end.

    They must be on the partition before and after the second list of transactions was read, so that one that began or
    ended meanwhile does not count. A coordinator that has the producer open without this partition does not end it
    there.
    """
    before = {(write.partition, write.producer_id, write.epoch, write.start_offset) for write in first.writes}
    return tuple(
        write
        for write in uncoordinated(second)
        if (write.partition, write.producer_id, write.epoch, write.start_offset) in before
    )


def uncoordinated(observation: TransactionLook) -> tuple[OpenWrite, ...]:
    """Return the open transactions of partitions that no visible coordinator has open there."""
    ids = {listed.producer_id: name for name, listed in observation.listed.items()}
    writes = []
    for write in observation.writes:
        name = ids.get(write.producer_id)
        known = name is not None and observation.listed[name].state in OPEN
        answer = observation.answers.get(name) if name is not None else None
        if known and isinstance(answer, Described) and answer.partitions and answer.producer_id == write.producer_id:
            # None of them is visible without READ on their topics.
            known = write.partition in answer.partitions
        if not known:
            writes.append(write)
    return tuple(writes)
