"""Verifies a connector's position: by its workers while it is stopped, later by its group on the new cluster."""

from __future__ import annotations

from offsetwise.apply.readers import Readers
from offsetwise.apply.verification.seen import Seen, for_all, seen_offset, topics_of
from offsetwise.model import AnyPosition, Cluster, PartitionState, Plan, ReceiptStep, TopicPartition, Turnout
from offsetwise.plugins.connect.engine.reading import Connector
from offsetwise.plugins.connect.target.spec import connector_of


def verify(plan: Plan, step: ReceiptStep, readers: Readers, checkpoint: str | None) -> list[Seen]:  # noqa: ARG001 - as every target's
    connector = connector_of(readers.migration, step.target)
    now = readers.cluster(Cluster.NEW, topics_of(plan), (connector.group,))
    written_for = plan.requirements.new.cluster_id
    if now.cluster_id != written_for:
        this = now.cluster_id or "unknown"
        sentence = f"Connector {connector.name!r} was written for cluster {written_for}, and this is {this}."
        return for_all(plan, Turnout.UNKNOWN, sentence)
    group = now.group(connector.group)
    if group is None or group.error is not None:
        why = "the cluster did not tell about it" if group is None else group.error
        return for_all(plan, Turnout.UNKNOWN, f"Group {connector.group!r} cannot be read: {why}.")
    commits, logs = group.commits, now.partitions()
    return [
        _observed(connector, at, position.new_offset, commits.get(at), logs.get(at))
        for position in plan.positions
        for at in (position.new_topic_partition,)
    ]


def _observed(
    connector: Connector, at: TopicPartition, planned: AnyPosition, commit: int | None, log: PartitionState | None
) -> Seen:
    if not connector.not_stopped and connector.offsets.get(at) != commit:
        sentence = f"{at}: the workers tell {connector.offsets.get(at)}, and the group on the new cluster has {commit}."
        return Seen(found=commit, turnout=Turnout.DIFFERENT, told=sentence)
    return seen_offset(at, planned, commit, log, who="the connector")
