"""Sign with a console's key for a person whom it saw signed in."""

from __future__ import annotations

from datetime import datetime, timedelta

from offsetwise.approval import demo, strict
from offsetwise.approval.envelope import Statement, Verdict, seal
from offsetwise.approval.keys import OWN_ISSUER, RESERVED, PrivateKey
from offsetwise.errors import NotApprovedError
from offsetwise.model import AcceptedUnproven


def vouch(
    plan_digest: str,
    key: PrivateKey,
    *,
    issuer: str,
    subject: str,
    now: datetime,
    expires_in: timedelta,
    verdict: Verdict,
    accepted_unproven: tuple[AcceptedUnproven, ...] = (),
    plans: tuple[str, ...] = (),
) -> tuple[bytes, Statement]:
    """Sign a person's decision.

    Whether the person may decide, and what they may accept, is not checked here: the review does that, and the applier
    does it again.

    Args:
        plan_digest: SHA-256 of the plan's file, hex; for a set that of the set's file.
        key: The console's own key, or the demo key for its own reviewer.
        issuer: Who vouches for the person to the console.
        subject: The person.
        now: With its time zone.
        expires_in: How long an approval is valid.
        verdict: The person's decision.
        accepted_unproven: Positions that the person lets be applied although their proof cannot be repeated.
        plans: The digests of all plans of the set, in its order; empty for one plan.

    Returns:
        The approval's file, and its statement.

    Raises:
        NotApprovedError: The key must not sign for this person.
    """
    _require_signs_for(key, issuer=issuer, subject=subject)
    said = Statement.create(
        plan_digest,
        issuer=issuer,
        subject=subject,
        verdict=verdict,
        now=now,
        expires_in=expires_in,
        accepted_unproven=accepted_unproven,
        plans=plans,
    )
    return seal(said, key), said


def _require_signs_for(key: PrivateKey, *, issuer: str, subject: str) -> None:
    """Raise unless the key is a console's, and may sign for the person.

    The demo key signs for its own reviewer only; a console's key for people whom an identity provider has signed in.
    """
    is_demo = key.public.id == demo.DEMO_KEY_ID
    if not (is_demo or key.public.vouches):
        raise NotApprovedError(
            f"Key {key.public.id[:12]}…: expected a console's key, found that of {key.public.subject}: nobody signs "
            "for somebody else. Nothing was signed.",
            fix="Make a key for the console with `offsetwise keygen --console`.",
        )
    own = (issuer, subject) == (key.public.issuer, key.public.subject)
    foreign = strict.is_name(issuer) and strict.is_name(subject) and not issuer.startswith((OWN_ISSUER, RESERVED))
    if not (own if is_demo else foreign):
        raise NotApprovedError(
            f"Key {key.public.id[:12]}…: it does not sign for {subject[:40]!a} of {issuer[:40]!a}, who is nobody that "
            "an identity provider signs in here. Nothing was signed.",
            fix="Sign in at the configured identity provider.",
        )
