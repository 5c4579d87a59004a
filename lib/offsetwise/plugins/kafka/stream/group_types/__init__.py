"""Groups that are not consumer groups: share groups, and applications of Kafka Streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.model import GroupState
from offsetwise.plugins.kafka.stream.client import Failure

STREAMS: Final = "Streams"
"""The group type of a Kafka Streams application that its broker coordinates (KIP-1071), as brokers list it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherGroup:
    state: GroupState
    failure: Failure | None = None
    """Why some or all of its start offsets are missing."""
