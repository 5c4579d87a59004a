"""What `status` reads of a folder: the plans of sets in folders of their own, and the approvals of whole sets."""

from __future__ import annotations

from pathlib import Path

from offsetwise import approval
from offsetwise.api.job_evidence import plan_of
from offsetwise.api.working_folder import read_folder
from offsetwise.approval import Verdict
from offsetwise.config import ApprovalSettings
from offsetwise.status.evidence import PlanEvidence
from tests.apply.plans import COPY, STARTING
from tests.apply.sets import SetStage, staged_set
from tests.apply.worlds import REVIEWER


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


def test_the_approval_of_a_set_is_one_of_each_of_its_plans(tmp_path: Path) -> None:
    staged = staged_set(tmp_path, [(COPY,), (STARTING,)])
    assert [plan.approvers for plan in plans_of(staged)] == [(), ()]
    staged.sign()

    assert [plan.approvers for plan in plans_of(staged)] == [(REVIEWER.public.subject,)] * 2
    assert [plan.approvals for plan in plans_of(staged)] == [(str(staged.approval),)] * 2
    assert [plan.rejection for plan in plans_of(staged)] == [None, None]


def test_the_rejection_of_a_set_is_one_of_each_of_its_plans(tmp_path: Path) -> None:
    staged = staged_set(tmp_path, [(COPY,), (STARTING,)])
    staged.sign(verdict=Verdict.REJECTED)

    assert [plan.approvers for plan in plans_of(staged)] == [(), ()]
    assert all("rejected it" in (plan.rejection or "") for plan in plans_of(staged))
