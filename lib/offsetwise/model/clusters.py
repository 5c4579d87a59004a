"""The state of one cluster at one time, including MirrorMaker's own topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from offsetwise.model.closed_sets import ApplicationEvidence, Cluster, IsolationLevel
from offsetwise.model.findings import Problem
from offsetwise.model.offsets import AnyPosition, HashKey, Offset, Time
from offsetwise.position import OfPartition, Position, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRange:
    """What a partition's log holds: `[log_start, hw)`, stable below `lso`. None is unread."""

    log_start: AnyPosition | None
    lso: AnyPosition | None
    hw: AnyPosition | None

    def end(self, isolation: IsolationLevel) -> Position | None:
        """Return the end of the log for a job: the LSO with `read_committed`, else the HW."""
        return self.lso if isolation is IsolationLevel.READ_COMMITTED else self.hw


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """One partition as its leader described it. None means the cluster did not say; `error` says why."""

    partition: int
    leader: int | None = None
    leader_epoch: int | None = None
    log_start: AnyPosition | None = None
    hw: AnyPosition | None = None
    lso: AnyPosition | None = None
    error: str | None = None

    @property
    def log(self) -> LogRange:
        return LogRange(log_start=self.log_start, lso=self.lso, hw=self.hw)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRange:
    """Which hash keys one shard of a stream takes, and which shards it was made from."""

    partition: int
    """Its number, with which its id ends."""
    low: HashKey
    """The first hash key."""
    high: HashKey
    """The last hash key."""
    parents: tuple[int, ...] = ()
    """Empty for a first shard, one after a split, two after a merge."""
    first: str | None = None
    """Its first sequence number; None if unknown."""
    closed: bool = False
    """Whether it takes no more records, because it was split or merged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """One topic of a cluster."""

    name: str
    id: str | None = None
    """The topic id as Kafka prints it (base64); None on clusters without topic ids."""
    partitions: tuple[PartitionState, ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    """The relevant configurations (cleanup.policy, retention.ms, …), including brokers' defaults, sorted by name; empty
    if they were not read."""
    error: str | None = None
    shards: tuple[ShardRange, ...] = ()
    """All known shards, for a stream that has shards. Not written if empty."""

    @property
    def cleanup(self) -> frozenset[str]:
        """`cleanup.policy`: delete, compact or both; Kafka's default if it was not read."""
        return frozenset(map(str.strip, dict(self.config).get("cleanup.policy", "delete").split(",")))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffset(OfPartition):
    """A group's committed position in one partition."""

    topic: str
    partition: int
    offset: Offset
    leader_epoch: int | None = None
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application of Kafka Streams: what shows that a group is one, and its internal topics there, sorted."""

    evidence: ApplicationEvidence
    changelogs: tuple[str, ...] = ()
    repartitions: tuple[str, ...] = ()

    @property
    def internal_topics(self) -> tuple[str, ...]:
        return (*self.changelogs, *self.repartitions)


SHARE: Final = "Share"
"""The type of a share group, as brokers list it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState:
    """A group: its state in Kafka's words, and what it committed."""

    name: str
    state: str | None = None
    type: str | None = None
    offsets: tuple[GroupOffset, ...] = ()
    error: str | None = None
    start_offsets: tuple[GroupOffset, ...] = ()
    """For a share group, the start offset of each partition: everything below is finished. Not written if empty."""
    application: Application | None = None
    """For an application of Kafka Streams. Not written if null."""
    subscribed: bool | None = None
    """Whether consumers have subscribed with it, which Kafka keeps as its protocol type. A job that keeps its positions
    elsewhere, such as a Flink job, only commits. Not written if null."""

    @property
    def commits(self) -> dict[TopicPartition, int]:
        return {offset.topic_partition: offset.offset for offset in self.offsets}

    @property
    def is_share_group(self) -> bool:
        return self.type == SHARE

    @property
    def positions(self) -> tuple[GroupOffset, ...]:
        """Where it resumes in each partition: its commits, or the start offsets of a share group."""
        return self.offsets or self.start_offsets

    @property
    def internal_topics(self) -> tuple[str, ...]:
        return () if self.application is None else self.application.internal_topics


def has_members(state: str | None) -> bool | None:
    """Return whether a group in this state of Kafka has members; None if the state is unknown."""
    return None if state is None else state.casefold() not in {"empty", "dead"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSync(OfPartition):
    """MirrorMaker's claim that `upstream` on the source is `downstream` on the target."""

    topic: str
    """The topic's name on the source."""
    partition: int
    upstream: Offset
    downstream: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorCheckpoint(OfPartition):
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
    """Kafka's timestamp of the newest record; None if there is none, or it was not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorState:
    """What MirrorMaker's own topics on one cluster say."""

    topics: tuple[MirrorTopic, ...] = ()
    syncs: tuple[tuple[str, tuple[OffsetSync, ...]], ...] = ()
    """By offset-syncs topic (its name first): every retained sync in log order."""
    checkpoints: tuple[tuple[str, tuple[MirrorCheckpoint, ...]], ...] = ()
    """By checkpoints topic: the last checkpoint of every group and partition."""
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

    def group(self, name: str | None) -> GroupState | None:
        return next((group for group in self.groups if group.name == name), None)

    def partitions(self) -> dict[TopicPartition, PartitionState]:
        return {
            TopicPartition(topic.name, partition.partition): partition
            for topic in self.topics
            for partition in topic.partitions
        }
