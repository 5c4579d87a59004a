"""Where a consumer group stands. It tells that alone: how it came there, a group does not keep."""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen, for_all, topics_of
from offsetwise.model import AnyPosition, Cluster, PartitionState, Plan, ReceiptStep, TopicPartition, Turnout


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:  # noqa: ARG001
    """Hold the commits of a group against the plan."""
    return [*_verified(plan, step, readers)]


def _verified(plan: Plan, step: ReceiptStep, readers: Readers) -> Iterator[Seen]:
    now, wanted = readers.cluster(Cluster.NEW, topics_of(plan), (step.place,)), plan.requirements.new.cluster_id
    if now.cluster_id != wanted:
        message = (
            f"Group {step.place!r} was written on the cluster {wanted}, and this is {now.cluster_id or 'unknown'}."
        )
        yield from for_all(plan, Turnout.UNKNOWN, message)
        return
    state = next((group for group in now.groups if group.name == step.place), None)
    logs = now.partitions()
    if state is None or state.error is not None:
        why = "the cluster did not tell about it" if state is None else state.error
        yield from for_all(plan, Turnout.UNKNOWN, f"Group {step.place!r} cannot be read: {why}.")
        return
    stands = state.commits
    for position in plan.positions:
        key = position.new_topic_partition
        yield _committed(key, position.new_offset, stands.get(key), logs.get(key))


def _committed(key: TopicPartition, planned: AnyPosition, found: int | None, log: PartitionState | None) -> Seen:
    end = None if log is None else log.hw
    if found == planned:
        return Seen(found=found, turnout=Turnout.CONFIRMED, told=f"{key}: committed at {found:,}, as planned.")
    if found is None:
        message = f"{key}: expected the commit {planned:,}, found none: it expired or was deleted."
    elif found < planned:
        message = f"{key}: expected {planned:,} or more, found {found:,} committed: somebody went back."
    elif end is not None and found > end:
        message = f"{key}: {found:,} is committed, past the end of the log {end:,}: nobody can have read up to there."
    elif end is None:
        message = f"{key}: {found:,} is committed, and its log cannot be read to tell whether that can be."
        return Seen(found=found, turnout=Turnout.UNKNOWN, told=message)
    else:
        message = f"{key}: the group has gone on from {planned} to {found}."
        return Seen(found=found, turnout=Turnout.MOVED_ON, told=message, started=True)
    return Seen(found=found, turnout=Turnout.DIFFERENT, told=message)
