"""Remedies of applying a plan and taking it back: the option, the file or the state that is named."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from offsetwise.apply import reversal
from offsetwise.apply.disk import Disk
from offsetwise.apply.journal import Journal
from offsetwise.apply.run import apply
from offsetwise.errors import OffsetwiseError
from offsetwise.model import Target
from tests.apply.plans import COPY, journal
from tests.apply.test_recheck import DRIFT, UNREADABLE
from tests.apply.worlds import TO_GROUP, Stage, stage
from tests.remedies.walk import Scene, Steps, walk
from tests.transactions import settling


def run(staged: Stage, disk: Disk | None = None) -> Callable[[], object]:
    return lambda: apply(staged.order(), staged.receipt, staged.tools(disk))


def anew(scene: Scene, *targets: Target) -> Callable[[], object]:
    """Return the application of a plan that was drafted again, from what is there now."""

    def later() -> object:
        return run(stage(scene.folder / "again", *targets))()

    return later


def failed(staged: Stage) -> None:
    """Apply until the group refuses a partition."""
    staged.groups.refuse = {sorted(staged.groups.at())[0]: "its leader is changing"}
    with suppress(OffsetwiseError):
        run(staged)()


RUN = "apply/run.py::"


@walk(RUN + "_check_migration", "Give the migration file that the plan was drafted with")
def other_migration(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    right = staged.migration
    staged.migration = right.model_copy(update={"name": "other"})
    return Steps(run(staged), lambda: setattr(staged, "migration", right))


@walk(RUN + "_already", "Give another --receipt.")
def receipt_of_another_plan(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    run(staged)()
    os.remove(f"{staged.receipt}.journal")
    staged.plan = replace(staged.plan, author="b")
    staged.output = f"{staged.output}-2"
    return Steps(
        run(staged), lambda: None, lambda: apply(staged.order(), str(scene.folder / "other.json"), staged.tools())
    )


@walk(RUN + "_already", "finish the rollback and give another --receipt")
def rolled_back_before(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    run(staged)()
    reversal.rollback(staged.back(), staged.tools())
    return Steps(
        run(staged), lambda: None, lambda: apply(staged.order(), str(scene.folder / "other.json"), staged.tools())
    )


@walk("apply/recheck/__init__.py::require", "Take a new comparison and draft the plan again")
def topic_recreated(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    DRIFT["new topic recreated"](staged)
    return Steps(run(staged), lambda: None, anew(scene))


@walk("apply/recheck/__init__.py::require", "Make readable what cannot be read")
def topic_that_may_not_be_described(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    before = dict(staged.world.clusters)
    UNREADABLE["a topic that may not be described"](staged)
    return Steps(run(staged), lambda: staged.world.clusters.update(before))


BACK = "apply/reversal.py::"


@walk(BACK + "_evidence", "Give the plan's file with --plan")
def rollback_without_the_plan(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    failed(staged)
    order = staged.back(journal=True)
    return Steps(
        lambda: reversal.rollback(replace(order, plan_bytes=None), staged.tools()),
        lambda: None,
        lambda: reversal.rollback(order, staged.tools()),
    )


@walk(BACK + "_check_same", "Give the migration file that the plan was applied with")
def rollback_with_another_migration(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    run(staged)()
    other = staged.migration.model_copy(update={"name": "other"})
    return Steps(
        lambda: reversal.rollback(staged.back(migration=other), staged.tools()),
        lambda: None,
        lambda: reversal.rollback(staged.back(), staged.tools()),
    )


JOURNAL = "apply/journal.py::"
DIGEST = "ab" * 32


def opened(path: Path | str, digest: str) -> Callable[[], object]:
    def command() -> None:
        with Journal.open(str(path), digest=digest, begun_at="2026-11-21T00:00:00Z"):
            pass

    return command


@walk(JOURNAL + "check_plan", "Give another --receipt, or go on with the plan")
def journal_of_another_plan(scene: Scene) -> Steps:
    path = scene.folder / "journal"
    opened(path, DIGEST)()
    return Steps(opened(path, "cd" * 32), lambda: None, opened(scene.folder / "other", "cd" * 32))


@walk("apply/journal_file.py::_locked_lines", "Wait until the other one has ended")
def journal_in_use(scene: Scene) -> Steps:
    other = journal(scene.folder)
    held = other.__enter__()
    return Steps(opened(held.path, held.digest), lambda: other.__exit__(None, None, None))


@walk("apply/publish.py::not_free", "Choose another output, or remove")
def output_taken(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    taken = Path(str(staged.output))
    taken.mkdir(parents=True, exist_ok=True)
    (taken / "mine").write_text("x")
    return Steps(run(staged), lambda: shutil.rmtree(taken))


@walk("apply/publish.py::_scan", "Replace it by what it names")
def link_in_the_checkpoint(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    elsewhere = scene.write("elsewhere", "x")
    link = staged.source / "state" / "link"
    link.symlink_to(elsewhere)

    def replaced() -> None:
        link.unlink()
        shutil.copy(elsewhere, link)

    return Steps(run(staged), replaced)


RECEIPTS = "apply/receipts.py::"


@walk(RECEIPTS + "require_apart", "Give another --receipt.")
def receipt_inside_the_checkpoint(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    inside = str(staged.source / "receipt.json")
    return Steps(lambda: apply(staged.order(), inside, staged.tools()), lambda: None, run(staged))


@walk(RECEIPTS + "require_apart", "Make the folder, or give another")
def receipt_in_no_folder(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    folder = scene.folder / "receipts"
    return Steps(lambda: apply(staged.order(), str(folder / "receipt.json"), staged.tools()), folder.mkdir)


@walk(RECEIPTS + "parse_receipt", "Check the path.")
def receipt_missing(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    return Steps(lambda: reversal.rollback(staged.back(), staged.tools()), run(staged))


PLACES = "apply/write_locations.py::place_to_write"


@walk(PLACES, "Give it with --output")
def no_output(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    output = staged.output
    staged.output = None
    return Steps(run(staged), lambda: setattr(staged, "output", output))


@walk(PLACES, "or add its folder to write_roots")
def output_outside_the_roots(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    right = staged.migration
    staged.migration = right.model_copy(update={"write_roots": (str(scene.folder / "applied"),)})
    return Steps(run(staged), lambda: setattr(staged, "migration", right))


@walk(PLACES, "Choose a folder beside it")
def output_inside_the_checkpoint(scene: Scene) -> Steps:
    staged = stage(scene.folder, COPY)
    output, staged.output = staged.output, str(staged.source / "copy")
    return Steps(run(staged), lambda: setattr(staged, "output", output))


@walk(
    "plugins/kafka/targets/group/checks.py::other_cluster",
    "When it leads to the reviewed cluster again, run the same command",
)
def address_leads_elsewhere(scene: Scene) -> Steps:
    staged = stage(scene.folder, TO_GROUP)
    staged.groups.led_to = "another"
    return Steps(run(staged), lambda: setattr(staged.groups, "led_to", None))


@walk("plugins/kafka/targets/transactions/writer.py::_led_away", "When it leads to the reviewed cluster again")
def address_of_a_sink_leads_elsewhere(scene: Scene) -> Steps:
    made = settling.stage(scene.folder)
    made.sink.led_to = "another"
    return Steps(lambda: apply(made.order(), made.receipt, made.tools()), lambda: setattr(made.sink, "led_to", None))
