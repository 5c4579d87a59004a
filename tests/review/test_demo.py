"""The demonstration walks the whole path on the bundled sample, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.approval import ApprovalFile, ApprovalPolicy, approved
from offsetwise.approval.demo import demo_key
from offsetwise.errors import NotApprovedError
from offsetwise.model import Target
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest
from offsetwise.review.access import Role
from offsetwise.review.answers import Approved, NotAllowed, SavedVersion, Submitted
from offsetwise.review.board import Board
from offsetwise.review.demo import demo_board, demo_people
from offsetwise.review.exports import ExportKind, commands
from offsetwise.review.people import Person
from offsetwise.review.sheet import SheetMark
from offsetwise.store.store import open_store
from offsetwise.workflow import draft, sample
from tests.approval.signed import FILE, PLAN, judged
from tests.plan.scene import observed
from tests.review.people import ADA, NOW, RITA, Scene
from tests.review.test_bundle import confirmed
from tests.subjects import checkpoint

PEOPLE = demo_people(NOW)


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    with open_store(f"sqlite:///{tmp_path / 'demo.sqlite'}") as store:
        yield demo_board(store.reviews, clock=lambda: NOW)


def drafted(board: Board, by: Person) -> SavedVersion:
    seen = observed("payments")
    plan = draft(
        sample(),
        checkpoint("payments"),
        DraftRequest(
            targets=(Target(kind="spark-checkpoint"),),
            author=board.credits(by).author,
        ),
        drafted_at="2026-03-01T09:00:00Z",
        comparison=seen,
    )
    saved = board.save_draft(by, files.dump(plan).encode(), comparison=seen)
    assert isinstance(saved, SavedVersion), saved
    return saved


def test_the_sample_walks_the_whole_path(board: Board) -> None:
    author, reviewer, viewer = (PEOPLE[role] for role in (Role.AUTHOR, Role.REVIEWER, Role.VIEWER))
    saved = drafted(board, author)
    assert isinstance(board.submit(author, saved.plan, saved.digest), Submitted)
    for nobody in (author, viewer):
        assert isinstance(confirmed(board, nobody, saved.plan, saved.digest), NotAllowed)
    assert [each.plan for each in board.waiting_for(reviewer)] == [saved.plan]

    assert isinstance(confirmed(board, reviewer, saved.plan, saved.digest), Approved)

    (plan,) = board.export(viewer, saved.plan, ExportKind.PLAN)
    (envelope,) = board.export(viewer, saved.plan, ExportKind.APPROVAL)
    assert plan.name == f"plan-{saved.digest[:8]}.json"
    file = ApprovalFile(name=envelope.name, content=envelope.content)
    policy = ApprovalPolicy(trusted=(demo_key().public,))
    assert len(approved(plan.content, read_plan(plan.content, subject="plan"), [file], policy, NOW)) == 1
    assert board.check_chain(viewer).intact


def test_the_demonstration_takes_plans_of_the_sample_only(board: Board) -> None:
    answer = board.save_draft(PEOPLE[Role.AUTHOR], FILE)
    assert isinstance(answer, NotAllowed)
    assert "bundled sample only" in answer.why


def test_apply_refuses_the_demo_key_on_anything_else(board: Board) -> None:
    author, reviewer = PEOPLE[Role.AUTHOR], PEOPLE[Role.REVIEWER]
    saved = drafted(board, author)
    board.submit(author, saved.plan, saved.digest)
    answer = confirmed(board, reviewer, saved.plan, saved.digest)
    with pytest.raises(NotApprovedError):
        judged(
            ApprovalFile(name="demo", content=answer.envelope),
            policy=ApprovalPolicy(trusted=(demo_key().public,)),
            plan=PLAN,
        )


def test_the_people_of_the_demonstration_are_nobody_elsewhere_and_others_nobody_in_it(
    board: Board, scene: Scene
) -> None:
    saved = scene.submitted()
    for each in PEOPLE.values():
        assert isinstance(scene.approve(each, saved), NotAllowed)
        assert isinstance(scene.board.comment(each, saved.plan, "Hello"), NotAllowed)
    demo = drafted(board, PEOPLE[Role.AUTHOR])
    for person in (ADA, RITA):
        assert isinstance(board.comment(person, demo.plan, "Hello"), NotAllowed)


def test_an_export_of_what_nobody_approved_says_draft_and_is_of_no_use_to_a_tool(scene: Scene) -> None:
    saved = scene.submitted()
    (plan,) = scene.board.export(ADA, saved.plan, ExportKind.PLAN)
    (lines,) = scene.board.export(ADA, saved.plan, ExportKind.GROUPS_CSV)
    assert plan.name.startswith("DRAFT-plan-")
    assert lines.content.decode().splitlines() == [f"DRAFT: plan {saved.digest} is not approved", "orders,0,950"]
    assert scene.board.export(ADA, saved.plan, ExportKind.APPROVAL) == ()
    assert not any("--execute" in each for each in commands(saved.digest, approvals=0, mark=SheetMark.DRAFT))

    scene.approve(RITA, saved)
    (lines,) = scene.board.export(ADA, saved.plan, ExportKind.GROUPS_CSV)
    assert (lines.name, lines.content) == (f"plan-{saved.digest[:8]}.groups.csv", b"orders,0,950\n")
    name = f"plan-{saved.digest[:8]}"
    assert commands(saved.digest, approvals=1, mark=SheetMark.APPROVED) == (
        f"offsetwise apply {name}.json --migration migration.yaml",
        f"offsetwise apply {name}.json --migration migration.yaml --approval {name}.approval-1.json --execute",
        f"offsetwise verify {name}.receipt.json --migration migration.yaml",
    )
