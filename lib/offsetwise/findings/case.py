from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from offsetwise.digits import whole_number
from offsetwise.model import (
    BelongsTo,
    Checkpoint,
    GroupOffset,
    GroupState,
    IsolationLevel,
    Link,
    OffsetReset,
    OffsetSync,
    PartitionComparison,
    PartitionState,
    Side,
    Snapshot,
    SourcePosition,
    TopicState,
    Writers,
)
from offsetwise.transactions.report import SinkAnswer


class JobStatement(Protocol):
    """What the migration file says about the job, as `config.JobTraits` has it. None is not stated."""

    @property
    def auto_offset_reset(self) -> OffsetReset | None:
        """Where the client of a group begins in a partition without a commit."""

    @property
    def stateful(self) -> bool | None:
        """Whether it keeps state."""

    @property
    def tolerates_replay(self) -> bool | None:
        """Whether it may read records twice."""

    @property
    def sink(self) -> str | None:
        """What it writes to, in one word."""

    @property
    def transaction_timeout_ms(self) -> int | None:
        """`transaction.timeout.ms` of the sink's producer."""

    @property
    def sink_servers(self) -> str | None:
        """HOST:PORT of the cluster that the sink writes to."""

    @property
    def sink_cluster(self) -> str | None:
        """What the migration file calls that cluster."""

    @property
    def new_sink_cluster(self) -> str | None:
        """Likewise once the job has moved; None where it stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the comparison, and what its checks may look at.

    A topic is None where its cluster said that it does not exist. A topic or partition that could not be read
    is present, with `error`. A count is None where nobody counted: unknown is never 0.
    """

    row: PartitionComparison
    old_topic: TopicState | None
    new_topic: TopicState | None
    job: JobStatement
    link: Link
    writers: Writers
    belongs_to: BelongsTo
    now_ms: int
    """When the clusters were read (not when somebody looks at the comparison)."""
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    """What the job reads of logs."""
    of_group: bool = False
    """Whether a consumer group is compared."""
    of_file: bool = False
    """Whether positions of a file are, whose job begins by a setting of its client where it has none."""
    reasons: frozenset[str] = frozenset()
    """Reasons of the translation, by name; `NOT_YET_MIRRORED` is looked for."""
    missing: int | None = None
    """Unread records of the examined stretch that the new log does not hold."""
    aborted_visible: int | None = None
    """Records of aborted transactions that are ordinary records on the new log."""
    pending_equal: bool | None = None
    """Whether the pending batch holds the same records on both clusters; None where it was not read in full."""
    starts_at: str | None = None
    """What the checkpoint says instead of an offset, as `MarkedPosition` does; None where it has one or nothing."""
    replaced: str = ""
    """Why the old log is not the one that the job read, as a sentence; empty where nothing shows that."""
    syncs: tuple[OffsetSync, ...] = ()
    """The mirror's retained syncs for this partition, in log order."""
    syncs_read_first: bool = False
    """Whether the syncs were read before the new cluster's log ends. Only then may the two be compared."""
    old_commit: GroupOffset | None = None
    """What the compared group committed on the old cluster; None for a checkpoint."""
    new_commit: GroupOffset | None = None
    """What the same group has committed on the new cluster."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """The words of the streams, by Kafka's for the same."""

    @property
    def old_partition(self) -> PartitionState | None:
        """The partition on the old cluster, None where there is none."""
        return _partition(self.old_topic, self.row.partition)

    @property
    def new_partition(self) -> PartitionState | None:
        """The partition on the new cluster, None where there is none."""
        return _partition(self.new_topic, self.row.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCase:
    """A topic on both clusters. None where the cluster said that it does not exist."""

    old_name: str
    old: TopicState | None
    new: TopicState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationCase:
    old: Snapshot
    new: Snapshot
    checkpoint: Checkpoint | None
    belongs_to: BelongsTo
    job: JobStatement
    link: Link
    topics: tuple[TopicCase, ...]
    rows: tuple[PartitionComparison, ...]
    now_ms: int
    """When the clusters were read (not when somebody looks at the comparison)."""
    kinds: Collection[str]
    """The kinds of source that are moved: those of the migration's stream."""
    application: str | None = None
    """The name of the application that reads the same stream; None where none is stated."""
    other_positions: tuple[SourcePosition, ...] = ()
    """Its positions."""
    old_group: GroupState | None = None
    """The compared group on the old cluster; None for a checkpoint."""
    new_group: GroupState | None = None
    """The same group on the new cluster."""
    sink: SinkAnswer | None = None
    """What the cluster of the job's sinks says of its transactions; None where nobody asked it, or it did not say."""
    committed: GroupState | None = None
    """The group that the checkpoint's job commits to, on the old cluster; None where none is stated or was read."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """The words of the streams, by Kafka's for the same."""

    @property
    def names(self) -> tuple[str, ...]:
        topics = (name for row in self.rows for name in (row.topic, row.new_topic))
        groups = (state.name for state in (self.old_group, self.new_group, self.committed) if state is not None)
        clusters = (name for snapshot in (self.old, self.new) for name in (snapshot.name, snapshot.alias))
        return tuple(dict.fromkeys(name for name in (*topics, *clusters, *groups) if name is not None))


def _partition(topic: TopicState | None, number: int) -> PartitionState | None:
    if topic is None:
        return None
    # Kafka numbers partitions from 0 without gaps; only a snapshot cut by hand needs the search.
    if number < len(topic.partitions) and topic.partitions[number].partition == number:
        return topic.partitions[number]
    return next((partition for partition in topic.partitions if partition.partition == number), None)


class Expiry(NamedTuple):
    """When retention may delete a record of the new cluster."""

    offset: int
    at_ms: int
    """The earliest time, epoch ms."""
    retention_ms: int


def expiry_of(row: PartitionComparison, topic: TopicState) -> Expiry | None:
    """Return when retention may delete the next record to read.

    Kafka deletes a closed segment once its largest timestamp is older than `retention.ms`. A record's own timestamp is
    therefore the least that can be said of it. That of a record behind it says nothing: it may be in another segment.

    Args:
        row: The partition, with the records around its position.
        topic: Its topic on the new cluster.

    Returns:
        None where age deletes nothing, where it is not known when, and where the next record or its timestamp on the
        new cluster is not known.
    """
    config = dict(topic.config)
    retention_ms = whole_number(config.get("retention.ms", ""))
    following = next((n for n in row.evidence.neighbours if n.side is Side.UNREAD and n.new_offset is not None), None)
    if "delete" not in topic.cleanup or retention_ms is None or following is None:
        return None
    if following.new_offset is None or following.timestamp_ms is None:
        return None
    if config.get("message.timestamp.type") == "LogAppendTime":
        return None
    return Expiry(following.new_offset, following.timestamp_ms + retention_ms, retention_ms)
