"""A plan goes to a console without clusters in one file, and its approval comes back as an envelope."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from offsetwise import files
from offsetwise.approval import ApprovalFile, Verdict, keygen, read_public_key, sign
from offsetwise.config import TrustedKey
from offsetwise.errors import FileError, OffsetwiseError, PlanError, VersionError
from offsetwise.model import Target
from offsetwise.plan.request import DraftRequest
from offsetwise.review.access import Grant
from offsetwise.review.answers import AlreadyDecided, Approved, NotAllowed, Rejected, SavedVersion, Unchanged
from offsetwise.review.board import Board
from offsetwise.review.bundle import Bundle, open_bundle
from offsetwise.review.exports import ExportKind
from offsetwise.review.people import Person
from offsetwise.store.review_rows import State
from offsetwise.store.store import open_store
from offsetwise.workflow import draft, sample
from tests.plan.scene import observed
from tests.review.people import ADA, BOTH, ISSUER, NOW, RALPH, RITA, Scene, access_with_key
from tests.review.test_roads import refused
from tests.subjects import checkpoint
from tests.with_cases import with_cases

HOSTILE = "=cmd() <b> \u202e \x00"


@pytest.fixture
def away(tmp_path: Path) -> Any:
    """The reviewer's console: another store, another key."""
    folder = tmp_path / "away"
    folder.mkdir()
    with open_store(f"sqlite:///{folder / 'store.sqlite'}") as store:
        yield Scene(store.reviews, access_with_key(folder))


def trusts(scene: Scene, other: Scene, *, vouches_for: tuple[str, ...] = (ISSUER,)) -> None:
    """Let one console take the other's word for people of an issuer."""
    path = Path(f"{other.access.decisions.key}.pub")
    key = read_public_key(path)
    listed = TrustedKey(file=str(path), issuer=key.issuer, subject=key.subject, vouches_for=vouches_for)
    scene.deciding(trusted_keys=(listed,))


def packed(scene: Scene, by: Person = ADA) -> tuple[SavedVersion, bytes]:
    """Submit a plan drafted from the sample, with its evidence and a remark, and pack it."""
    names = scene.board.credits(by)
    seen = observed("payments")
    plan = draft(
        sample(),
        checkpoint("payments"),
        DraftRequest(targets=(Target(kind="spark-checkpoint"),), author=names.author),
        drafted_at="2026-03-01T09:00:00Z",
        comparison=seen,
    )
    saved = scene.board.save_draft(by, files.dump(plan).encode(), comparison=seen)
    assert isinstance(saved, SavedVersion), saved
    scene.board.comment(by, saved.plan, HOSTILE)
    scene.board.submit(by, saved.plan, saved.digest)
    return saved, scene.board.bundle(RALPH, saved.plan).content


REASONS = {"job stopped": "It was stopped a minute later."}


def opened(data: bytes) -> Bundle:
    return open_bundle(data, subject="the bundle")


def confirmed(board: Board, by: Person, plan: int, digest: str, verdict: Verdict = Verdict.APPROVED) -> Any:
    sheet = board.sheet(by, plan)
    assert sheet is not None
    return board.decide(by, plan, digest, verdict, typed=sheet.facts.confirm, in_spite_of=REASONS)


def test_a_plan_goes_out_and_its_approval_comes_back(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    assert received.digest == saved.digest
    sheet = away.board.sheet(RITA, received.plan)
    assert sheet is not None
    assert [each.body for each in sheet.comments] == [HOSTILE]
    assert away.board.observed(RITA, received.plan, 1) == scene.board.observed(RITA, saved.plan, 1) is not None
    assert isinstance(confirmed(away.board, RITA, received.plan, saved.digest), Approved)
    (envelope,) = away.board.export(RITA, received.plan, ExportKind.APPROVAL)

    file = ApprovalFile(name=envelope.name, content=envelope.content)
    refused(scene, scene.board.import_envelope(ADA, saved.plan, file), "trusts")
    trusts(scene, away)
    answer = scene.board.import_envelope(ADA, saved.plan, file)

    assert isinstance(answer, Approved)
    home = scene.board.sheet(ADA, saved.plan)
    assert home is not None
    assert home.status.approved
    assert [(each.by.issuer, each.by.subject) for each in home.decisions] == [(ISSUER, "rita")]
    assert home.decisions[0].envelope == envelope.content
    row = scene.board.audit(ADA)[0].record
    assert (row.subject, row.details["approver_subject"]) == ("ada", "rita")
    assert isinstance(scene.board.import_envelope(ADA, saved.plan, file), AlreadyDecided)
    assert scene.board.check_chain(ADA).intact
    assert away.board.check_chain(ADA).intact


def test_a_rejection_comes_back_too(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    answer = confirmed(away.board, RITA, received.plan, saved.digest, Verdict.REJECTED)
    assert isinstance(answer, Rejected)
    trusts(scene, away)
    back = scene.board.import_envelope(ADA, saved.plan, ApprovalFile(name="no", content=answer.envelope))
    assert isinstance(back, Rejected)


def test_the_author_is_barred_at_the_other_console_too(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene, BOTH)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    refused(away, confirmed(away.board, BOTH, received.plan, saved.digest), "author")
    refused(away, away.board.receive_bundle(ADA, data), "need the role reviewer")
    assert isinstance(away.board.receive_bundle(RITA, data), Unchanged)


def test_the_author_is_barred_at_home_whatever_the_other_console_signed(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene, BOTH)
    away.rules(separation_of_duties=False)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    answer = confirmed(away.board, BOTH, received.plan, saved.digest)
    assert isinstance(answer, Approved)
    trusts(scene, away)

    file = ApprovalFile(name="own", content=answer.envelope)
    refused(scene, scene.board.import_envelope(RITA, saved.plan, file), "author")


def test_a_console_is_believed_about_its_own_issuers_only(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    answer = confirmed(away.board, RITA, received.plan, saved.digest)
    trusts(scene, away, vouches_for=("https://elsewhere.example.com",))
    file = ApprovalFile(name="approval", content=answer.envelope)
    refused(scene, scene.board.import_envelope(ADA, saved.plan, file), "vouch for people of https://elsewhere")


def test_an_envelope_of_an_earlier_version_approves_nothing(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    answer = confirmed(away.board, RITA, received.plan, saved.digest)
    trusts(scene, away)
    content = scene.board.content(ADA, saved.plan, 1).replace(b'"2026-03-01T09:00:00Z"', b'"2026-03-01T09:30:00Z"')
    edited = scene.board.save_draft(ADA, content, plan=saved.plan, base=saved.digest)
    assert isinstance(edited, SavedVersion)
    scene.board.submit(ADA, edited.plan, edited.digest)
    file = ApprovalFile(name="approval", content=answer.envelope)
    refused(scene, scene.board.import_envelope(ADA, saved.plan, file), "edited since")


def test_a_reviewers_own_key_signs_what_a_console_takes_in(scene: Scene, tmp_path: Path) -> None:
    saved, _ = packed(scene)
    rose, path = keygen(subject="rose", issuer=ISSUER), tmp_path / "rose.pub"
    path.write_text(rose.public.dump(), encoding="utf-8")
    scene.deciding(trusted_keys=(TrustedKey(file=str(path), issuer=ISSUER, subject="rose"),))
    content = scene.board.content(ADA, saved.plan, 1)
    said = sign(content, rose, subject="rose", issuer=ISSUER, now=NOW)
    file = ApprovalFile(name="a", content=said)
    scene.rules(service_accounts=(Grant(issuer=ISSUER, subject="rose"),))
    refused(scene, scene.board.import_envelope(RALPH, saved.plan, file), "service account")
    scene.rules(service_accounts=())
    assert isinstance(scene.board.import_envelope(RALPH, saved.plan, file), Approved)


def test_an_envelope_that_expired_is_refused(scene: Scene, away: Scene) -> None:
    saved, data = packed(scene)
    received = away.board.receive_bundle(RITA, data)
    assert isinstance(received, SavedVersion)
    away.deciding(valid_hours=1)
    answer = confirmed(away.board, RITA, received.plan, saved.digest)
    trusts(scene, away)
    scene.now = NOW + timedelta(hours=1)
    file = ApprovalFile(name="approval", content=answer.envelope)
    refused(scene, scene.board.import_envelope(ADA, saved.plan, file), "expired")


def test_a_bundle_whose_submission_ended_is_refused(scene: Scene, away: Scene) -> None:
    _, data = packed(scene)
    away.now = NOW + timedelta(hours=168)
    late = replace(RITA, signed_in_at=away.now, expires_at=None)
    assert isinstance(away.board.receive_bundle(late, data), NotAllowed)


def test_a_bundle_that_was_submitted_later_takes_the_place_of_an_earlier_one(scene: Scene, away: Scene) -> None:
    saved, first = packed(scene)
    assert isinstance(away.board.receive_bundle(RITA, first), SavedVersion)
    expired = NOW + timedelta(hours=168)
    scene.now = away.now = expired
    ada, rita = (replace(who, signed_in_at=expired, expires_at=None) for who in (ADA, RITA))
    refused(away, confirmed(away.board, rita, 1, saved.digest), "expired")
    assert isinstance(away.board.receive_bundle(rita, first), Unchanged)

    scene.board.submit(ada, saved.plan, saved.digest)
    again = scene.board.bundle(ada, saved.plan).content
    assert isinstance(scene.board.receive_bundle(rita, again), Unchanged)
    assert isinstance(away.board.receive_bundle(rita, again), SavedVersion)
    assert isinstance(away.board.receive_bundle(rita, again), Unchanged)
    assert isinstance(confirmed(away.board, rita, 1, saved.digest), Approved)

    scene.now = expired + timedelta(minutes=1)
    content = scene.board.content(ada, saved.plan, 1).replace(b'"2026-03-01T09:00:00Z"', b'"2026-03-01T09:30:00Z"')
    edited = scene.board.save_draft(ada, content, plan=saved.plan, base=saved.digest)
    assert isinstance(edited, SavedVersion)
    scene.board.submit(ada, edited.plan, edited.digest)
    newer = away.board.receive_bundle(rita, scene.board.bundle(ada, saved.plan).content)
    assert newer == SavedVersion(plan=1, number=2, digest=edited.digest, dropped=1)
    assert isinstance(away.board.receive_bundle(rita, again), Unchanged)
    sheet = away.board.sheet(rita, 1)
    assert sheet is not None
    assert (sheet.row.state, sheet.digest) == (State.SUBMITTED, edited.digest)
    assert [each.body for each in sheet.comments] == [HOSTILE]
    assert isinstance(confirmed(away.board, rita, 1, edited.digest), Approved)
    assert away.board.check_chain(rita).intact


def test_only_a_submitted_plan_is_packed_and_the_same_one_is_the_same_bytes(scene: Scene) -> None:
    saved, data = packed(scene)
    assert scene.board.bundle(RALPH, saved.plan).content == data
    scene.reject(RALPH, saved)
    sheet = scene.board.sheet(RALPH, saved.plan)
    assert sheet is not None
    assert sheet.row.state is State.REJECTED
    with pytest.raises(PlanError, match="expected one that is submitted"):
        scene.board.bundle(RALPH, saved.plan)


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], type[OffsetwiseError], str]] = {
    "the plan": (
        lambda body: body["parts"]["plan"].update(
            content=body["parts"]["plan"]["content"].replace('"replay": "0"', '"replay": "1"', 1)
        ),
        FileError,
        "it was changed",
    ),
    "the comparison": (
        lambda body: body["parts"]["comparison"].update(content=body["parts"]["comparison"]["content"] + " "),
        FileError,
        "it was changed",
    ),
    "an editor left out": (lambda body: body["editors"].clear(), FileError, "editors is wrong"),
    "an editor renamed": (lambda body: body["editors"][0].update(subject="x"), FileError, "it was changed"),
    "a remark": (lambda body: body["comments"][0].update(body="Looks good."), FileError, "it was changed"),
    "the time": (lambda body: body["submission"].update(expires_at_ms=2**40), FileError, "it was changed"),
    "a time of no calendar": (
        lambda body: body["submission"].update(at_ms=2**62),
        FileError,
        "submission.at_ms is wrong: Input should be less than or equal to 253402300799999",
    ),
    "a snapshot left out": (lambda body: body["parts"].pop("old"), FileError, "it was changed"),
    "a key put in": (lambda body: body.update(more="x"), FileError, "more is wrong"),
    "another major version": (lambda body: body.update(format_version="2.0"), VersionError, "version 2.0"),
    "another kind": (lambda body: body.update(format="offsetwise/plan"), VersionError, "offsetwise/plan"),
}


@with_cases("what", CHANGES)
def test_a_bundle_that_was_changed_is_refused(scene: Scene, what: str) -> None:
    _, data = packed(scene)
    body = json.loads(gzip.decompress(data))
    change, error, told = CHANGES[what]
    change(body)
    with pytest.raises(error, match=told):
        opened(gzip.compress(json.dumps(body, sort_keys=True).encode()))


def test_whatever_happens_to_the_bytes_of_a_bundle_is_said_in_words(scene: Scene) -> None:
    _, data = packed(scene)
    whole = opened(data)
    luck = random.Random(6)
    for cut in (0, 1, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(FileError):
            opened(data[:cut])
    with pytest.raises(FileError, match="something follows it"):
        opened(data + b"x")
    for _ in range(200):
        made = bytearray(data)
        made[luck.randrange(len(made))] ^= 1 << luck.randrange(8)
        with suppress(OffsetwiseError):
            assert opened(bytes(made)) == whole, "what may differ in gzip's own header says nothing"


def test_a_bundle_that_unpacks_to_more_than_fits_is_refused_before_it_is_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("offsetwise.review.bundle.MAX_BYTES", 1_000_000)
    with pytest.raises(FileError, match="unpacks to more than"):
        opened(gzip.compress(b" " * 50_000_000))
    with pytest.raises(FileError, match="the limit is"):
        opened(b"\x1f" * (16 * 1024 * 1024 + 1))
