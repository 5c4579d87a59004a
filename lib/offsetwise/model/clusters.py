"""What one cluster said at one time, MirrorMaker's own topics included."""

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
        """Return the offset up to which a job can read: the LSO with `read_committed`, else the HW."""
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
        """What it holds."""
        return LogRange(log_start=self.log_start, lso=self.lso, hw=self.hw)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRange:
    """Which hash keys one shard of a stream takes, and which shards it was made from."""

    partition: int
    """Its number, which its id ends with."""
    low: HashKey
    """The first hash key."""
    high: HashKey
    """The last one."""
    parents: tuple[int, ...] = ()
    """None of a first shard, one after a split, two after a merge."""
    first: str | None = None
    """The sequence number that it begins with; None where nobody said."""
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
    """The configurations that matter (cleanup.policy, retention.ms, …), with defaults of the brokers, sorted by name;
    empty where they were not read."""
    error: str | None = None
    shards: tuple[ShardRange, ...] = ()
    """Of a stream that has shards, each that is known. Not written if empty."""

    @property
    def cleanup(self) -> frozenset[str]:
        """`cleanup.policy`: delete, compact or both; Kafka's default where it was not read."""
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
        """The topics that it makes itself."""
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
    """Of a share group, where it begins in each partition: what is below is finished. Not written if empty."""
    application: Application | None = None
    """Of an application of Kafka Streams. Not written if null."""
    subscribed: bool | None = None
    """Whether consumers have subscribed with it, which Kafka keeps as its protocol type. A job that keeps its positions
    elsewhere, such as one of Flink, only commits. Not written if null."""

    @property
    def commits(self) -> dict[TopicPartition, int]:
        """The next record to read that it committed, by topic and partition."""
        return {offset.topic_partition: offset.offset for offset in self.offsets}

    @property
    def is_share_group(self) -> bool:
        """Whether it has start offsets in place of commits."""
        return self.type == SHARE

    @property
    def positions(self) -> tuple[GroupOffset, ...]:
        """Where it reads on in each partition: what it committed, or the start offsets of a share group."""
        return self.offsets or self.start_offsets

    @property
    def internal_topics(self) -> tuple[str, ...]:
        """The topics that an application of Kafka Streams makes itself; none of any other group."""
        return () if self.application is None else self.application.internal_topics


def has_members(state: str | None) -> bool | None:
    """Return whether a group has members, by its state in Kafka's words; None where that is not known."""
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

    def group(self, name: str | None) -> GroupState | None:
        """Return a consumer group; None where it was not asked for."""
        return next((group for group in self.groups if group.name == name), None)

    def partitions(self) -> dict[TopicPartition, PartitionState]:
        """Return every partition by its name."""
        return {
            TopicPartition(topic.name, partition.partition): partition
            for topic in self.topics
            for partition in topic.partitions
        }
