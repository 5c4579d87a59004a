"""Groups that are not consumer groups: share groups, and applications of Kafka Streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.model import GroupState
from offsetwise.streams.kafka.client import Failure

SHARE: Final = "Share"
STREAMS: Final = "Streams"
"""Types of groups, as brokers list them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherGroup:
    """A group that is no consumer group."""

    state: GroupState
    failure: Failure | None = None
    """Why some or all of its start offsets are missing."""

    @property
    def is_share_group(self) -> bool:
        """Whether it has start offsets in place of commits."""
        return self.state.type == SHARE
