"""The partitions of one cluster, indexed by topic: a job may have a million positions in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from offsetwise.model import LogRange, PartitionState, TopicPartition, TopicState

_UNREAD: Final = LogRange(log_start=None, lso=None, hw=None)


class PartitionIndex:
    """The partitions of one cluster. A topic is indexed at its first use; each log range is built once."""

    __slots__ = ("_logs", "_states", "_topics")

    def __init__(self, topics: Iterable[TopicState]) -> None:
        self._topics: Final = {topic.name: topic for topic in topics}
        self._states: Final[dict[str, Mapping[int, PartitionState]]] = {}
        self._logs: Final[dict[str, Mapping[int, LogRange]]] = {}

    def get(self, at: TopicPartition) -> PartitionState | None:
        """Return the state of a partition; None if the cluster has no such one."""
        states = self._states.get(at.topic)
        if states is None:
            states = {state.partition: state for state in self._partitions(at.topic)}
            self._states[at.topic] = states
        return states.get(at.partition)

    def logs(self, topic: str) -> Mapping[int, LogRange]:
        logs = self._logs.get(topic)
        if logs is None:
            logs = self._logs[topic] = {state.partition: state.log for state in self._partitions(topic)}
        return logs

    def unlisted(self, topic: str) -> LogRange | None:
        """Return the range of an unlisted partition: unknown if its topic cannot be read, else None."""
        unread = self._topics.get(topic)
        return _UNREAD if unread is not None and unread.error else None

    def log(self, topic: str, partition: int) -> LogRange | None:
        """Return the range of a log; None if the cluster has no such partition."""
        log = self.logs(topic).get(partition)
        return self.unlisted(topic) if log is None else log

    def _partitions(self, topic: str) -> Iterable[PartitionState]:
        state = self._topics.get(topic)
        return () if state is None else state.partitions


class Twins:
    """One topic of the old cluster and its copy on the new one, with the logs of both."""

    __slots__ = ("_new", "_old", "_unlisted_new", "_unlisted_old", "new_topic")

    def __init__(self, topic: str, new_topic: str, old: PartitionIndex, new: PartitionIndex) -> None:
        self.new_topic: Final = new_topic
        self._old: Final = old.logs(topic)
        self._new: Final = new.logs(new_topic)
        self._unlisted_old: Final = old.unlisted(topic)
        self._unlisted_new: Final = new.unlisted(new_topic)

    @property
    def partitions(self) -> set[int]:
        return {*self._old, *self._new}

    def logs(self, partition: int) -> tuple[LogRange | None, LogRange | None]:
        """Return the ranges of the old and the new log; None if the cluster has no such partition."""
        return self._old.get(partition, self._unlisted_old), self._new.get(partition, self._unlisted_new)
