"""Remedies of what single releases of Spark refuse, on checkpoints that they wrote."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Target
from tests.plan.scene import COPY, SEEDED, comparison, drafted
from tests.plan.scene import checkpoint as positions
from tests.plugins.spark.folders import SAMPLES, checkpoint, orders, write
from tests.plugins.spark.repair.flow import aged
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_of_checkpoints import PLANNED, blocked, by_command, committed, copied, restored, stated

RELEASES = "plugins/spark/engine/releases/findings.py::"
UNFINISHED = SAMPLES / "spark-4.2.0-repartition-unfinished"
PIPELINE = SAMPLES.parent / "pipelines" / "spark-4.2.0"


def drafted_from(folder: Path, target: Target) -> Callable[[], object]:
    """Return the draft of a plan from a checkpoint with the problems of a recorded one."""
    return lambda: drafted(comparison(checkpoint=positions(problems=read_checkpoint(str(folder)).problems)), target)


@walk(RELEASES + "repartition_unfinished", "draft a repaired copy that goes on after", name="repartition_left_out")
def _(scene: Scene) -> Steps:
    return by_command(scene, copied(scene, UNFINISHED))


@walk(RELEASES + "repartition_unfinished", "Finish the repartition")
def repartition_that_is_finished(scene: Scene) -> Steps:
    folder = copied(scene, UNFINISHED)
    return Steps(stated(folder), committed(folder, 2))


@walk(RELEASES + "offset_log_v2", "with Spark 4.2 or later")
def log_of_a_newer_spark(_: Scene) -> Steps:
    folder = SAMPLES / "spark-4.2.0-named-sources"
    return Steps(stated(folder), lambda: None, drafted_from(folder, COPY))


@walk(RELEASES + "sources_named_in_v1", "or begin a new checkpoint at the positions")
def names_without_a_place(_: Scene) -> Steps:
    folder = SAMPLES / "spark-4.2.0-named-in-v1"
    return Steps(stated(folder), lambda: None, drafted_from(folder, SEEDED))


@walk(RELEASES + "commits_lost", "Restore the commits from a backup")
def commit_that_is_lost(scene: Scene) -> Steps:
    folder = aged(write(checkpoint({0: orders(1), 1: orders(2), 2: orders(3)}, (0,)), scene.folder / "query"))
    return Steps(stated(folder), committed(folder, 1))


@walk(RELEASES + "checkpoint_superseded", "Give the folder with the highest number")
def version_before_a_full_refresh(scene: Scene) -> Steps:
    (flow,) = shutil.copytree(PIPELINE, scene.folder / "storage").glob("_checkpoints/*/*/*/*")
    shutil.copytree(flow / "0", flow / "1")
    return Steps(stated(flow / "0"), lambda: None, stated(flow / "1"))


@walk("plugins/spark/engine/checkpoint.py::_parsed", "from before the upgrade of Spark")
def log_of_an_unknown_version(scene: Scene) -> Steps:
    folder = copied(scene, PLANNED)
    newest = folder / "offsets" / "2"
    newest.write_bytes(newest.read_bytes().replace(b"v1", b"v3", 1))
    (folder / "offsets" / ".2.crc").unlink()
    return Steps(blocked(folder), restored(folder, PLANNED))


@walk("plugins/spark/engine/positions.py::_pending", "checkUnfinishedRepartitionOnRestart=false")
def pending_batch_that_fails_a_check(scene: Scene) -> Steps:
    folder = copied(scene, SAMPLES / "spark-4.2.0-pending-in-v2")
    return Steps(stated(folder), committed(folder, 1))
