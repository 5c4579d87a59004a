"""The comparison of positions with both clusters: the translation of each, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from offsetwise.model.checkpoints import Checkpoint
from offsetwise.model.closed_sets import Cluster, Exactness, Method, RawVerdict, Side
from offsetwise.model.clusters import LogRange, Snapshot
from offsetwise.model.findings import Finding
from offsetwise.model.offsets import AnyPosition, Count, Offset, Time
from offsetwise.model.subjects import OfSubject, Subject
from offsetwise.model.time_lag import Behind, PartBehind, QuotaUse
from offsetwise.position import OfTwins, Position


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
    """Unread records that would never be read; None if they were not counted."""
    replay: Count | None = None
    """Records that would be read twice; None if they were not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRecord:
    """One record of a partition on the old cluster, and its copy."""

    old: AnyPosition
    """The position before the record."""
    new: AnyPosition
    """The position before its copy."""
    identity: str
    """The salted hash of the record, hex; its copy has the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProof:
    """What one of several partitions on the old cluster proves of a place on the new one."""

    partition: int
    """The partition on the old cluster."""
    before: CopiedRecord | None
    """The nearest record that the job has read and whose copy lies below the position; None if there is none."""
    after: CopiedRecord | None
    """The nearest record that the job has not read and whose copy lies above; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """A translated position on the new cluster, from a stream that matches records in its own way."""

    place: AnyPosition | None
    exactness: Exactness
    method: Method
    reason: str
    """One sentence."""
    raw: RawReuse
    replay: Count | None = None
    skip: Count | None = None
    highest: AnyPosition | None = None
    """The upper bound of the position, if it differs from `place`."""
    foreign_below: Count | None = None
    counted: bool = False
    ahead: Ahead = field(default_factory=lambda: Ahead(examined=False))
    statements: tuple[str, ...] = ()
    identity: str = ""
    old_records_read: Count = 0
    new_records_read: Count = 0
    salt: str = ""
    parts: tuple[PartProof, ...] = ()
    """The records that enclose the position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartPoint:
    """One position that a restart of the job uses. `batch` ends at `old`."""

    batch: int | None
    old: AnyPosition
    new: AnyPosition | None


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
    lo: AnyPosition | None
    hi: AnyPosition | None
    said_by: str
    """One sentence with the source of the claim and its numbers."""
    guess: bool = False
    """Whether it only shows where to look first: unread records may lie below `lo`."""


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
    """Records of the new cluster around the unchanged offset."""
    candidates: tuple[Candidate, ...] = ()
    anchors_before: int = 0
    anchors_after: int = 0
    old_records_read: Count = 0
    new_records_read: Count = 0
    identity: str = ""
    """The components of a record's identity, e.g. `timestamp, key, value and headers`."""
    ignored_headers: tuple[str, ...] = ()
    schema_ids: tuple[tuple[int, int], ...] = ()
    """(old id, new id) of masked schema registry ids."""
    salt: str = ""
    parts: tuple[PartProof, ...] = ()
    """For a position in several partitions: the records of each that enclose the position. Not written if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionComparison(OfTwins):
    """One row of the comparison: one partition of one source."""

    source: str
    topic: str
    partition: int
    old_offset: AnyPosition | None
    """None for a partition that the checkpoint lacks, or names without an offset."""
    new_topic: str
    new_offset: AnyPosition | None
    exactness: Exactness
    method: Method
    restart: tuple[RestartPoint, ...]
    bounds: tuple[AnyPosition | None, AnyPosition | None]
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
    lag_old: Count | None
    lag_new: Count | None
    mirror_maker: Offset | None
    """The answer of MirrorMaker 2 itself; None if it has none."""
    raw: RawReuse
    findings: tuple[str, ...]
    evidence: Evidence
    pending_equal: bool | None = None
    """Whether the pending batch, both its ends proven, holds the same records on both clusters, read completely. None
    if that is unknown, or no batch is pending."""
    end_evidence: Evidence | None = None
    """The evidence for the end of the pending batch; None if no batch is pending, or nothing is known."""
    behind_old: Behind | None = None
    """How far the position is behind in time, if the stream reports it; None if it was not read. Not written if null,
    like the next one."""
    behind_new: Behind | None = None
    """The same for the position on the new cluster."""
    behind_parts: tuple[PartBehind, ...] = ()
    """For an old position in several partitions: how far each part that was read is behind. Not written if empty."""
    aggregate: Count | None = None
    """How many user records the record before `new_offset` aggregates; None for a plain record, and if it was not read.
    Not written if null."""

    @property
    def is_new(self) -> bool:
        """Whether the job has no position, and begins at the log start without a decision."""
        return self.old_offset is None and (self.new_offset is not None or self.new.log_start is None)

    @property
    def source_offset(self) -> Position | None:
        """The next record to read on the old cluster; `old_offset` in files."""
        return self.old_offset

    @property
    def target_offset(self) -> Position | None:
        """The same record on the new cluster; `new_offset` in files. None if unknown."""
        return self.new_offset

    @property
    def place_there(self) -> AnyPosition | None:
        """A position of the new cluster's stream; one of the old cluster if none is known."""
        known = (self.new_offset, self.new.log_start, self.old_offset)
        return next((position for position in known if position is not None), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BelongsTo:
    """Which cluster the positions were read from, and how we know."""

    cluster: Cluster | None
    """None if it is unknown."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRef:
    """A cluster as a comparison names it."""

    name: str
    cluster_id: str | None
    taken_at: Time


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
    """Partitions with a blocking finding."""
    raw_wrong: int
    """Partitions where the unchanged offset would be wrong."""
    raw_out_of_range: int
    raw_skip: Count
    raw_replay: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRead:
    """The state of a service that a plan can write to, at the time of the comparison."""

    target: str
    """The target's registered name."""
    name: str
    """The name in the migration file."""
    before: Mapping[str, str | int | None] | None
    """As in `TargetBefore`; None if it must not be written to."""
    problem: str = ""
    """Why not, as sentences; empty if it may be written to."""
    fix: str = ""
    """The remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(OfSubject):
    """Every position of a checkpoint, or of a consumer group, beside both clusters.

    Its rows are reached by iteration, and by the name of a partition of the old cluster: `comparison["orders-0"]`.
    """

    migration: str
    checkpoint: Checkpoint | None
    group: str | None
    taken_at: Time
    belongs_to: BelongsTo
    old: ClusterRef
    new: ClusterRef
    partitions: tuple[PartitionComparison, ...]
    findings: tuple[Finding, ...]
    summary: Summary
    job: str | None = None
    """`checkpoint NAME` or `group NAME` of the migration file, if one command compared several jobs."""
    made_from: str | None = None
    """In that case: the SHA-256 of its inputs, so that a later command can check whether it is still valid."""
    quota: QuotaUse | None = None
    """The quota used to read `behind_old` and `behind_new`; None if they were not read. Not written if null."""
    read_from: tuple[Snapshot, Snapshot] | None = field(default=None, compare=False, repr=False)
    """The snapshots of the old and the new cluster; None if only its file was read. Not part of its file, like the next
    one."""
    services: tuple[ServiceRead, ...] = field(default=(), compare=False, repr=False)
    """The state of the new cluster's services that a plan can write to; empty if it was not read. Not part of its
    file."""
    from_files: bool = field(default=False, compare=False)
    """Whether all of it was read from files, which people can change."""

    @property
    def kept_in(self) -> Subject:
        """The subject that keeps the positions: the checkpoint by its URI, or the group."""
        return self.kept_by(self.group)

    @property
    def begins_by_setting(self) -> bool:
        """Whether a setting of the job's client decides where it begins without a position; always for a group."""
        return self.checkpoint is None or self.checkpoint.details.begins_by_setting

    @property
    def snapshots(self) -> tuple[Snapshot, Snapshot]:
        """The snapshots of the old and the new cluster.

        Raises:
            ValueError: Only its file was read.
        """
        if self.read_from is None:
            raise ValueError("Both snapshots that the comparison was made with: expected, found its file alone.")
        return self.read_from

    def __getitem__(self, partition: str) -> PartitionComparison:
        """Return the row of a partition of the old cluster, such as `orders-0`.

        Raises:
            KeyError: No source or several sources read it: see `partitions`.
        """
        rows = [row for row in self.partitions if str(row.topic_partition) == partition]
        if len(rows) != 1:
            raise KeyError(f"{partition}: expected one row, found {len(rows):,}")
        return rows[0]

    def __iter__(self) -> Iterator[PartitionComparison]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __bool__(self) -> bool:
        return True
