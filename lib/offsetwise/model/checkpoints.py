"""The content of a streaming job's checkpoint."""

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
    """Where reading continues: the end of the last committed batch, or the initial offset if there is none."""
    planned_offset: AnyPosition | None = None
    """The end of the batch that will run again; None if no batch is pending."""


NOWHERE: Final = "none"
"""The start of a partition that is assigned and that no reader keeps: a restore does not read it."""
BOUNDED: Final = ", bounded"
"""The suffix of a start in `CheckpointSource.raw` if the partition is bounded on its cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPosition(OfPartition):
    """One partition that a checkpoint names without an offset: its start is chosen when the job starts."""

    topic: str
    partition: int
    starts_at: str
    """`earliest`, `latest`, `committed` (the group's offset), `initializer` (decided by the job's code), or
    `NOWHERE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPosition:
    """Where one shard of a source stands in a checkpoint, of a stream that has shards instead of partitions."""

    stream: str | None
    """Its name or ARN, as in the checkpoint; None if that has none."""
    shard: str
    position: AnyPosition
    """Where reading continues, in the stream's own terms."""
    planned_position: AnyPosition | None = None
    """The end of the batch that will run again; None if no batch is pending, or its end is not recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSource:
    index: int
    id: str
    """Spark: the position as text or, in a v2 offset log, the name of the source. Flink: the uid or, if there is none
    or it is not allowed in a plan, the operator's id."""
    kind: str
    """`kafka`, `dynamic-kafka` (Flink, several clusters), a kind of another stream (`ports.stream.Spec.kinds`), or
    `other`, whose offsets are not read."""
    positions: tuple[SourcePosition, ...] = ()
    raw: str | None = None
    """The unparsed offset text, for sources of other kinds; None for a source without an offset yet. For a source with
    `cluster`, the positions on its other clusters."""
    marked: tuple[MarkedPosition, ...] = ()
    """Partitions without an offset."""
    shards: tuple[ShardPosition, ...] = ()
    """All shards in the checkpoint, for a stream that has shards. In files they are in `positions`."""
    ranges: tuple[ShardRange, ...] = ()
    """The hash key ranges of its shards, as far as the checkpoint has them. Not written if empty."""
    cluster: str | None = None
    """For a DynamicKafkaSource, the cluster of its positions, as stated by `job.dynamic_cluster`. Not written if
    null."""

    @property
    def undecided(self) -> tuple[MarkedPosition, ...]:
        """The positions in `marked` that a restore reads, from a start that is chosen then."""
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
    """Return the offset of each partition, in the order of `topics`."""
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
    """When the batch was planned (wall clock of the driver); None if the log has no time."""
    watermark_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A Kafka transaction of a Flink sink that its checkpoint holds open."""

    operator: str
    """The operator's id."""
    transactional_id: str
    producer_id: Count | None
    """None if only the writer's state names the transaction."""
    epoch: int | None
    checkpoint_id: int
    state: str
    """The committer's `received`, `retry`, `failed` or `committed`, or the writer's `precommitted`."""
    schema: str | None
    """`v1`: a restore resumes the producer. `FLIP-319`: it completes what the broker has prepared (KIP-939)."""
    strategy: NamingStrategy | None = None
    """None if the writer's state does not record it, as before connector 4.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedCheckpoint:
    """Another checkpoint of the same job that could be started from."""

    uri: str
    id: int
    written_ms: int | None
    """None if the file system has no times."""


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
    """The content of a checkpoint besides its positions, by engine.

    Each engine has a subclass with its own fields (`engines.engine.Engine.details`). This class has the properties that
    all stages use, with the values for an engine that has nothing of the kind.
    """

    begins_by_setting: ClassVar[bool] = False
    """Whether `auto.offset.reset` of the job's client decides where it begins in a partition without a position; the
    engine then has no rule of its own."""

    @property
    def progress(self) -> JobProgress:
        """How far the job had come, in the steps that its engine counts."""
        return JobProgress()

    def planned_ms(self, step: int | None) -> int | None:  # noqa: ARG002 - the signature of every engine
        """Return when a step was planned, epoch ms; None if unknown."""
        return None

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Retained batches, ascending."""
        return ()

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """The Kafka transactions of the job's sinks that it holds open."""
        return ()

    @property
    def checkpoint_id(self) -> int | None:
        """The number that the engine gave the checkpoint; None if it does not number them."""
        return None

    @property
    def aligned(self) -> bool | None:
        """False if it holds in-flight records, read before its positions; None if the engine never does that."""
        return None

    @property
    def retained(self) -> tuple[RetainedCheckpoint, ...]:
        """The other checkpoints of the job, newest first."""
        return ()

    @property
    def written_ms(self) -> int | None:
        """When it was last written, epoch ms; None if its files have no times."""
        return None

    def processed(self, position: AnyPosition) -> AnyPosition:
        """Return up to where records are certainly processed, if the engine writes one position for several."""
        return position

    def recorded(self, at_ms: int) -> Self:  # noqa: ARG002 - the signature of every engine
        """Return a copy with the time of a recording instead of a time that only the file system had."""
        return self

    @property
    def kind(self) -> str:
        """`checkpoint`, or `savepoint` for one that may end a job."""
        return "checkpoint"

    @property
    def words(self) -> tuple[str, ...]:
        """A few words that distinguish it from the job's other checkpoints, its name first; plain text."""
        return ()

    @property
    def last_written(self) -> str:
        """What happened to it at `written_ms`, as the beginning of a sentence."""
        return f"The {self.kind} was written"

    @property
    def stop(self) -> str:
        """How to stop the job for its move, as the beginning of a sentence."""
        return "Stop the job when its wave begins"

    @property
    def state_bytes(self) -> int:
        """The size of the job's state, in bytes."""
        return 0

    @property
    def stateful(self) -> bool | None:
        """Whether the job keeps state besides its positions; None if the checkpoint does not show it."""
        return None

    @property
    def has_watermark(self) -> bool:
        """Whether it shows that the job uses a watermark. It never shows the watermark's delay."""
        return False

    @property
    def transactional_id_prefixes(self) -> tuple[str, ...]:
        """The transactional id prefixes of the job's Kafka sinks, sorted."""
        return ()

    @property
    def pooled_prefixes(self) -> tuple[str, ...]:
        """Those of `transactional_id_prefixes` whose ids are reused, so that their numbers are not checkpoint ids."""
        return ()

    def without_pending(self) -> Details:
        """Return the details of the job after it went back to the end of an earlier batch: none runs again."""
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A streaming job's saved positions, as far as they can be trusted.

    `problems` says what is wrong; a checkpoint with problems is still shown.
    """

    uri: str
    engine: str
    job_id: str | None
    """The engine's id of the job; None if it is unknown."""
    restart: str
    """One sentence: where exactly the job would restart."""
    sources: tuple[CheckpointSource, ...] = ()
    problems: tuple[Problem, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    """(what, fingerprint) of everything that decides where the job restarts: for files the relative path and the
    SHA-256 in hex."""
    details: Details = Details()
    endpoint: str | None = None
    """The endpoint of an object store, if the environment names another one than the store's default."""

    @property
    def restart_planned_ms(self) -> int | None:
        """When the step that ended at the restart's positions was planned, epoch ms; None if unknown."""
        return self.details.planned_ms(self.details.progress.committed)
