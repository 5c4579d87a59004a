"""The file of an approval: in-toto's DSSE envelope over a statement of our own.

The envelope is `{"payload", "payloadType", "signatures": [{"keyid", "sig"}]}`
(https://github.com/secure-systems-lab/dsse/blob/master/envelope.md), with one signature. The signature covers the type
and the bytes of the payload, so the payload is parsed only after the signature is verified.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from offsetwise.approval import strict
from offsetwise.approval.keys import PrivateKey, PublicKey
from offsetwise.errors import NotApprovedError, UsageError
from offsetwise.model import AcceptedUnproven
from offsetwise.plan.sets.file import MOST_PLANS

PAYLOAD_TYPE: Final = "application/vnd.offsetwise.approval+json"
SIGN_AGAIN: Final = (
    "Ask the approver to sign this plan again with `offsetwise sign`, and hand over the file as it was written."
)
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"
_TIME_SHAPE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_SIGNATURE_BYTES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFile:
    """An unverified approval."""

    name: str
    """The name in messages, usually its path."""
    content: bytes


class Verdict(StrEnum):
    """What a reviewer says of a plan."""

    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    plan_digest: str
    """SHA-256 of the plan's file, hex; for several plans that of the file of their set."""
    issuer: str
    subject: str
    """The identity that the signer claims."""
    approved_at: datetime
    expires_at: datetime
    nonce: str
    verdict: Verdict
    accepted_unproven: tuple[AcceptedUnproven, ...] = ()
    """Positions that may be applied although their proof cannot be repeated; empty for a set."""
    plans: tuple[str, ...] = ()
    """The digests of all plans of the signed set, in its order; empty for a single plan."""

    def about(self, plan_digest: str) -> Statement | None:
        """Return the statement about one plan, alone or among the plans of a set; None if it is about others."""
        if plan_digest not in (self.plans or (self.plan_digest,)):
            return None
        return replace(self, plan_digest=plan_digest)

    @classmethod
    def create(
        cls,
        plan_digest: str,
        *,
        issuer: str,
        subject: str,
        verdict: Verdict,
        now: datetime,
        expires_in: timedelta,
        accepted_unproven: tuple[AcceptedUnproven, ...] = (),
        plans: tuple[str, ...] = (),
    ) -> Statement:
        """Return a statement with a new nonce that begins now, in whole seconds as in files."""
        if now.utcoffset() is None:
            raise ValueError("now: expected a time with its zone")
        begins = now.replace(microsecond=0)
        return cls(
            plan_digest=plan_digest,
            issuer=issuer,
            subject=subject,
            approved_at=begins,
            expires_at=begins + expires_in,
            nonce=secrets.token_hex(16),
            verdict=verdict,
            accepted_unproven=accepted_unproven,
            plans=plans,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A parsed envelope whose signature is not yet verified."""

    name: str
    key: str
    """The id of the key that the envelope names."""
    signature: bytes
    payload: bytes


class _SignatureShape(strict.Shape):
    keyid: Annotated[str, Field(min_length=1, max_length=200)]
    sig: str


class EnvelopeShape(strict.Shape):
    """A DSSE envelope, as `sign` writes it."""

    payload: str
    payloadType: str  # noqa: N815 - DSSE's own name
    signatures: list[_SignatureShape]


class _ApproverShape(strict.Shape):
    issuer: strict.Name
    subject: strict.Name


class _AcceptedShape(strict.Shape):
    topic: Annotated[str, Field(pattern=r"^[a-zA-Z0-9._-]{1,249}$")]
    partition: Annotated[int, Field(strict=True, ge=0, lt=10**9)]
    reason: strict.Reason


class _PlanSetShape(strict.Shape):
    digest: strict.Hex32
    plans: Annotated[list[strict.Hex32], Field(min_length=1, max_length=MOST_PLANS)]


class StatementShape(strict.Shape):
    """What is signed: the payload of an envelope. Releases that do not know a key of it refuse it.

    Version 1.0 is of one plan (`plan_digest`), 1.1 of exactly the plans of a set (`plan_set`).
    """

    format: Literal["offsetwise/approval"]
    format_version: Literal["1.0", "1.1"]
    plan_digest: strict.Hex32 | None = None
    plan_set: _PlanSetShape | None = None
    approver: _ApproverShape
    approved_at: str
    expires_at: str
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    verdict: Verdict
    accepted_unproven: Annotated[list[_AcceptedShape], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        of_set = self.format_version == "1.1"
        named = "plan_set" if of_set else "plan_digest"
        other = self.model_fields_set & ({"plan_digest", "accepted_unproven"} if of_set else {"plan_set"})
        if getattr(self, named) is None or other:
            message = f"a statement of version {self.format_version} has {named}, and of another version's keys none"
            raise PydanticCustomError("statement", message)
        plans = () if self.plan_set is None else self.plan_set.plans
        if len(set(plans)) != len(plans):
            raise PydanticCustomError("statement", "plan_set names a plan twice")
        return self


def text_of(at: datetime) -> str:
    """Return a time as files carry it: ISO 8601, UTC, whole seconds."""
    return at.astimezone(UTC).strftime(_TIME)


def seal(statement: Statement, key: PrivateKey) -> bytes:
    """Sign a statement; return the envelope's file.

    Raises:
        UsageError: It is too large to be read again.
    """
    body: dict[str, object] = {
        "format": "offsetwise/approval",
        **_subject_of(statement),
        "approver": {"issuer": statement.issuer, "subject": statement.subject},
        "approved_at": text_of(statement.approved_at),
        "expires_at": text_of(statement.expires_at),
        "nonce": statement.nonce,
        "verdict": str(statement.verdict),
    }
    if statement.accepted_unproven:
        body["accepted_unproven"] = [
            {"topic": unproven.topic, "partition": unproven.partition, "reason": unproven.reason}
            for unproven in statement.accepted_unproven
        ]
    payload = json.dumps(body, ensure_ascii=False, sort_keys=True).encode()
    signature = key.sign(_covered(payload))
    # Not `to_dict`, which writes URL-safe base64 in some releases: here it is always the standard alphabet.
    results = {
        "payload": base64.b64encode(payload).decode("ascii"),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key.public.id, "sig": base64.b64encode(signature).decode("ascii")}],
    }
    content = (json.dumps(results, sort_keys=True, indent=1) + "\n").encode("ascii")
    if len(content) > strict.MAX_BYTES:
        raise UsageError(
            f"An approval has at most {strict.MAX_BYTES:,} bytes, found {len(content):,}, with "
            f"{len(statement.accepted_unproven):,} positions accepted as unproven. Nothing was signed.",
            fix="Accept fewer positions, or with a shorter reason; for more of them, draft the plan again.",
        )
    return content


def _subject_of(statement: Statement) -> dict[str, object]:
    """Return the subject of a statement, with a version that releases without sets reject if it is a set."""
    if not statement.plans:
        return {"format_version": "1.0", "plan_digest": statement.plan_digest}
    plan_set = {"digest": statement.plan_digest, "plans": list(statement.plans)}
    return {"format_version": "1.1", "plan_set": plan_set}


def _covered(payload: bytes) -> bytes:
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - it imports clients of three clouds, see `keys.py`

    encoded: bytes = Envelope(payload, PAYLOAD_TYPE, {}).pae()
    return encoded


def opened(file: ApprovalFile) -> Signed:
    """Parse an envelope without verifying its signature.

    Raises:
        NotApprovedError: It is no envelope, has another type of payload, or does not have exactly one signature.
    """
    what = f"Approval {file.name}"
    read = strict.read(file.content, EnvelopeShape, what=what, fix=SIGN_AGAIN)
    if read.payloadType != PAYLOAD_TYPE:
        raise NotApprovedError(
            f"{what}: expected the payload type {PAYLOAD_TYPE!r}, found {read.payloadType[:100]!r}: it was signed as "
            "something else. It counts for nothing.",
            fix=SIGN_AGAIN,
        )
    if len(read.signatures) != 1:
        raise NotApprovedError(
            f"{what}: expected exactly one signature, found {len(read.signatures):,}. It counts for nothing.",
            fix="Let each approver sign into a file of their own, and give every file.",
        )
    (signature,) = read.signatures
    data = _decoded(signature.sig, f"{what}: its signature")
    if len(data) != _SIGNATURE_BYTES:
        raise NotApprovedError(
            f"{what}: expected an Ed25519 signature of {_SIGNATURE_BYTES} bytes, found {len(data):,}: it is cut off, "
            "or of another algorithm. It counts for nothing.",
            fix=SIGN_AGAIN,
        )
    payload = _decoded(read.payload, f"{what}: its payload")
    return Signed(name=file.name, key=signature.keyid, signature=data, payload=payload)


def statement(signed: Signed, key: PublicKey) -> Statement:
    """Verify the signature, and then parse the payload.

    Raises:
        NotApprovedError: The key's holder did not sign this, or the payload is no approval.
    """
    what = f"Approval {signed.name}"
    if not key.verifies(signed.signature, _covered(signed.payload)):
        raise NotApprovedError(
            f"{what}: expected the signature of {key.subject} (key {key.id[:12]}…) over what it holds, found another "
            "one: it was changed after it was signed, or somebody else signed it. It counts for nothing.",
            fix=SIGN_AGAIN,
        )
    return _stated(signed)


def stated_in(file: ApprovalFile) -> Statement:
    """Read a stored approval whose signature was verified before; it is not verified again.

    Raises:
        NotApprovedError: It is no approval.
    """
    return _stated(opened(file))


def _stated(signed: Signed) -> Statement:
    what, read = f"Approval {signed.name}", _read(signed)
    plan_set = read.plan_set
    return Statement(
        plan_digest=(read.plan_digest or "") if plan_set is None else plan_set.digest,
        issuer=read.approver.issuer,
        subject=read.approver.subject,
        approved_at=_time(read.approved_at, f"{what}: approved_at"),
        expires_at=_time(read.expires_at, f"{what}: expires_at"),
        nonce=read.nonce,
        verdict=read.verdict,
        accepted_unproven=tuple(
            AcceptedUnproven(topic=shape.topic, partition=shape.partition, reason=shape.reason)
            for shape in read.accepted_unproven or ()
        ),
        plans=() if plan_set is None else tuple(plan_set.plans),
    )


def _read(signed: Signed) -> StatementShape:
    return strict.read(signed.payload, StatementShape, what=f"Approval {signed.name}", fix=SIGN_AGAIN)


def _decoded(text: str, what: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
        # base64 has unused bits that readers ignore: two texts for one value would be two files for one approval.
        same = base64.b64encode(data) == text.encode("ascii")
    except (binascii.Error, ValueError):
        same = False
    if not same:
        raise NotApprovedError(f"{what} is not base64 as it was written. It counts for nothing.", fix=SIGN_AGAIN)
    return data


def _time(text: str, what: str) -> datetime:
    try:
        if _TIME_SHAPE.fullmatch(text):
            return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        pass
    raise NotApprovedError(
        f"{what}: expected a time such as 2026-01-31T12:00:00Z, found {text[:40]!r}. It counts for nothing.",
        fix=SIGN_AGAIN,
    )
