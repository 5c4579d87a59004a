"""Remedies of commands and of the Python interface, on copies of the bundled samples."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

import offsetwise as ow
from offsetwise import workflow
from offsetwise.approval import keygen
from offsetwise.cli.options import seconds
from offsetwise.findings import describe
from offsetwise.model import Problem
from offsetwise.workflow.stored import load_snapshots
from tests.commands import call
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.transactions.settling import stage

LIBRARY = Path(ow.__file__).parent


def run(*arguments: str | Path) -> Callable[[], object]:
    """Return a call of the command line; what it refuses is stated as a problem of its function."""

    def command() -> object:
        ran = call(*arguments, "--json")
        if ran.code in (0, 2, 3):
            return ()
        body = json.loads(ran.out)
        return (Problem(code="printed", message=body["problem"], fix=body["fix"]),)

    return command


def sample(scene: Scene, name: str = "sample") -> Path:
    """Copy a bundled sample, and return its migration file."""
    folder = scene.folder / name
    if not folder.exists():
        shutil.copytree(LIBRARY / name, folder)
    return folder / "migration.yaml"


def edit(path: Path, **changes: Any) -> Callable[[], object]:
    """Return the edit of some keys at the top of a file."""

    def edited() -> None:
        body = yaml.safe_load(path.read_text(encoding="utf-8")) | changes
        path.write_text(yaml.safe_dump(body), encoding="utf-8")

    return edited


def instead(scope: str, words: str, name: str, given: Callable[[Scene], tuple[Callable[[], object], ...]]) -> None:
    """Add a walk whose remedy is another command."""

    @walk(scope, words, name=name)
    def _(scene: Scene) -> Steps:
        command, then = given(scene)
        return Steps(command, lambda: None, then)


def snapshots(path: Path) -> tuple[str | Path, ...]:
    return ("--snapshots", path.with_name("old.json"), path.with_name("new.json"))


# What the command line cannot understand.
instead(
    "cli/options.py::require_one_choice",
    "Leave the others out",
    "all_and_a_name",
    lambda scene: (
        run("compare", "-m", sample(scene), "--all", "--checkpoint", "orders", *snapshots(sample(scene))),
        run("compare", "-m", sample(scene), "--checkpoint", "orders", *snapshots(sample(scene))),
    ),
)
instead(
    "cli/formats.py::schema",
    "Name one of them",
    "unknown_schema",
    lambda _: (run("schema", "nope"), run("schema", "migration")),
)
instead(
    "cli/plans.py::_require_both_or_neither",
    "Give both, or neither",
    "comparison_without_snapshots",
    lambda scene: (
        run(*draft(scene, "half.json"), "--comparison", sample(scene).with_name("comparison-payments.json")),
        run(
            *draft(scene, "whole.json"),
            *("--comparison", sample(scene).with_name("comparison-payments.json")),
            *snapshots(sample(scene)),
        ),
    ),
)


def draft(scene: Scene, out: str) -> tuple[str | Path, ...]:
    given = ("--target", "spark-checkpoint", "--author", "ada", "--checkpoint", "payments")
    return ("draft", "-m", sample(scene), *given, "--out", scene.folder / out)


def drafted(scene: Scene) -> Path:
    path = scene.folder / "plan.json"
    if not path.exists():
        folder = sample(scene).parent
        files = (folder / "comparison-payments.json", folder / "old.json", folder / "new.json")
        job = ow.Migration.load(sample(scene)).checkpoint("payments")
        plan = job.draft(ow.targets.SparkCopy(), author="ada", comparison=ow.load_comparison(*files))
        plan.save(path)
    return path


def packing(scene: Scene) -> tuple[str | Path, ...]:
    """Sign the plan, once; return the command that packs it, without the file to write."""
    plan, key, envelope = drafted(scene), scene.folder / "rita", scene.folder / "approval.json"
    if not envelope.exists():
        assert call("keygen", "--as", "rita", "--out", key).code == 0
        assert call("sign", plan, "--key", key, "--as", "rita", "--out", envelope).code == 0
    return ("export", plan, "--as", "zip", "--approval", envelope, "--trust", f"{key}.pub")


instead(
    "cli/plans.py::_require_form",
    "Name one of them",
    "unknown_form",
    lambda scene: (
        run("export", drafted(scene), "--as", "csv"),
        run("export", drafted(scene), "--as", "consumer-groups-csv"),
    ),
)
instead(
    "cli/plans.py::_require_options",
    "Name the file that the zip is written to",
    "zip_without_a_file",
    lambda scene: (run(*packing(scene)), run(*packing(scene), "--out", scene.folder / "plan.zip")),
)
corrected(
    "cli/options.py::seconds",
    "Give it as in",
    "no_duration",
    lambda: seconds("90", option="--last"),
    lambda: seconds("90m", option="--last"),
)
instead(
    "cli/init.py::_prompt",
    "See: offsetwise init --help",
    "init_without_addresses",
    lambda scene: (
        run("init", "--new", "127.0.0.1:2", "--checkpoints", scene.folder, "--out", scene.folder / "a.yaml"),
        run("init", "--help"),
    ),
)
instead(
    "cli/errors.py::report_usage",
    "See: ",
    "unknown_command",
    lambda _: (run("nope"), lambda: call("--help")),
)


# From Python.
JOB = "api/job.py::"
instead(
    JOB + "Job.named",
    "",
    "no_job_named",
    lambda scene: (
        lambda: ow.Migration.load(sample(scene)).job(),
        lambda: ow.Migration.load(sample(scene)).job(checkpoint="orders"),
    ),
)
instead(
    JOB + "Job.inspect",
    "Compare the group",
    "group_inspected",
    lambda scene: (
        lambda: ow.Migration.load(sample(scene)).group("orders-etl").inspect(),
        lambda: ow.Migration.load(sample(scene)).checkpoint("orders").inspect(),
    ),
)
PLAN = "api/plan.py::Plan."


@walk(PLAN + "_receipt", "Save the plan, or name the receipt")
def receipt_of_a_plan_that_is_not_saved(scene: Scene) -> Steps:
    document = ow.Plan.load(drafted(scene)).document
    plan = ow.Plan.of(document, migration=ow.Migration.load(sample(scene)))
    return Steps(lambda: plan._receipt(None), lambda: plan.save(scene.folder / "saved.json"))


INIT = "api/init.py::"


@walk(INIT + "_to_update", "Omit --update")
def update_of_no_file(scene: Scene) -> Steps:
    path = scene.folder / "migration.yaml"
    given = ("init", "--old", "127.0.0.1:1", "--new", "127.0.0.1:1", "--checkpoints", scene.folder, "--out", path)
    return Steps(run(*given, "--update"), lambda: None, run(*given), ends="Correct one of the two addresses")


@walk(INIT + "_require_absent", "Add --update to keep")
def file_is_there(scene: Scene) -> Steps:
    path = sample(scene)
    given = ("init", "--old", "127.0.0.1:1", "--new", "127.0.0.1:1", "--checkpoints", scene.folder, "--out", path)
    return Steps(run(*given), lambda: None, run(*given, "--update"), ends="Correct one of the two addresses")


# Verbs.
instead(
    "workflow/stored.py::load_snapshots",
    "Give the old cluster's snapshot first",
    "snapshots_in_the_wrong_order",
    lambda scene: (
        lambda: load_snapshots(sample(scene).with_name("new.json"), sample(scene).with_name("old.json")),
        lambda: load_snapshots(sample(scene).with_name("old.json"), sample(scene).with_name("new.json")),
    ),
)


@walk("workflow/comparing_all.py::all_jobs", "Add them under `checkpoints`")
def migration_without_jobs(scene: Scene) -> Steps:
    path = sample(scene)
    whole = path.read_text(encoding="utf-8")
    edit(path, checkpoints=[], groups=[])()
    command = run("compare", "-m", path, "--all", *snapshots(path), "--no-content")
    return Steps(command, lambda: path.write_text(whole, encoding="utf-8"))


@walk("workflow/checkpoints.py::inspect", "Give the one checkpoint that they are of")
def uids_of_several(scene: Scene) -> Steps:
    folder = sample(scene, "sample_flink").parent / "checkpoints"
    names = sorted(folder.glob("savepoint-*"))
    return Steps(
        lambda: [*workflow.inspect([str(name) for name in names], uids=("orders",))],
        lambda: None,
        lambda: [*workflow.inspect([str(names[0])])],
    )


@walk("api/fleet.py::fleet", "Name folders or globs of them in a list")
def fleet_of_a_text(scene: Scene) -> Steps:
    pattern = f"{sample(scene).parent}/checkpoints/*"
    return Steps(lambda: ow.fleet(pattern), lambda: None, lambda: ow.fleet([pattern]))


SPARK = "engines/checkpoint.py::"


@walk(SPARK + "_require_options", "for a")
def uids_of_spark(scene: Scene) -> Steps:
    folder = sample(scene).parent / "checkpoints" / "orders"
    return Steps(
        lambda: [*workflow.inspect([str(folder)], uids=("orders",))],
        lambda: None,
        lambda: [*workflow.inspect([str(folder)])],
    )


@walk(SPARK + "_require_options", "for a")
def committer_table_of_flink(scene: Scene) -> Steps:
    folder = sample(scene, "sample_flink").parent / "checkpoints"
    path = next(folder.glob("savepoint-*"))
    return Steps(
        run("inspect", path, "--committer-table", scene.write("table.json", '{"Items": [], "Count": 0}')),
        lambda: None,
        run("inspect", path),
    )


@walk("findings/register.py::describe", "Use the release of Offsetwise that wrote the file")
def code_of_a_later_release(_: Scene) -> Steps:
    def stated(code: str) -> object:
        return (describe(code).finding("It is so."),)

    return Steps(lambda: stated("OF_LATER"), lambda: None, lambda: stated("GAP"))


@walk(PLAN + "require_confirmed", "Leave the confirmation")
def confirmation_that_nobody_asked_for(scene: Scene) -> Steps:
    plan, rita = ow.Plan.load(drafted(scene)), keygen(subject="rita")
    return Steps(lambda: plan.sign(rita, confirm="yes"), lambda: None, lambda: plan.sign(rita))


@walk(PLAN + "require_confirmed", "then confirm: --confirm")
def confirmation_missing(scene: Scene) -> Steps:
    made = stage(scene.folder)
    plan, rita = ow.Plan(document=made.plan, content=made.data), keygen(subject="rita")
    return Steps(lambda: plan.sign(rita), lambda: None, lambda: plan.sign(rita, confirm=str(plan.confirmation)))
