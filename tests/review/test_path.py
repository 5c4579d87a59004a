"""The path of a plan: drafted, submitted, approved, exported, applied."""

from __future__ import annotations

from pathlib import Path

from offsetwise.approval import ApprovalFile, Policy, approved, read_public_key
from offsetwise.plan.reading import read_plan
from offsetwise.review.answers import Approved
from offsetwise.review.exports import ExportKind
from offsetwise.store.review_rows import State
from tests.review.people import ADA, ISSUER, NOW, RITA, Scene


def test_what_a_reviewer_approves_is_what_apply_accepts(anywhere: Scene, tmp_path: Path) -> None:
    scene = anywhere
    saved = scene.submitted()
    answer = scene.approve(RITA, saved)

    assert isinstance(answer, Approved), answer
    assert answer.complete
    (plan,) = scene.board.export(ADA, saved.plan, ExportKind.PLAN)
    (envelope,) = scene.board.export(ADA, saved.plan, ExportKind.APPROVAL)
    key = read_public_key(tmp_path / "console.key.pub")
    policy = Policy(trusted=(key,), vouching=((key.id, (ISSUER,)),))
    file = ApprovalFile(name=envelope.name, content=envelope.content)
    (counted,) = approved(plan.content, read_plan(plan.content, subject="plan"), [file], policy, NOW)
    approver = counted.approver
    assert (approver.issuer, approver.subject) == (ISSUER, "rita")
    sheet = scene.board.sheet(ADA, saved.plan)
    assert sheet is not None
    assert sheet.standing.approved
    assert sheet.row.state is State.APPROVED
    chain = scene.board.check_chain(ADA)
    assert chain.intact
    assert chain.rows == 3
