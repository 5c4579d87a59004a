"""What a streaming job's checkpoint says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from offsetwise.model.findings import Problem
from offsetwise.model.offsets import Count, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition:
    """Where one partition of a Kafka source stands in a checkpoint."""

    topic: str
    partition: int
    offset: Offset
    """Where reading continues: end of the last committed batch, initial offset if there is none."""
    planned_offset: Offset | None = None
    """The end of the batch that will run again; None where no batch is pending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPosition:
    """One partition that a checkpoint names without an offset: its start is chosen when the job starts."""

    topic: str
    partition: int
    starts_at: str
    """`earliest`, `latest`, `committed` (the group's offset), or `initializer` (whatever the job's code says)."""


FLINK_SOURCE: Final = re.compile(r"(?!\.{1,2}\Z)[^/\\\x00-\x1f\x7f-\x9f]{1,255}")
"""What a Flink source may be called in a plan, in which nothing is a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSource:
    """One source of a streaming job, in the order of its checkpoint."""

    index: int
    id: str
    """Spark: the position as text or, in a v2 offset log, the name of the source. Flink: the uid or, where there is
    none or it could not stand in a plan (`FLINK_SOURCE`), the operator's id."""
    kind: str
    """`kafka`, `dynamic-kafka` (Flink, several clusters), or `other`: its offsets are not those of one Kafka."""
    positions: tuple[SourcePosition, ...] = ()
    raw: str | None = None
    """The offset text as found, for sources of other kinds; None for a source without an offset yet."""
    marked: tuple[MarkedPosition, ...] = ()
    """Partitions without an offset, which are never translated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOffsets:
    """The offsets of one topic's partitions, as two columns of the same length."""

    topic: str
    partitions: tuple[int, ...]
    """In the order of the file they were read from, which an edit of that file must keep."""
    offsets: tuple[Offset, ...]

    def __post_init__(self) -> None:
        if len(self.partitions) != len(self.offsets):
            raise ValueError(f"{len(self.partitions)} partitions have {len(self.offsets)} offsets")


def offsets_by_partition(topics: Iterable[TopicOffsets]) -> dict[tuple[str, int], Offset]:
    """Give the offset of each (topic, partition), in the order in which they stand there."""
    return {
        (one.topic, partition): offset
        for one in topics
        for partition, offset in zip(one.partitions, one.offsets, strict=True)
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
class StateStore:
    """The files of one stateful operator."""

    operator: int
    partitions: int
    files: int
    size_bytes: int
    keys: int | None = None
    """Rows at the last version, where the files say so (RocksDB); None where only Spark could tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """One state of one operator of a Flink job, over all its subtasks."""

    name: str
    kind: str
    """`split`, `union`, `broadcast` (operator state), `keyed`, `raw`, `coordinator` or `in-flight`."""
    elements: int | None
    """How many elements it has; None where only the engine could count them."""
    size_bytes: int
    places: tuple[str, ...]
    """Where its bytes are: `inline`, `relative`, `absolute`, `segment`; sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator of a Flink job."""

    id: str
    """32 hexadecimal digits: the hash of the uid, or of the job graph where there is none."""
    name: str | None
    uid: str | None
    """As the checkpoint says (Flink 2), or as a person named it and its hash proved; None where nobody knows."""
    parallelism: int
    max_parallelism: int
    finished: bool
    states: tuple[OperatorState, ...] = ()
    transactional_id_prefix: str | None = None
    """Of a KafkaSink's writer."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedCheckpoint:
    """Another checkpoint of the same job that could be started from."""

    uri: str
    id: int
    written_ms: int | None
    """None where the file system tells no times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What a Flink checkpoint says of itself."""

    kind: str | None
    """`savepoint` or `checkpoint`; None where it does not tell."""
    id: int
    format_version: int
    format: str | None
    """`canonical` or `native`, of a savepoint."""
    written_ms: int | None
    aligned: bool
    """False: it holds records in flight."""
    compressed: bool
    """Whether operator state of a Kafka source is compressed."""
    retained: tuple[RetainedCheckpoint, ...] = ()
    """The other retained checkpoints of the job, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A streaming job's saved positions, as far as they can be trusted.

    `problems` says what is wrong; a checkpoint with problems is still shown.
    """

    uri: str
    engine: str
    job_id: str | None
    """Spark: the query's id. Flink: the job's, where the folder is named by it."""
    last_planned_batch: int | None
    last_committed_batch: int | None
    reruns_batch: int | None
    restart: str
    """One sentence: where exactly the job would restart."""
    sources: tuple[CheckpointSource, ...] = ()
    problems: tuple[Problem, ...] = ()
    batches: tuple[Batch, ...] = ()
    """Retained batches, ascending. May be cut to the newest few by the reader."""
    state: tuple[StateStore, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()
    """Spark configuration recorded with the newest batch, sorted by key."""
    offset_log_version: int | None = None
    commit_log_version: int | None = None
    offset_files: tuple[tuple[str, str], ...] = ()
    """(relative path, SHA-256 in hex) of the files that decide where the job restarts."""
    operators: tuple[Operator, ...] = ()
    transactions: tuple[Transaction, ...] = ()
    saved: Saved | None = None
    """Of Flink's checkpoints and savepoints only."""
    endpoint: str | None = None
    """Where an object store's address was looked up, if the environment leads elsewhere than to the store's own."""
