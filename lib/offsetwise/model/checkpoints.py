"""What a streaming job's checkpoint says."""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.model.findings import Problem
from offsetwise.model.offsets import Offset


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
class CheckpointSource:
    """One source of a streaming query, in plan order."""

    index: int
    id: str
    """The position as text or, in a v2 offset log, the name of the source."""
    kind: str
    """`kafka`, or `other` for everything whose offsets are not Kafka's."""
    positions: tuple[SourcePosition, ...] = ()
    raw: str | None = None
    """The offset text as found, for sources of kind `other`; None for a source without an offset yet."""


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
class Checkpoint:
    """A streaming job's saved positions, as far as they can be trusted.

    `problems` says what is wrong; a checkpoint with problems is still shown.
    """

    uri: str
    engine: str
    job_id: str | None
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
    """(relative path, SHA-256 in hex) of the offset files that decide where the job restarts."""
