"""Positions beside both clusters: what becomes of each, and the evidence."""

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
    """Unread records that would never be read; None where it was not counted."""
    replay: Count | None = None
    """Records that would be read twice; None where it was not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedRecord:
    """One record of a partition on the old cluster, and its copy."""

    old: AnyPosition
    """The place before the record."""
    new: AnyPosition
    """The place before its copy."""
    identity: str
    """Salted hash of either, hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartProof:
    """What one of several partitions on the old cluster proves of a place on the new one."""

    partition: int
    """On the old cluster."""
    before: CopiedRecord | None
    """Its nearest record that the job has read and whose copy lies below the place; None without one."""
    after: CopiedRecord | None
    """Its nearest record that the job has not read and whose copy lies above; None without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """Where a position lies on the new cluster, of a stream that matches records in a way of its own."""

    place: AnyPosition | None
    exactness: Exactness
    method: Method
    reason: str
    """One sentence."""
    raw: RawReuse
    replay: Count | None = None
    skip: Count | None = None
    highest: AnyPosition | None = None
    """Where it lies at most, if that is another place."""
    foreign_below: Count | None = None
    counted: bool = False
    ahead: Ahead = field(default_factory=lambda: Ahead(examined=False))
    statements: tuple[str, ...] = ()
    identity: str = ""
    old_records_read: Count = 0
    new_records_read: Count = 0
    salt: str = ""
    parts: tuple[PartProof, ...] = ()
    """The records that enclose the place."""


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
    parts: tuple[PartProof, ...] = ()
    """Of a position in several partitions: the records of each that enclose the place. Not written where there is
    none."""


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
    """What MirrorMaker 2 itself would answer; None where it has no answer."""
    raw: RawReuse
    findings: tuple[str, ...]
    evidence: Evidence
    pending_equal: bool | None = None
    """Whether the pending batch, both its ends proven, holds the same records on both clusters, read in full.
    None where that is not known, or no batch is pending."""
    end_evidence: Evidence | None = None
    """Why the end of the pending batch is where it is; None where no batch is pending, or nothing was learnt."""
    behind_old: Behind | None = None
    """How far the position is behind in time, of a stream that tells it; None where it was not asked. Not written then,
    as the next one."""
    behind_new: Behind | None = None
    """The same at the place on the new cluster."""
    behind_parts: tuple[PartBehind, ...] = ()
    """Of an old position in several partitions: how far each part of it is behind that was asked. Not written where
    there is none."""
    aggregate: Count | None = None
    """How many user records the record before `new_offset` packs together; None of a plain record, and where nobody
    read it. Not written then."""

    @property
    def is_new(self) -> bool:
        """Whether the job has no position, and begins at the start of the log without anybody's decision."""
        return self.old_offset is None and (self.new_offset is not None or self.new.log_start is None)

    @property
    def source_offset(self) -> Position | None:
        """The next record to read on the old cluster; `old_offset` in files."""
        return self.old_offset

    @property
    def target_offset(self) -> Position | None:
        """The same record on the new cluster; `new_offset` in files. None where it is not known."""
        return self.new_offset

    @property
    def place_there(self) -> AnyPosition | None:
        """A position as the new cluster's stream has them; one of the old cluster where nothing of it is known."""
        known = (self.new_offset, self.new.log_start, self.old_offset)
        return next((position for position in known if position is not None), None)


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
    """Partitions with a finding that blocks."""
    raw_wrong: int
    """Partitions that would go wrong if the old number were used."""
    raw_out_of_range: int
    raw_skip: Count
    raw_replay: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRead:
    """What a service that a plan can write to had when the comparison was made."""

    target: str
    """The target's registered name."""
    name: str
    """What the migration file calls it."""
    before: Mapping[str, str | int | None] | None
    """As `TargetBefore` has it; None where nothing may be written to it as it is."""
    problem: str = ""
    """Why not, as sentences; empty where it may be."""
    fix: str = ""
    """What to do about that."""


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
    """`checkpoint NAME` or `group NAME` of the migration file, where several jobs were compared by one command."""
    made_from: str | None = None
    """There too: SHA-256 of what it was made from, so that a later command knows whether it still holds."""
    quota: QuotaUse | None = None
    """What asking for `behind_old` and `behind_new` took; None where nobody asked. Not written then."""
    read_from: tuple[Snapshot, Snapshot] | None = field(default=None, compare=False, repr=False)
    """The old and the new cluster as they were read for it; None where its file alone was read. No part of its file,
    as the next one."""
    services: tuple[ServiceRead, ...] = field(default=(), compare=False, repr=False)
    """The services of the new cluster that a plan for it can write to, as they were read for it; none where nobody
    asked. No part of its file either."""
    from_files: bool = field(default=False, compare=False)
    """Whether all of it was read from files, which whoever wrote them could change."""

    @property
    def kept_in(self) -> Subject:
        """What keeps the positions: the checkpoint by its URI, or the group."""
        return self.kept_by(self.group)

    @property
    def begins_by_setting(self) -> bool:
        """Whether a setting of the job's client says where it begins without a position; of a group it does."""
        return self.checkpoint is None or self.checkpoint.details.begins_by_setting

    @property
    def snapshots(self) -> tuple[Snapshot, Snapshot]:
        """The old and the new cluster as they were read for it.

        Raises:
            ValueError: Its file alone was read.
        """
        if self.read_from is None:
            raise ValueError("Both snapshots that the comparison was made with: expected, found its file alone.")
        return self.read_from

    def __getitem__(self, partition: str) -> PartitionComparison:
        """Return the row of a partition of the old cluster, as `orders-0`.

        Raises:
            KeyError: No source reads it, or several do: look at `partitions`.
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
