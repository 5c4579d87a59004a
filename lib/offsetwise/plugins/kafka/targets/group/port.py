from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from offsetwise.errors import ApplyError, StalePlanError
from offsetwise.model import GroupOffset, GroupState, TopicPartition

Reply = Mapping[TopicPartition, str] | ApplyError | StalePlanError
"""What a broker said of one group's commit: the reason for every partition that was refused; or why nothing was
committed, such as a connection that leads to another cluster; or `LostReplyError`: it was sent, and no reply came."""


class GroupPort(Protocol):
    """What the writer needs of a cluster. Every question names the cluster id that was reviewed."""

    def read(self, groups: Sequence[str], *, cluster_id: str | None) -> Mapping[str, GroupState]:
        """Return groups as they are now, all their commits included.

        Raises:
            ClusterError: The cluster gave no answer.
            StalePlanError: It is another cluster.
        """

    def commit(
        self, requested: Mapping[str, tuple[GroupOffset, ...]], *, cluster_id: str | None
    ) -> Mapping[str, Reply]:
        """Commit offsets, one request for each group, all under way together; give each group's reply.

        Raises:
            ClusterError: Nothing was sent, for no group.
            StalePlanError: As above: it is another cluster.
        """

    def remove(self, group: str, *, cluster_id: str | None) -> str | None:
        """Delete a group with all its commits; give the reason where that is refused.

        Raises:
            ClusterError: Nothing was sent.
            StalePlanError: As above: it is another cluster.
            LostReplyError: It was sent, and no reply came.
        """
