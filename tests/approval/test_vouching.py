"""A console's key signs for the people who sign in there, where whoever applies names it and them; for nobody else."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from offsetwise.approval import (
    ApprovalFile,
    ApprovalPolicy,
    PrivateKey,
    Verdict,
    keygen,
    policy_for,
    read_private_key,
    vouch,
    write_keys,
)
from offsetwise.approval.demo import demo_key
from offsetwise.approval.envelope import Statement, seal
from offsetwise.approval.policy import combined
from offsetwise.config import ApprovalSettings, TrustedKey
from offsetwise.errors import NotApprovedError, UsageError
from offsetwise.model.digest import digest
from tests.approval.signed import ALICE, FILE, NOW, RALPH, RITA, edited, judged, said, trusting
from tests.with_cases import with_cases

ISSUER = "https://login.example.org"
CONSOLE = keygen(subject="console of the platform team", console=True)
OTHER = keygen(subject="another console", console=True)


def vouched(
    subject: str,
    *,
    issuer: str = ISSUER,
    key: PrivateKey = CONSOLE,
    verdict: Verdict = Verdict.APPROVED,
    name: str = "approval",
    plan: bytes = FILE,
    hours: int = 24,
) -> ApprovalFile:
    made, _ = vouch(
        digest(plan),
        key,
        issuer=issuer,
        subject=subject,
        now=NOW,
        expires_in=timedelta(hours=hours),
        verdict=verdict,
    )
    return ApprovalFile(name=name, content=made)


def believing(*keys: PrivateKey, required: int = 1, issuers: tuple[str, ...] = (ISSUER,)) -> ApprovalPolicy:
    return ApprovalPolicy(
        required=required,
        trusted=tuple(key.public for key in keys),
        vouching=tuple((key.public.id, issuers) for key in keys if key.public.vouches),
    )


def test_the_reviewer_is_the_approver_and_the_key_the_consoles() -> None:
    (approver,) = judged(vouched("42"), policy=believing(CONSOLE))
    assert (approver.issuer, approver.subject, approver.key) == (ISSUER, "42", CONSOLE.public.id)


def test_two_people_of_one_console_are_two() -> None:
    policy = believing(CONSOLE, required=2)
    found = judged(vouched("42", name="a"), vouched("43", name="b"), policy=policy)
    assert [each.subject for each in found] == ["42", "43"]


REFUSED: dict[str, tuple[tuple[ApprovalFile, ...], ApprovalPolicy, str]] = {
    "a console that nobody named": ((vouched("42", key=OTHER),), believing(CONSOLE), "one of the keys"),
    "a console named without its issuers": ((vouched("42"),), trusting(CONSOLE), "vouch for people of no issuer"),
    "somebody of another issuer": (
        (vouched("42", issuer="https://evil.example.com"),),
        believing(CONSOLE),
        "vouch for people of https://login.example.org",
    ),
    "the author": ((vouched("Alice"),), believing(CONSOLE), "author"),
    "an editor by their mail address": ((vouched("eve@example.org"),), believing(CONSOLE), "editor"),
    "one person twice": (
        (vouched("42", name="a"), vouched("42", name="b")),
        believing(CONSOLE, required=2),
        "counted already",
    ),
    "one person by the console and by their own key": (
        (said(RITA, name="a"), vouched("rita@example.org", name="b")),
        believing(CONSOLE, RITA, required=2),
        "counted already",
    ),
    "one person by two consoles": (
        (vouched("42", name="a"), vouched("42", key=OTHER, name="b")),
        believing(CONSOLE, OTHER, required=2),
        "counted already",
    ),
    "one envelope twice": ((vouched("42"),) * 2, believing(CONSOLE, required=2), "nonce"),
    "an approval of another plan": ((vouched("42", plan=FILE + b" "),), believing(CONSOLE), "edited since"),
    "a lifetime beyond the applier's": ((vouched("42", hours=9_000),), believing(CONSOLE), "expected at most"),
}


@with_cases("what", REFUSED)
def test_it_counts_for_nothing(what: str) -> None:
    approvals, policy, told = REFUSED[what]
    with pytest.raises(NotApprovedError, match=told):
        judged(*approvals, policy=policy)


def test_a_no_by_the_console_is_heard_beside_another_persons_yes() -> None:
    policy = believing(CONSOLE, RALPH)
    with pytest.raises(NotApprovedError, match=r"42 \(https://login.example.org\) rejected it"):
        judged(said(RALPH, name="a"), vouched("42", verdict=Verdict.REJECTED, name="b"), policy=policy)


def test_a_key_of_a_person_listed_with_issuers_vouches_for_nobody() -> None:
    statement = Statement(
        plan_digest=digest(FILE),
        issuer=ISSUER,
        subject="42",
        approved_at=NOW,
        expires_at=NOW + timedelta(hours=1),
        nonce="ab" * 16,
        verdict=Verdict.APPROVED,
    )
    forged = ApprovalFile(name="forged", content=seal(statement, RALPH))
    policy = ApprovalPolicy(trusted=(RALPH.public,), vouching=((RALPH.public.id, (ISSUER,)),))
    with pytest.raises(NotApprovedError, match="Nobody signs for somebody else"):
        judged(forged, policy=policy)


def test_a_changed_reviewer_breaks_the_signature() -> None:
    honest, other = vouched("42"), vouched("43")
    payload = json.loads(other.content)["payload"]
    with pytest.raises(NotApprovedError, match="changed after it was signed"):
        judged(edited(honest, lambda body: body.update(payload=payload)), policy=believing(CONSOLE))


@with_cases(
    ("key", "issuer", "subject"),
    [
        (ALICE, ISSUER, "42"),
        (CONSOLE, "key:" + "ab" * 32, "42"),
        (CONSOLE, "offsetwise:console", "console of the platform team"),
        (CONSOLE, "offsetwise:demo", "demo reviewer"),
        (CONSOLE, ISSUER, "4\x002"),
        (CONSOLE, ISSUER, ""),
        (demo_key(), ISSUER, "42"),
        (demo_key(), "offsetwise:demo", "demo author"),
    ],
)
def test_nothing_is_signed_for(key: PrivateKey, issuer: str, subject: str) -> None:
    with pytest.raises(NotApprovedError, match="Nothing was signed"):
        vouched(subject, issuer=issuer, key=key)


def test_a_consoles_key_does_not_sign_on_the_command_line() -> None:
    with pytest.raises(NotApprovedError, match="expected the key of a person"):
        said(CONSOLE)


def test_a_console_takes_no_issuer_when_its_key_is_made() -> None:
    with pytest.raises(UsageError, match="no issuer"):
        keygen(subject="console", issuer=ISSUER, console=True)


def listed(folder: Path, key: PrivateKey, *, vouches_for: tuple[str, ...] | None) -> ApprovalSettings:
    public = write_keys(folder / "key", key)
    each = TrustedKey(file=str(public), issuer=key.public.issuer, subject=key.public.subject, vouches_for=vouches_for)
    return ApprovalSettings(trusted_keys=(each,))


def test_the_migration_file_names_the_console_and_its_issuers(tmp_path: Path) -> None:
    settings = listed(tmp_path, CONSOLE, vouches_for=(ISSUER,))
    assert judged(vouched("42"), policy=policy_for(settings))
    both = policy_for(settings, [tmp_path / "key.pub"])
    assert judged(vouched("42"), policy=both)
    assert read_private_key(tmp_path / "key").public == CONSOLE.public


def test_the_command_line_alone_trusts_no_console(tmp_path: Path) -> None:
    write_keys(tmp_path / "key", CONSOLE)
    policy = policy_for(ApprovalSettings(), [tmp_path / "key.pub"])
    with pytest.raises(NotApprovedError, match="vouch for people of no issuer"):
        judged(vouched("42"), policy=policy)


@with_cases(
    ("key", "vouches_for"),
    [(CONSOLE, None), (RALPH, (ISSUER,))],
    ids=["a console without issuers", "a person with issuers"],
)
def test_a_listed_key_says_what_it_is(tmp_path: Path, key: PrivateKey, vouches_for: tuple[str, ...] | None) -> None:
    with pytest.raises(NotApprovedError, match="vouches_for"):
        policy_for(listed(tmp_path, key, vouches_for=vouches_for))


@with_cases("issuer", ["offsetwise:demo", "key:" + "ab" * 32])
def test_a_console_vouches_for_people_of_providers_only(issuer: str) -> None:
    with pytest.raises(NotApprovedError, match="which is no provider"):
        believing(CONSOLE, issuers=(issuer,))


def test_of_two_policies_that_say_whom_a_console_vouches_for_the_narrower_holds() -> None:
    wide, narrow = believing(CONSOLE, issuers=(ISSUER, "https://b.example.org")), believing(CONSOLE)
    assert combined(wide, narrow).issuers(CONSOLE.public) == (ISSUER,)


def test_one_console_is_enough_for_any_number_of_people() -> None:
    each = TrustedKey(file="/k", issuer="offsetwise:console", subject="c", vouches_for=(ISSUER,))
    assert ApprovalSettings(required=3, trusted_keys=(each,)).required == 3
    with pytest.raises(ValidationError, match="no plan could be approved"):
        ApprovalSettings(required=3, trusted_keys=(TrustedKey(file="/k", issuer="i", subject="s"),))
