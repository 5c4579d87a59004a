"""Remedies of the verbs that read clusters and checkpoints, on recorded clusters."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

import offsetwise as ow
from offsetwise.client_properties.property_files import GivenCluster
from offsetwise.config import load_migration
from offsetwise.model import Cluster, Problem
from offsetwise.survey import reading as survey
from offsetwise.watch.command import _subjects
from offsetwise.watch.metrics import LagMetrics, served
from offsetwise.workflow import scenes, sink_looks, sinks
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_commands import edit, instead, run, sample, snapshots


def compared(path: Path, *named: str) -> Callable[[], object]:
    return run("compare", "-m", path, *named, *snapshots(path), "--no-content")


SCENES = "workflow/scenes.py::"
instead(
    SCENES + "WantedJob.of",
    "or leave the batch out",
    "group_taken_back",
    lambda scene: (
        lambda: scenes.WantedJob.of(ow.Migration.load(sample(scene)).group("etl").named(), rewind_to=3),
        lambda: scenes.WantedJob.of(ow.Migration.load(sample(scene)).group("etl").named()),
    ),
)


@walk(SCENES + "check_two_clusters", "Correct bootstrap.servers")
def one_cluster_twice(scene: Scene) -> Steps:
    path = sample(scene)
    new = path.with_name("new.json")
    whole = new.read_text(encoding="utf-8")
    same = json.loads(path.with_name("old.json").read_text(encoding="utf-8"))["cluster_id"]
    new.write_text(json.dumps(json.loads(whole) | {"cluster_id": same}), encoding="utf-8")
    return Steps(
        compared(path, "--checkpoint", "orders"),
        lambda: new.write_text(whole, encoding="utf-8"),  # what the other bootstrap servers answer
    )


@walk(SCENES + "_check_group", "Check the group's name")
def group_without_offsets(scene: Scene) -> Steps:
    path = sample(scene)
    return Steps(compared(path, "--group", "orders-etll"), lambda: None, compared(path, "--group", "orders-etl"))


@walk(SCENES + "_check_group", "Grant DESCRIBE on the group")
def group_that_was_read_in_part(scene: Scene) -> Steps:
    path = sample(scene)
    old = path.with_name("old.json")
    whole = old.read_text(encoding="utf-8")
    body = json.loads(whole)
    for group in body["groups"]:
        group["error"] = "the user is not authorised (GROUP_AUTHORIZATION_FAILED) for 1 of its partitions"
    old.write_text(json.dumps(body), encoding="utf-8")
    return Steps(compared(path, "--group", "orders-etl"), lambda: old.write_text(whole, encoding="utf-8"))


@walk(SCENES + "_checkpoint", "Look at it: offsetwise inspect")
def checkpoint_without_positions(scene: Scene) -> Steps:
    path = sample(scene)
    offsets = path.parent / "checkpoints" / "orders" / "offsets"
    shutil.copytree(offsets, scene.folder / "kept")
    for file in offsets.iterdir():
        file.write_text("v1\n{}\n0\n", encoding="utf-8")
    return Steps(
        compared(path, "--checkpoint", "orders"),
        lambda: None,
        run("inspect", path.parent / "checkpoints" / "orders"),
    )


def belongs(path: Path, value: str) -> Callable[[], object]:
    def edited() -> None:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
        body["checkpoints"][0]["belongs_to"] = value
        path.write_text(yaml.safe_dump(body), encoding="utf-8")

    return edited


@walk(SCENES + "_of_old", "state `belongs_to: old`")
def checkpoint_of_the_new_cluster(scene: Scene) -> Steps:
    path = sample(scene)
    belongs(path, "new")()
    return Steps(compared(path, "--checkpoint", "orders"), belongs(path, "old"))


# The sinks of the Flink sample.
LOOKS = "workflow/sink_looks.py::"


def looked(path: Path, name: str = "order-audit") -> Callable[[], object]:
    return run("transactions", name, "-m", path, "--snapshot", path.with_name("sink.json"))


@walk(LOOKS + "require_of", "Give the snapshot of that cluster")
def snapshot_of_another_cluster(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    sink = path.with_name("sink.json")
    whole = sink.read_text(encoding="utf-8")
    sink.write_text(json.dumps(json.loads(whole) | {"name": "elsewhere"}), encoding="utf-8")
    return Steps(looked(path), lambda: sink.write_text(whole, encoding="utf-8"))


@walk(LOOKS + "cluster_of", "State `sink_cluster: old`")
def cluster_of_the_sink_not_stated(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    whole = path.read_text(encoding="utf-8")
    body = yaml.safe_load(whole)
    for checkpoint in body["checkpoints"]:
        for key in ("sink_cluster", "sink_servers", "new_sink_cluster"):
            checkpoint["job"].pop(key, None)
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return Steps(looked(path), lambda: path.write_text(whole, encoding="utf-8"))


@walk(LOOKS + "_transactions_of", "Give a checkpoint whose transactions")
def spark_has_no_transactions(scene: Scene) -> Steps:
    path, flink = sample(scene), sample(scene, "sample_flink")
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    body["checkpoints"][0]["job"]["sink_cluster"] = "old"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return Steps(
        run("transactions", "orders", "-m", path, "--snapshot", flink.with_name("sink.json")),
        lambda: None,
        looked(flink),
    )


@walk(LOOKS + "_stated", "Add the checkpoint under `checkpoints`")
def checkpoint_that_is_not_named(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    whole = path.read_text(encoding="utf-8")
    body = yaml.safe_load(whole)
    uri = body["checkpoints"][2]["uri"]
    body["checkpoints"] = []
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return Steps(looked(path, str(path.parent / uri)), lambda: path.write_text(whole, encoding="utf-8"), looked(path))


@walk("workflow/sinks.py::sink_snapshot", "Take one snapshot for each")
def sinks_of_two_clusters(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    body["checkpoints"][0]["job"]["sink_cluster"] = "new"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    migration = load_migration(path)
    both = ["order-counts", "order-audit"]
    return Steps(
        lambda: sinks.sink_snapshot(migration, both),
        lambda: None,
        lambda: [] if sink_looks.read_sink(migration, "order-audit", lambda *_: None) else None,
    )


# init.
def of(server: str) -> GivenCluster:
    return GivenCluster(properties={"bootstrap.servers": server})


corrected(
    "survey/reading.py::_check_two_addresses",
    "Correct one of the two addresses",
    "one_address_twice",
    lambda: survey._check_two_addresses(of("a:1"), of("a:1")),
    lambda: survey._check_two_addresses(of("a:1"), of("b:1")),
)


def troubles(scene: Scene, folder: str) -> Callable[[], object]:
    def found() -> object:
        problems: list[Any] = []
        survey._checkpoints_below(str(scene.folder / folder), problems)
        return tuple(
            Problem(code="survey/reading.py::_checkpoints_below", message=each.problem, fix=each.fix)
            for each in problems
        )

    return found


@walk("survey/reading.py::_checkpoints_below", "Give the folder of a checkpoint, or one above")
def folder_without_checkpoints(scene: Scene) -> Steps:
    (scene.folder / "empty").mkdir()
    sample(scene)
    return Steps(troubles(scene, "empty"), lambda: None, troubles(scene, "sample"))


@walk("survey/reading.py::_same_cluster", "Correct bootstrap.servers of one of them")
def addresses_of_one_cluster(scene: Scene) -> Steps:
    old, new = ow.load_snapshots(*[sample(scene).with_name(f"{side}.json") for side in Cluster])

    def found(first: ow.Snapshot, second: ow.Snapshot) -> object:
        return tuple(
            Problem(code="survey/reading.py::_same_cluster", message=each.problem, fix=each.fix)
            for each in survey._same_cluster(first, second)
        )

    return Steps(lambda: found(old, replace(new, cluster_id=old.cluster_id)), lambda: None, lambda: found(old, new))


# watch.
@walk("watch/command.py::_subjects", "Name one under `checkpoints` or `groups`")
def nothing_to_watch(scene: Scene) -> Steps:
    path = sample(scene)
    whole = path.read_text(encoding="utf-8")
    edit(path, checkpoints=[], groups=[])()
    return Steps(
        lambda: _subjects(load_migration(path), (), ()),
        lambda: path.write_text(whole, encoding="utf-8"),
        lambda: None if _subjects(load_migration(path), (), ()) else (),
    )


@walk("watch/command.py::_several_migrations", "Watch them with a command each")
def checkpoint_of_several_migrations(scene: Scene) -> Steps:
    spark, flink = sample(scene), sample(scene, "sample_flink")
    return Steps(
        run("watch", "-m", spark, "-m", flink, "--checkpoint", "orders"),
        lambda: None,
        run("watch", "-m", spark, "--checkpoint", "nope"),
        ends="Use one of these names",
    )


@walk("watch/metrics.py::served", "Give another port")
def port_in_use(scene: Scene) -> Steps:
    del scene
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]

    def serve(at: int) -> None:
        with served(LagMetrics(), at):
            pass

    return Steps(lambda: serve(port), taken.close, lambda: serve(0))


@walk("workflow/planning.py::_consistent", "Compare again, and draft from what")
def comparison_that_contradicts_itself(scene: Scene) -> Steps:
    path = sample(scene)
    file = path.with_name("comparison-payments.json")
    whole = file.read_text(encoding="utf-8")
    body = json.loads(whole)
    body["partitions"][0]["restart"][0]["old"] = "1"
    file.write_text(json.dumps(body), encoding="utf-8")
    number = iter(range(9))

    def drafted() -> object:
        given = ("--comparison", file, "--author", "ada", "--target", "spark-checkpoint", "--checkpoint", "payments")
        return run("draft", "-m", path, *given, *snapshots(path), "--out", scene.folder / f"{next(number)}.json")()

    return Steps(drafted, lambda: file.write_text(whole, encoding="utf-8"))
