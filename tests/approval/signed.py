"""A plan in its file, people with keys, and what they sign."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from offsetwise import files
from offsetwise.approval import ApprovalFile, ApprovalPolicy, PrivateKey, PublicKey, Verdict, approved, keygen, sign
from offsetwise.approval.envelope import PAYLOAD_TYPE
from offsetwise.model import Approver, Plan, RestartPoint
from tests.plans import plan_of, planned

NOW: Final = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
PLAN: Final = plan_of(
    planned("orders", 0, RestartPoint(batch=6, old=1050, new=950)),
    migration="orders-to-new",
    drafted_at="2026-03-01T09:00:00Z",
    author="alice",
    editors=("Eve Editor <eve@example.org>",),
)
FILE: Final = files.dump(PLAN).encode()
RITA: Final = keygen(subject="rita@example.org", issuer="https://login.example.org")
RALPH: Final = keygen(subject="ralph")
MALLORY: Final = keygen(subject="mallory")
ALICE: Final = keygen(subject="Alice")
EVE: Final = keygen(subject="eve@example.org")


def said(
    key: PrivateKey = RITA,
    *,
    plan: bytes = FILE,
    subject: str | None = None,
    issuer: str | None = None,
    at: datetime = NOW,
    expires_in: timedelta = timedelta(days=1),
    verdict: Verdict = Verdict.APPROVED,
    name: str = "plan.approval.json",
) -> ApprovalFile:
    """Sign a plan as its own command would, by default with Rita's key."""
    content = sign(
        plan,
        key,
        subject=subject or key.public.subject,
        issuer=issuer or key.public.issuer,
        now=at,
        expires_in=expires_in,
        verdict=verdict,
    )
    return ApprovalFile(name=name, content=content)


def forged(key: PrivateKey, change: Callable[[dict[str, Any]], object], **more: Any) -> ApprovalFile:
    """Sign a changed statement rightly: what somebody with a trusted key and a tool of their own can do."""
    honest = json.loads(said(**more).content)
    body = json.loads(base64.b64decode(honest["payload"]))
    body["approver"] = {"issuer": key.public.issuer, "subject": key.public.subject}
    change(body)
    return sealed(json.dumps(body).encode(), key)


def sealed(payload: bytes, key: PrivateKey, kind: str = PAYLOAD_TYPE) -> ApprovalFile:
    """Sign any payload, as the DSSE specification writes it out."""
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
    signature = {"keyid": key.public.id, "sig": base64.b64encode(key.sign(signed)).decode()}
    body = {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": [signature]}
    return ApprovalFile(name="plan.approval.json", content=json.dumps(body).encode())


def edited(file: ApprovalFile, change: Callable[[dict[str, Any]], object]) -> ApprovalFile:
    """Change an envelope without signing it again."""
    body = json.loads(file.content)
    change(body)
    return replace(file, content=json.dumps(body).encode())


def trusting(*keys: PrivateKey | PublicKey, required: int = 1, **more: Any) -> ApprovalPolicy:
    """Trust these keys under the names that they say themselves."""
    public = tuple(key.public if isinstance(key, PrivateKey) else key for key in keys)
    return ApprovalPolicy(required=required, trusted=public, **more)


def judged(
    *approvals: ApprovalFile,
    policy: ApprovalPolicy | None = None,
    plan: Plan = PLAN,
    content: bytes | None = None,
    now: datetime = NOW,
) -> Sequence[Approver]:
    """Ask whether a plan is approved, by default with Rita and Ralph trusted."""
    written = files.dump(plan).encode() if content is None else content
    counted = approved(written, plan, approvals, policy or trusting(RITA, RALPH), now)
    return tuple(each.approver for each in counted)
