"""Receipts and journals of commit 1061f4c, which carry no approvals: they still say what to look at.

`@FOLDER@` stands for the folder that they were written in.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.apply.journal import read_journal
from offsetwise.apply.receipts import read_receipt, require_agreeing_records
from offsetwise.apply.run import apply
from offsetwise.apply.verification import verify
from offsetwise.apply.writing import StepStanding
from offsetwise.approval import ApprovalFile, ApprovalPolicy, read_public_key
from offsetwise.errors import NotApprovedError
from offsetwise.model import GroupOffset, StepState, Turnout
from offsetwise.model.digest import digest
from offsetwise.position import offset_of
from tests.apply.plans import PENDING, SEEDED, STARTING
from tests.apply.worlds import BEFORE, GROUP, TO_GROUP, Stage, stage
from tests.with_cases import with_cases

KEPT = Path(__file__).parent.parent / "data" / "receipts"
NAMES = ("fresh", "copy", "in-place", "savepoint")


@pytest.fixture
def applied(tmp_path: Path) -> Stage:
    """Lay out what was applied then, in a world that is as it was left."""
    folder = KEPT / "fresh"
    staged = stage(tmp_path, TO_GROUP, STARTING, SEEDED, sample=PENDING)
    staged.plan = files.load((folder / "plan.json").read_bytes(), "plan", subject="plan")
    shutil.copytree(folder / "out", tmp_path / "out")
    for name in ("receipt.json", "receipt.json.journal"):
        (tmp_path / name).write_text((folder / name).read_text().replace("@FOLDER@", str(tmp_path)))
        (tmp_path / name).chmod(0o600)
    staged.groups.offsets[GROUP] = {
        each.new_topic_partition: GroupOffset(
            topic=each.new_topic, partition=each.partition, offset=offset_of(each.new_offset)
        )
        for each in staged.plan.positions
    }
    return staged


def signed(order: reversal.BackOrder) -> reversal.BackOrder:
    """Hand over what was signed then."""
    content = (KEPT / "fresh" / "approval.json").read_bytes()
    return replace(
        order,
        approvals=(ApprovalFile(name="approval.json", content=content),),
        policy=ApprovalPolicy(trusted=(read_public_key(KEPT / "reviewer.pub"),)),
    )


@with_cases("name", NAMES)
def test_each_agrees_with_its_plan(name: str) -> None:
    receipt = read_receipt(str(KEPT / name / "receipt.json")) if name != "fresh" else None
    plan_bytes = (KEPT / name / "plan.json").read_bytes()
    plan = files.load(plan_bytes, "plan", subject="plan")

    assert files.dump(plan).encode() == plan_bytes, "a plan of then keeps its digest"
    assert receipt is None or (receipt.plan_digest, receipt.envelopes) == (digest(plan_bytes), ())


@with_cases("name", [name for name in NAMES if name != "fresh"])
def test_each_journal_agrees_with_its_plan(name: str, tmp_path: Path) -> None:
    plan_bytes = (KEPT / name / "plan.json").read_bytes()
    path = tmp_path / "receipt.json.journal"
    shutil.copy(KEPT / name / "receipt.json.journal", path)
    path.chmod(0o600)

    recorded = read_journal(str(path))
    plan = files.load(plan_bytes, "plan", subject="plan")
    require_agreeing_records(str(path), plan, digest(plan_bytes), recorded.steps)
    assert [record.whole for record in recorded.steps.values()] == [True]


@with_cases("journal", [False, True], ids=["receipt", "journal"])
def test_it_is_looked_at_and_taken_back_with_the_approval_of_then(applied: Stage, journal: bool) -> None:
    order = applied.back(journal=journal, approved=False)
    if journal:
        Path(applied.receipt).unlink()

    found = reversal.preview(order, applied.tools())
    assert [seen.standing for seen in found.seen] == [StepStanding.AS_WRITTEN] * 3
    assert found.approval.startswith("Not approved as far as was shown")
    with pytest.raises(NotApprovedError):
        reversal.rollback(order, applied.tools())

    steps = reversal.rollback(signed(order), applied.tools())

    assert {step.state for step in steps} == {StepState.UNDONE}
    assert set(applied.groups.at().values()) == {(BEFORE, "mine")}
    assert list((applied.folder / "out" / "copy").iterdir()) == []


def test_it_is_verified(applied: Stage) -> None:
    made = verify(read_receipt(applied.receipt), applied.world, verified_at="now")

    assert {each.turnout for each in made.positions} == {Turnout.CONFIRMED}


def cut_off(lines: list[str]) -> list[str]:
    return lines[:4]


@with_cases("left", [cut_off, lambda lines: lines], ids=["an interrupted one", "a whole one"])
def test_applying_goes_on_from_a_journal_of_then(applied: Stage, left: Callable[[list[str]], list[str]]) -> None:
    Path(applied.receipt).unlink()
    journal = Path(f"{applied.receipt}.journal")
    lines = left(journal.read_text().splitlines(keepends=True))
    journal.write_text("".join(lines))
    if len(lines) == 4:
        shutil.rmtree(applied.folder / "out")

    made = apply(applied.order(), applied.receipt, applied.tools()).receipt

    assert {step.state for step in made.steps} == {StepState.DONE}
    assert len(made.envelopes) == 1
