"""Remedies of what a pipeline calls: differences between files, and patches for operators."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.commands import call
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import instead, run, sample, snapshots

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


@walk(f"{READING}::_below", "Compare again into a new folder")
def summary_that_names_a_file_elsewhere(scene: Scene) -> Steps:
    before, after = compared(scene, "monday"), compared(scene, "tuesday")
    body = json.loads((after / "summary.json").read_text(encoding="utf-8"))
    body["jobs"][0]["file"] = "../monday/checkpoint-orders.json"
    (after / "summary.json").write_text(json.dumps(body), encoding="utf-8")

    def follow() -> None:
        shutil.rmtree(after)
        compared(scene, "tuesday")

    return Steps(run("diff", before, after), follow)
