"""Sign all plans of a set at once, with the checks of a single plan for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from offsetwise.approval.envelope import Statement, Verdict, seal
from offsetwise.approval.keys import PrivateKey
from offsetwise.approval.signing import LIFETIME, require_possible, require_signable
from offsetwise.errors import OffsetwiseError
from offsetwise.model import PlanOfSet
from offsetwise.model.digest import digest as digest_of
from offsetwise.plan.reading import read_plan
from offsetwise.plan.sets.file import of_job, read_plan_set, require_plan_of


def sign_set(
    set_bytes: bytes,
    plans: Sequence[bytes],
    key: PrivateKey,
    *,
    now: datetime,
    expires_in: timedelta = LIFETIME,
    verdict: Verdict = Verdict.APPROVED,
    name: str = "the set",
) -> bytes:
    """Sign exactly the plans of a set, with the identity of the key, and return the approval's file.

    Args:
        set_bytes: The set's file, every byte.
        plans: The files of its plans, every byte of each, in its order.
        key: The signer's key.
        now: With its time zone.
        expires_in: How long the approval is valid.
        verdict: The decision.
        name: The name of the set in errors, usually its path.

    Raises:
        OffsetwiseError: A plan is not the one that the set names, or could not be signed alone; see the message.
    """
    plan_set = read_plan_set(set_bytes, subject=name)
    subject, issuer = key.public.subject, key.public.issuer
    require_possible(expires_in, subject, issuer)
    for entry, content in zip(plan_set.plans, plans, strict=True):
        require_plan_of(entry, content, subject=f"{name}, {entry.file}")
        _require_signable(entry, content, key, verdict)
    said = Statement.create(
        digest_of(set_bytes),
        plans=tuple(entry.digest for entry in plan_set.plans),
        issuer=issuer,
        subject=subject,
        verdict=verdict,
        now=now,
        expires_in=expires_in,
    )
    return seal(said, key)


def _require_signable(entry: PlanOfSet, content: bytes, key: PrivateKey, verdict: Verdict) -> None:
    try:
        plan = read_plan(content, subject=entry.file)
        require_signable(plan, entry.digest, key, subject=key.public.subject, verdict=verdict)
    except OffsetwiseError as error:
        raise of_job(entry.job, error) from error
