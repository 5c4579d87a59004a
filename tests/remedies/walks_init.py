"""Remedies of `init`, of commands that lack a package or meet a defect, and of checkpoints that change meanwhile."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import requires
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import offsetwise as ow
from offsetwise import files
from offsetwise.api import init
from offsetwise.bundled import Bundled
from offsetwise.client_properties import ALLOWED
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Checkpoint, Cluster, Problem, Snapshot
from offsetwise.plugins.kafka.stream import reader
from offsetwise.progress import no_progress
from offsetwise.store.store import open_store
from offsetwise.survey import reading, text
from offsetwise.survey.results import Survey, Trouble
from offsetwise.watch.recording import recorded_lag
from offsetwise.workflow import scenes
from tests.commands import call
from tests.remedies.walk import Scene, Steps, walk
from tests.remedies.walks_commands import run, sample
from tests.remedies.walks_workflow import LOOKS, looked
from tests.survey.recorded import GIVEN, survey_of
from tests.test_extras import call as call_without_extras

SOURCE, TARGET = (f"{{properties: {{bootstrap.servers: {side}:9092}}}}" for side in Cluster)


def surveyed(scene: Scene) -> tuple[Path, Survey]:
    """Return the folder of a sample migration, and what a survey of it found."""
    folder = sample(scene).parent
    return folder, survey_of("sample", folder / "checkpoints")


@walk("api/init.py::_new", "Give narrower roots")
def checkpoints_that_do_not_fit_into_one_file(scene: Scene) -> Steps:
    folder, found = surveyed(scene)
    scene.patch.setattr(text, "MAX_BYTES", 16_000)  # a mebibyte takes long to fill
    one = found.checkpoints[0]
    teams = ("payments", "orders")
    below = {
        team: replace(
            found,
            roots=(str(folder / team),),
            checkpoints=tuple(
                replace(one, name=f"{team}-{number}", uri=str(folder / team / str(number))) for number in range(10)
            ),
        )
        for team in teams
    }
    both = replace(
        found, roots=(str(folder),), checkpoints=tuple(each for team in teams for each in below[team].checkpoints)
    )

    def narrower() -> tuple[Trouble, ...]:
        return tuple(each for team in teams for each in init._new(folder / f"{team}.yaml", below[team]).problems)

    return Steps(lambda: init._new(folder / "all.yaml", both).problems, lambda: None, narrower)


@walk("api/init.py::_not_placed", "Write lists and maps in block style")
def file_that_is_one_flow_map(scene: Scene) -> Steps:
    folder, found = surveyed(scene)
    path = folder / "mine.yaml"
    path.write_text(f"{{name: mine, source: {SOURCE}, target: {TARGET}}}\n", encoding="utf-8")

    def updated() -> None:
        init._updated(path, path.read_bytes(), load_migration(path), found, lambda _: True)

    def in_block_style() -> None:
        path.write_text(f"name: mine\nsource: {SOURCE}\ntarget: {TARGET}\n", encoding="utf-8")

    return Steps(updated, in_block_style)


@walk("survey/reading.py::_snapshot", "lists them")
def cluster_with_many_problems(scene: Scene) -> Steps:
    path = sample(scene)
    taken: Snapshot = files.load(path.with_name("old.json").read_bytes(), "snapshot", subject="old.json")
    problems = tuple(
        Problem(code="NO_ANSWER", message=f"Topic t{number}: no answer.", fix="Ask again.")
        for number in range(reading.SHOWN + 5)
    )
    whole = SimpleNamespace(snapshot=lambda *_, **__: replace(taken, problems=problems))
    scene.patch.setattr(reader, "read_whole", lambda *_, **__: whole)
    said: list[Trouble] = []

    def survey() -> object:
        said.clear()
        reading._snapshot(Cluster.OLD, GIVEN[Cluster.OLD], said, no_progress)
        return tuple(said)

    def listed() -> object:
        (command,) = re.findall("`offsetwise (.+)`", said[-1].fix)
        given = {"FILE": str(path), "SNAPSHOT": str(scene.folder / "old.json")}
        ran = call(*(given.get(word, word) for word in shlex.split(command)))
        return () if all(each.message in " ".join(ran.err.split()) for each in problems) else survey()

    return Steps(survey, lambda: None, listed)


@walk("survey/reading.py::_checkpoints", "`offsetwise inspect URI` says more of one.")
def checkpoint_that_cannot_be_read(scene: Scene) -> Steps:
    folder, _ = surveyed(scene)
    metadata = folder / "checkpoints" / "orders" / "offsets" / "6"
    whole = metadata.read_bytes()
    metadata.write_text("v1\nhalf of", encoding="utf-8")

    def found() -> object:
        return survey_of("sample", folder / "checkpoints").problems

    def inspected_and_mended() -> None:
        ran = call("inspect", folder / "checkpoints" / "orders", "--json")
        assert json.loads(ran.out)["problems"]
        metadata.write_bytes(whole)

    return Steps(found, inspected_and_mended)


def checked(scene: Scene, **properties: str) -> Callable[[], object]:
    """Return a command on a migration file with these properties, which names a checkpoint that the file does not."""
    servers = {side: {"properties": {"bootstrap.servers": f"{side}:9092"}} for side in ("source", "target")}
    servers["source"]["properties"] |= properties
    path = scene.write(f"{'-'.join(properties)}.yaml", json.dumps({"name": "mine", **servers}))
    return run("compare", "-m", path, "--checkpoint", "orders")


REFUSED = "client_properties/checking.py::_refused"


@walk(REFUSED, "Remove it.")
def property_that_no_file_may_set(scene: Scene) -> Steps:
    def allowed() -> None:
        listed = call("schema", "migration").out
        assert not [each for each in ALLOWED if f'"{each}"' not in listed]

    return Steps(checked(scene, acks="all"), allowed, checked(scene), ends="Use one of these names")


@walk(REFUSED, "Did you mean")
def property_that_is_misspelled(scene: Scene) -> Steps:
    return Steps(
        checked(scene, **{"client.idd": "us"}),
        lambda: None,
        checked(scene, **{"client.id": "us"}),
        ends="Use one of these names",
    )


UNEXPECTED = "cli/errors.py::unexpected"


@walk(UNEXPECTED, "Install it: pip install")
def command_without_its_packages(scene: Scene) -> Steps:
    store = f"sqlite:///{scene.folder / 'store.sqlite'}"
    open_store(store).close()

    def without() -> tuple[Problem, ...]:
        said = json.loads(call_without_extras(scene.folder, "audit", "--store", store, "--json").stdout)
        return (Problem(code=UNEXPECTED, message=said["problem"], fix=said["fix"]),)

    def installed() -> None:
        (problem,) = without()
        missing, extra = problem.message.split("'")[1], problem.fix.partition("[")[2].partition("]")[0]
        brings = [each for each in requires("offsetwise") or () if re.search(rf"extra == ['\"]{extra}['\"]", each)]
        assert any(each.lower().startswith(missing) for each in brings)

    return Steps(without, installed, run("audit", "--store", store))


@walk(UNEXPECTED, "Report it with this message")
def defect(scene: Scene) -> Steps:
    def broken(*_: object) -> None:
        raise ValueError("a defect")

    scene.patch.setattr(files, "schema", broken)

    def shown() -> object:
        ran = call("schema", "plan")
        return () if "Traceback" in ran.err and "a defect" in ran.err else run("schema", "plan")()

    return Steps(run("schema", "plan"), lambda: scene.patch.setenv("OFFSETWISE_DEBUG", "1"), shown)


@walk("bundled.py::damaged", "Install Offsetwise again")
def recording_that_is_not_there(scene: Scene) -> Steps:
    whole = Bundled.SPARK.file("lag.jsonl.gz")
    installed = scene.folder / "offsetwise" / "sample"
    installed.mkdir(parents=True)
    scene.patch.setattr(Bundled, "file", lambda _, name: installed / name)
    return Steps(lambda: recorded_lag() and None, lambda: shutil.copy(whole, installed))


@walk("workflow/scenes.py::_checkpoint", "Check that no query runs on the checkpoint")
def batch_that_a_running_query_removes(scene: Scene) -> Steps:
    path = sample(scene)
    migration = load_migration(path)
    wanted = scenes.WantedJob.of(ow.Migration.load(path).checkpoint("orders").named(), rewind_to=3)

    def gone_back() -> object:
        return scenes._checkpoint(migration, migration.checkpoint("orders"), wanted) and None

    def read_while_it_runs(*arguments: Any, **more: Any) -> Checkpoint:
        found = read_checkpoint(*arguments, **more)
        (path.parent / "checkpoints" / "orders" / "offsets" / "3").unlink()
        return found

    scene.patch.setattr(scenes, "read_checkpoint", read_while_it_runs)
    return Steps(
        gone_back,
        lambda: scene.patch.setattr(scenes, "read_checkpoint", read_checkpoint),
        ends="Name an earlier committed batch",
    )


@walk(LOOKS + "require_of", "Give the snapshot that was taken for this checkpoint.")
def snapshot_for_another_checkpoint(scene: Scene) -> Steps:
    path = sample(scene, "sample_flink")
    sink = path.with_name("sink.json")
    whole = sink.read_text(encoding="utf-8")
    body = json.loads(whole)
    body["looks"]["second"]["answers"].pop("order-audit-0-1")
    sink.write_text(json.dumps(body), encoding="utf-8")
    return Steps(looked(path), lambda: sink.write_text(whole, encoding="utf-8"))
