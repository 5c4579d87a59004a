"""Verifies the committed offsets of a consumer group. Who committed them is not known: a group does not record it."""

from __future__ import annotations

from collections.abc import Iterator

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen, for_all, seen_offset, topics_of
from offsetwise.model import Cluster, Plan, ReceiptStep, Turnout


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:  # noqa: ARG001
    return [*_verified(plan, step, readers)]


def _verified(plan: Plan, step: ReceiptStep, readers: Readers) -> Iterator[Seen]:
    now, cluster_id = readers.cluster(Cluster.NEW, topics_of(plan), (step.place,)), plan.requirements.new.cluster_id
    if now.cluster_id != cluster_id:
        message = (
            f"Group {step.place!r} was written on the cluster {cluster_id}, and this is {now.cluster_id or 'unknown'}."
        )
        yield from for_all(plan, Turnout.UNKNOWN, message)
        return
    state = next((group for group in now.groups if group.name == step.place), None)
    logs = now.partitions()
    if state is None or state.error is not None:
        why = "the cluster did not tell about it" if state is None else state.error
        yield from for_all(plan, Turnout.UNKNOWN, f"Group {step.place!r} cannot be read: {why}.")
        return
    commits = state.commits
    for position in plan.positions:
        key = position.new_topic_partition
        yield seen_offset(key, position.new_offset, commits.get(key), logs.get(key), who="the group")
