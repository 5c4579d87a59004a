"""Remedies that a function returns, that a table has, or that the context of an error carries."""

from __future__ import annotations

import json

from offsetwise import files
from offsetwise.apply import reversal
from offsetwise.model import Target
from offsetwise.plan import settings
from offsetwise.plan.settings import Settings
from offsetwise.transactions.decisions import Decision
from tests.apply.worlds import stage
from tests.plan.scene import COPY, drafted
from tests.plugins.flink import test_ways as of_savepoints
from tests.plugins.spark.repair.test_repairs import DAMAGED
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_apply import failed, run
from tests.remedies.walks_engines import query_behind_a_split
from tests.remedies.walks_of_targets import draft, savepoint
from tests.remedies.walks_repairs import PENDING, folder_of, repair
from tests.transactions.settling import row, settled

SETTINGS = "plan/settings.py::check"


@walk(SETTINGS, "=VALUE with a value as listed")
def setting_that_is_missing(scene: Scene) -> Steps:
    folder = folder_of(scene, DAMAGED["restore-topic"])
    return Steps(
        repair(scene, "restore-topic", folder), lambda: None, repair(scene, "restore-topic", folder, "topic=legacy")
    )


@walk(SETTINGS, "or write one of the keys that are listed")
def setting_that_a_repair_does_not_take(scene: Scene) -> Steps:
    folder = folder_of(scene, PENDING)
    return Steps(
        repair(scene, "drop-pending-batch", folder, "topic=legacy"),
        lambda: None,
        repair(scene, "drop-pending-batch", folder),
    )


corrected(
    SETTINGS,
    "Leave --set out.",
    "setting_of_a_target_that_takes_none",
    lambda: settings.check({"starting-offsets": Settings}, (("kcl", "2"),)),
    lambda: settings.check({"starting-offsets": Settings}, ()),
)
corrected(
    "plan/sinks/ending.py::_objections",
    "Look at it: offsetwise transactions",
    "one_that_nobody_knows",
    lambda: settled(row(0, Decision.COMMIT), row(1, Decision.UNKNOWN)) and None,
    lambda: settled(row(0, Decision.COMMIT), row(1, Decision.SETTLED, held=True)) and None,
)


@walk("apply/run.py::_written", "To take back what this plan wrote: offsetwise rollback")
def target_that_fails_after_another(scene: Scene) -> Steps:
    staged = stage(scene.folder)
    failed(staged)
    staged.groups.refuse = {sorted(staged.groups.at())[0]: "its leader is changing"}
    return Steps(run(staged), lambda: None, lambda: reversal.rollback(staged.back(journal=True), staged.tools()))


@walk("model/plan.py::RegisteredTarget.__get_pydantic_core_schema__.registered", "Correct the name where it is a typo")
def target_that_is_mistyped(scene: Scene) -> Steps:
    right = files.dump(drafted())
    path = scene.write("plan.json", right.replace('"spark-checkpoint"', '"spark-chekpoint"'))
    assert json.loads(path.read_text()) != json.loads(right)
    return Steps(
        lambda: files.load(path.read_text(), "plan", subject="plan.json") and None, lambda: path.write_text(right)
    )


@walk("plugins/flink/targets/spec.py::against_savepoint", "Write to kcl-leases:APPLICATION, starting-position or")
def savepoint_of_a_query_with_shards(scene: Scene) -> Steps:
    path = query_behind_a_split(scene)
    return Steps(draft(path, "flink-savepoint"), lambda: None, draft(path, "starting-position"))


@walk("plugins/spark/targets/spec.py::against_checkpoint", "Write to kcl-leases:APPLICATION, starting-position or")
def checkpoint_of_a_savepoint_with_shards(scene: Scene) -> Steps:
    to = savepoint(scene, "streams-source-5.1.0-two-shards", "fl")
    return Steps(to("spark-checkpoint"), lambda: None, to("starting-position"))


@walk("plugins/spark/targets/spec.py::against_checkpoint", "Write to flink-savepoint, or to a consumer group")
def savepoint_for_a_copy_of_spark(_: Scene) -> Steps:
    compared = of_savepoints.savepoint()
    return Steps(
        lambda: drafted(compared, COPY) and None,
        lambda: None,
        lambda: drafted(compared, Target(kind="flink-savepoint")) and None,
    )
