"""Remedies of what a pipeline calls: differences between files, and patches for operators."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.commands import call
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import drafted, edit, instead, run, sample, snapshots

READING = "differences/reading.py"


def beside(scene: Scene, name: str) -> Path:
    return sample(scene).with_name(name)


def compared(scene: Scene, out: str) -> Path:
    """Return the folder with a comparison of every job of the sample."""
    folder, path = scene.folder / out, sample(scene)
    if not folder.exists():
        assert call("compare", "-m", path, "--all", *snapshots(path), "--out", folder).code == 0
    return folder


instead(
    f"{READING}::diff",
    "Name two files of one kind",
    "diff_of_two_kinds",
    lambda scene: (
        run("diff", beside(scene, "old.json"), beside(scene, "comparison-orders.json")),
        run("diff", beside(scene, "comparison-payments.json"), beside(scene, "comparison-orders.json")),
    ),
)
instead(
    f"{READING}::_kind",
    "Name two files of one of these formats",
    "diff_of_a_key",
    lambda scene: (
        run("diff", beside(scene, "reconciliation-orders.json"), beside(scene, "reconciliation-orders.json")),
        run("diff", beside(scene, "comparison-payments.json"), beside(scene, "comparison-orders.json")),
    ),
)
instead(
    f"{READING}::_read",
    "Check the path: name two files, or two folders",
    "diff_of_a_folder_of_something_else",
    lambda scene: (
        run("diff", beside(scene, "checkpoints"), beside(scene, "checkpoints")),
        run("diff", compared(scene, "monday"), compared(scene, "tuesday")),
    ),
)


@walk(f"{READING}::_below", "Write a new folder, and compare that")
def summary_that_names_a_file_elsewhere(scene: Scene) -> Steps:
    before, after = compared(scene, "monday"), compared(scene, "tuesday")
    body = json.loads((after / "summary.json").read_text(encoding="utf-8"))
    body["jobs"][0]["file"] = "../monday/checkpoint-orders.json"
    (after / "summary.json").write_text(json.dumps(body), encoding="utf-8")

    def follow() -> None:
        shutil.rmtree(after)
        compared(scene, "tuesday")

    return Steps(run("diff", before, after), follow)


def patch(
    scene: Scene, *more: str | Path, name: str = "payments", form: str = "spark-operator"
) -> tuple[str | Path, ...]:
    """Return the command that exports the sample's plan as a patch."""
    return ("export", drafted(scene), "--as", form, "--name", name, *more)


def whole(scene: Scene, **changes: str) -> tuple[str | Path, ...]:
    """Return the same with all that it needs."""
    return patch(scene, "-m", sample(scene), "--output", "s3://bucket/new", **changes)


POST = "plan/operators/patch.py::Deployment.__post_init__"
instead(
    POST,
    "Name it as in its metadata.name",
    "patch_of_no_resource",
    lambda scene: (run(*whole(scene, name="Payments")), run(*whole(scene))),
)
instead(
    POST,
    "Name the output as the pods of the job reach it",
    "patch_with_a_relative_path",
    lambda scene: (run(*patch(scene, "-m", sample(scene), "--output", "applied/new")), run(*whole(scene))),
)
instead(
    POST,
    "Use letters, digits and _ only",
    "patch_with_no_variable",
    lambda scene: (
        run(*whole(scene), "--servers-env", "MY-BROKERS"),
        run(*whole(scene), "--servers-env", "MY_BROKERS"),
    ),
)
instead(
    "api/plan.py::Plan.operator_patch",
    "Name it as `offsetwise apply` takes it",
    "patch_without_an_output",
    lambda scene: (run(*patch(scene, "-m", sample(scene))), run(*whole(scene))),
)
instead(
    "cli/plans.py::_require_resource",
    "Name the resource that is patched, or leave these options out",
    "patch_without_a_name",
    lambda scene: (run("export", drafted(scene), "--as", "spark-operator"), run(*whole(scene))),
)
instead(
    "plan/operators/choice.py::patch_for",
    "Draft a plan with one of these targets",
    "patch_of_another_engine",
    lambda scene: (
        run(*whole(scene, form="flink-operator")),
        run("export", drafted(scene), "--as", "starting-offsets"),
    ),
)


@walk("plan/operators/choice.py::new_servers", "Name the migration file that the plan was drafted with")
def patch_with_another_migration(scene: Scene) -> Steps:
    path = sample(scene)
    command = run(*whole(scene))
    drafted(scene)
    edit(path, name="another")()
    return Steps(command, edit(path, name="orders-to-new"))
