"""What a streaming job's checkpoint says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from offsetwise.model.closed_sets import NamingStrategy
from offsetwise.model.clusters import ShardRange
from offsetwise.model.findings import Problem
from offsetwise.model.offsets import AnyPosition, Count, Offset
from offsetwise.position import OfPartition, TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition(OfPartition):
    """Where one partition of a source stands in a checkpoint."""

    topic: str
    partition: int
    offset: AnyPosition
    """Where reading continues: end of the last committed batch, initial offset if there is none."""
    planned_offset: AnyPosition | None = None
    """The end of the batch that will run again; None where no batch is pending."""


NOWHERE: Final = "none"
"""What stands for the start of a partition that is assigned and that no reader keeps: a restore does not read it."""
BOUNDED: Final = ", bounded"
"""What follows a start in `CheckpointSource.raw` where the partition is read to an end on its cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPosition(OfPartition):
    """One partition that a checkpoint names without an offset: its start is chosen when the job starts."""

    topic: str
    partition: int
    starts_at: str
    """`earliest`, `latest`, `committed` (the group's offset), `initializer` (whatever the job's code says), or
    `NOWHERE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPosition:
    """Where one shard of a source stands in a checkpoint, of a stream that has shards instead of partitions."""

    stream: str | None
    """Its name or ARN, as the checkpoint says it; None where it names none."""
    shard: str
    position: AnyPosition
    """Where reading continues, in the stream's own sense."""
    planned_position: AnyPosition | None = None
    """The end of the batch that will run again; None where no batch is pending, or its end is not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSource:
    """One source of a streaming job, in the order of its checkpoint."""

    index: int
    id: str
    """Spark: the position as text or, in a v2 offset log, the name of the source. Flink: the uid or, where there is
    none or it could not stand in a plan, the operator's id."""
    kind: str
    """`kafka`, `dynamic-kafka` (Flink, several clusters), one of another stream (`ports.stream.Spec.kinds`), or
    `other`: its offsets are not read."""
    positions: tuple[SourcePosition, ...] = ()
    raw: str | None = None
    """The offset text as found, for sources of other kinds; None for a source without an offset yet. Of `cluster`'s
    source, the positions on its other clusters."""
    marked: tuple[MarkedPosition, ...] = ()
    """Partitions without an offset."""
    shards: tuple[ShardPosition, ...] = ()
    """Of a stream that has shards: every one that is named. In files they stand in `positions`."""
    ranges: tuple[ShardRange, ...] = ()
    """Which hash keys its shards take, as far as the checkpoint keeps that. Not written if empty."""
    cluster: str | None = None
    """Of a DynamicKafkaSource, the one of its clusters that its positions are on, as `job.dynamic_cluster` states it.
    Not written without one."""

    @property
    def undecided(self) -> tuple[MarkedPosition, ...]:
        """Those of `marked` that a restore reads; where from is chosen then."""
        return tuple(position for position in self.marked if position.starts_at != NOWHERE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOffsets:
    """The offsets of one topic's partitions, as two columns of the same length."""

    topic: str
    partitions: tuple[int, ...]
    """In the order of the file they were read from, which an edit of that file must keep."""
    offsets: tuple[Offset, ...]

    def __post_init__(self) -> None:
        if len(self.partitions) != len(self.offsets):
            raise ValueError(f"{len(self.partitions):,} partitions have {len(self.offsets):,} offsets")


def offsets_by_partition(topics: Iterable[TopicOffsets]) -> dict[TopicPartition, Offset]:
    """Return the offset of each partition, in the order in which they stand there."""
    return {
        TopicPartition(topic.topic, partition): offset
        for topic in topics
        for partition, offset in zip(topic.partitions, topic.offsets, strict=True)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSource:
    """The end offset of one source in one batch."""

    id: str
    offsets: tuple[TopicOffsets, ...] = ()
    raw: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One retained batch of a Spark query: `offsets/N`, and whether `commits/N` exists."""

    id: int
    committed: bool
    sources: tuple[BatchSource, ...]
    timestamp_ms: int | None = None
    """When the batch was planned (wall clock of the driver), None where the log does not say."""
    watermark_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A Kafka transaction of a Flink sink that its checkpoint holds open."""

    operator: str
    """The operator's id."""
    transactional_id: str
    producer_id: Count | None
    """None where only the writer names it."""
    epoch: int | None
    checkpoint_id: int
    state: str
    """`received`, `retry`, `failed`, `committed` as the committer says, or `precommitted` as the writer does."""
    schema: str | None
    """`v1`: a restore resumes the producer. `FLIP-319`: it completes what the broker has prepared (KIP-939)."""
    strategy: NamingStrategy | None = None
    """None where the writer's state does not say, as before connector 4.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedCheckpoint:
    """Another checkpoint of the same job that could be started from."""

    uri: str
    id: int
    written_ms: int | None
    """None where the file system tells no times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """How far a job had come that reads in numbered steps, each of which it plans and then commits.

    Every number is None where there is none, and of an engine that has no such steps.
    """

    planned: int | None = None
    """The newest step that was planned."""
    committed: int | None = None
    """The newest step that was committed."""
    again: int | None = None
    """The step that was planned and not committed, which a restart does again."""
    after: int | None = None
    """The step that a restart goes on after; None where it begins at the job's first positions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What one engine keeps in a checkpoint beside its positions.

    Each engine has its own fields in a class of its own (`engines.engine.Engine.details`). Here is what every stage may
    ask of any of them, with the answers of an engine that has nothing of the kind.
    """

    begins_by_setting: ClassVar[bool] = False
    """Whether a setting of the job's client, `auto.offset.reset`, says where it begins in a partition that it has no
    position for; the engine has no rule of its own then."""

    @property
    def progress(self) -> JobProgress:
        """How far the job had come, in the steps that its engine counts."""
        return JobProgress()

    def planned_ms(self, step: int | None) -> int | None:  # noqa: ARG002 - as of every engine
        """Return when a step was planned, epoch ms; None where it is not known."""
        return None

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Retained batches, ascending."""
        return ()

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """Kafka transactions of the job's sinks that it holds open."""
        return ()

    @property
    def checkpoint_id(self) -> int | None:
        """The number that the engine gave the checkpoint; None of an engine that does not number them."""
        return None

    @property
    def aligned(self) -> bool | None:
        """False where it holds records in flight, read before its positions; None of an engine that never does."""
        return None

    @property
    def retained(self) -> tuple[RetainedCheckpoint, ...]:
        """The other checkpoints of the job, newest first."""
        return ()

    @property
    def written_ms(self) -> int | None:
        """When it was written last; None where its files do not say."""
        return None

    def processed(self, position: AnyPosition) -> AnyPosition:
        """Return what is processed for certain by a position, of an engine that writes the same one for several."""
        return position

    def recorded(self, at_ms: int) -> Self:  # noqa: ARG002 - as of every engine
        """Return these with the time of a recording in the place of one that only the file system told."""
        return self

    @property
    def kind(self) -> str:
        """What people call it: `checkpoint`, or `savepoint` for one that may end a job."""
        return "checkpoint"

    @property
    def words(self) -> tuple[str, ...]:
        """What tells it from the others of its job, in few words, the first of which name it; plain text."""
        return ()

    @property
    def last_written(self) -> str:
        """What happened to it at `written_ms`, as the start of a sentence."""
        return f"The {self.kind} was written"

    @property
    def stop(self) -> str:
        """What stops the job so that it can be moved, as the start of a sentence."""
        return "Stop the job when its wave begins"

    @property
    def state_bytes(self) -> int:
        """The size of the job's state."""
        return 0

    @property
    def stateful(self) -> bool | None:
        """Whether the job keeps state beside its positions; None where the checkpoint does not tell."""
        return None

    @property
    def has_watermark(self) -> bool:
        """Whether it shows that the job works with a watermark. It never shows the watermark's delay."""
        return False

    @property
    def transactional_id_prefixes(self) -> tuple[str, ...]:
        """Of the job's Kafka sinks that write in transactions, sorted."""
        return ()

    @property
    def pooled_prefixes(self) -> tuple[str, ...]:
        """Those of `transactional_id_prefixes` whose ids are used again, so that their numbers are no checkpoint's."""
        return ()

    def without_pending(self) -> Details:
        """Return what holds of a job that is taken back to the end of an earlier batch: none runs again."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A streaming job's saved positions, as far as they can be trusted.

    `problems` says what is wrong; a checkpoint with problems is still shown.
    """

    uri: str
    engine: str
    job_id: str | None
    """What the engine calls the job; None where it cannot be told."""
    restart: str
    """One sentence: where exactly the job would restart."""
    sources: tuple[CheckpointSource, ...] = ()
    problems: tuple[Problem, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    """(what, fingerprint) of everything that decides where the job restarts: of files the relative path and the
    SHA-256 in hex."""
    details: Details = Details()
    endpoint: str | None = None
    """Where an object store's address was looked up, if the environment leads elsewhere than to the store's own."""

    @property
    def restart_planned_ms(self) -> int | None:
        """When the step that ended at the restart's positions was planned, epoch ms; None where it is not known."""
        return self.details.planned_ms(self.details.progress.committed)
