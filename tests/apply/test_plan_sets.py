"""A set of plans: approved at once, applied in order from any prefix, and taken back in the reverse."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

import offsetwise as ow
from offsetwise import files
from offsetwise.api.job_evidence import plan_of
from offsetwise.api.working_folder import read_folder
from offsetwise.apply.disk import Disk
from offsetwise.apply.sets.journal import EventKind, SetAction, SetEvent, SetJournal, applied_order, events_of
from offsetwise.approval import policy_for
from offsetwise.errors import ApplyError, FileError, NotApprovedError, PlanError, UsageError
from offsetwise.model import Cluster, Snapshot, StepState, Target, Turnout
from tests.apply.faults import FaultyDisk, UnsyncedDisk
from tests.apply.plans import COPY, STARTING, files_of, tree_hash
from tests.apply.sets import SetStage, staged_set
from tests.gates import FULL
from tests.with_cases import with_cases

LIB = Path(ow.__file__).parent.parent


def to_group(number: int) -> Target:
    return Target(kind="consumer-group", group=f"etl{number}")


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SetStage:
    """Three jobs: a copy and a group, a group alone, a file of starting offsets."""
    made = staged_set(tmp_path, [(COPY, to_group(0)), (to_group(1),), (STARTING,)])
    made.use(monkeypatch)
    made.sign()
    return made


def jobs_of(outcomes: tuple[ow.PlanOutcome[Any], ...]) -> list[tuple[str, str | None]]:
    return [(each.job, None if each.error is None else type(each.error).__name__) for each in outcomes]


def results_of(outcomes: tuple[ow.PlanOutcome[Any], ...]) -> list[Any]:
    assert all(each.error is None for each in outcomes)
    return [each.result for each in outcomes]


def told(staged: SetStage) -> list[tuple[str, str, str]]:
    """What the set's journal says."""
    events = events_of(f"{staged.file}.journal", staged.load().digest)
    return [(str(each.action), str(each.event), each.job.removeprefix("checkpoint ")) for each in events]


class TestApplying:
    def test_writes_every_plan_in_order_each_with_its_receipt(self, staged: SetStage) -> None:
        outcomes = staged.apply()

        assert jobs_of(outcomes) == [(f"checkpoint job{number}", None) for number in range(3)]
        for number, one in enumerate(staged.stages):
            receipt = files.load(staged.receipt(number).read_bytes(), "receipt", subject="receipt")
            assert receipt.plan == one.plan
            assert {step.state for step in receipt.steps} == {StepState.DONE}
            assert [approver.subject for approver in receipt.approvers] == ["reviewer@example.org"]
        assert sorted(path.name for path in staged.output.iterdir()) == ["checkpoint-job0", "checkpoint-job2"]
        assert told(staged) == [("apply", event, f"job{number}") for number in range(3) for event in ("began", "ended")]

    def test_is_seen_by_whoever_reads_the_folder(self, staged: SetStage) -> None:
        staged.apply()

        folder = read_folder(staged.home)
        assert (folder.unread, len(folder.receipts), len(folder.plans)) == ([], 3, 3)

    def test_leaves_each_plan_approved_by_the_approval_of_the_set(self, staged: SetStage) -> None:
        shutil.copy(staged.approval, staged.home)
        policy = policy_for(staged.migration.approval, (staged.trusted,))

        folder = read_folder(staged.home)
        plans = [plan_of(plan, None, folder.approvals, policy) for plan in folder.plans]

        assert [plan.approvers for plan in plans] == [("reviewer@example.org",)] * 3
        assert {plan.approvals for plan in plans} == {(str(staged.home / staged.approval.name),)}

    def test_again_finds_everything_applied_and_writes_nothing(self, staged: SetStage) -> None:
        staged.apply()
        before, commits = staged.standing(), len(staged.groups.commits)

        outcomes = staged.apply()

        assert all(result.already for result in results_of(outcomes))
        assert (staged.standing(), len(staged.groups.commits)) == (before, commits)

    def test_is_shown_by_a_dry_run_that_writes_nothing_and_needs_no_approval(self, staged: SetStage) -> None:
        before = tree_hash(staged.folder)

        outcomes = staged.apply(execute=False, approvals=[])

        assert [result.changes for result in results_of(outcomes)] == [True] * 3
        assert tree_hash(staged.folder) == before

    def test_stops_at_the_first_that_fails_and_goes_on_with_the_same_call(self, staged: SetStage) -> None:
        reviewed = dict(staged.groups.offsets["etl1"])
        staged.groups.offsets["etl1"].clear()

        outcomes = staged.apply()
        assert jobs_of(outcomes) == [("checkpoint job0", None), ("checkpoint job1", "StalePlanError")]
        assert not staged.receipt(2).exists()

        staged.groups.offsets["etl1"].update(reviewed)
        assert jobs_of(staged.apply()) == [(f"checkpoint job{number}", None) for number in range(3)]

    def test_keeps_going_where_that_is_asked_for(self, staged: SetStage) -> None:
        staged.groups.offsets["etl1"].clear()  # other commits than were reviewed

        outcomes = staged.apply(keep_going=True)

        assert jobs_of(outcomes) == [
            ("checkpoint job0", None),
            ("checkpoint job1", "StalePlanError"),
            ("checkpoint job2", None),
        ]
        assert ("apply", "failed", "job1") in told(staged)
        failed = [each for each in events_of(f"{staged.file}.journal", staged.load().digest) if each.problem]
        assert [each.problem for each in failed] == [outcomes[1].error.problem]  # type: ignore[union-attr]

    def test_asks_for_every_approval_before_the_first_plan_is_written(self, staged: SetStage) -> None:
        before = staged.standing()

        with pytest.raises(NotApprovedError, match=r"^checkpoint job0: Plan"):
            staged.apply(approvals=[])
        assert staged.standing() == before
        assert not Path(f"{staged.file}.journal").exists()
        assert {name for _, name in jobs_of(staged.apply(approvals=[], keep_going=True))} == {"NotApprovedError"}
        assert staged.standing() == before

    def test_needs_a_folder_where_a_plan_writes_files(self, staged: SetStage) -> None:
        with pytest.raises(UsageError, match="that of checkpoint job0 writes one"):
            staged.apply(output=None)

    def test_of_one_plan_with_the_approval_of_its_set_is_seen_by_the_set(self, staged: SetStage) -> None:
        alone = staged.load().plans[1]
        alone.apply(approvals=[staged.approval], trust=[staged.trusted], execute=True)

        outcomes = staged.apply()
        assert [bool(result.already) for result in results_of(outcomes)] == [False, True, False]

    def test_names_outputs_as_every_file_system_takes_them(self, staged: SetStage) -> None:
        content = json.loads(staged.file.read_text(encoding="utf-8"))
        content["plans"][2] |= {"job": "checkpoint a b", "file": "checkpoint-a%20b.plan.json"}
        (staged.home / "checkpoint-job2.plan.json").rename(staged.home / "checkpoint-a%20b.plan.json")
        staged.file.write_text(json.dumps(content), encoding="utf-8")
        staged.sign()

        staged.apply()
        names = sorted(path.name for path in staged.output.iterdir())
        assert names[0].startswith("checkpoint-a-20b-")
        assert names[1] == "checkpoint-job0"


class TestTakingBack:
    def test_is_done_in_the_reverse_order_of_application(self, staged: SetStage) -> None:
        before = staged.standing()
        staged.apply()

        outcomes = staged.rollback()

        assert jobs_of(outcomes) == [(f"checkpoint job{number}", None) for number in (2, 1, 0)]
        assert all(step.state is StepState.UNDONE for result in results_of(outcomes) for step in result)
        assert staged.standing() == before
        assert jobs_of(staged.rollback()) == jobs_of(outcomes), "the same call again"

        ((_, refused),) = jobs_of(staged.apply())
        assert refused is not None
        (again,) = staged.apply()
        assert again.error is not None
        assert "move this one and its journal out of the folder" in again.error.fix
        for path in staged.home.glob("*.receipt.json*"):
            path.rename(staged.folder / path.name)
        assert [error for _, error in jobs_of(staged.apply())] == [None, None, None]

    def test_begins_with_the_plan_that_was_applied_last(self, staged: SetStage) -> None:
        reviewed = dict(staged.groups.offsets["etl1"])
        staged.groups.offsets["etl1"].clear()
        staged.apply(keep_going=True)
        staged.groups.offsets["etl1"].update(reviewed)
        staged.apply()

        assert [job for job, _ in jobs_of(staged.rollback())] == [f"checkpoint job{number}" for number in (1, 2, 0)]

    def test_leaves_out_what_nobody_began(self, staged: SetStage) -> None:
        assert staged.rollback() == ()
        assert not Path(f"{staged.file}.journal").exists()
        staged.groups.offsets["etl1"].clear()
        staged.apply()

        assert jobs_of(staged.rollback(execute=False)) == [("checkpoint job0", None)]
        assert jobs_of(staged.rollback()) == [("checkpoint job0", None)]

    def test_stops_where_one_cannot_be_taken_back_unless_it_is_to_go_on(self, staged: SetStage) -> None:
        staged.apply()
        staged.groups.state = "Stable"

        assert jobs_of(staged.rollback()) == [("checkpoint job2", None), ("checkpoint job1", "GroupActiveError")]
        assert jobs_of(staged.rollback(keep_going=True)) == [
            ("checkpoint job1", "GroupActiveError"),
            ("checkpoint job0", "GroupActiveError"),
            ("checkpoint job2", None),
        ], "what was taken back already comes last"


class TestVerifying:
    def test_says_of_each_plan_how_it_is(self, staged: SetStage, monkeypatch: pytest.MonkeyPatch) -> None:
        reads_of(monkeypatch, staged)
        staged.groups.offsets["etl1"].clear()
        staged.apply()

        outcomes = staged.load().verify()

        assert jobs_of(outcomes) == [
            ("checkpoint job0", None),
            ("checkpoint job1", "FileError"),
            ("checkpoint job2", "FileError"),
        ]

    def test_reads_the_new_cluster_once_for_all_plans(self, staged: SetStage, monkeypatch: pytest.MonkeyPatch) -> None:
        reads = reads_of(monkeypatch, staged)
        staged.apply()
        reads.clear()

        outcomes = staged.load().verify()

        assert [outcome.result and outcome.result.is_different for outcome in outcomes] == [False] * 3
        assert {position.turnout for each in outcomes if each.result for position in each.result.positions} == {
            Turnout.CONFIRMED
        }
        assert len(reads) == 1
        assert {*reads[0]} == {"etl0", "etl1"}


def reads_of(patch: pytest.MonkeyPatch, staged: SetStage) -> list[tuple[str, ...]]:
    """Let the clusters of the stage be read; return the groups of each reading."""
    reads: list[tuple[str, ...]] = []

    def cluster(_: object, side: Cluster, topics: tuple[str, ...], groups: tuple[str, ...]) -> Snapshot:
        reads.append(groups)
        return staged.world.cluster(side, topics, groups)

    patch.setattr("offsetwise.api.readers.LiveReaders.cluster", cluster)
    return reads


def edit(path: Path, **keys: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | keys), encoding="utf-8")


class TestASet:
    def test_one_of_whose_plans_was_edited_is_refused_and_says_which(self, staged: SetStage) -> None:
        edit(staged.home / "checkpoint-job1.plan.json", author="mallory")

        for command in (staged.load, staged.sign, staged.apply, staged.rollback):
            with pytest.raises(FileError, match=r"checkpoint-job1\.plan\.json: expected the plan of checkpoint job1"):
                command()

    def test_one_of_whose_plans_is_missing_is_refused_and_says_which(self, staged: SetStage) -> None:
        (staged.home / "checkpoint-job2.plan.json").unlink()

        with pytest.raises(FileError, match=r"checkpoint-job2\.plan\.json: expected a plan, but No such file"):
            staged.apply()

    @with_cases(
        ("change", "message"),
        [
            (lambda body: body.update(plans=[]), "it has no plan"),
            (lambda body: body["plans"][0].update(file="../checkpoint-job0.plan.json"), "is no name of a plan's file"),
            (lambda body: body["plans"][0].update(file="plan.json"), "is no name of a plan's file"),
            (lambda body: body["plans"][0].update(digest="AB" * 32), "is no digest"),
            (lambda body: body["plans"][0].update(job="orders"), "names neither a checkpoint nor a group"),
            (lambda body: body["plans"].append(body["plans"][0]), "the job 'checkpoint job0' twice"),
            (lambda body: body["plans"][1].update(file="Checkpoint-JOB0.plan.json"), "twice"),
            (lambda body: body["plans"][1].update(digest=body["plans"][0]["digest"]), "the digest"),
        ],
        ids=["none", "elsewhere", "no plan's name", "no digest", "no job", "job twice", "file twice", "digest twice"],
    )
    def test_that_nobody_drafted_is_refused(self, staged: SetStage, change: Any, message: str) -> None:
        body = json.loads(staged.file.read_text(encoding="utf-8"))
        change(body)
        staged.file.write_text(json.dumps(body), encoding="utf-8")

        with pytest.raises(PlanError, match=message):
            staged.load()

    def test_that_changed_after_it_had_begun_is_refused(self, staged: SetStage) -> None:
        staged.apply()
        body = json.loads(staged.file.read_text(encoding="utf-8"))
        staged.file.write_text(json.dumps(body | {"plans": body["plans"][::-1]}), encoding="utf-8")

        with pytest.raises(ApplyError, match="the set was edited or drafted again after it had begun"):
            staged.apply()

    def test_is_read_from_its_folder_too(self, staged: SetStage) -> None:
        assert ow.PlanSet.load(staged.home).digest == staged.load().digest

    def test_is_saved_with_its_plans_and_never_over_others(self, staged: SetStage, tmp_path: Path) -> None:
        again = staged.load()
        (tmp_path / "again").mkdir()
        again.save(tmp_path / "again")

        assert ow.PlanSet.load(tmp_path / "again").content == again.content
        with pytest.raises(FileError):
            again.save(tmp_path / "again")


class TestTheJournal:
    def test_lets_one_process_at_a_time_work(self, staged: SetStage) -> None:
        path, digest = f"{staged.file}.journal", staged.load().digest
        with (
            SetJournal.open(path, digest=digest, begun_at="2026-11-28T00:00:00Z", disk=Disk()),
            pytest.raises(ApplyError, match="the only one at work on this set"),
        ):
            staged.apply()
        assert jobs_of(staged.apply())[-1] == ("checkpoint job2", None)


SEED = 20261128


def _ran(folder: Path, kind: str, part: int) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.apply.set_kills", str(folder), kind, str(part), str(SEED)],
        capture_output=True,
        text=True,
        check=False,
        cwd=LIB.parent,
        env={**os.environ, "PYTHONPATH": str(LIB)},
    )
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def test_a_kill_at_any_step_of_a_set_leaves_nothing_partial(quick_path: Path) -> None:
    part = 1 if FULL else 4
    told = _ran(quick_path, "kill", part)

    assert told["failures"] == []
    assert told["kills"] >= 120 // part


def test_of_twenty_that_apply_one_set_each_plan_is_written_once(quick_path: Path) -> None:
    told = _ran(quick_path, "race", 1)

    assert told["failures"] == []
    assert all(winners >= 1 for winners in told["winners"])


def test_a_failing_disk_at_any_call_is_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = staged_set(tmp_path, [(STARTING,), (STARTING,)])
    staged.use(monkeypatch, UnsyncedDisk())
    staged.sign()
    before = files_of(staged.home)
    staged.apply()
    expected = files_of(staged.output)
    failed, at = 0, 1
    while True:
        shutil.rmtree(staged.output)
        for path in staged.home.iterdir():
            if path.name not in before:
                path.unlink()
        disk = FaultyDisk(at=at)
        staged.use(monkeypatch, disk)
        try:
            outcomes = staged.apply()
        except ApplyError:
            outcomes = ()
        failed += len(outcomes) < 2 or outcomes[-1].error is not None
        staged.use(monkeypatch, UnsyncedDisk())
        assert jobs_of(staged.apply()) == [("checkpoint job0", None), ("checkpoint job1", None)]
        assert files_of(staged.output) == expected
        assert set(told(staged)) >= {("apply", "ended", f"job{number}") for number in range(2)}
        if disk.calls < at:
            break
        at += 3
    assert failed >= 10


EVENTS = strategies.lists(
    strategies.tuples(
        strategies.sampled_from(SetAction), strategies.sampled_from(EventKind), strategies.integers(0, 5)
    ),
    max_size=40,
)


@given(EVENTS, strategies.permutations(range(6)))
def test_plans_are_taken_back_in_the_reverse_of_whatever_order_they_were_applied_in(
    lines: list[tuple[SetAction, EventKind, int]], order: list[int]
) -> None:
    events = [
        SetEvent(action=action, event=event, job=f"group {number}", plan=str(number), at="2026-11-28T00:00:00Z")
        for action, event, number in lines
    ]
    plans = [str(number) for number in order]
    applied: list[str] = []
    begun: list[str] = []
    for one in events:
        if (one.action, one.event) == (SetAction.ROLLBACK, EventKind.ENDED):
            applied = [plan for plan in applied if plan != one.plan]
            begun = [plan for plan in begun if plan != one.plan]
        elif (one.action, one.event) == (SetAction.APPLY, EventKind.ENDED) and one.plan not in applied:
            applied.append(one.plan)
        elif (one.action, one.event) == (SetAction.APPLY, EventKind.BEGAN) and one.plan not in begun:
            begun.append(one.plan)
    unfinished = [plan for plan in begun if plan not in applied]
    known = [*applied, *unfinished]

    assert list(applied_order(plans, events)) == [*(plan for plan in plans if plan not in known), *known]
