"""What `spec/reliability.md` promises of whole applications: killed anywhere or raced, they end whole, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offsetwise.apply.recheck import recheck
from offsetwise.apply.run import apply
from offsetwise.errors import ApplyError
from offsetwise.model import Outcome
from tests.apply.plans import IN_PLACE
from tests.apply.test_recheck import DRIFT
from tests.apply.worlds import TO_GROUP, stage
from tests.gates import PART

LIB = Path(__file__).parent.parent.parent / "lib"
SEED = 20261121


def gate(name: str, folder: Path) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.apply.run_gates", name, str(folder), str(PART), str(SEED)],
        capture_output=True,
        text=True,
        check=False,
        cwd=LIB.parent,
        env={**os.environ, "PYTHONPATH": str(LIB)},
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_an_application_that_is_killed_anywhere_is_gone_on_with_and_taken_back(
    quick_path: Path, figure: Callable[[str], None]
) -> None:
    told = gate("kills", quick_path)

    figure(
        f"SIGKILL at every {PART}. write step of copy, edit in place, three groups and receipt in one plan, before and "
        f"after each commit, while going on and while rolling back (seed {SEED}): {told['count']:,} kills in "
        f"{told['seconds']:.0f} s, {len(told['wrong'])} not whole"
    )
    assert told["wrong"] == []
    assert told["count"] > 300 // PART


def test_of_twenty_processes_that_apply_one_plan_one_writes(quick_path: Path, figure: Callable[[str], None]) -> None:
    told = gate("race", quick_path)

    figure(
        f"one plan applied by 20 processes at once (seed {SEED}): {told['count']:,} applications in "
        f"{told['seconds']:.0f} s, {len(told['wrong'])} rounds without exactly one winner"
    )
    assert told["wrong"] == []


def test_who_comes_while_another_is_writing_is_not_told_that_the_plan_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = stage(tmp_path, IN_PLACE, TO_GROUP)

    def late(*given: Any, **more: Any) -> Any:
        """Another process writes everything while this one looks."""
        monkeypatch.undo()
        apply(staged.order(), staged.receipt, staged.tools())
        DRIFT["somebody committed with the group"](staged)
        held = recheck(*given, **more)
        assert any(each.outcome is Outcome.FAILED for each in held)
        return held

    monkeypatch.setattr("offsetwise.apply.run.recheck", late)

    assert apply(staged.order(), staged.receipt, staged.tools()).already


def test_who_comes_while_another_holds_the_journal_is_told_so(tmp_path: Path) -> None:
    staged = stage(tmp_path, TO_GROUP)

    def inside(_: object) -> None:
        staged.groups.on_commit = None
        with pytest.raises(ApplyError, match="held by another process"):
            apply(staged.order(), staged.receipt, staged.tools())

    staged.groups.on_commit = inside
    assert not apply(staged.order(), staged.receipt, staged.tools()).already
    assert len(staged.groups.commits) == 1
