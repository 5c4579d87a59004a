"""The result of a plan: what was written, and the current state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.ended_transactions import Settlement
from offsetwise.model.offsets import AnyPosition, Count, Offset, Time
from offsetwise.model.plan import Plan, Target
from offsetwise.position import OfPartition


class StepState(StrEnum):
    """How far one step of an application came."""

    DONE = "done"
    UNDONE = "undone"
    """Rolled back."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The reply was lost, and reading again did not resolve it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """One file that was written, replaced or removed."""

    path: str
    """Relative to the step's folder."""
    sha256: str | None
    """Of the current content; None if there is none."""
    before_sha256: str | None = None
    """Of the previous content; None if there was none."""
    kept_as: str | None = None
    """Where the original is kept, relative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOffset(OfPartition):
    """One committed offset that was written."""

    topic: str
    partition: int
    offset: Offset
    before: Offset | None
    """The previous commit; None if there was none."""
    before_metadata: str = ""
    before_leader_epoch: int | None = None
    error: str | None = None
    """Why this partition was not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenLease:
    """One lease of an application of the KCL that was written."""

    key: str
    """The lease key, which is the shard's id."""
    position: AnyPosition
    before_position: AnyPosition | None
    """None if there was no lease."""
    before: str | None
    """The whole previous row as JSON; None likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTable:
    """A lease table that was created."""

    kcl: str
    """The version of the KCL whose layout it has, `2` or `3`."""
    created_ms: Count
    """When DynamoDB created it, epoch ms: another table of the same name has another time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptStep:
    """What was written to one target."""

    target: Target
    place: str
    """The folder, file or group."""
    state: StepState
    told: str
    """One sentence about the current state."""
    files: tuple[WrittenFile, ...] = ()
    offsets: tuple[WrittenOffset, ...] = ()
    leases: tuple[WrittenLease, ...] = ()
    """Not written if empty."""
    table: CreatedTable | None = None
    """The table of the leases, if the plan created it. Not written if null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedUnproven(OfPartition):
    """A position that an approver lets be applied though its proof cannot be made again."""

    topic: str
    """The name on the old cluster."""
    partition: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Approver:
    """Who approved, as the applier's own configuration names the key's holder."""

    key: str
    """The key's id."""
    issuer: str
    subject: str
    approved_at: Time
    expires_at: Time
    accepted_unproven: tuple[AcceptedUnproven, ...] = ()
    """Those in the signed approval. Not written if empty."""


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
    """The approvals that counted, each as the text of its file; empty in receipts of earlier releases."""


class Turnout(StrEnum):
    """What a look at the target says about one position."""

    CONFIRMED = "CONFIRMED"
    """The target is at the planned position."""
    MOVED_ON = "MOVED_ON"
    """The job has continued from the planned position: the first batch of a Spark query began exactly there; for others
    only that they are after it, within the log, is known."""
    DIFFERENT = "DIFFERENT"
    UNKNOWN = "UNKNOWN"
    """It could not be read; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPosition(OfPartition):
    """One planned position, held against what is at one target now."""

    target: Target
    source: str
    topic: str
    """The name on the new cluster."""
    partition: int
    planned: AnyPosition
    found: AnyPosition | None
    """The current position of the target; None if it has none, or could not be read."""
    turnout: Turnout
    told: str
    """One sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedTransaction:
    """One planned transaction, held against its coordinator and the logs of its partitions."""

    target: Target
    transactional_id: str | None
    """None for a hanging one."""
    producer_id: Count
    epoch: int
    decision: Settlement
    turnout: Turnout
    told: str
    """One sentence."""


class JobOrigin(StrEnum):
    """What a running job says about the state that it began from."""

    RESTORED_FROM_PLAN = "RESTORED_FROM_PLAN"
    """It began from what the plan wrote."""
    RESTORED_FROM_OTHER = "RESTORED_FROM_OTHER"
    """It began from something else."""
    FRESH_START = "FRESH_START"
    """It began without any state or position."""
    UNKNOWN = "UNKNOWN"
    """It does not report it, or could not be asked; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedJob:
    """What the running job itself says, compared with what the plan wrote."""

    target: Target
    address: str
    """The address that was asked, without credentials."""
    id: str | None
    """The job's id in its engine; None if unknown."""
    name: str | None
    state: str | None
    """In the engine's terms."""
    expected: str
    """What the plan wrote, from which the job was to begin."""
    restored_from: str | None
    """What the job reports that it began from; None if it reports nothing."""
    origin: JobOrigin
    told: str
    """The evidence, in one or two sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What is at every target of a receipt now."""

    plan_digest: str
    verified_at: Time
    """ISO 8601, UTC."""
    started: bool
    """Whether the job was seen to have continued at every target."""
    positions: tuple[VerifiedPosition, ...]
    transactions: tuple[VerifiedTransaction, ...] = ()
    """Those that the plan ended. Not written if empty."""
    job: VerifiedJob | None = None
    """The answer of the running job, if it was asked. Not written if null."""

    @property
    def is_different(self) -> bool:
        """Whether any target is not as planned, or the job began elsewhere."""
        elsewhere = (JobOrigin.RESTORED_FROM_OTHER, JobOrigin.FRESH_START)
        return Turnout.DIFFERENT in self._turnouts() or (self.job is not None and self.job.origin in elsewhere)

    @property
    def is_unknown(self) -> bool:
        return Turnout.UNKNOWN in self._turnouts() or (self.job is not None and self.job.origin is JobOrigin.UNKNOWN)

    @property
    def exit_code(self) -> int:
        """The exit code of `offsetwise verify`: 5 if anything is different, else 1 if anything is unknown, else 0."""
        return 5 if self.is_different else 1 if self.is_unknown else 0

    def _turnouts(self) -> set[Turnout]:
        return {position.turnout for position in self.positions} | {
            transaction.turnout for transaction in self.transactions
        }
