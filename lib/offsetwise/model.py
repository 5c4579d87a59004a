"""The values every stage hands to the next: frozen, typed, and free of any library.

This module needs the standard library only, because it is shipped to Spark's workers.
Files carry these values as JSON (`files.py`); there an `Offset` or a `Count` is a decimal
string, since JSON numbers lose integers above 2^53.

Everything called an offset is a position: the **next record to read**.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any


class DecimalString:
    """Marks an integer that files carry as a decimal string.

    Pydantic asks for the schema below when it reads or writes a file; nothing else looks at it.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Accept decimal strings inside int64 (and plain integers from Python), write strings."""
        from pydantic_core import core_schema  # noqa: PLC0415 - Spark's workers do not have it

        def parse(value: object) -> object:
            if not isinstance(value, str):
                return value
            digits = value.removeprefix("-")
            if not (digits.isascii() and digits.isdigit()) or len(digits) > 19:
                raise ValueError(f"expected an integer as a decimal string, found {value[:40]!r}")
            return int(value)

        return core_schema.no_info_before_validator_function(
            parse,
            core_schema.int_schema(strict=True, ge=-(2**63), le=2**63 - 1),
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, str]:
        """Describe the decimal string to JSON Schema."""
        return {"type": "string", "pattern": "^-?[0-9]{1,19}$"}


Offset = Annotated[int, DecimalString()]
"""The next record to read, int64."""

Count = Annotated[int, DecimalString()]
"""A number of records."""


# --------------------------------------------------------------------------- closed sets


class Cluster(StrEnum):
    """Which of the two clusters: `old` is the source, `new` the target of the migration."""

    OLD = "old"
    NEW = "new"


class IsolationLevel(StrEnum):
    """What the job reads, in Kafka's words."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Link(StrEnum):
    """How the records came to the new cluster."""

    MIRRORMAKER = "mirrormaker"
    PRESERVING = "preserving"
    OTHER = "other"


class Writers(StrEnum):
    """Who writes to the new topics."""

    MIRROR_ONLY = "mirror-only"
    MIXED = "mixed"
    UNKNOWN = "unknown"


class Exactness(StrEnum):
    """How well a translated offset is known. See the design, "Exactness, per partition"."""

    EXACT = "EXACT"
    POSITION_EXACT = "POSITION_EXACT"
    PRESERVED = "PRESERVED"
    BOUNDED = "BOUNDED"
    CLAIMED = "CLAIMED"
    UNKNOWN = "UNKNOWN"

    @property
    def proven(self) -> bool:
        """Whether the place itself was proven on records."""
        return self in (Exactness.EXACT, Exactness.POSITION_EXACT, Exactness.PRESERVED)


class Method(StrEnum):
    """What a translated offset was derived from."""

    CONTENT = "content"
    PRESERVED = "preserved"
    MIRROR_CHECKPOINT = "mirror-checkpoint"
    MIRROR_SYNC = "mirror-sync"
    HEADER = "header"
    TIMESTAMP = "timestamp"
    EARLIEST = "earliest"
    NONE = "none"


class RawVerdict(StrEnum):
    """What would happen if the old number were used on the new cluster."""

    SAME = "SAME"
    LOSS = "LOSS"
    REPLAY = "REPLAY"
    CONFUSION = "CONFUSION"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    UNKNOWN = "UNKNOWN"


class Severity(StrEnum):
    """What a finding means for the migration."""

    BLOCKS = "blocks"
    WARNS = "warns"
    INFORMS = "informs"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TopicPartition:
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


# --------------------------------------------------------------------------- checkpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with a checkpoint or a cluster answer, with a stable code of `findings/`."""

    code: str
    message: str
    fix: str = ""


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


# --------------------------------------------------------------------------- clusters


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
    taken_at: str
    """When reading began, ISO 8601 in UTC."""
    topics: tuple[TopicState, ...] = ()
    groups: tuple[GroupState, ...] = ()
    mirror: MirrorState = field(default_factory=MirrorState)
    problems: tuple[Problem, ...] = ()


# --------------------------------------------------------------------------- comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRange:
    """What a partition's log holds: `[log_start, hw)`, stable below `lso`. None is unread."""

    log_start: Offset | None
    lso: Offset | None
    hw: Offset | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """How the records from the position on differ: unread ones missing on the new cluster,
    copies beyond their number, records no source record explains.
    """  # noqa: D205 - one sentence, two lines

    examined: bool
    missing: Count | None = None
    duplicated: Count | None = None
    foreign: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReuse:
    """What using the old number on the new cluster would do, in records."""

    verdict: RawVerdict
    skip: Count | None = None
    """Unread records that would never be read; None where it was not counted."""
    replay: Count | None = None
    """Records that would be read twice; None where it was not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPoint:
    """One position that a restart of the job uses. `batch` ends at `old`."""

    batch: int | None
    old: Offset
    new: Offset | None


class Side(StrEnum):
    """What a record is for the job."""

    READ = "read"
    UNREAD = "unread"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """One record near the position, on either or both clusters. Payloads are never shown."""

    old_offset: Offset | None
    new_offset: Offset | None
    timestamp_ms: int | None
    identity: str
    """Salted hash of the record, hex."""
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Where something other than the records says the position is: a place to look."""

    method: Method
    lo: Offset | None
    hi: Offset | None
    said_by: str
    """One sentence naming who says so, with its numbers."""
    guess: bool = False
    """Only where to look first: unread records may lie below `lo`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Why the answer is what it is."""

    reason: str
    """One sentence."""
    statements: tuple[str, ...] = ()
    """The proof in sentences, in reading order."""
    neighbours: tuple[Neighbour, ...] = ()
    """Records around the position, in log order."""
    at_raw: tuple[Neighbour, ...] = ()
    """Records around the raw number on the new cluster."""
    candidates: tuple[Candidate, ...] = ()
    anchors_before: int = 0
    anchors_after: int = 0
    old_records_read: Count = 0
    new_records_read: Count = 0
    identity: str = ""
    """What the identity of a record was made of, e.g. `timestamp, key, value and headers`."""
    ignored_headers: tuple[str, ...] = ()
    schema_ids: tuple[tuple[int, int], ...] = ()
    """(old id, new id) of masked schema registry ids."""
    salt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionComparison:
    """One row of the comparison: one partition of one source."""

    source: str
    topic: str
    partition: int
    old_offset: Offset | None
    """None for a partition that the checkpoint lacks (NEW_PARTITION)."""
    new_topic: str
    new_offset: Offset | None
    exactness: Exactness
    method: Method
    restart: tuple[RestartPoint, ...]
    bounds: tuple[Offset | None, Offset | None]
    replay: Count | None
    """Records read twice if the job resumes at `new_offset`: an upper bound; None if unknown."""
    skip: Count | None
    """Records never read if the job resumes at `new_offset`: an upper bound; None if unknown."""
    foreign_below: Count | None
    counted: bool
    """Whether records were read to count replay, skip and foreign_below."""
    ahead: Ahead
    old: LogRange
    new: LogRange
    lag_old: Offset | None
    lag_new: Offset | None
    mirror_maker: Offset | None
    """What MirrorMaker 2 itself would answer; None where it has no answer."""
    raw: RawReuse
    findings: tuple[str, ...]
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing wrong or worth knowing about one partition, a topic, or the whole migration."""

    code: str
    severity: Severity
    topic: str | None
    partition: int | None
    message: str
    """One sentence with its numbers."""
    remedy: str
    """What to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BelongsTo:
    """Which cluster the positions were read from, and how we know."""

    cluster: Cluster | None
    """None where it cannot be told."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRef:
    """A cluster as a comparison names it."""

    name: str
    cluster_id: str | None
    taken_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The comparison in numbers. `raw_*` sums are lower bounds: unknown partitions add nothing."""

    partitions: int
    exact: int
    position_exact: int
    preserved: int
    bounded: int
    claimed: int
    unknown: int
    blocked: int
    """Partitions with a finding that blocks."""
    raw_wrong: int
    """Partitions that would go wrong if the old number were used."""
    raw_out_of_range: int
    raw_skip: Count
    raw_replay: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A checkpoint, or a consumer group, beside both clusters."""

    migration: str
    checkpoint: Checkpoint | None
    group: str | None
    taken_at: str
    belongs_to: BelongsTo
    old: ClusterRef
    new: ClusterRef
    partitions: tuple[PartitionComparison, ...]
    findings: tuple[Finding, ...]
    summary: Summary


# --------------------------------------------------------------------------- reconciliation


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeDifference:
    """The records of one offset range that the other cluster does not have, or not as often."""

    cluster: Cluster
    """Whose offsets: the old log's for missing records, the new log's for duplicated and foreign ones."""
    partition: int
    start: Offset
    end: Offset
    """Exclusive."""
    missing: Count = 0
    duplicated: Count = 0
    foreign: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReconciliation:
    """One partition, counted on both clusters."""

    partition: int
    old_records: Count
    new_records: Count
    both: Count
    """Copies that pair up, one to one."""
    missing: Count
    """Records of the old log without a copy on the new one."""
    duplicated: Count
    """Copies on the new log beyond the number on the old one."""
    foreign: Count
    """Records on the new log that the old one does not have at all."""
    timed: bool
    """Whether timestamps were compared. LogAppendTime or a missing timestamp on either side rules it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """A topic of the old cluster beside its counterpart on the new one."""

    old_topic: str
    new_topic: str
    isolation_level: IsolationLevel
    partitions: tuple[PartitionReconciliation, ...]
    """Every partition that was read on either side, ascending."""
    differences: tuple[RangeDifference, ...]
    """Ranges that differ, by cluster, partition and offset. A range that is not listed has no difference."""
    ignored_headers: tuple[str, ...]
    """Header names left out of the comparison: provenance, and names found on the new cluster only."""

    @property
    def agrees(self) -> bool:
        """Whether both logs hold the same records, equally often."""
        return not self.differences

    def summary(self) -> str:
        """Say the result in one sentence."""
        both, missing, duplicated, foreign = (
            sum(getattr(each, name) for each in self.partitions)
            for name in ("both", "missing", "duplicated", "foreign")
        )
        names = self.old_topic if self.old_topic == self.new_topic else f"{self.old_topic} and {self.new_topic}"
        told = f"{names}: {both:,} records are on both clusters"
        if self.agrees:
            return f"{told}, and nothing differs."
        differing = len({each.partition for each in self.differences})
        return (
            f"{told}; on the new cluster {missing:,} are missing, {duplicated:,} are there too often and {foreign:,} "
            f"are its own, in {differing} of {len(self.partitions)} partitions."
        )
