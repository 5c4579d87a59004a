"""Who × verb on the command line, generated: `sign` refuses those who are barred, and `apply` whoever signed anyway."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from offsetwise.approval import ApprovalFile, PrivateKey, Verdict, vouch, write_keys
from offsetwise.model.digest import digest
from tests.approval.signed import ALICE, EVE, FILE, MALLORY, RITA, forged, said
from tests.approval.test_apply_asks import MIGRATION, apply
from tests.approval.test_vouching import CONSOLE, ISSUER, OTHER
from tests.commands import call
from tests.with_cases import with_cases

NOW = datetime.now(UTC)
YES = Verdict.APPROVED
SIGNED, BARRED = 0, 4
"""Exit codes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Somebody with a key."""

    key: PrivateKey
    signs: int
    approval: Callable[[], ApprovalFile]
    """What a key like this can sign, with a tool that does not ask."""
    listed: bool = True
    """Whether the applier's migration file names the key."""
    vouches_for: tuple[str, ...] | None = None
    refused: str | None = None
    """Why `apply` refuses; None if it goes on."""


def by_console(subject: str, key: PrivateKey = CONSOLE, issuer: str = ISSUER) -> Callable[[], ApprovalFile]:
    def made() -> ApprovalFile:
        until = timedelta(hours=24)
        content, _ = vouch(digest(FILE), key, issuer=issuer, subject=subject, now=NOW, expires_in=until, verdict=YES)
        return ApprovalFile(name="plan.approval.json", content=content)

    return made


def by_hand(key: PrivateKey) -> Callable[[], ApprovalFile]:
    return lambda: forged(key, lambda _: None, at=NOW)


PERSON = Who(key=RITA, signs=SIGNED, approval=lambda: said(at=NOW))
VOUCHING = Who(key=CONSOLE, signs=BARRED, approval=by_console("42"), vouches_for=(ISSUER,))
EVERYBODY = {
    "a reviewer": PERSON,
    "the author": Who(key=ALICE, signs=BARRED, approval=by_hand(ALICE), refused="other than its author and editors"),
    "an editor": Who(key=EVE, signs=BARRED, approval=by_hand(EVE), refused="other than its author and editors"),
    "somebody untrusted": Who(
        key=MALLORY, signs=SIGNED, approval=lambda: said(MALLORY, at=NOW), listed=False, refused="expected a key"
    ),
    "a reviewer who says no": replace(
        PERSON, approval=lambda: said(at=NOW, verdict=Verdict.REJECTED), refused="rejected"
    ),
    "a console, for its reviewer": VOUCHING,
    "a console, for the author": replace(VOUCHING, approval=by_console("alice"), refused="author"),
    "a console, for an editor": replace(VOUCHING, approval=by_console("eve@example.org"), refused="editor"),
    "a console, for another issuer's people": replace(
        VOUCHING, approval=by_console("42", issuer="https://elsewhere.example.com"), refused="vouch for people of"
    ),
    "a console that is not listed": replace(
        VOUCHING, key=OTHER, approval=by_console("42", OTHER), listed=False, refused="expected a key"
    ),
}


@with_cases("who", EVERYBODY)
def test_who_may_approve(tmp_path: Path, who: str) -> None:
    one = EVERYBODY[who]
    (tmp_path / "plan.json").write_bytes(FILE)
    public = write_keys(tmp_path / "their.key", one.key)
    listed: dict[str, Any] = {"file": public.name, "issuer": one.key.public.issuer, "subject": one.key.public.subject}
    if one.vouches_for is not None:
        listed["vouches_for"] = list(one.vouches_for)
    migration = MIGRATION | ({"approval": {"trusted_keys": [listed]}} if one.listed else {})
    (tmp_path / "migration.yaml").write_text(yaml.safe_dump(migration), encoding="utf-8")

    out = tmp_path / "said.json"
    signing = ("--key", tmp_path / "their.key", "--as", one.key.public.subject, "--out", out, "--json")
    for verdict in ((), ("--reject",)):
        signed = call("sign", tmp_path / "plan.json", *signing, *verdict)
        assert signed.code == one.signs, signed.err
        assert out.exists() is (one.signs == SIGNED)
        out.unlink(missing_ok=True)

    ran = apply(tmp_path, one.approval())

    error = json.loads(ran.out)
    assert (error["error"] == "NotApprovedError") is (ran.code == BARRED) is (one.refused is not None), error
    if one.refused is not None:
        assert one.refused in error["problem"]
        assert error["problem"].endswith("Nothing was written.")
