"""A plan: what to write, why it is right, and what must still hold when it is written; and what came of it.

A plan is never changed: its digest is the SHA-256 of the exact bytes of its file, and an approval names that digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from offsetwise.model.closed_sets import Exactness, IsolationLevel, Method
from offsetwise.model.comparison import LogRange, Neighbour, RawReuse, RestartPoint
from offsetwise.model.findings import Finding
from offsetwise.model.offsets import Count, Offset, Time


class TargetKind(StrEnum):
    """Where positions are written."""

    SPARK_CHECKPOINT = "spark-checkpoint"
    """A copy of the checkpoint, edited. The old folder stays as it is."""
    SPARK_CHECKPOINT_IN_PLACE = "spark-checkpoint-in-place"
    """The checkpoint itself, its originals kept beside."""
    STARTING_OFFSETS = "starting-offsets"
    """A file that says where a job without positions of its own begins: Spark's `startingOffsets`, or Flink's words."""
    SEEDED_CHECKPOINT = "seeded-checkpoint"
    """A fresh checkpoint that holds initial offsets only."""
    FLINK_SAVEPOINT = "flink-savepoint"
    """A copy of a Flink savepoint, edited. The old folder stays as it is."""
    FLINK_SAVEPOINT_WITHOUT_SOURCES = "flink-savepoint-without-sources"
    """A copy of a Flink savepoint that keeps no position: its Kafka sources begin as the job says."""
    CONSUMER_GROUP = "consumer-group"
    """Committed offsets of a group on the new cluster."""


SAVEPOINT_KINDS: Final = frozenset({TargetKind.FLINK_SAVEPOINT, TargetKind.FLINK_SAVEPOINT_WITHOUT_SOURCES})
"""Targets that are copies of a Flink savepoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One place to write to."""

    kind: TargetKind
    group: str | None = None
    """The group's name; None for every other kind."""

    def __str__(self) -> str:
        return str(self.kind) if self.group is None else f"{self.kind}:{self.group}"


class Start(StrEnum):
    """How the start of a partition was chosen."""

    TRANSLATED = "translated"
    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    GROUP = "group"
    SPECIFIC = "specific"
    """An offset that a person gave, with a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A person's own offset in the place of the translated one."""

    offset: Offset
    reason: str
    by: str
    """As recorded, not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What lets anybody read the same records again: both neighbours by identity."""

    salt: str
    """Keys the identity hashes, hex."""
    identity: str
    """What the identity was made of."""
    ignored_headers: tuple[str, ...] = ()
    schema_ids: tuple[tuple[int, int], ...] = ()
    before: Neighbour | None = None
    """The nearest record below the place that stands on both logs."""
    after: Neighbour | None = None
    """The nearest record at or above the place that stands on both logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPosition:
    """One partition of a plan: where the job resumes, and how that is known."""

    source: str
    """The id of the source inside the checkpoint; empty for a group."""
    topic: str
    partition: int
    old_offset: Offset | None
    """None for a partition that the checkpoint lacks."""
    new_topic: str
    new_offset: Offset
    start: Start
    method: Method
    exactness: Exactness
    restart: tuple[RestartPoint, ...]
    """Every position that a restart uses; of a pending batch both ends. Each has its new offset."""
    bounds: tuple[Offset | None, Offset | None]
    replay: Count | None
    skip: Count | None
    foreign_below: Count | None
    counted: bool
    old: LogRange
    new: LogRange
    raw: RawReuse
    """What the old number would do: what an unedited start risks."""
    proof: Proof | None = None
    end_proof: Proof | None = None
    """Of the end of a pending batch; None where none is written, or no record was read there."""
    override: Override | None = None
    reason: str = ""
    """The evidence in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequirement:
    """A topic that must still be the same one."""

    name: str
    id: str | None
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequirement:
    """A cluster that must still be the same one, with its topics."""

    name: str
    cluster_id: str | None
    topics: tuple[TopicRequirement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRequirement:
    """A checkpoint that must not have moved on."""

    uri: str
    engine: str
    job_id: str | None
    last_planned_batch: int | None
    last_committed_batch: int | None
    files: tuple[tuple[str, str], ...]
    """(relative path, SHA-256 in hex) of the offset files the positions were read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBefore:
    """A group on the new cluster as it was when the plan was drafted."""

    group: str
    state: str | None
    offsets: tuple[tuple[str, int, Offset], ...]
    """(topic, partition, committed offset); a partition without a commit is not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What must still hold when the plan is applied. Growth of log ends is no drift."""

    old: ClusterRequirement
    new: ClusterRequirement
    checkpoint: CheckpointRequirement | None
    groups: tuple[GroupBefore, ...] = ()
    old_group: GroupBefore | None = None
    """The group on the old cluster that the positions were read from; None for a checkpoint's."""


class Outcome(StrEnum):
    """How a check went."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One condition of the start gate."""

    name: str
    outcome: Outcome
    told: str
    """One sentence with its numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the engine would do if it were started with the checkpoint unedited."""

    effect: str
    """`nothing`, `silent skip`, `replay`, `other records`, `exception` or `unknown`."""
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedJob:
    """What the migration file states about the job. None means not stated."""

    stateful: bool | None = None
    watermark_ms: int | None = None
    sink: str | None = None
    tolerates_replay: bool | None = None
    sink_rewound: bool | None = None
    """Whether a person states that the sink is rewound with the job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTotals:
    """The plan in numbers. Unknown counts add nothing and are counted beside."""

    partitions: int
    overridden: int
    replay: Count
    skip: Count
    uncounted: int
    """Partitions whose replay or skip is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody as an identity provider names them, its parts apart."""

    issuer: str
    subject: str
    address: str | None = None
    """A mail address, without case; None where the provider said none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An offset plan, as it is reviewed, approved and applied."""

    migration: str
    drafted_at: Time
    """ISO 8601, UTC."""
    author: str
    """As recorded, not believed."""
    editors: tuple[str, ...]
    """Everybody who edited an earlier version. None of them, nor the author, may approve."""
    strategy: str
    """The field's word for how the job moves."""
    targets: tuple[Target, ...]
    rewind_to: int | None
    """The earlier batch that the job goes back to; None where it goes on."""
    compared_at: Time
    """When the comparison was taken, ISO 8601, UTC."""
    isolation_level: IsolationLevel
    job: StatedJob
    positions: tuple[PlannedPosition, ...]
    requirements: Requirements
    gate: tuple[GateCheck, ...]
    findings: tuple[Finding, ...]
    """Findings of the comparison and of drafting."""
    prediction: Prediction
    keeps: tuple[str, ...]
    gives_up: tuple[str, ...]
    totals: PlanTotals
    dropped_batch: int | None = None
    """The polluted batch that is left out of what is written; None where no batch is."""
    identities: tuple[Identity, ...] = ()
    """Of the author and the editors: those whom an identity provider signed in at the console. Not written if empty."""


# --------------------------------------------------------------------------- what came of it


class StepState(StrEnum):
    """How far one step of an application came."""

    DONE = "done"
    UNDONE = "undone"
    """Rolled back."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The reply was lost, and reading again did not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """One file that was written, replaced or removed."""

    path: str
    """Relative to the step's place."""
    sha256: str | None
    """Of what stands there now; None where nothing does."""
    before_sha256: str | None = None
    """Of what stood there before; None where nothing did."""
    kept_as: str | None = None
    """Where the original is kept, relative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOffset:
    """One committed offset that was written."""

    topic: str
    partition: int
    offset: Offset
    before: Offset | None
    """What was committed before; None where nothing was."""
    before_metadata: str = ""
    before_leader_epoch: int | None = None
    error: str | None = None
    """Why this partition was not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptStep:
    """What was written to one target."""

    target: Target
    place: str
    """The folder, file or group."""
    state: StepState
    told: str
    """One sentence: what stands there now."""
    files: tuple[WrittenFile, ...] = ()
    offsets: tuple[WrittenOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """Who approved, as the applier's own configuration names the key's holder."""

    key: str
    """The key's id."""
    issuer: str
    subject: str
    approved_at: Time
    expires_at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What applying a plan wrote, step by step."""

    plan_digest: str
    plan: Plan
    approvers: tuple[Approver, ...]
    begun_at: Time
    ended_at: Time
    steps: tuple[ReceiptStep, ...]
    envelopes: tuple[str, ...] = ()
    """The approvals that counted, each as its file was; none in receipts of earlier releases."""


# --------------------------------------------------------------------------- how it turned out


class Turnout(StrEnum):
    """What a look at the target says about one position."""

    CONFIRMED = "CONFIRMED"
    """What stands there is the planned position."""
    MOVED_ON = "MOVED_ON"
    """The job began at exactly the planned position and has gone on from it."""
    DIFFERENT = "DIFFERENT"
    UNKNOWN = "UNKNOWN"
    """It could not be seen; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPosition:
    """One planned position, held against what stands at one target now."""

    target: Target
    source: str
    topic: str
    """On the new cluster."""
    partition: int
    planned: Offset
    found: Offset | None
    """Where the target stands now; None where it says nothing, or could not be read."""
    turnout: Turnout
    told: str
    """One sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What stands at every target of a receipt now."""

    plan_digest: str
    verified_at: Time
    """ISO 8601, UTC."""
    started: bool
    """Whether the job was seen to have gone on at every target."""
    positions: tuple[VerifiedPosition, ...]
