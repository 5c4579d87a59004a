"""The keys that the applier trusts, and how many people must agree; only from the applier's own configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offsetwise.approval.keys import OWN_ISSUER, RESERVED, PublicKey
from offsetwise.errors import NotApprovedError

MAX_LIFETIME_S: Final = 30 * 86_400
"""The default."""
CLOCK_SKEW_S: Final = 120
"""The default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """The conditions for a plan to count as approved. None: not stated in this part of the configuration."""

    required: int = 1
    """How many people, each with a key of their own."""
    trusted: tuple[PublicKey, ...] | None = None
    """The trusted keys, with the issuer and subject of each as the applier knows them."""
    vouching: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(id of a console's key, issuers of the people it may sign for). A console's key without an entry is useless."""
    max_lifetime_s: int | None = None
    """The longest time from an approval to its expiry."""
    clock_skew_s: int | None = None
    """How far an approver's clock may be ahead of the applier's."""

    def __post_init__(self) -> None:
        if self.required < 1:
            raise NotApprovedError(
                f"Approval policy: expected at least one approver, found {self.required}. Nothing was written.",
                fix="Set `approval.required` to 1 or more.",
            )
        holders: dict[str, PublicKey] = {}
        for key in self.trusted or ():
            if holders.setdefault(key.id, key) != key:
                raise NotApprovedError(
                    f"Approval policy: the key {key.id[:12]}… is listed for {holders[key.id].subject} "
                    f"({holders[key.id].issuer}) and for {key.subject} ({key.issuer}); whoever holds it could be "
                    "either. Nothing was written.",
                    fix="Give each person a key of their own.",
                )

        for key_id, issuers in self.vouching:
            reserved = next((issuer for issuer in issuers if issuer.startswith((OWN_ISSUER, RESERVED))), None)
            if reserved is not None:
                raise NotApprovedError(
                    f"Approval policy: expected the console's key {key_id[:12]}… to vouch for people of an identity "
                    f"provider, found {reserved[:40]!r}, which is no provider. Nothing was written.",
                    fix="Name the provider's address under `vouches_for`, as `iss` of its ID tokens says it.",
                )

    def issuers(self, key: PublicKey) -> tuple[str, ...]:
        return next((issuers for key_id, issuers in self.vouching if key_id == key.id), ())


def combined(first: ApprovalPolicy, other: ApprovalPolicy) -> ApprovalPolicy:
    """Combine the policy of the migration file with that of the command line: whatever either forbids is forbidden.

    Keys that both list, with the same issuer and subject, count; the larger number; the shorter times. Either may state
    for whom a console's key may sign; if both do, only issuers that both name count.
    """
    said, also = dict(first.vouching), dict(other.vouching)
    both = {key: tuple(issuer for issuer in said[key] if issuer in also[key]) for key in said.keys() & also.keys()}
    if first.trusted is None or other.trusted is None:
        trusted = first.trusted if other.trusted is None else other.trusted
    else:
        trusted = tuple(key for key in first.trusted if key in other.trusted)
    return ApprovalPolicy(
        required=max(first.required, other.required),
        trusted=trusted,
        vouching=tuple((said | also | both).items()),
        max_lifetime_s=_shorter(first.max_lifetime_s, other.max_lifetime_s),
        clock_skew_s=_shorter(first.clock_skew_s, other.clock_skew_s),
    )


def _shorter(first: int | None, other: int | None) -> int | None:
    stated = [seconds for seconds in (first, other) if seconds is not None]
    return min(stated, default=None)
