"""Approvals that are forged, borrowed, out of time or of somebody else; keys that others could read."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from offsetwise.approval import ApprovalFile, PrivateKey, keygen, policy_for, read_private_key, write_keys
from offsetwise.approval import Verdict as Said
from offsetwise.approval.demo import demo_key
from offsetwise.config import ApprovalSettings
from offsetwise.errors import FileError, NotApprovedError
from offsetwise.review.allowing import Verb
from offsetwise.review.answers import NotAllowed
from tests.approval.signed import ALICE, FILE, MALLORY, NOW, RALPH, RITA, edited, forged, judged, said, sealed, trusting
from tests.approval.test_apply_asks import MIGRATION, apply
from tests.approval.test_vouching import CONSOLE, ISSUER, believing, vouched
from tests.attacks.rows import Verdict, attack
from tests.commands import call
from tests.review.conftest import scene
from tests.review.people import RITA as REVIEWER
from tests.review.people import Scene
from tests.with_cases import with_cases

__all__ = ["scene"]

ORDER: Final = 2**252 + 27742317777372353535851937790883648493
"""Of Ed25519's group: S and S + L pass a check that does not look at S."""
Change = Callable[[dict[str, Any]], object]


def refused(*approvals: ApprovalFile, told: str, **more: Any) -> None:
    with pytest.raises(NotApprovedError) as caught:
        judged(*approvals, **more)
    assert told in caught.value.problem, caught.value.problem
    assert caught.value.problem.endswith("Nothing was written.")


def refused_by_apply(folder: Path, approval: ApprovalFile, told: str) -> None:
    """Hand an approval to the command line, with Rita and Ralph trusted."""
    (folder / "plan.json").write_bytes(FILE)
    (folder / "migration.yaml").write_text(yaml.safe_dump(MIGRATION), encoding="utf-8")
    for name, key in (("rita", RITA), ("ralph", RALPH)):
        write_keys(folder / name, key)
    ran = apply(folder, approval, "rita.pub", "ralph.pub")
    assert ran.code == 4, ran.out + ran.err
    assert told in json.loads(ran.out)["problem"]


def with_signature(change: Callable[[bytes], bytes | str]) -> ApprovalFile:
    def changed(body: dict[str, Any]) -> None:
        made = change(base64.b64decode(body["signatures"][0]["sig"]))
        body["signatures"][0]["sig"] = made if isinstance(made, str) else base64.b64encode(made).decode()

    return edited(said(), changed)


def _shifted(signature: bytes) -> bytes:
    s = int.from_bytes(signature[32:], "little") + ORDER
    return signature[:32] + s.to_bytes(32, "little")


def payload(change: Change) -> Change:
    """Change what an envelope holds, and leave its signature."""

    def changed(body: dict[str, Any]) -> None:
        held = json.loads(base64.b64decode(body["payload"]))
        change(held)
        body["payload"] = base64.b64encode(json.dumps(held).encode()).decode()

    return changed


OTHER_PAYLOADS: Final[dict[str, tuple[Callable[[], ApprovalFile], str]]] = {
    "of another plan": (
        lambda: said(plan=FILE + b"\n"),
        "the plan was edited since, or this is the approval of another",
    ),
    "edited": (
        lambda: edited(said(), payload(lambda held: held.update(expires_at="2027-01-01T00:00:00Z"))),
        "changed after",
    ),
    "another type": (
        lambda: edited(said(), lambda body: body.update(payloadType="text/plain")),
        "signed as something else",
    ),
    "the type in capitals": (
        lambda: edited(said(), lambda body: body.update(payloadType=body["payloadType"].upper())),
        "signed as something else",
    ),
    "a statement signed as in-toto's": (
        lambda: edited(
            sealed(base64.b64decode(json.loads(said().content)["payload"]), RITA, "application/vnd.in-toto+json"),
            lambda body: body.update(payloadType="application/vnd.offsetwise.approval+json"),
        ),
        "changed after it was signed",
    ),
    "in-toto's": (
        lambda: sealed(b'{"_type":"https://in-toto.io/Statement/v1"}', RITA, "application/vnd.in-toto+json"),
        "signed as something else",
    ),
}


@attack(
    "A13",
    "an approval of another plan; edited; of another payload type, or its type in capitals; an in-toto statement "
    "signed with the same key",
    before=Verdict.HELD,
    without="the digest's comparison in `judging._verified`; the payload type's in `envelope.opened`",
)
@with_cases("what", OTHER_PAYLOADS)
def test_what_was_signed_is_exactly_this_plan_as_an_approval(tmp_path: Path, what: str) -> None:
    made, told = OTHER_PAYLOADS[what]
    refused(made(), told=told)
    if what == "of another plan":
        refused_by_apply(tmp_path, said(plan=FILE + b"\n", at=datetime.now(UTC)), told)


SIGNATURES: Final[dict[str, tuple[ApprovalFile, str]]] = {
    "none": (edited(said(), lambda body: body.update(signatures=[])), "exactly one signature, found 0"),
    "two": (
        edited(said(), lambda body: body["signatures"].append(json.loads(said(RALPH).content)["signatures"][0])),
        "exactly one signature, found 2",
    ),
    "the same twice": (edited(said(), lambda body: body.update(signatures=body["signatures"] * 2)), "found 2"),
    "cut": (with_signature(lambda signature: signature[:63]), "found 63"),
    "longer": (with_signature(lambda signature: signature + b"\0"), "found 65"),
    "base64 for URLs": (
        with_signature(lambda signature: base64.urlsafe_b64encode(b"\xff\xfe" + signature[2:]).decode()),
        "is not base64",
    ),
    "zeros": (with_signature(lambda _: bytes(64)), "expected the signature of rita"),
    "S + L": (with_signature(_shifted), "expected the signature of rita"),
    "R of small order": (with_signature(lambda _: b"\1" + bytes(63)), "expected the signature of rita"),
}


@attack(
    "A14",
    "no signature, two, one twice, cut, in base64 for URLs, zeros, S + L",
    before=Verdict.HELD,
    without="the checks of `envelope.opened` and `PublicKey.verifies`",
)
@with_cases("what", SIGNATURES)
def test_a_signature_is_one_and_is_right(what: str) -> None:
    approval, told = SIGNATURES[what]
    refused(approval, told=told)


def _named(keyid: str) -> Change:
    return lambda body: body["signatures"][0].update(keyid=keyid)


KEYS: Final[dict[str, tuple[ApprovalFile, str]]] = {
    "a trusted id on a stranger's signature": (
        edited(forged(MALLORY, lambda _: None), _named(RITA.public.id)),
        "expected the signature of rita",
    ),
    "a trusted id on another trusted signature": (
        edited(said(RALPH), _named(RITA.public.id)),
        "expected the signature",
    ),
    "the id in capitals": (edited(said(), _named(RITA.public.id.upper())), "expected one of the keys"),
    "the id with a blank": (edited(said(), _named(f"{RITA.public.id} ")), "expected one of the keys"),
    "the beginning of the id": (edited(said(), _named(RITA.public.id[:32])), "expected one of the keys"),
    "a stranger": (forged(MALLORY, lambda _: None), "expected one of the keys that the applier trusts"),
    "Ralph as Rita": (
        forged(
            RALPH, lambda body: body.update(approver={"issuer": RITA.public.issuer, "subject": RITA.public.subject})
        ),
        "Nobody signs for somebody else",
    ),
    "Ralph by his issuer, as Rita": (
        forged(RALPH, lambda body: body["approver"].update(subject=RITA.public.subject)),
        "Nobody signs for somebody else",
    ),
}


@attack(
    "A15",
    "the id of a trusted key on another's signature, or in capitals; an untrusted key; a trusted Ralph who says "
    "that he is Rita",
    before=Verdict.HELD,
    without="the comparison of key ids and of the approver with the key's entry in `judging._verified`",
)
@with_cases("who", KEYS)
def test_nobody_signs_with_a_key_that_is_not_theirs(who: str) -> None:
    approval, told = KEYS[who]
    refused(approval, told=told)


def _twice(key: str) -> ApprovalFile:
    held = base64.b64decode(json.loads(said().content)["payload"])
    return sealed(held.replace(b"{", b'{"' + key.encode() + b'": "approved", ', 1), RITA)


STATEMENTS: Final[dict[str, tuple[ApprovalFile, str]]] = {
    "a key twice": (_twice("verdict"), "appears twice"),
    "an unknown key": (forged(RITA, lambda body: body.update(only_if="it is Friday")), "only_if is wrong"),
    "an unknown key inside": (forged(RITA, lambda body: body["approver"].update(role="admin")), "role is wrong"),
    "the digest in capitals": (
        forged(RITA, lambda body: body.update(plan_digest=body["plan_digest"].upper())),
        "plan_digest is wrong",
    ),
    "Unicode digits": (forged(RITA, lambda body: body.update(expires_at="２026-03-02T12:00:00Z")), "such as"),
    "Arabic digits": (forged(RITA, lambda body: body.update(expires_at="٢026-03-02T12:00:00Z")), "such as"),
    "30 February": (forged(RITA, lambda body: body.update(expires_at="2026-02-30T12:00:00Z")), "such as"),
    "the year 9999": (forged(RITA, lambda body: body.update(expires_at="9999-12-31T23:59:59Z")), "at most 30 days"),
}


@attack(
    "A16",
    "a statement with a key twice or an unknown one, the digest in capitals, other digits than 0 to 9, 30 February, "
    "the year 9999",
    before=Verdict.HELD,
    without='`strict.Shape`\'s `extra="forbid"`, `Hex32`, `envelope._TIME_SHAPE`',
)
@with_cases("what", STATEMENTS)
def test_a_statement_is_read_strictly(what: str) -> None:
    approval, told = STATEMENTS[what]
    refused(approval, told=told)


TIMES: Final[dict[str, tuple[ApprovalFile, str]]] = {
    "expired": (said(at=NOW - timedelta(days=1, seconds=1)), "it expired at"),
    "three minutes ahead": (said(at=NOW + timedelta(minutes=3)), "clocks may differ by 0:02:00"),
    "good for 31 days": (said(expires_in=timedelta(days=31)), "expected at most 30 days"),
    "ends before it begins": (
        forged(RITA, lambda body: body.update(expires_at="2026-03-01T11:59:59Z")),
        "not after it begins",
    ),
}


@attack(
    "A17",
    "an approval that expired, is 3 minutes ahead, good for 31 days, or ends before it begins; 90 s ahead is accepted, "
    "as stated",
    before=Verdict.HELD,
    without="`judging._check_times`",
)
@with_cases("when", TIMES)
def test_an_approval_holds_in_its_time_only(tmp_path: Path, when: str) -> None:
    approval, told = TIMES[when]
    refused(approval, told=told)
    assert judged(said(at=NOW + timedelta(seconds=90)))
    if when == "expired":
        refused_by_apply(tmp_path, said(at=datetime.now(UTC) - timedelta(days=2)), told)


@attack(
    "A18",
    "with `required: 2`, one approval twice, one person twice, two keys in two cases",
    before=Verdict.HELD,
    without="`judging._check_new`, and the count by person in `judging.approved`",
)
def test_two_approvals_are_of_two_people() -> None:
    policy = trusting(RITA, RALPH, required=2)
    refused(said(), replace(said(), name="copy"), told="is counted already", policy=policy)
    once = said()
    refused(once, replace(once, name="copy"), told="a copy counts once", policy=policy)
    capitals = keygen(subject="RITA@example.org", issuer=RITA.public.issuer)
    both = trusting(RITA, RALPH, capitals, required=2)
    refused(said(), said(capitals), told="is counted already", policy=both)
    refused(told="that may be one person count as one", policy=trusting(RITA, capitals, required=2))
    assert len(judged(said(), said(RALPH), policy=policy)) == 2


@attack(
    "A19",
    "an approval handed over together with a rejection, one that was made long ago too",
    before=Verdict.HELD,
    without="the question for `REJECTED` in `judging.approved`",
)
def test_a_no_is_heard_beside_a_yes_however_old(tmp_path: Path) -> None:
    for ago in (timedelta(), timedelta(days=400)):
        no = said(RALPH, verdict=Said.REJECTED, at=NOW - ago, expires_in=timedelta(hours=1), name="no")
        for order in ((said(), no), (no, said())):
            refused(*order, told="rejected it")
    refused_by_apply(
        tmp_path, said(RALPH, verdict=Said.REJECTED, at=datetime.now(UTC) - timedelta(days=400)), "rejected"
    )


VOUCHED: Final[dict[str, tuple[Callable[[], ApprovalFile], str]]] = {
    "for a foreign issuer": (lambda: vouched("42", issuer="https://evil.example.com"), "vouch for people of"),
    "for the issuer with a slash": (lambda: vouched("42", issuer=f"{ISSUER}/"), "vouch for people of"),
    "for the issuer in capitals": (lambda: vouched("42", issuer=ISSUER.upper()), "vouch for people of"),
    "for itself": (lambda: forged(CONSOLE, lambda _: None), "vouch for people of"),
    "for the author": (lambda: vouched("alice"), "its author"),
    "for the author in capitals": (lambda: vouched("ALICE"), "its author"),
    "for a key": (
        lambda: forged(CONSOLE, lambda body: body.update(approver={"issuer": RALPH.public.issuer, "subject": "ralph"})),
        "vouch for people of",
    ),
}


@attack(
    "A20",
    "a console's key signs for a foreign issuer, `https://a/` for `https://a`, capitals, itself or the author; it is "
    "trusted by `--trust` alone",
    before=Verdict.HELD,
    without="`judging._check_vouched`",
)
@with_cases("whom", VOUCHED)
def test_a_console_vouches_for_those_it_was_named_with(tmp_path: Path, whom: str) -> None:
    made, told = VOUCHED[whom]
    refused(made(), told=told, policy=believing(CONSOLE, RALPH))
    public = write_keys(tmp_path / "console.key", CONSOLE)
    refused(vouched("42"), told="vouch for people of no issuer", policy=policy_for(ApprovalSettings(), [public]))
    assert judged(vouched("42"), policy=believing(CONSOLE))


def _key(folder: Path, key: PrivateKey, mode: int) -> Path:
    path = folder / f"{key.public.id[:8]}-{mode:o}"
    write_keys(path, key)
    path.chmod(mode)
    return path


@attack(
    "A22",
    "a private key with mode 0640, or 0644 for the console's; `keygen` through a dangling link, and with umask 000",
    before=Verdict.HELD,
    without="the question for the mode in `key_files.read_private_key`",
)
def test_a_private_key_is_its_owners_alone(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(FILE)
    for mode in (0o640, 0o604, 0o620):
        key, out = _key(tmp_path, RALPH, mode), tmp_path / "said.json"
        ran = call("sign", tmp_path / "plan.json", "--key", key, "--as", "ralph", "--out", out, "--json")
        assert ran.code == 1
        assert f"found mode {mode:04o}" in json.loads(ran.out)["problem"]
        assert not out.exists()
    with pytest.raises(FileError, match="found mode 0644"):
        read_private_key(_key(tmp_path, CONSOLE, 0o644))

    saved = scene.submitted()
    Path(scene.access.decisions.key or "").chmod(0o644)
    answer = scene.approve(REVIEWER, saved)
    assert isinstance(answer, NotAllowed)
    assert "0644" in answer.why

    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert call("keygen", "--out", tmp_path / "link", "--as", "ralph").code == 1
    assert not (tmp_path / "elsewhere").exists()
    before = os.umask(0)
    try:
        assert call("keygen", "--out", tmp_path / "open", "--as", "ralph").code == 0
    finally:
        os.umask(before)
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o600


@attack(
    "A23",
    "a reviewer's role is taken away between the drawing of the page and the decision",
    before=Verdict.HELD,
    without="the question for the role in `allowing.why_not`",
)
def test_a_role_that_was_taken_away_decides_nothing(scene: Scene) -> None:
    saved = scene.submitted()
    assert scene.board.why_not(REVIEWER, Verb.APPROVE, saved.plan) is None
    scene.without_role("reviewer", "rita")

    for answer in (scene.approve(REVIEWER, saved), scene.reject(REVIEWER, saved)):
        assert isinstance(answer, NotAllowed)
        assert "need the role reviewer" in answer.why
    with scene.reviews.reading("Reading") as look:
        assert look.decisions(saved.plan) == ()


def test_neither_the_author_nor_the_demo_key_gets_through_these() -> None:
    refused(forged(ALICE, lambda _: None), told="its author", policy=trusting(ALICE, RITA))
    refused(forged(demo_key(), lambda _: None), told="the demo key", policy=trusting(demo_key(), RITA))
