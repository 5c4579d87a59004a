"""What came of a plan: what was written, and what is there now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from offsetwise.model.offsets import AnyPosition, Count, Offset, Time
from offsetwise.model.plan import Plan, Target
from offsetwise.model.settling import Settlement
from offsetwise.position import OfPartition


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
    """Of what is there now; None where nothing does."""
    before_sha256: str | None = None
    """Of what stood there before; None where nothing did."""
    kept_as: str | None = None
    """Where the original is kept, relative."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOffset(OfPartition):
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
class WrittenLease:
    """One lease of an application of the KCL that was written."""

    key: str
    """Of its row, which is the shard's id."""
    position: AnyPosition
    before_position: AnyPosition | None
    """None where there was no lease."""
    before: str | None
    """The whole row that stood there before, as JSON; None as above."""


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
    """One sentence: what is there now."""
    files: tuple[WrittenFile, ...] = ()
    offsets: tuple[WrittenOffset, ...] = ()
    leases: tuple[WrittenLease, ...] = ()
    """Not written if empty."""
    table: CreatedTable | None = None
    """The table that the leases are in, where the plan created it. Not written if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedUnproven(OfPartition):
    """A position that an approver lets be applied though its proof cannot be made again."""

    topic: str
    """As on the old cluster."""
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
    """In the signed approval. Not written if empty."""


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


class Turnout(StrEnum):
    """What a look at the target says about one position."""

    CONFIRMED = "CONFIRMED"
    """What is there is the planned position."""
    MOVED_ON = "MOVED_ON"
    """The job began at exactly the planned position and has gone on from it."""
    DIFFERENT = "DIFFERENT"
    UNKNOWN = "UNKNOWN"
    """It could not be seen; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedPosition(OfPartition):
    """One planned position, held against what is at one target now."""

    target: Target
    source: str
    topic: str
    """On the new cluster."""
    partition: int
    planned: AnyPosition
    found: AnyPosition | None
    """Where the target stands now; None where it says nothing, or could not be read."""
    turnout: Turnout
    told: str
    """One sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedTransaction:
    """One planned transaction, held against its coordinator and the logs of its partitions."""

    target: Target
    transactional_id: str | None
    """None for one that hung."""
    producer_id: Count
    epoch: int
    decision: Settlement
    turnout: Turnout
    told: str
    """One sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What is at every target of a receipt now."""

    plan_digest: str
    verified_at: Time
    """ISO 8601, UTC."""
    started: bool
    """Whether the job was seen to have gone on at every target."""
    positions: tuple[VerifiedPosition, ...]
    transactions: tuple[VerifiedTransaction, ...] = ()
    """Those that the plan ended. Not written if empty."""

    @property
    def exit_code(self) -> int:
        """As `offsetwise verify` gives it: 5 for anything DIFFERENT, else 1 for anything UNKNOWN."""
        turnouts = {position.turnout for position in self.positions} | {
            transaction.turnout for transaction in self.transactions
        }
        return 5 if Turnout.DIFFERENT in turnouts else 1 if Turnout.UNKNOWN in turnouts else 0
