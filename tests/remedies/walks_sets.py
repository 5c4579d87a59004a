"""Remedies about sets of plans: several jobs drafted, signed, applied and taken back together."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

import offsetwise as ow
from offsetwise.apply.disk import Disk
from offsetwise.apply.sets.journal import EventKind, SetAction, SetEvent, SetJournal
from offsetwise.model import Target
from offsetwise.new_files import append_line
from tests.apply.faults import FaultyDisk
from tests.apply.plans import STARTING
from tests.apply.sets import SetStage, staged_set
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import run
from tests.test_drafting_all import Desk

Call = Callable[[], object]


def staged(scene: Scene) -> SetStage:
    """Lay out a set of two plans, and let its reviewer sign it."""
    made = staged_set(scene.folder, [(STARTING,), (Target(kind="consumer-group", group="etl1"),)])
    made.use(scene.patch)
    made.sign()
    return made


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> Call:
    """Edit a file; return what puts it back."""
    before = path.read_bytes()
    body = json.loads(before)
    change(body)
    path.write_text(json.dumps(body), encoding="utf-8")
    return lambda: path.write_bytes(before)


@walk("api/plan_set.py::PlanSet._members", "Save it")
def set_that_is_not_saved(scene: Scene) -> Steps:
    made = staged(scene).load()
    made.path = None
    (scene.folder / "saved").mkdir()
    return Steps(made.verify, lambda: made.save(scene.folder / "saved"))


@walk("api/plan_set.py::_set_bytes", "that `offsetwise draft` wrote")
def set_that_is_not_there(scene: Scene) -> Steps:
    made = staged(scene)
    return Steps(lambda: ow.PlanSet.load(scene.folder), lambda: None, lambda: ow.PlanSet.load(made.home))


@walk("api/set_members.py::require_output", "Name a folder below a write root")
def set_without_an_output(scene: Scene) -> Steps:
    made = staged(scene)
    return Steps(lambda: made.apply(output=None) and None, lambda: None, lambda: made.apply() and None)


def recording(made: SetStage, disk: Disk) -> SetJournal:
    digest = made.load().digest
    return SetJournal.open(f"{made.file}.journal", digest=digest, begun_at="2026-11-28T00:00:00Z", disk=disk)


EVENT = SetEvent(
    action=SetAction.APPLY, event=EventKind.BEGAN, job="group g", plan="ab" * 32, at="2026-11-28T00:00:00Z"
)


@walk("apply/journal_file.py::JournalFile.append", "Check the disk")
def journal_of_a_set_on_a_broken_disk(scene: Scene) -> Steps:
    made = staged(scene)
    with recording(made, Disk()) as journal:
        journal.record(EVENT)
    broken = recording(made, FaultyDisk(at=2, sticky=True))

    def twice() -> None:
        try:
            broken.record(EVENT)
        except ow.ApplyError:
            broken.record(EVENT)

    return Steps(twice, lambda: broken.__exit__(None, None, None), lambda: made.apply() and None)


@walk("apply/sets/journal.py::events_of", "Give this user the right")
def journal_of_a_set_that_cannot_be_read(scene: Scene) -> Steps:
    made = staged(scene)
    path = Path(f"{made.file}.journal")
    path.symlink_to(scene.folder / "elsewhere")  # root may read everything else
    return Steps(lambda: made.rollback(execute=False) and None, path.unlink)


@walk("apply/journal_file.py::_locked_lines", "Wait until the other one has ended")
def set_that_another_process_applies(scene: Scene) -> Steps:
    made = staged(scene)
    other = recording(made, Disk())
    return Steps(lambda: made.apply() and None, lambda: other.__exit__(None, None, None))


@walk("apply/sets/journal.py::_check_header", "Put back the file of the set")
def set_that_was_edited_after_it_began(scene: Scene) -> Steps:
    made = staged(scene)
    made.apply()
    back = edited(made.file, lambda body: body.update(plans=body["plans"][::-1]))
    return Steps(lambda: made.apply(keep_going=True) and None, back)


@walk("apply/sets/journal.py::_events", "Restore it from a copy")
def journal_of_a_set_that_is_damaged(scene: Scene) -> Steps:
    made = staged(scene)
    made.apply()
    path = Path(f"{made.file}.journal")
    copy = path.read_bytes()
    path.write_bytes(copy + b'{"event":"eaten"}\n')
    return Steps(lambda: made.rollback() and None, lambda: path.write_bytes(copy))


@walk("new_files.py::append_line", "Make room, or name another folder")
def line_that_cannot_be_written(scene: Scene) -> Steps:
    def add(to: Path) -> Call:
        return lambda: append_line(to, "{}")

    return Steps(add(scene.folder), lambda: None, add(scene.folder / "drafts.jsonl"))


@walk("plan/sets/file.py::read_plan_set", "or draft the jobs again")
def set_that_nobody_drafted(scene: Scene) -> Steps:
    made = staged(scene)
    return Steps(made.load, edited(made.file, lambda body: body.update(plans=[])))


@walk("plan/sets/file.py::require_plan_of", "Put back the file as it was")
def set_one_of_whose_plans_was_edited(scene: Scene) -> Steps:
    made = staged(scene)
    back = edited(made.home / "checkpoint-job1.plan.json", lambda body: body.update(author="mallory"))
    return Steps(made.load, back)


@walk("plan/sets/file.py::require_few", "Draft fewer jobs at once")
def more_jobs_than_one_approval_names(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    desk.add(groups=["orders-etl", *(f"g{number}" for number in range(500))])
    return Steps(run(*drafting(desk, "--all")), lambda: None, run(*drafting(desk, "--group", "orders-etl", *PAYMENTS)))


PAYMENTS = ("--checkpoint", "payments")


def drafting(desk: Desk, *more: str, out: Path | None = None) -> tuple[str | Path, ...]:
    given = ("--target", "spark-checkpoint", "--target", "consumer-group", "--author", "ada")
    return ("draft", "-m", desk.file, *given, "--out", out or desk.out, *more)


@walk("plan/sets/several_jobs.py::require_for_several", "Draft that job alone")
def several_jobs_with_what_decides_about_one(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    alone = ("draft", "-m", desk.file, "--target", "consumer-group:orders-etl", "--author", "ada", "--out", desk.out)
    several = drafting(desk, "--all", "--target", "consumer-group:orders-etl")
    return Steps(run(*several), lambda: None, run(*alone, "--group", "orders-etl"))


@walk("plan/sets/several_jobs.py::request_of", "Name one more --target")
def job_that_no_target_moves(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    migration = ow.Migration.load(desk.file)

    def draft(*targets: Target) -> Call:
        def drafted() -> None:
            error: list[ow.OffsetwiseError] = []
            heard = lambda job: error.append(job.error) if job.error is not None else None  # noqa: E731 - one call
            migration.draft_all(*targets, author="ada", heard=heard)
            for each in error:
                raise each

        return drafted

    copy = ow.targets.SparkCopy()
    return Steps(draft(copy), lambda: None, draft(copy, Target(kind="consumer-group")))


@walk("cli/plan_sets.py::Jobs.require", "Name the migration file. A checkpoint")
def several_jobs_of_no_migration(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    given = drafting(desk, "--all")
    return Steps(run("draft", *given[3:]), lambda: None, run(*given))


@walk("cli/plan_sets.py::require_of_several", "or run the command for that")
def several_jobs_with_an_option_of_one(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    return Steps(run(*drafting(desk, "--all", "--sink-rewound")), lambda: None, run(*drafting(desk, "--all")))


@walk("cli/plan_sets.py::require_set", "Leave --keep-going out")
def one_plan_that_keeps_going(scene: Scene) -> Steps:
    made = staged(scene)
    body = made.migration.model_dump(mode="json", include={"name", "checkpoint_roots", "write_roots"})
    clusters = (("source", "old"), ("target", "new"))
    body |= {side: {"properties": {"bootstrap.servers": f"{name}.invalid:9092"}} for side, name in clusters}
    file = scene.write("m.yaml", yaml.safe_dump(body))
    apply = ("apply", made.home / "checkpoint-job1.plan.json", "-m", file)
    return Steps(run(*apply, "--keep-going"), lambda: None, run(*apply))


@walk("workflow/plan_folder.py::PlanFolder._require_set_not_begun", "these plans are needed")
def folder_of_a_set_that_has_begun(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    run(*drafting(desk, "--all"))()
    (desk.out / "plan-set.json.journal").write_text("", encoding="utf-8")
    other = drafting(desk, "--all", out=scene.folder / "other")
    return Steps(run(*drafting(desk, "--all")), lambda: None, run(*other))


def refused_in(desk: Desk, *more: str) -> Call:
    """Return a draft of all jobs that raises what the first of them is refused for."""
    migration = ow.Migration.load(desk.file)

    def drafted() -> None:
        errors: list[ow.OffsetwiseError] = []
        heard = lambda job: errors.append(job.error) if job.error is not None else None  # noqa: E731 - one call
        targets = (ow.targets.SparkCopy(), Target(kind="consumer-group"))
        out = Path(more[0]) if more else desk.out
        migration.draft_all(*targets, author="ada", out=out, max_age_s=0 if not more else 60, heard=heard)
        for error in errors:
            raise error

    return drafted


@walk("workflow/plan_folder.py::PlanFolder.known", "Move it away")
def plan_of_somebody_else(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    desk.out.mkdir()
    path = desk.out / "group-orders-etl.plan.json"
    path.write_text("notes of mine", encoding="utf-8")
    return Steps(refused_in(desk), lambda: path.rename(scene.folder / "notes"))


@walk("workflow/plan_folder.py::_require_not_begun", "this plan is needed")
def plan_that_was_applied(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    refused_in(desk)()
    (desk.out / "group-orders-etl.plan.receipt.json").write_text("", encoding="utf-8")
    return Steps(refused_in(desk), lambda: None, refused_in(desk, str(scene.folder / "other")))


@walk("workflow/plan_folder.py::_drafts", "Move it away")
def list_of_drafts_that_is_none(scene: Scene) -> Steps:
    desk = Desk(scene.folder, scene.patch)
    path = desk.out / "drafts.jsonl"
    os.makedirs(path)
    return Steps(refused_in(desk), path.rmdir)
