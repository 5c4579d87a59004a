"""Groups of a real cluster, in a separate process: some answers end the process that librdkafka is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from offsetwise.config import ClusterConfig
from offsetwise.errors import LostReplyError
from offsetwise.model import GroupOffset, GroupState
from offsetwise.plugins.kafka.targets.group import brokers
from offsetwise.plugins.kafka.targets.group.port import Reply
from offsetwise.streams.client_process import in_a_process

TIMEOUT_S: Final = 20.0

_read = in_a_process(brokers.read)
_commit = in_a_process(brokers.commit, changes=True)
_remove = in_a_process(brokers.remove, changes=True)


class KafkaGroups:
    """The groups of one cluster.

    They are changed over connections to the reviewed cluster, with kafka-python; see `GroupRequests`. If kafka-python
    cannot authenticate with the properties, librdkafka sends the change, and the cluster's id is read before and after.
    """

    def __init__(self, config: ClusterConfig, *, timeout_s: float = TIMEOUT_S) -> None:
        self._config = config
        self._timeout_s = timeout_s

    def read(self, groups: Sequence[str], *, cluster_id: str | None) -> Mapping[str, GroupState]:
        return _read(self._config, tuple(groups), cluster_id, self._timeout_s)

    def commit(
        self, requested: Mapping[str, tuple[GroupOffset, ...]], *, cluster_id: str | None
    ) -> Mapping[str, Reply]:
        """Commit offsets; see `GroupPort`. If the process ends, each group's reply is lost."""
        try:
            return _commit(self._config, requested, cluster_id, self._timeout_s)
        except LostReplyError as error:
            return dict.fromkeys(requested, error)

    def remove(self, group: str, *, cluster_id: str | None) -> str | None:
        return _remove(self._config, group, cluster_id, self._timeout_s)
