from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple, Protocol

from offsetwise.digits import whole_number
from offsetwise.findings.register import Fact, Situation
from offsetwise.model import (
    BelongsTo,
    Checkpoint,
    Cluster,
    Exactness,
    GroupOffset,
    GroupState,
    IsolationLevel,
    Link,
    OffsetReset,
    OffsetSync,
    PartitionComparison,
    PartitionState,
    RawVerdict,
    Snapshot,
    SourcePosition,
    TopicState,
    Writers,
)
from offsetwise.ports.stream import spec_of
from offsetwise.transactions.report import SinkAnswer


class JobStatement(Protocol):
    """What the migration file states about the job, as in `config.JobTraits`. None means not stated."""

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
        """The kind of its sink, in one word."""

    @property
    def transaction_timeout_ms(self) -> int | None:
        """`transaction.timeout.ms` of the sink's producer."""

    @property
    def sink_servers(self) -> str | None:
        """HOST:PORT of the cluster that the sink writes to."""

    @property
    def sink_cluster(self) -> str | None:
        """The name of that cluster in the migration file."""

    @property
    def new_sink_cluster(self) -> str | None:
        """Likewise after the job has moved; None if it stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of the comparison, with the inputs of its checks.

    A topic is None if its cluster reported that it does not exist. A topic or partition that could not be read is
    present, with `error`. A count is None if nothing was counted: unknown is never 0.
    """

    row: PartitionComparison
    stream: str
    """The registered name of the old stream."""
    old_topic: TopicState | None
    new_topic: TopicState | None
    job: JobStatement
    link: Link
    writers: Writers
    belongs_to: BelongsTo
    now_ms: int
    """When the clusters were read, epoch ms; not when the comparison is displayed."""
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    """The isolation level of the job."""
    of_group: bool = False
    """Whether a consumer group is compared."""
    of_file: bool = False
    """Whether a positions file is compared, whose job begins by a setting of its client if it has no position."""
    reasons: frozenset[str] = frozenset()
    """The names of the translation's reasons, of which `NOT_YET_MIRRORED` is used."""
    missing: int | None = None
    """How many unread records of the examined stretch the new log does not hold."""
    aborted_visible: int | None = None
    """How many records of aborted transactions are ordinary records on the new log."""
    pending_equal: bool | None = None
    """Whether the pending batch holds the same records on both clusters; None if it was not read completely."""
    starts_at: str | None = None
    """The start in the checkpoint instead of an offset, as in `MarkedPosition`; None if it has an offset or nothing."""
    replaced: str = ""
    """Why the old log is not the one that the job read, as a sentence; empty if nothing shows that."""
    syncs: tuple[OffsetSync, ...] = ()
    """The mirror's retained syncs for this partition, in log order."""
    syncs_read_first: bool = False
    """Whether the syncs were read before the new cluster's log ends. Only then may the two be compared."""
    old_commit: GroupOffset | None = None
    """The commit of the compared group on the old cluster; None for a checkpoint."""
    new_commit: GroupOffset | None = None
    """The commit of the same group on the new cluster."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """The terms of the streams, by Kafka's terms."""

    @property
    def situation(self) -> Situation:
        row, ahead = self.row, self.row.ahead
        has_position, by_setting = row.old_offset is not None, self.of_group or self.of_file
        translated = has_position and row.new_offset is not None
        return Situation(
            stream=self.stream,
            facts=_holding(
                {
                    Fact.MIRROR: self.link is Link.MIRRORMAKER,
                    Fact.READ_COMMITTED: self.isolation is IsolationLevel.READ_COMMITTED,
                    Fact.POSITION: has_position,
                    Fact.NO_POSITION: not has_position,
                    Fact.BY_ENGINE: self.starts_at is None and not by_setting,
                    Fact.BY_SETTING: by_setting,
                    Fact.CHOSEN_AT_START: not has_position and self.starts_at is not None,
                    Fact.OLD_NUMBER: has_position
                    and self.starts_at is None
                    and self.belongs_to.cluster is not Cluster.NEW,
                    Fact.INEXACT: row.exactness is not Exactness.EXACT,
                    Fact.READS_TWICE: translated
                    and (row.exactness is Exactness.BOUNDED or bool(row.replay and row.exactness.proven)),
                    Fact.LOSS: row.raw.verdict is RawVerdict.LOSS,
                    Fact.CONFUSION: row.raw.verdict is RawVerdict.CONFUSION,
                    Fact.AHEAD_DIFFERS: bool(ahead.missing or ahead.duplicated or ahead.foreign),
                    Fact.OLD_COMMIT: self.old_commit is not None,
                    Fact.NEW_COMMIT: self.new_commit is not None,
                    Fact.PENDING: self.pending_equal is not None,
                }
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCase:
    """A topic on both clusters. None if the cluster reported that it does not exist."""

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
    """When the clusters were read, epoch ms; not when the comparison is displayed."""
    stream: str
    """The registered name of the old stream."""
    application: str | None = None
    """The name of the application that reads the same stream; None if none is stated."""
    other_positions: tuple[SourcePosition, ...] = ()
    """The positions of that application."""
    old_group: GroupState | None = None
    """The compared group on the old cluster; None for a checkpoint."""
    new_group: GroupState | None = None
    """The same group on the new cluster."""
    sink: SinkAnswer | None = None
    """The transactions on the cluster of the job's sinks; None if it was not read, or did not answer."""
    committed: GroupState | None = None
    """The group that the checkpoint's job commits to, on the old cluster; None if none is stated or was read."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """The terms of the streams, by Kafka's terms."""

    @property
    def situation(self) -> Situation:
        checkpoint = self.checkpoint
        return Situation(
            stream=self.stream,
            engine="" if checkpoint is None else checkpoint.engine,
            facts=_holding(
                {
                    Fact.MIRROR: self.link is Link.MIRRORMAKER,
                    Fact.PENDING: checkpoint is not None and checkpoint.details.progress.again is not None,
                    Fact.GROUP: self.old_group is not None,
                    Fact.COMMITS: checkpoint is not None and self.committed is not None,
                    Fact.TRANSACTIONS: checkpoint is not None and bool(checkpoint.details.transactions),
                    Fact.OPAQUE: not spec_of(self.stream).has_integers,
                }
            ),
        )


def _holding(facts: Mapping[Fact, bool]) -> frozenset[Fact]:
    return frozenset(fact for fact, holds in facts.items() if holds)


def partition_of(topic: TopicState | None, number: int) -> PartitionState | None:
    """Return a partition of a topic; None if there is none."""
    if topic is None:
        return None
    # Kafka numbers partitions from 0 without gaps; only an edited snapshot needs the search.
    if number < len(topic.partitions) and topic.partitions[number].partition == number:
        return topic.partitions[number]
    return next((partition for partition in topic.partitions if partition.partition == number), None)


class Expiry(NamedTuple):
    offset: int
    at_ms: int
    """The earliest time, epoch ms."""
    retention_ms: int


def expiry_of(row: PartitionComparison, topic: TopicState) -> Expiry | None:
    """Return when retention may delete the next record to read.

    Kafka deletes a closed segment once its largest timestamp is older than `retention.ms`. So a record's own timestamp
    gives the earliest time. The timestamp of a later record is irrelevant: it may be in another segment.

    Args:
        row: The partition, with the records around its position.
        topic: Its topic on the new cluster.

    Returns:
        None if age deletes nothing, the time is unknown, or the next record or its timestamp on the new cluster is
            unknown.
    """
    config = dict(topic.config)
    retention_ms = whole_number(config.get("retention.ms", ""))
    # Whoever wrote it. Around a bounded position other records are shown than those at its lower end, where to start.
    ahead = [
        (n.new_offset, n)
        for n in row.evidence.neighbours
        if n.new_offset is not None and (row.new_offset is None or n.new_offset >= row.new_offset)
    ]
    following = min(ahead, key=itemgetter(0), default=(None, None))[1]
    if row.exactness is Exactness.BOUNDED and following is not None and following.new_offset != row.new_offset:
        return None
    if "delete" not in topic.cleanup or retention_ms is None or following is None:
        return None
    if following.new_offset is None or following.timestamp_ms is None:
        return None
    if config.get("message.timestamp.type") == "LogAppendTime":
        return None
    return Expiry(following.new_offset, following.timestamp_ms + retention_ms, retention_ms)
