"""When retention may delete the next record to read. Nothing is declared here."""

from __future__ import annotations

from typing import NamedTuple

from offsetwise.digits import whole_number
from offsetwise.model import PartitionComparison, Side, TopicState


class Expiry(NamedTuple):
    """When retention may delete a record of the new cluster."""

    offset: int
    at_ms: int
    """The earliest time, epoch ms."""
    retention_ms: int


def expiry_of(row: PartitionComparison, topic: TopicState) -> Expiry | None:
    """Return when retention may delete the next record to read.

    Kafka deletes a closed segment once its largest timestamp is older than `retention.ms`. A record's own timestamp is
    therefore the least that can be said of it. That of a record behind it says nothing: it may be in another segment.

    Args:
        row: The partition, with the records around its position.
        topic: Its topic on the new cluster.

    Returns:
        None where age deletes nothing, where it is not known when, and where the next record or its timestamp on the
        new cluster is not known.
    """
    config = dict(topic.config)
    retention_ms = whole_number(config.get("retention.ms", ""))
    following = next((n for n in row.evidence.neighbours if n.side is Side.UNREAD and n.new_offset is not None), None)
    if "delete" not in topic.cleanup or retention_ms is None or following is None:
        return None
    if following.new_offset is None or following.timestamp_ms is None:
        return None
    if config.get("message.timestamp.type") == "LogAppendTime":
        return None
    return Expiry(following.new_offset, following.timestamp_ms + retention_ms, retention_ms)
