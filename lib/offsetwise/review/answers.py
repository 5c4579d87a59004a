"""What the verbs of a review answer: a closed set of values, so that a screen can draw every one of them.

An error is raised only where the store, the access file or a file that was handed over cannot be used.
"""

from __future__ import annotations

from dataclasses import dataclass

from offsetwise.plan.drift import Drift
from offsetwise.review.difference import Difference
from offsetwise.store.review_rows import State


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAllowed:
    """Refused. Nothing was changed; the audit log says that it was tried."""

    why: str
    """One sentence: what was expected and what was found."""
    fix: str
    """The next thing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """What was shown is not what is there now. Nothing was changed."""

    digest: str
    """Of the newest version."""
    difference: Difference | None
    """From the version that was shown to the newest; None where the versions are the same and the world moved."""
    drifts: tuple[Drift, ...] = ()
    """What has moved on the clusters since the plan was drafted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyDecided:
    """Somebody decided before, maybe the same person in another window. Nothing was changed."""

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
    """How many approvals of earlier versions count no more."""


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
"""Answers that leave everything as it was."""
