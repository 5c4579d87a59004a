"""A target that only the tests know, registered by one line: drafted, reviewed, applied, verified and taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from offsetwise import files
from offsetwise.api.readers import LiveReaders
from offsetwise.apply import reversal
from offsetwise.apply.receipts import read_receipt
from offsetwise.apply.run import apply, dry_run
from offsetwise.apply.verification import verify
from offsetwise.apply.writing import StepStanding
from offsetwise.console.plan import plan_status
from offsetwise.errors import FileError, UsageError
from offsetwise.model import StepState, Target, Turnout
from offsetwise.plan import options
from offsetwise.plan.evidence import require_agreeing
from offsetwise.plan.reading import read_plan
from offsetwise.plan.strategies import judge_strategies
from offsetwise.registry import TARGETS
from tests.apply.plans import COPY
from tests.apply.worlds import TO_GROUP, stage
from tests.plan import scene
from tests.toys.registering import register_target

CSV = Target(kind="toy-csv")


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register_target(monkeypatch)


def test_it_is_a_way_to_move_a_job_of_every_engine() -> None:
    for made in (scene.comparison(), scene.grouped()):
        ways = {each.kind.name: each for each in judge_strategies(made, scene.migration())}

        assert ways["toy"].applies
        assert " --target toy-csv " in ways["toy"].commands[0]
        assert " --output DIR " in ways["toy"].commands[2]


def test_it_is_drafted_and_the_plan_is_read_again() -> None:
    plan = scene.drafted(None, options.target("toy-csv"), COPY)

    assert plan.targets == (CSV, COPY)
    assert plan.strategy == "positions for a tool of one's own"
    assert read_plan(files.dump(plan).encode(), subject="the plan") == plan
    assert "toy-csv" in files.schema("plan")["$defs"]["TargetKind"]["enum"]


def test_the_review_screen_names_it() -> None:
    assert plan_status.target(CSV) == "CSV of positions"


def test_it_is_applied_verified_and_taken_back(tmp_path: Path) -> None:
    staged = stage(tmp_path, CSV, TO_GROUP)

    shown = dry_run(staged.order(), staged.tools())
    applied = apply(staged.order(), staged.receipt, staged.tools())

    assert shown.previews[0].told == f"{staged.output} would be made."
    assert (tmp_path / "out" / "copy" / "positions.csv").read_text().count("\n") == len(staged.plan.positions)
    receipt = read_receipt(staged.receipt)
    assert receipt == applied.receipt
    seen = verify(receipt, LiveReaders(migration=staged.migration), verified_at="2026-11-21T12:00:00Z")
    assert {each.turnout for each in seen.positions if each.target == CSV} == {Turnout.CONFIRMED}
    assert [each.standing for each in reversal.preview(staged.back(), staged.tools()).seen] == [
        StepStanding.AS_WRITTEN
    ] * 2
    undone = reversal.rollback(staged.back(), staged.tools())
    assert [step.state for step in undone] == [StepState.UNDONE] * 2
    assert not (tmp_path / "out" / "copy").exists()


def test_what_was_changed_is_neither_verified_nor_removed(tmp_path: Path) -> None:
    staged = stage(tmp_path, CSV)
    receipt = apply(staged.order(), staged.receipt, staged.tools()).receipt
    (tmp_path / "out" / "copy" / "positions.csv").write_text("mine\n")

    seen = verify(receipt, LiveReaders(migration=staged.migration), verified_at="2026-11-21T12:00:00Z")
    (looked,) = reversal.preview(staged.back(), staged.tools()).seen

    assert {each.turnout for each in seen.positions} == {Turnout.DIFFERENT}
    assert looked.standing is StepStanding.CHANGED


def test_a_receipt_of_it_that_says_something_else_is_refused(tmp_path: Path) -> None:
    staged = stage(tmp_path, CSV)
    (step,) = apply(staged.order(), staged.receipt, staged.tools()).receipt.steps

    require_agreeing("the receipt", staged.plan, staged.order().digest, (step,))
    with pytest.raises(FileError, match="it lists no file, and toy-csv has some"):
        require_agreeing("the receipt", staged.plan, staged.order().digest, (replace(step, files=()),))


def test_without_its_line_it_is_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = files.dump(scene.drafted(None, CSV)).encode()
    monkeypatch.delitem(TARGETS, "toy-csv")

    with pytest.raises(UsageError, match=r"expected one of spark-checkpoint, .*found 'toy-csv'"):
        options.target("toy-csv")
    with pytest.raises(FileError, match=r"expected one of spark-checkpoint, .*found 'toy-csv'") as refused:
        read_plan(plan, subject="plan.json")
    assert "a typo" in refused.value.fix
    assert "newer" in refused.value.fix
