"""Where the logs of each cluster began at the first and the last reading of this process: two points of a rate."""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import Final

from offsetwise.console.clusters.questions import ClusterOf
from offsetwise.console.clusters.view import HeldCluster
from offsetwise.lag.moments import Moment
from offsetwise.model import TopicPartition

Starts = dict[TopicPartition, Moment]

_CLUSTERS: Final = 16
_lock: Final = threading.Lock()
_seen: Final[OrderedDict[ClusterOf, list[tuple[int, Starts]]]] = OrderedDict()


def remember(question: ClusterOf, held: HeldCluster) -> None:
    """Keep the log starts of a reading; of each cluster only those of the first and the newest one."""
    with _lock:
        readings = _seen.setdefault(question, [])
        if not any(held.id == id_ for id_, _ in readings):
            readings.append((held.id, _starts(held)))
            del readings[1:-1]
        _seen.move_to_end(question)
        while len(_seen) > _CLUSTERS:
            _seen.popitem(last=False)


def starts(question: ClusterOf, partition: TopicPartition) -> tuple[Moment, ...]:
    """Give the log starts read of a partition, ascending in time; only the newest if the log began again."""
    with _lock:
        found = [each[partition] for _, each in _seen.get(question, []) if partition in each]
    return tuple(found[-1:] if len(found) > 1 and found[-1].offset < found[0].offset else found)


def forget() -> None:
    """Forget every reading."""
    with _lock:
        _seen.clear()


def _starts(held: HeldCluster) -> Starts:
    snapshot = held.value.snapshot
    at_ms = int(datetime.fromisoformat(snapshot.taken_at).timestamp() * 1000)
    return {
        TopicPartition(topic=topic.name, partition=each.partition): Moment(at_ms=at_ms, offset=each.log_start)
        for topic in snapshot.topics
        for each in topic.partitions
        if each.log_start is not None
    }
