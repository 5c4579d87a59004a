"""Signing: an early no where the applier would say no, and nothing in the file but what was agreed to."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from offsetwise import files
from offsetwise.approval import PAYLOAD_TYPE, Verdict, demo, keygen
from offsetwise.errors import FileError, NotApprovedError, UsageError, VersionError
from offsetwise.model.digest import digest
from tests.approval.signed import ALICE, EVE, FILE, NOW, PLAN, RITA, judged, said, trusting
from tests.with_cases import with_cases


def test_what_is_signed_names_the_plan_the_approver_and_the_time() -> None:
    body = json.loads(base64.b64decode(json.loads(said().content)["payload"]))

    nonce = body.pop("nonce")
    assert body == {
        "format": "offsetwise/approval",
        "format_version": "1.0",
        "plan_digest": digest(FILE),
        "approver": {"issuer": "https://login.example.org", "subject": "rita@example.org"},
        "approved_at": "2026-03-01T12:00:00Z",
        "expires_at": "2026-03-02T12:00:00Z",
        "verdict": "approved",
    }
    assert len(bytes.fromhex(nonce)) == 16


def test_no_two_approvals_have_one_nonce() -> None:
    assert said().content != said().content


def test_the_file_is_an_envelope_that_in_totos_own_library_verifies() -> None:
    envelope = Envelope.from_dict(json.loads(said().content))
    key = SSlibKey(RITA.public.id, "ed25519", "ed25519", {"public": RITA.public.public})

    assert envelope.payload_type == PAYLOAD_TYPE
    assert envelope.verify([key], 1) == {RITA.public.id: key}


def test_parts_of_a_second_are_left_away_so_that_no_approval_is_of_the_future() -> None:
    approval = said(at=NOW.replace(microsecond=999_999))

    assert judged(approval, policy=trusting(RITA, clock_skew_s=0), now=NOW)


class TestTheSigner:
    @with_cases("verdict", Verdict)
    @with_cases("key", [ALICE, EVE], ids=["author", "editor"])
    def test_is_neither_author_nor_editor_whatever_they_say(self, key: Any, verdict: Verdict) -> None:
        with pytest.raises(NotApprovedError, match=r"is, or may be, its .* Nothing was signed") as caught:
            said(key, verdict=verdict)
        assert "somebody" in caught.value.fix

    def test_does_not_become_somebody_else_by_saying_so(self) -> None:
        with pytest.raises(NotApprovedError, match="Alice is, or may be, its author"):
            said(ALICE, subject="rita")
        with pytest.raises(NotApprovedError, match="ALICE is, or may be, its author"):
            said(RITA, subject="ALICE")

    def test_does_not_use_the_demo_key_but_for_the_sample(self) -> None:
        with pytest.raises(NotApprovedError, match=r"demo key .* Nothing was signed"):
            said(demo.demo_key())


class TestThePlan:
    @with_cases(
        ("content", "error", "told"),
        [
            (b"{", FileError, "expected one of Offsetwise's JSON files"),
            (FILE[:-3], FileError, "JSON"),
            (FILE.replace(b"offsetwise/plan", b"offsetwise/receipt"), VersionError, "offsetwise/receipt"),
            (FILE.replace(b'"format_version": "1.0"', b'"format_version": "2.0"'), VersionError, "found version 2.0"),
            (FILE.replace(b'"author": "alice"', b'"author": 7'), FileError, "author is wrong"),
            (FILE.replace(b"{", b'{"author": "bob",', 1), FileError, "appears twice"),
        ],
        ids=["no JSON", "cut off", "another kind", "newer major version", "another shape", "duplicate key"],
    )
    def test_that_cannot_be_read_is_not_signed(self, content: bytes, error: type[Exception], told: str) -> None:
        with pytest.raises(error, match=told):
            said(plan=content)

    def test_of_a_later_minor_version_is_signed_as_it_stands(self) -> None:
        later = FILE.replace(b'"format_version": "1.0"', b'"format_version": "1.7"')

        assert judged(said(plan=later), content=later)

    def test_without_an_author_is_not_signed(self) -> None:
        with pytest.raises(NotApprovedError, match="nobody could be barred"):
            said(plan=files.dump(replace(PLAN, author="")).encode())


@with_cases("lifetime", [timedelta(0), timedelta(seconds=-1), timedelta(days=367)], ids=str)
def test_an_approval_that_never_or_always_holds_is_not_made(lifetime: timedelta) -> None:
    with pytest.raises(UsageError, match="Nothing was signed"):
        said(expires_in=lifetime)


def test_a_name_that_cannot_be_shown_is_not_signed() -> None:
    with pytest.raises(UsageError, match="Nothing was signed"):
        said(keygen(subject="x"), subject="x\u202ey")


def test_a_time_without_its_zone_is_no_time() -> None:
    with pytest.raises(ValueError, match="zone"):
        said(at=NOW.replace(tzinfo=None))
