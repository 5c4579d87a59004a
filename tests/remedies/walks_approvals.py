"""Remedies about keys, approvals and who may approve: another person signs, or the same one signs again."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from offsetwise import files
from offsetwise.approval import ApprovalFile, ApprovalPolicy, demo, keygen, sign
from offsetwise.approval.envelope import Verdict
from offsetwise.approval.key_files import (
    listed_key,
    read_approval,
    read_private_key,
    write_approval,
    write_keys,
)
from offsetwise.approval.keys import read_private, read_public
from offsetwise.approval.vouching import vouch
from offsetwise.config import TrustedKey
from offsetwise.model.digest import digest
from tests.approval.signed import (
    ALICE,
    FILE,
    MALLORY,
    NOW,
    PLAN,
    RALPH,
    RITA,
    edited,
    forged,
    judged,
    said,
    sealed,
    trusting,
)
from tests.remedies.walk import Scene, Steps, corrected, walk

Call = Callable[[], object]
SIGNED_AGAIN = lambda: judged(said())  # noqa: E731 - one sentence for the many remedies that ask for it
CONSOLE = keygen(subject="desk", console=True)
PROVIDER = "https://login.example.org"


def rows(function: str, *walks: tuple[str, str, Call, Call]) -> None:
    for words, name, command, instead in walks:
        corrected(f"approval/{function}", words, name, command, instead)


def without_signature(body: dict[str, Any]) -> None:
    body["signatures"] = []


def other_type(body: dict[str, Any]) -> None:
    body["payloadType"] = "text/plain"


def short_signature(body: dict[str, Any]) -> None:
    body["signatures"][0]["sig"] = base64.b64encode(b"short").decode()


def no_base64(body: dict[str, Any]) -> None:
    body["payload"] = "%"


AGAIN = "Ask the approver to sign this plan again"
rows(
    "envelope.py::opened",
    (AGAIN, "other_type", lambda: judged(edited(said(), other_type)), SIGNED_AGAIN),
    (AGAIN, "short_signature", lambda: judged(edited(said(), short_signature)), SIGNED_AGAIN),
    (AGAIN, "no_json", lambda: judged(replace(said(), content=b"{")), SIGNED_AGAIN),
    (
        "Let each approver sign into a file",
        "no_signature",
        lambda: judged(edited(said(), without_signature)),
        SIGNED_AGAIN,
    ),
)
rows("envelope.py::_decoded", (AGAIN, "no_base64", lambda: judged(edited(said(), no_base64)), SIGNED_AGAIN))
rows(
    "envelope.py::statement",
    (AGAIN, "signed_by_another_key", lambda: judged(changed_key(said(MALLORY))), SIGNED_AGAIN),
    (AGAIN, "no_statement", lambda: judged(sealed(b"{}", RITA)), SIGNED_AGAIN),
)
rows(
    "envelope.py::_time",
    (AGAIN, "no_time", lambda: judged(forged(RITA, lambda body: body.update(approved_at="now"))), SIGNED_AGAIN),
)


def changed_key(file: ApprovalFile) -> ApprovalFile:
    return edited(file, lambda body: body["signatures"][0].update(keyid=RITA.public.id))


JUDGED = "judging.py::"
OTHER_PLAN = replace(PLAN, author="bob")
rows(
    JUDGED + "approved",
    ("Give the approvals of this plan only", "too_many_files", lambda: judged(*[said()] * 101), SIGNED_AGAIN),
)
rows(
    JUDGED + "_count",
    (
        "and draft a plan that answers it",
        "rejected",
        lambda: judged(said(verdict=Verdict.REJECTED)),
        lambda: judged(said(plan=files.dump(OTHER_PLAN).encode()), plan=OTHER_PLAN),
    ),
)
rows(
    JUDGED + "_case",
    (
        "Read the plan again from the file",
        "another_plan",
        lambda: judged(said(), plan=OTHER_PLAN, content=FILE),
        SIGNED_AGAIN,
    ),
)
rows(
    JUDGED + "_check_can_be_met",
    ("Name a reviewer's .pub file", "nobody_trusted", lambda: judged(said(), policy=ApprovalPolicy()), SIGNED_AGAIN),
    (
        "Trust the keys of more people",
        "only_the_author",
        lambda: judged(said(), policy=trusting(ALICE)),
        lambda: judged(said(), policy=trusting(ALICE, RITA)),
    ),
)
rows(
    JUDGED + "_of_another",
    (
        "Give the plan's file exactly as it was signed",
        "other_plan",
        lambda: judged(said(plan=files.dump(OTHER_PLAN).encode())),
        lambda: judged(said(plan=files.dump(OTHER_PLAN).encode()), plan=OTHER_PLAN),
    ),
)
rows(
    JUDGED + "_verified",
    ("Let a trusted person sign", "unknown_key", lambda: judged(said(MALLORY)), SIGNED_AGAIN),
    (
        "Let the approver sign under the name and issuer",
        "other_name",
        lambda: judged(said(subject="ralph")),
        SIGNED_AGAIN,
    ),
)
rows(
    JUDGED + "_check_vouched",
    (
        "Name the issuer under `vouches_for`",
        "not_vouched",
        lambda: judged(vouched(), policy=trusting(CONSOLE, RITA, vouching=())),
        lambda: judged(vouched(), policy=trusting(CONSOLE, vouching=((CONSOLE.public.id, (PROVIDER,)),))),
    ),
)


def vouched() -> ApprovalFile:
    content, _ = vouch(
        digest(FILE),
        CONSOLE,
        issuer=PROVIDER,
        subject="rita@example.org",
        now=NOW,
        expires_in=timedelta(days=1),
        verdict=Verdict.APPROVED,
    )
    return ApprovalFile(name="plan.approval.json", content=content)


SOMEBODY_ELSE = "Let a trusted person who neither wrote nor edited"
rows(
    JUDGED + "_check_not_barred",
    (
        SOMEBODY_ELSE,
        "author",
        lambda: judged(forged(ALICE, dict), policy=trusting(ALICE, RALPH)),
        lambda: judged(said(RALPH), policy=trusting(ALICE, RALPH)),
    ),
)
rows(
    JUDGED + "_check_new",
    (
        SOMEBODY_ELSE,
        "same_person_twice",
        lambda: judged(said(), said(), policy=trusting(RITA, RALPH, required=2)),
        lambda: judged(said(), said(RALPH), policy=trusting(RITA, RALPH, required=2)),
    ),
)
rows(
    JUDGED + "_too_few",
    (
        SOMEBODY_ELSE,
        "one_of_two",
        lambda: judged(said(), policy=trusting(RITA, RALPH, required=2)),
        lambda: judged(said(), said(RALPH), policy=trusting(RITA, RALPH, required=2)),
    ),
)
rows(
    "policy.py::ApprovalPolicy.__post_init__",
    (
        "Set `approval.required`",
        "nobody_required",
        lambda: ApprovalPolicy(required=0),
        lambda: ApprovalPolicy(required=1),
    ),
    (
        "Give each person a key",
        "one_key_two_people",
        lambda: trusting(RITA, replace(RITA.public, subject="ralph")),
        lambda: trusting(RITA, RALPH),
    ),
    (
        "Name the provider's address",
        "reserved_issuer",
        lambda: trusting(CONSOLE, vouching=((CONSOLE.public.id, ("offsetwise:console",)),)),
        lambda: trusting(CONSOLE, vouching=((CONSOLE.public.id, (PROVIDER,)),)),
    ),
)
rows(
    "keys.py::keygen",
    (
        "Give the name under which",
        "no_name",
        lambda: keygen(subject=""),
        lambda: keygen(subject="rita@example.org"),
    ),
    (
        "Leave the issuer out; name it",
        "console_with_an_issuer",
        lambda: keygen(subject="desk", issuer=PROVIDER, console=True),
        lambda: keygen(subject="desk", console=True),
    ),
    (
        "Name your identity provider's address",
        "reserved",
        lambda: keygen(subject="rita", issuer="offsetwise:me"),
        lambda: keygen(subject="rita", issuer=PROVIDER),
    ),
)


def public_with(**changes: str) -> Call:
    return lambda: replace(RITA.public, **changes)


ASK = "Ask the holder for the .pub file"
rows(
    "keys.py::PublicKey.__post_init__",
    (ASK, "id_of_another_key", public_with(id=RALPH.public.id), lambda: RITA.public),
    (ASK, "issued_by_another_key", public_with(issuer="key:" + RALPH.public.id), lambda: RITA.public),
)
rows(
    "keys.py::read_public",
    (
        ASK,
        "no_public_key",
        lambda: read_public(b"{}", name="rita.pub"),
        lambda: read_public(RITA.public.dump().encode(), name="rita.pub"),
    ),
)
PRIVATE = "Give the private file that"
rows(
    "keys.py::read_private",
    (
        PRIVATE,
        "no_private_key",
        lambda: read_private(b"{}", name="rita.key"),
        lambda: read_private(RITA.secret_file().encode(), name="rita.key"),
    ),
    (
        "Make a new pair of keys under",
        "nameless_holder",
        lambda: read_private(renamed(RITA.secret_file(), ""), name="rita.key"),
        lambda: read_private(keygen(subject="rita").secret_file().encode(), name="rita.key"),
    ),
)


def renamed(text: str, subject: str) -> bytes:
    return json.dumps(json.loads(text) | {"subject": subject}).encode()


def signing(**changes: Any) -> Call:
    given: dict[str, Any] = {"key": RITA, "subject": "rita@example.org", "issuer": PROVIDER, "now": NOW} | changes
    return lambda: sign(FILE, **given)


DEMO = demo.demo_key()
rows(
    "signing.py::require_possible",
    (
        "Give a lifetime that ends soon",
        "no_lifetime",
        signing(expires_in=timedelta()),
        signing(expires_in=timedelta(days=1)),
    ),
    ("Sign under the names in your", "no_name", signing(subject=""), signing()),
)
rows(
    "signing.py::_require_signer",
    (
        "Let somebody decide who neither wrote",
        "author_signs",
        signing(key=ALICE, subject="alice", issuer=ALICE.public.issuer),
        signing(),
    ),
    ("Decide in the console", "console_key", signing(key=CONSOLE), signing()),
    (
        "Make a key of your own",
        "demo_key",
        signing(key=DEMO, subject=DEMO.public.subject, issuer=DEMO.public.issuer),
        signing(),
    ),
)


def vouching(key: Any, subject: str, issuer: str) -> Call:
    return lambda: vouch(
        "0" * 64,
        key,
        issuer=issuer,
        subject=subject,
        now=NOW,
        expires_in=timedelta(days=1),
        verdict=Verdict.APPROVED,
    )


rows(
    "vouching.py::_require_signs_for",
    (
        "Make a key for the console",
        "key_of_a_person",
        vouching(RITA, "rita", PROVIDER),
        vouching(keygen(subject="desk", console=True), "rita", PROVIDER),
    ),
    (
        "Sign in at the configured",
        "not_signed_in",
        vouching(CONSOLE, "", PROVIDER),
        vouching(CONSOLE, "rita", PROVIDER),
    ),
)


def by_ralph(plan: bytes) -> bytes:
    return sign(plan, RALPH, subject="ralph", issuer=RALPH.public.issuer, now=NOW)


rows(
    "eligibility.py::check_recorded",
    (
        "Draft the plan again with",
        "no_author",
        lambda: sign(
            files.dump(replace(PLAN, author="")).encode(), RALPH, subject="ralph", issuer=RALPH.public.issuer, now=NOW
        ),
        lambda: by_ralph(FILE),
    ),
)

FILES = "approval/key_files.py::"


@walk(FILES + "read_private_key", "Give the private file that")
def private_key_missing(scene: Scene) -> Steps:
    path = scene.folder / "rita.key"
    return Steps(lambda: read_private_key(path), lambda: write_keys(path, RITA))


@walk(FILES + "read_private_key", "Run `chmod 600")
def private_key_for_everybody(scene: Scene) -> Steps:
    path = scene.folder / "rita.key"
    write_keys(path, RITA)
    path.chmod(0o644)
    return Steps(lambda: read_private_key(path), lambda: path.chmod(0o600))


@walk(FILES + "_content", "Correct the path")
def approval_missing(scene: Scene) -> Steps:
    path = scene.folder / "plan.approval.json"
    return Steps(lambda: read_approval(path), lambda: scene.write(path.name, said().content))


@walk(FILES + "_not_new", "Name a file that does not exist")
def approval_exists(scene: Scene) -> Steps:
    path = scene.write("plan.approval.json", "mine")
    return Steps(
        lambda: write_approval(path, said().content),
        lambda: None,
        lambda: write_approval(scene.folder / "other.approval.json", said().content),
    )


def trusted(scene: Scene, **changes: Any) -> TrustedKey:
    path = scene.write("key.pub", CONSOLE.public.dump() if changes.pop("console", False) else RITA.public.dump())
    given = {"file": str(path), "issuer": PROVIDER, "subject": "rita@example.org"} | changes
    return TrustedKey.model_validate(given, context={"base": scene.folder})


@walk(FILES + "listed_key", "Check the key's id with its holder")
def key_of_somebody_else(scene: Scene) -> Steps:
    return Steps(lambda: listed_key(trusted(scene, subject="ralph")), lambda: None, lambda: listed_key(trusted(scene)))


@walk(FILES + "listed_key", "Write under `vouches_for`")
def console_key_without_issuers(scene: Scene) -> Steps:
    desk = {"console": True, "issuer": CONSOLE.public.issuer, "subject": "desk"}
    return Steps(
        lambda: listed_key(trusted(scene, **desk)),
        lambda: None,
        lambda: listed_key(trusted(scene, **desk, vouches_for=(PROVIDER,))),
    )
