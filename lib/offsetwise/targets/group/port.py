"""What the writer of groups needs of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from offsetwise.errors import ApplyError
from offsetwise.model import GroupOffset, GroupState, TopicPartition

Reply = Mapping[TopicPartition, str] | ApplyError
"""What a broker said of one group's commit: the reason for every partition that was refused; or why nothing was
committed; or `LostReplyError`: it was sent, and no reply came."""


class GroupPort(Protocol):
    """What the writer needs of a cluster."""

    def read(self, groups: Sequence[str]) -> Mapping[str, GroupState]:
        """Give groups as they are now, all their commits included.

        Raises:
            ClusterError: The cluster gave no answer.
        """

    def commit(self, wanted: Mapping[str, tuple[GroupOffset, ...]]) -> Mapping[str, Reply]:
        """Commit offsets, one request for each group, all under way together; give each group's reply.

        Raises:
            ClusterError: Nothing was sent, for no group.
        """

    def remove(self, group: str) -> str | None:
        """Delete a group with all its commits; give the reason where that is refused.

        Raises:
            ClusterError: Nothing was sent.
            LostReplyError: It was sent, and no reply came.
        """
