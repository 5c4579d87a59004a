"""The results of the operations of a review: a closed set of values, so that a screen can show every one of them.

Exceptions are raised only if the store, the access file or a given file cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.plan.drift import Drift
from offsetwise.review.difference import Difference
from offsetwise.store.review_rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAllowed:
    """Refused. Nothing was changed; the audit log records the attempt."""

    why: str
    """One sentence with the expected and the actual state."""
    fix: str
    """The next step for the person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """The shown version is not the newest, or the clusters have changed. Nothing was changed."""

    digest: str
    """The digest of the newest version."""
    difference: Difference | None
    """From the shown version to the newest; None if they are the same and the clusters have changed."""
    drifts: tuple[Drift, ...] = ()
    """The changes on the clusters since the plan was drafted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyDecided:
    """A decision exists, maybe of the same person in another window. Nothing was changed."""

    state: State
    message: str
    """Who decided what, and when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyOpen:
    """Another plan for the same checkpoint or group is open. Nothing was changed."""

    plan: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedVersion:
    plan: int
    number: int
    digest: str
    dropped: int
    """How many approvals of earlier versions are no longer valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    plan: int
    number: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    plan: int
    digest: str
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    plan: int
    digest: str
    envelope: bytes
    """The approval's file, as `apply` takes it."""
    counted: int
    required: int

    @property
    def complete(self) -> bool:
        return self.counted >= self.required


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    plan: int
    digest: str
    envelope: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    plan: int
    state: State


SaveAnswer = SavedVersion | Unchanged | Stale | AlreadyOpen | NotAllowed
SubmitAnswer = Submitted | Stale | AlreadyDecided | NotAllowed
DecideAnswer = Approved | Rejected | Stale | AlreadyDecided | NotAllowed
OtherAnswer = Done | AlreadyDecided | NotAllowed
REFUSALS = (NotAllowed, Stale, AlreadyDecided, AlreadyOpen)
"""Results without any change."""
