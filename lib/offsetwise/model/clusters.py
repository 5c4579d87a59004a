"""What one cluster said at one time, MirrorMaker's own topics included."""

from __future__ import annotations

from dataclasses import dataclass, field

from offsetwise.model.closed_sets import Cluster
from offsetwise.model.findings import Problem
from offsetwise.model.offsets import Offset, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """One partition as its leader described it. None means the cluster did not say; `error` says why."""

    partition: int
    leader: int | None = None
    leader_epoch: int | None = None
    log_start: Offset | None = None
    hw: Offset | None = None
    lso: Offset | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """One topic of a cluster."""

    name: str
    id: str | None = None
    """The topic id as Kafka prints it (base64); None on clusters without topic ids."""
    partitions: tuple[PartitionState, ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    """The configurations that matter (cleanup.policy, retention.ms, …), sorted by name."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffset:
    """A group's committed position in one partition."""

    topic: str
    partition: int
    offset: Offset
    leader_epoch: int | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """A consumer group: its state in Kafka's words, and what it committed."""

    name: str
    state: str | None = None
    type: str | None = None
    offsets: tuple[GroupOffset, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSync:
    """MirrorMaker's claim that `upstream` on the source is `downstream` on the target."""

    topic: str
    """The topic's name on the source."""
    partition: int
    upstream: Offset
    downstream: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorCheckpoint:
    """MirrorMaker's translation of one group's committed offset."""

    group: str
    topic: str
    """The topic's name on the target."""
    partition: int
    upstream: Offset
    downstream: Offset
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The last heartbeat MirrorMaker wrote for one flow."""

    source: str
    target: str
    timestamp_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorTopic:
    """One of MirrorMaker's own topics on this cluster, and how reading it went."""

    name: str
    kind: str
    """`offset-syncs`, `checkpoints` or `heartbeats`."""
    alias: str
    """The alias inside the topic's name."""
    records: int
    undecodable: int = 0
    error: str | None = None
    newest_ms: int | None = None
    """Kafka's timestamp of the newest record; None where there is none, or it was not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """What MirrorMaker's own topics on one cluster say."""

    topics: tuple[MirrorTopic, ...] = ()
    syncs: tuple[tuple[str, tuple[OffsetSync, ...]], ...] = ()
    """Per offset-syncs topic (its name first): every retained sync in log order."""
    checkpoints: tuple[tuple[str, tuple[MirrorCheckpoint, ...]], ...] = ()
    """Per checkpoints topic: the last checkpoint of every group and partition."""
    heartbeats: tuple[Heartbeat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything one cluster said at one time. A partial one names what is missing in `problems`."""

    cluster: Cluster
    name: str
    alias: str
    cluster_id: str | None
    taken_at: Time
    """When reading began, ISO 8601 in UTC."""
    topics: tuple[TopicState, ...] = ()
    groups: tuple[GroupState, ...] = ()
    mirror: MirrorState = field(default_factory=MirrorState)
    problems: tuple[Problem, ...] = ()
