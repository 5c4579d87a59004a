"""The path of a plan: drafted, submitted, approved, exported, applied."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise.approval import ApprovalFile, ApprovalPolicy, approved, read_public_key
from offsetwise.plan.reading import read_plan
from offsetwise.review.answers import Approved, NotAllowed
from offsetwise.review.attempt import ParsedPlans
from offsetwise.review.exports import ExportKind
from offsetwise.review.risk import VersionFacts
from offsetwise.store.review_rows import State
from tests.approval.signed import PLAN
from tests.review.people import ADA, ISSUER, NOW, RITA, Scene
from tests.with_cases import with_cases


def test_what_a_reviewer_approves_is_what_apply_accepts(anywhere: Scene, tmp_path: Path) -> None:
    scene = anywhere
    saved = scene.submitted()
    answer = scene.approve(RITA, saved)

    assert isinstance(answer, Approved), answer
    assert answer.complete
    (plan,) = scene.board.export(ADA, saved.plan, ExportKind.PLAN)
    (envelope,) = scene.board.export(ADA, saved.plan, ExportKind.APPROVAL)
    key = read_public_key(tmp_path / "console.key.pub")
    policy = ApprovalPolicy(trusted=(key,), vouching=((key.id, (ISSUER,)),))
    file = ApprovalFile(name=envelope.name, content=envelope.content)
    (counted,) = approved(plan.content, read_plan(plan.content, subject="plan"), [file], policy, NOW)
    approver = counted.approver
    assert (approver.issuer, approver.subject) == (ISSUER, "rita")
    sheet = scene.board.sheet(ADA, saved.plan)
    assert sheet is not None
    assert sheet.status.approved
    assert sheet.row.state is State.APPROVED
    chain = scene.board.check_chain(ADA)
    assert chain.intact
    assert chain.rows == 3


@with_cases("release", ["of this release", "of an earlier one"])
@with_cases("proven", [True, False], ids=["with proofs", "without"])
def test_a_version_whose_positions_have_no_proof_is_not_approved_whichever_release_kept_it(
    anywhere: Scene, monkeypatch: pytest.MonkeyPatch, release: str, *, proven: bool
) -> None:
    positions = PLAN.positions if proven else tuple(replace(each, proof=None) for each in PLAN.positions)
    if release == "of an earlier one":
        dump = VersionFacts.dump
        monkeypatch.setattr(
            VersionFacts,
            "dump",
            lambda facts: json.dumps(
                {key: each for key, each in json.loads(dump(facts)).items() if key not in {"has_proofs", "unmet"}}
            ),
        )
    saved = anywhere.submitted(positions=positions)

    answer = anywhere.approve(RITA, saved)

    assert isinstance(answer, Approved if proven else NotAllowed), answer
    assert proven or (isinstance(answer, NotAllowed) and "PROOF_NOT_REPEATED" in answer.why)


def test_a_version_with_proofs_is_not_parsed_to_be_approved(anywhere: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = anywhere.submitted()
    parsed: list[object] = []
    monkeypatch.setattr(ParsedPlans, "get", lambda *given: parsed.append(given))

    assert isinstance(anywhere.approve(RITA, saved), Approved)
    assert parsed == []
