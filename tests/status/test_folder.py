"""What `status` reads of a folder: the plans of sets in folders of their own, and the approvals of whole sets."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

import offsetwise
from offsetwise import approval, files
from offsetwise.api.job_evidence import applied_of, chosen_plan, plan_of
from offsetwise.api.readers import LiveReaders
from offsetwise.api.working_folder import read_folder
from offsetwise.apply.reversal import rollback
from offsetwise.apply.run import apply
from offsetwise.approval import Verdict
from offsetwise.config import ApprovalSettings
from offsetwise.model import JobState
from offsetwise.model.digest import digest
from offsetwise.status.evidence import PlanEvidence
from tests.apply.plans import COPY, MIGRATION, STARTING
from tests.apply.sets import SetStage, staged_set
from tests.apply.worlds import REVIEWER, stage
from tests.commands import call
from tests.with_cases import with_cases

SAMPLE: Final = Path(offsetwise.__file__).parent / "sample"


def plans_of(staged: SetStage) -> list[PlanEvidence]:
    """Return what the folder shows of each plan of the set."""
    policy = approval.policy_for(ApprovalSettings(), [staged.trusted])
    folder = read_folder(staged.folder)
    return [plan_of(plan, None, folder.approvals, policy) for plan in folder.plans]


def test_the_folders_of_sets_are_read_with_the_folder_that_they_are_in(tmp_path: Path) -> None:
    staged = staged_set(tmp_path, [(COPY,), (STARTING,)])
    staged.sign()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "other.plan.json").write_bytes(staged.stages[0].data)

    folder = read_folder(tmp_path)

    assert [Path(plan.path) for plan in folder.plans] == [
        staged.home / f"checkpoint-job{number}.plan.json" for number in range(2)
    ], "and no folder without a set"
    assert [Path(file.name) for file in folder.approvals] == [staged.approval]
    assert [Path(plan.path).name for plan in read_folder(staged.home).plans] == [
        f"checkpoint-job{number}.plan.json" for number in range(2)
    ]


@with_cases("second", ["again.json", "zz.receipt.json"])
@with_cases("killed", [False, True], ids=["with its receipt", "before its receipt"])
def test_of_several_applications_of_a_plan_the_one_that_was_not_taken_back_counts(
    second: str, killed: bool, tmp_path: Path
) -> None:
    staged = stage(tmp_path, COPY)
    plan = tmp_path / "some.plan.json"
    plan.write_bytes(staged.data)
    first = tmp_path / "some.plan.receipt.json"
    apply(staged.order(), str(first), staged.tools())
    rollback(replace(staged.back(), path=str(first)), staged.tools())
    assert not is_applied(plan, tmp_path)

    apply(staged.order(), str(tmp_path / second), staged.tools())
    if killed:
        (tmp_path / second).unlink()

    assert is_applied(plan, tmp_path)


def is_applied(plan: Path, path: Path) -> bool:
    """Whether the folder shows that a plan is applied, and not taken back."""
    folder, of = read_folder(path), digest(plan.read_bytes())
    applied = applied_of(of, folder, LiveReaders(migration=MIGRATION), None, None)
    assert applied is not None
    return applied.undone == 0


def test_the_approval_of_a_set_is_one_of_each_of_its_plans(tmp_path: Path) -> None:
    staged = staged_set(tmp_path, [(COPY,), (STARTING,)])
    assert [plan.approvers for plan in plans_of(staged)] == [(), ()]
    staged.sign()

    assert [plan.approvers for plan in plans_of(staged)] == [(REVIEWER.public.subject,)] * 2
    assert [plan.approvals for plan in plans_of(staged)] == [(str(staged.approval),)] * 2
    assert [plan.rejection for plan in plans_of(staged)] == [None, None]
    assert [plan.takes_output for plan in plans_of(staged)] == [True, True]


def test_the_rejection_of_a_set_is_one_of_each_of_its_plans(tmp_path: Path) -> None:
    staged = staged_set(tmp_path, [(COPY,), (STARTING,)])
    staged.sign(verdict=Verdict.REJECTED)

    assert [plan.approvers for plan in plans_of(staged)] == [(), ()]
    assert all("rejected it" in (plan.rejection or "") for plan in plans_of(staged))


def test_a_plan_that_was_taken_back_counts_until_a_newer_one_is_drafted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = staged_set(tmp_path, [(COPY,)])
    staged.use(monkeypatch)
    staged.sign()
    older = replace(staged.stages[0].plan, drafted_at="2025-01-01T00:00:00Z")
    newer = replace(older, drafted_at="2035-01-01T00:00:00Z")
    (tmp_path / "older.json").write_text(files.dump(older), encoding="utf-8")
    assert chosen(tmp_path) == staged.home / "checkpoint-job0.plan.json"
    (tmp_path / "newer.json").write_text(files.dump(newer), encoding="utf-8")
    assert chosen(tmp_path) == tmp_path / "newer.json"

    staged.apply()
    assert chosen(tmp_path) == staged.home / "checkpoint-job0.plan.json", "the one that was applied"
    staged.rollback()
    assert chosen(tmp_path) == tmp_path / "newer.json"
    (tmp_path / "newer.json").unlink()
    assert chosen(tmp_path) == staged.home / "checkpoint-job0.plan.json", "which was taken back"


def chosen(path: Path) -> Path:
    """Return the plan that counts among those of a folder, which are of one job."""
    folder = read_folder(path)
    plan = chosen_plan(folder.plans, folder)
    assert plan is not None
    return Path(plan.path)


def test_a_group_that_has_moved_since_it_was_compared_is_not_in_the_state_that_its_comparison_showed(
    tmp_path: Path,
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    old, new = tmp_path / "sample" / "old.json", tmp_path / "sample" / "new.json"
    given = ("-m", tmp_path / "sample" / "migration.yaml", "--snapshots", old, new)
    assert call("compare", *given, "--all", "--out", tmp_path / "out").code == 0
    before = state_of_group(*given, "--folder", tmp_path / "out")

    snapshot = json.loads(old.read_text(encoding="utf-8"))
    (group,) = (group for group in snapshot["groups"] if group["name"] == "orders-etl")
    group["offsets"][0]["offset"] = str(int(group["offsets"][0]["offset"]) + 1)
    old.write_text(json.dumps(snapshot), encoding="utf-8")
    after = state_of_group(*given, "--folder", tmp_path / "out")

    assert (before, after) == (JobState.BLOCKED, JobState.STOPPED), "without records the comparison proves nothing"


def test_of_two_summaries_the_newer_comparison_of_a_job_counts(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "sample")
    given = ("--snapshots", tmp_path / "sample" / "old.json", tmp_path / "sample" / "new.json")
    out = tmp_path / "out"
    assert call("compare", "-m", tmp_path / "sample" / "migration.yaml", *given, "--all", "--out", out).code == 0
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    taken_at = summary["jobs"][0]["taken_at"]

    for folder, year in (("set-1", "2020"), ("set-2", "2031")):
        (out / folder).mkdir()
        (out / folder / "plan-set.json").touch()
        jobs = [job | {"taken_at": f"{year}{taken_at[4:]}"} for job in summary["jobs"]]
        (out / folder / "summary.json").write_text(json.dumps(summary | {"jobs": jobs}), encoding="utf-8")
        read = read_folder(out)
        newest = out if year < taken_at[:4] else out / folder
        assert set(read.compared_in.values()) == {newest}
        assert {job.taken_at for job in read.comparisons.values()} == {max(f"{year}{taken_at[4:]}", taken_at)}


def state_of_group(*given: str | Path) -> str:
    """Return the state of the sample's group."""
    (state,) = (
        job["state"] for job in call("status", *given, "--json").answered()["jobs"] if job["job"] == "group orders-etl"
    )
    return str(state)
