from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The state of a plan. The first three are open: each checkpoint or group has at most one open plan."""

    DRAFT = "draft"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    APPLIED = "applied"

    @property
    def open(self) -> bool:
        return self in (State.DRAFT, State.SUBMITTED, State.APPROVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """A person, as the identity provider named them. Issuer and subject are the identity."""

    issuer: str
    subject: str
    name: str
    """For display only."""
    address: str | None = None
    """An e-mail address in its plain form, to find one person behind two identities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    id: int
    migration: str
    moves: str
    """The checkpoint or group that is moved."""
    state: State
    number: int
    changed_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    id: int
    plan: int
    number: int
    digest: str
    facts: str
    by: Who
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorRow:
    issuer: str
    subject: str
    address: str | None
    since_number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRow:
    """One submission of a version; after it expires, the version can be submitted again."""

    id: int
    version: int
    round: int
    by: Who
    at_ms: int
    expires_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    id: int
    submission: int
    digest: str
    by: Who
    verdict: str
    at_ms: int
    expires_at_ms: int
    nonce: str
    envelope: bytes
    separation: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMember:
    plan: int
    version: int
    """The id of the version."""
    number: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRow:
    id: int
    migration: str
    wave: str | None
    digest: str
    by: Who
    at_ms: int
    members: tuple[SetMember, ...]
    """In the order in which they are applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentRow:
    number: int
    by: Who
    at_ms: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRow:
    digest: str
    content: bytes
    by: Who
    at_ms: int
