"""Remedies of what was written: receipts, journals, copies and groups that are not as they should be."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from offsetwise.apply import reversal
from offsetwise.apply.disk import Disk
from offsetwise.apply.fitting import requirement
from offsetwise.apply.journal import Journal, read_journal
from offsetwise.apply.run import apply
from offsetwise.apply.writers import output_of
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Target, TopicPartition
from offsetwise.plugins.kafka.targets.group.checks import group_of
from tests.apply.plans import COPY, IN_PLACE, PENDING, STARTING, aged, context, journal, spark_checkpoint
from tests.apply.test_tampered import of_receipt, place_at
from tests.apply.worlds import GROUP, NOW, TO_GROUP, Stage, stage
from tests.plan.scene import ETL, grouped
from tests.plan.scene import drafted as planned
from tests.plugins.kafka.targets.test_groups import Run
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_apply import failed, run

Call = Callable[[], object]
T = TypeVar("T")


def applied(scene: Scene, *targets: Target) -> Stage:
    staged = stage(scene.folder, *targets)
    run(staged)()
    return staged


def rollback(staged: Stage, *, by_journal: bool = False) -> Call:
    return lambda: reversal.rollback(staged.back(journal=by_journal), staged.tools())


def restored(path: str | Path, content: bytes) -> Call:
    def follow() -> None:
        made = Path(path)
        made.write_bytes(content)
        made.chmod(0o600)

    return follow


def changed(path: str, change: Callable[[dict[str, Any]], object]) -> Call:
    """Change a file of JSON, and return the call that restores it."""
    before = Path(path).read_bytes()
    body = json.loads(before)
    change(body)
    Path(path).write_text(json.dumps(body))
    return restored(path, before)


# Receipts and journals that somebody changed.
BACK = "apply/reversal.py::"
EVIDENCE = "plan/evidence.py::"
RESTORE = "Restore it from a copy"


def by_mallory(body: dict[str, Any]) -> None:
    body["plan"]["author"] = "mallory"


@walk(EVIDENCE + "plan_of", "Give the plan's file exactly as it was approved")
def receipt_of_another_digest(scene: Scene) -> Steps:
    staged = applied(scene, COPY)
    approved = staged.data + b"\n"  # in another form than the tool writes
    other = replace(staged.back(), plan_bytes=approved)
    right = replace(staged.back(), plan_bytes=staged.data)
    return Steps(
        lambda: reversal.rollback(other, staged.tools()), lambda: None, lambda: reversal.rollback(right, staged.tools())
    )


@walk(EVIDENCE + "changed", RESTORE)
def plan_in_the_receipt_changed(scene: Scene) -> Steps:
    staged = applied(scene, COPY)
    follow = changed(staged.receipt, by_mallory)
    order = replace(staged.back(), plan_bytes=staged.data)
    return Steps(lambda: reversal.rollback(order, staged.tools()), follow)


@walk(EVIDENCE + "changed", RESTORE)
def receipt_without_a_step(scene: Scene) -> Steps:
    staged = applied(scene)
    return Steps(rollback(staged), changed(staged.receipt, lambda body: body["steps"].pop()))


@walk(EVIDENCE + "require_step", "restore the file from a copy")
def step_at_another_place(scene: Scene) -> Steps:
    staged = applied(scene, IN_PLACE)
    before = Path(staged.receipt).read_bytes()
    of_receipt(staged, place_at(str(scene.folder / "elsewhere")))
    Path(f"{staged.receipt}.journal").unlink(missing_ok=True)
    return Steps(rollback(staged), restored(staged.receipt, before))


@walk(BACK + "_begun", "restore this file from a copy")
def application_in_the_future(scene: Scene) -> Steps:
    staged = applied(scene, COPY)
    later = (NOW + timedelta(days=1)).isoformat()
    os.remove(f"{staged.receipt}.journal")
    return Steps(rollback(staged), changed(staged.receipt, lambda body: body.update(begun_at=later)))


@walk(EVIDENCE + "changed", RESTORE)
def receipt_that_is_not_its_journals(scene: Scene) -> Steps:
    staged = applied(scene, COPY)
    return Steps(rollback(staged), changed(staged.receipt, lambda body: body["steps"][0].update(told="Elsewhere.")))


def broken_journal(scene: Scene, change: Callable[[bytes], bytes]) -> Steps:
    staged = stage(scene.folder)
    failed(staged)
    path = Path(f"{staged.receipt}.journal")
    before = path.read_bytes()
    path.write_bytes(change(before))
    return Steps(rollback(staged, by_journal=True), restored(path, before))


@walk(BACK + "_steps", "Restore the journal from a copy")
def journal_without_a_step(scene: Scene) -> Steps:
    def change(data: bytes) -> bytes:
        head, *lines = data.splitlines(keepends=True)
        return b"".join([head, *(line for line in lines if json.loads(line)["step"] != 0)])

    return broken_journal(scene, change)


@walk("apply/journal.py::_damaged", "Restore the journal from a copy")
def damaged_journal(scene: Scene) -> Steps:
    return broken_journal(scene, lambda data: data.replace(b'"event":"begun"', b'"event":"bogus"'))


@walk("apply/journal.py::read_if_begun", "Give the path of the journal")
def no_journal(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    failed(staged)
    path = f"{staged.receipt}.journal"
    return Steps(lambda: read_journal(f"{path}l"), lambda: None, lambda: read_journal(path) and None)


@walk("apply/journal_file.py::_content", "run `chmod 600")
def journal_that_others_may_write(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    failed(staged)
    path = Path(f"{staged.receipt}.journal")
    path.chmod(0o644)
    return Steps(lambda: read_journal(str(path)), lambda: path.chmod(0o600))


@walk("apply/journal.py::_nothing_begun", "Apply the plan")
def empty_journal(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    path = scene.write("receipt.json.journal", "")
    path.chmod(0o600)
    return Steps(rollback(staged, by_journal=True), lambda: None, run(staged))


class Broken(Disk):
    """Fails at every call of some kinds, until it is seen to."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)

    def call(self, name: str, path: str, action: Callable[[], T]) -> T:
        if name in self.names:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return super().call(name, path, action)

    def append(self, fd: int, data: bytes, path: str) -> None:
        self.call("append", path, lambda: super(Broken, self).append(fd, data, path))

    def truncate(self, fd: int, size: int, path: str) -> None:
        self.call("truncate", path, lambda: super(Broken, self).truncate(fd, size, path))


@walk("apply/journal_file.py::JournalFile.append", "Check the disk, then run the same command again")
def disk_that_fails_the_journal(scene: Scene) -> Steps:
    disk = Broken()

    def twice() -> None:
        with Journal.open(str(scene.folder / "j"), digest="ab" * 32, begun_at="then", disk=disk) as held:
            with suppress(OffsetwiseError):
                held.undoing(0)
            held.undoing(0)

    def command() -> None:
        disk.names = {"append", "truncate"} if not scene.folder.joinpath("seen to").exists() else set()
        twice()

    with Journal.open(str(scene.folder / "j"), digest="ab" * 32, begun_at="then"):
        pass
    return Steps(command, lambda: scene.write("seen to", ""))


@walk("apply/disk.py::_output_error", "then run the same command again: it continues from here")
def disk_that_is_full(scene: Scene) -> Steps:
    staged, disk = stage(scene.folder, COPY), Broken("rename")
    return Steps(run(staged, disk), disk.names.clear)


# What is at the targets.
@walk("apply/run.py::_believed", "To apply the plan, give another --receipt")
def copy_that_is_gone(scene: Scene) -> Steps:
    staged = applied(scene, COPY)
    shutil.rmtree(str(staged.output))
    other = str(scene.folder / "other.json")
    return Steps(run(staged), lambda: None, lambda: apply(staged.order(), other, staged.tools()))


@walk("apply/run.py::_require_standing", "draft the plan again")
def copy_that_changed_meanwhile(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY, TO_GROUP)
    failed(staged)
    copy = Path(str(staged.output))
    for file in copy.rglob("offsets/*"):
        if file.name.isdigit():
            file.write_text("mine")
    return Steps(run(staged), lambda: None, run(stage(scene.folder / "again", COPY, TO_GROUP)))


@walk("apply/publish.py::went_on", "Keep it.")
def copy_that_a_query_went_on_with(scene: Scene) -> Steps:
    staged = applied(scene, COPY)
    newest = max((path for path in Path(str(staged.output), "offsets").iterdir() if path.name.isdigit()), key=_number)
    shutil.copy(newest, newest.with_name(str(_number(newest) + 1)))
    return Steps(rollback(staged), lambda: None, lambda: failback(scene, Path(str(staged.output))))


def _number(path: Path) -> int:
    return int(path.name)


def failback(scene: Scene, copy: Path) -> object:
    """Draft and apply a plan from the checkpoint that the job has on the new cluster."""
    folder = scene.folder / "failback"
    folder.mkdir()
    staged = stage(folder, COPY, source=aged(copy))
    roots = {"checkpoint_roots": (str(scene.folder),)}
    staged.migration = staged.migration.model_copy(update=roots)
    staged.world.live = replace(staged.world.live, migration=staged.migration)
    return run(staged)()


@walk("apply/publish.py::went_on", "Keep it.")
def checkpoint_that_a_query_went_on_with(scene: Scene) -> Steps:
    staged = applied(scene, IN_PLACE)
    newest = max((path for path in (staged.source / "offsets").iterdir() if path.name.isdigit()), key=_number)
    shutil.copy(newest, newest.with_name(str(_number(newest) + 1)))
    return Steps(rollback(staged), lambda: None, lambda: failback(scene, staged.source))


@walk("targets/text_file.py::TextFileWriter.undo", "Remove it by hand")
def file_that_changed(scene: Scene) -> Steps:
    staged = applied(scene, STARTING)
    file = Path(str(staged.output))
    file.write_text("mine")
    return Steps(rollback(staged), file.unlink)


@walk("targets/text_file.py::_require_absent", "Choose another output, or remove it")
def file_in_the_place(scene: Scene) -> Steps:
    staged = stage(scene.folder, STARTING)
    file = Path(str(staged.output))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("mine")
    return Steps(run(staged), file.unlink)


@walk("apply/receipts.py::_exists_already", "Move away what is there")
def receipt_in_the_place(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)

    class Late(Disk):
        """Somebody makes a file of the receipt's name while the plan is applied."""

        def link(self, original: str, new: str) -> bool:
            if new == staged.receipt:
                scene.write("receipt.json", "mine")
            return super().link(original, new)

    moved = scene.folder / "moved"
    return Steps(run(staged, Late()), lambda: Path(staged.receipt).rename(moved), run(staged))


@walk("apply/digests.py::_exchanged", "put back what was there before")
def link_in_the_place_of_a_file(scene: Scene) -> Steps:
    staged = applied(scene, IN_PLACE)
    (file,) = [path for path in (staged.source / "offsets").iterdir() if path.name == newest_of(staged)]
    moved = scene.folder / "moved"
    file.rename(moved)
    file.symlink_to(moved)
    return Steps(rollback(staged), lambda: moved.rename(file))


def newest_of(staged: Stage) -> str:
    return str(max(_number(path) for path in (staged.source / "offsets").iterdir() if path.name.isdigit()))


# The checkpoint that a plan is made from.
@walk("apply/publish.py::journal_of", "Give --receipt")
def nothing_to_write_into(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)

    def write(made: Journal | None) -> object:
        return spark_checkpoint.write(staged.plan, COPY, context(scene.folder, journal=made)) and None

    def command() -> object:
        return write(None)

    def with_receipt() -> object:
        with journal(scene.folder) as made:
            return write(made)

    return Steps(command, lambda: None, with_receipt)


def copied(of: Stage) -> Call:
    """Return the making of a copy by its writer alone, after the last look at the checkpoint."""

    def command() -> object:
        with journal(of.folder, name="copied") as made:
            return spark_checkpoint.write(of.plan, COPY, context(of.folder, journal=made)) and None

    return command


@walk("apply/publish.py::scan_stopped", "Stop the query, wait until")
def query_that_writes(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    file = staged.source / "state" / ".9.tmp"
    file.write_text("")
    return Steps(copied(staged), lambda: os.utime(file, (file.stat().st_mtime - 3600,) * 2))


@walk("plugins/spark/targets/state.py::refuse_running", "Stop the query, wait until")
def batch_planned_a_moment_ago(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY, sample=PENDING)
    file = staged.source / "offsets" / newest_of(staged)
    old = file.stat().st_mtime
    os.utime(file)
    return Steps(run(staged), lambda: os.utime(file, (old, old)))


@walk("apply/fitting.py::_stale", "The job has run since")
def job_that_has_run(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    commits = staged.source / "commits"
    last = max((path for path in commits.iterdir() if path.name.isdigit()), key=_number)
    shutil.copy(staged.source / "offsets" / last.name, staged.source / "offsets" / str(_number(last) + 1))

    def again() -> object:
        (scene.folder / "again").mkdir()
        return copied(stage(scene.folder / "again", COPY, source=aged(staged.source)))()

    return Steps(copied(staged), lambda: None, again)


@walk("apply/fitting.py::requirement", "or draft a plan from the checkpoint")
def copy_of_a_group(scene: Scene) -> Steps:
    of_group = replace(planned(grouped(), ETL), targets=(COPY,))
    return Steps(
        lambda: requirement(of_group) and None, lambda: None, lambda: requirement(stage(scene.folder).plan) and None
    )


@walk("apply/writers.py::output_of", "Draft the plan again")
def target_twice(scene: Scene) -> Steps:
    return Steps(
        lambda: output_of((COPY, COPY), 0, "/out") and None,
        lambda: None,
        lambda: output_of(stage(scene.folder).plan.targets, 0, "/out") and None,
    )


# Groups.
GROUPS = "plugins/kafka/targets/group/"


def first(staged: Stage) -> TopicPartition:
    return sorted(staged.groups.at())[0]


def setting(**values: Any) -> Callable[[Stage], object]:
    def change(staged: Stage) -> None:
        for name, value in values.items():
            setattr(staged.groups, name, value)

    return change


def by_writer(
    scope: str, words: str, name: str, before: Callable[[Stage], object], after: Callable[[Stage], object]
) -> None:
    @walk(GROUPS + scope, words, name=name)
    def _(scene: Scene) -> Steps:
        staged = stage(scene.folder, TO_GROUP)
        made = Run(staged)
        before(staged)
        return Steps(lambda: made.write() and None, lambda: after(staged))


CHECKS = "checks.py::"
by_writer(
    CHECKS + "require_inactive",
    "Stop every consumer of the group",
    "group_with_members",
    setting(state="Stable"),
    setting(state="Empty"),
)
by_writer(
    CHECKS + "unreadable",
    "Grant READ and DESCRIBE on the group",
    "group_that_may_not_be_read",
    setting(error="not authorised"),
    setting(error=None),
)
by_writer(
    "writer.py::GroupWriter._judged",
    "Stop every member of the group and resolve the errors",
    "partition_that_is_refused",
    lambda staged: setting(refuse={first(staged): "its leader is changing"})(staged),
    lambda _: None,
)


by_writer(
    "writer.py::GroupWriter._judged",
    "Wait a minute, then run the same command again",
    "reply_lost_half_way",
    setting(lose=lambda: None, arrives=1),
    lambda _: None,
)
by_writer(
    "writer.py::_not_read_back",
    "Run the same command again when the cluster answers",
    "cluster_silent_after_the_commit",
    setting(unreadable_after=True),
    setting(unreadable_after=False, silent=False),
)


def committed(staged: Stage, offset: int) -> Callable[[], object]:
    held = staged.groups.offsets[GROUP]
    key = first(staged)
    return lambda: held.update({key: replace(held[key], offset=offset)})


@walk(GROUPS + CHECKS + "require_gone", "in which a broker removes a group without commits")
def group_that_is_listed_without_commits(scene: Scene) -> Steps:
    staged = stage(scene.folder, TO_GROUP, absent=range(1_000))
    run = Run(staged)
    step = run.write()
    staged.groups.offsets[GROUP].clear()
    return Steps(lambda: run.undo(step), lambda: staged.groups.offsets.pop(GROUP))


@walk(GROUPS + CHECKS + "offsets_to_write", "Find out who commits with this group")
def somebody_committed_since(scene: Scene) -> Steps:
    staged = stage(scene.folder, TO_GROUP)
    made = Run(staged)
    committed(staged, 8)()
    again = stage(scene.folder / "again", TO_GROUP)
    return Steps(lambda: made.write() and None, lambda: None, lambda: Run(again).write() and None)


@walk(GROUPS + CHECKS + "offsets_to_write", "Draft the plan again with this target")
def group_that_the_plan_does_not_know(scene: Scene) -> Steps:
    staged = stage(scene.folder, TO_GROUP)
    whole = staged.plan
    staged.plan = replace(whole, requirements=replace(whole.requirements, groups=()))
    made = Run(staged)
    return Steps(lambda: made.write() and None, lambda: setattr(staged, "plan", whole))


@walk(GROUPS + "offsets.py::refuse_foreign", "draft a plan from where it is")
def group_that_went_on(scene: Scene) -> Steps:
    staged = applied(scene, TO_GROUP)
    committed(staged, 123_456)()
    again = stage(scene.folder / "again", TO_GROUP)
    return Steps(rollback(staged), lambda: None, run(again))


@walk(GROUPS + CHECKS + "group_of", "Draft the plan again with consumer-group:NAME")
def group_without_a_name(scene: Scene) -> Steps:
    return Steps(
        lambda: group_of(Target(kind="consumer-group")) and None,
        lambda: None,
        lambda: group_of(stage(scene.folder, TO_GROUP).plan.targets[0]) and None,
    )
