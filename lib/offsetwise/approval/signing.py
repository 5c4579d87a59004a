"""Sign a plan, after checks that the applier would fail later."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from offsetwise.approval import demo, strict
from offsetwise.approval.eligibility import check_recorded, why_barred
from offsetwise.approval.envelope import Statement, Verdict, seal
from offsetwise.approval.keys import PrivateKey
from offsetwise.approval.unproven import require_acceptable
from offsetwise.errors import NotApprovedError, UsageError
from offsetwise.model import AcceptedUnproven, Plan
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.refusals import require_proofs

LIFETIME: Final = timedelta(days=7)
"""The default."""
LONGEST: Final = timedelta(days=366)


def sign(
    plan_bytes: bytes,
    key: PrivateKey,
    *,
    subject: str,
    issuer: str,
    now: datetime,
    expires_in: timedelta = LIFETIME,
    verdict: Verdict = Verdict.APPROVED,
    accepted_unproven: tuple[AcceptedUnproven, ...] = (),
    name: str = "the plan",
) -> bytes:
    """Sign exactly these bytes.

    The checks here help the signer. Whether an approval counts is decided when the plan is applied, by the applier's
    own configuration.

    Args:
        plan_bytes: The plan's file, every byte.
        key: The signer's key.
        subject: The signer.
        issuer: Who vouches for that name.
        now: With its time zone.
        expires_in: How long the approval is valid.
        verdict: The decision.
        accepted_unproven: Positions that may be applied although their proof cannot be repeated.
        name: The name of the plan in errors, usually its path.

    Returns:
        The approval's file.

    Raises:
        FileError: The bytes are no plan.
        PlanError: The plan contradicts itself; a position has no proof that could be repeated; or a position is
            accepted as unproven that is not in the plan, or needs no proof.
        VersionError: The plan has a version that this release does not know.
        NotApprovedError: The signer is author or editor of the plan, under any of the given names, and so must not
            decide about it, not even reject it; or the demo key for anything but the sample.
        UsageError: An impossible lifetime or name.
    """
    plan = read_plan(plan_bytes, subject=name)
    digest = digest_of(plan_bytes)
    require_possible(expires_in, subject, issuer)
    require_signable(plan, digest, key, subject=subject, verdict=verdict)
    require_acceptable(plan, digest, verdict, accepted_unproven)
    said = Statement.create(
        digest,
        issuer=issuer,
        subject=subject,
        verdict=verdict,
        now=now,
        expires_in=expires_in,
        accepted_unproven=accepted_unproven,
    )
    return seal(said, key)


def require_possible(expires_in: timedelta, subject: str, issuer: str) -> None:
    """Raise for a lifetime or a name that no approval can have.

    Raises:
        UsageError: One of them is impossible.
    """
    if not timedelta(seconds=1) <= expires_in <= LONGEST:
        raise UsageError(
            f"sign: expected a lifetime of up to {LONGEST.days} days, found {expires_in}. Nothing was signed.",
            fix="Give a lifetime that ends soon after the planned cutover.",
        )
    if not (strict.is_name(subject) and strict.is_name(issuer)):
        raise UsageError(
            f"sign: expected {strict.A_NAME}, found {subject[:40]!a} of {issuer[:40]!a}. Nothing was signed.",
            fix="Sign under the names in your .pub file.",
        )


def require_signable(plan: Plan, digest: str, key: PrivateKey, *, subject: str, verdict: Verdict) -> None:
    check_recorded(plan, digest)
    _require_signer(plan, digest, key, subject)
    if verdict is Verdict.APPROVED:
        require_proofs(plan, digest)


def _require_signer(plan: Plan, digest: str, key: PrivateKey, subject: str) -> None:
    why = why_barred(plan, subject) or why_barred(plan, key.public.subject)
    if why is not None:
        raise NotApprovedError(
            f"Plan {digest[:12]}…: expected a signer other than its author and editors, but {why}. "
            "Nothing was signed, nothing was written.",
            fix="Let somebody decide who neither wrote nor edited it. Its author drafts another plan.",
        )
    if key.public.vouches:
        raise NotApprovedError(
            f"Plan {digest[:12]}…: expected the key of a person, found that of the console {key.public.subject}, which "
            "signs for people who decide there. Nothing was signed, nothing was written.",
            fix="Decide in the console, or make a key of your own with `offsetwise keygen`.",
        )
    if key.public.id == demo.DEMO_KEY_ID and not demo.is_of_sample(plan):
        raise NotApprovedError(
            f"Plan {digest[:12]}…: the demo key is good for the bundled sample only, and this plan is of other "
            "clusters. Nothing was signed, nothing was written.",
            fix="Make a key of your own with `offsetwise keygen`.",
        )
