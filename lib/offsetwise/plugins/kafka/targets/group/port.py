from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import GroupOffset, GroupState, TopicPartition

Reply = Mapping[TopicPartition, str] | ApplyError | StalePlanError
"""A broker's reply to one group's commit: the reason for every refused partition; or why nothing was committed, such as
a connection to another cluster; or `LostReplyError`: it was sent, and no reply came."""


class GroupPort(Protocol):
    """What the writer needs of a cluster. Every call names the reviewed cluster's id."""

    def read(self, groups: Sequence[str], *, cluster_id: str | None) -> Mapping[str, GroupState]:
        """Return the current state of groups, including all their commits.

        Raises:
            ClusterError: The cluster did not answer.
            StalePlanError: It is another cluster.
        """

    def commit(
        self, requested: Mapping[str, tuple[GroupOffset, ...]], *, cluster_id: str | None
    ) -> Mapping[str, Reply]:
        """Commit offsets, one request per group, all concurrently; return each group's reply.

        Raises:
            ClusterError: Nothing was sent, for no group.
            StalePlanError: It is another cluster.
        """

    def remove(self, group: str, *, cluster_id: str | None) -> str | None:
        """Delete a group with all its commits; return the reason if that is refused.

        Raises:
            ClusterError: Nothing was sent.
            StalePlanError: It is another cluster.
            LostReplyError: It was sent, and no reply came.
        """
