"""Remedies of what is looked at before Spark is started, and of the answers that its workers never give."""

from __future__ import annotations

import os
import shutil
import socket
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pyspark

from offsetwise import jars
from offsetwise.config import Migration, load_migration
from offsetwise.engines import discovery, rows
from offsetwise.lab.brokers import free_ports
from offsetwise.lab.cluster import Lab
from offsetwise.lab.processes import Process
from offsetwise.lab.state import Service, StateFile
from offsetwise.pipeline import fleet_rows, launching, session
from offsetwise.pipeline.client_windows import read_answer
from offsetwise.pipeline.whole_fleet import read_fleet
from offsetwise.plugins.spark.engine.checkpoint import read_checkpoint
from offsetwise.plugins.spark.state.state import PROVIDER, check_state
from offsetwise.plugins.spark.state.state_path import spark_path
from offsetwise.progress import no_progress
from offsetwise.translation.worker import written
from offsetwise.workflow import sample, state_rows
from tests.checkpoints import changed
from tests.pipeline.test_answers import ANSWER, TASK
from tests.remedies.walk import Scene, Steps, corrected, walk
from tests.remedies.walks_commands import sample as copied_sample
from tests.test_jars import NO_NETWORK

NAME = f"spark-kafka-{pyspark.__version__}"
STATE = "plugins/spark/state/state.py::check_state"
FOREIGN = "pipeline/spark_errors.py::foreign_answer"


def _orders() -> str:
    return sample().checkpoint("orders").uri


corrected(
    STATE,
    "Count the rows of a query that keeps state",
    "no_state",
    lambda: state_rows(sample(), "payments"),
    lambda: check_state(read_checkpoint(_orders())),
)


@walk(STATE, "Let the query commit a batch first")
def no_batch(scene: Scene) -> Steps:
    migration = copied_sample(scene)
    commits = migration.with_name("checkpoints") / "orders" / "commits"
    commits.rename(scene.folder / "later")
    commits.mkdir()

    def commit() -> None:
        shutil.copytree(scene.folder / "later", commits, dirs_exist_ok=True)

    read = commits.parent
    return Steps(
        lambda: state_rows(load_migration(migration), "orders"),
        commit,
        lambda: check_state(read_checkpoint(str(read))) and None,
    )


corrected(
    STATE,
    "Read it with the Spark distribution",
    "another_store",
    lambda: check_state(changed(read_checkpoint(_orders()), configuration=((PROVIDER, "org.example.Store"),))),
    lambda: None,  # no Spark of this product: the distribution's own
)


@walk("plugins/spark/state/state_path.py::spark_path", "Copy the checkpoint to a folder whose path")
def special_characters(scene: Scene) -> Steps:
    uris = [shutil.copytree(_orders(), scene.folder / "a b#c")]
    return Steps(
        lambda: spark_path(str(uris[-1])),
        lambda: uris.append(shutil.copytree(uris[0], scene.folder / "orders")),
    )


@walk("plugins/spark/state/state_path.py::_refuse_links_out", "replace the link by what it names")
def link_replaced(scene: Scene) -> Steps:
    root, outside = scene.folder / "root", scene.folder / "outside"
    (root / "orders").mkdir(parents=True)
    outside.mkdir()
    link = root / "orders" / "state"
    link.symlink_to(outside)

    def replaced() -> None:
        link.unlink()
        shutil.copytree(outside, link)

    return Steps(lambda: spark_path(str(root / "orders"), roots=(str(root),)), replaced)


@walk("pipeline/session.py::_java", "point JAVA_HOME to one")
def java(scene: Scene) -> Steps:
    found = Path(os.path.realpath(shutil.which("java") or "")).parents[1]
    scene.patch.setenv("JAVA_HOME", str(scene.folder))
    return Steps(session._java, lambda: scene.patch.setenv("JAVA_HOME", str(found)))


def _cached(scene: Scene) -> Path:
    """Copy the jars of the connector into a cache of the scene, and let what is fetched come from the first one."""
    known = jars.locked_jars(NAME, java=session._java)
    scene.patch.setenv("XDG_CACHE_HOME", str(scene.folder / "cache"))
    folder = jars.cache_folder() / known.name
    shutil.copytree(known, folder)
    scene.patch.setattr(jars, "resolve", lambda _, work, *__, **___: shutil.copytree(known, work / "jars"))
    return folder


@walk("jars.py::_compare", "the jars are fetched anew")
def changed_jar(scene: Scene) -> Steps:
    folder = _cached(scene)
    first = min(folder.iterdir())
    first.write_bytes(first.read_bytes() + b"\n")
    return Steps(lambda: jars.locked_jars(NAME, java=session._java), lambda: shutil.rmtree(folder))


@walk("pipeline/launching.py::connector_jars", "Offline, put the connector's jars into spark.jars")
def changed_connector(scene: Scene) -> Steps:
    folder = _cached(scene)
    (folder / "more.jar").write_bytes(b"")
    return Steps(lambda: launching.connector_jars(session._java), lambda: shutil.rmtree(folder))


@walk("pipeline/launching.py::connector_jars", "Install one of these PySparks")
def other_pyspark(scene: Scene) -> Steps:
    installed = pyspark.__version__
    scene.patch.setattr(pyspark, "__version__", "3.5.0")
    return Steps(
        lambda: launching.connector_jars(session._java),
        lambda: scene.patch.setattr(pyspark, "__version__", installed),
    )


@walk("jars.py::resolve", "Check that this machine reaches Maven Central")
def no_network(scene: Scene) -> Steps:
    known = jars.locked_jars(NAME, java=session._java)
    scene.patch.setenv("XDG_CACHE_HOME", str(scene.folder / "cache"))
    scene.patch.setenv("JAVA_TOOL_OPTIONS", NO_NETWORK)

    def reached() -> None:
        scene.patch.delenv("JAVA_TOOL_OPTIONS")
        scene.patch.setattr(jars, "resolve", lambda _, work, *__, **___: shutil.copytree(known, work / "jars"))

    return Steps(lambda: jars.locked_jars(NAME, java=session._java), reached)


@walk("jars.py::_ivy_jar", "Install the full pyspark package")
def client_only(scene: Scene) -> Steps:
    scene.patch.setattr(jars, "find_spec", lambda _: SimpleNamespace(origin=str(scene.folder / "__init__.py")))
    return Steps(jars._ivy_jar, lambda: scene.patch.setattr(jars, "find_spec", find_spec))


@walk(FOREIGN, "nothing of another release of Offsetwise is on its workers")
def another_release(_: Scene) -> Steps:
    checkpoint = read_checkpoint(_orders())
    answers = [b"\x80pickled by another release"]
    return Steps(
        lambda: fleet_rows.decode(answers[-1], subject="orders"), lambda: answers.append(rows.encode(checkpoint))
    )


@walk(FOREIGN, "nothing of another release of Offsetwise is on its workers")
def another_answer(_: Scene) -> Steps:
    answers = ["the answer of another release"]
    return Steps(lambda: read_answer(answers[-1], "token", TASK), lambda: answers.append(written(ANSWER, "token")))


@walk("lab/state.py::StateFile.read", "End what is left of it by hand, remove")
def unreadable_lab(scene: Scene) -> Steps:
    path = scene.write("lab/state.json", "{")
    return Steps(StateFile(path).read, lambda: shutil.rmtree(path.parent))


@walk("pipeline/whole_fleet.py::_incomplete", "Name narrower folders in checkpoint_roots")
def too_many_folders(scene: Scene) -> Steps:
    scene.patch.setattr(discovery, "MAX_FOLDERS", 3)
    for number in range(5):
        (scene.folder / "root" / str(number)).mkdir(parents=True)
    roots = [scene.folder / "root"]

    def fleet() -> object:
        body = {side: {"properties": {"bootstrap.servers": f"{side}:1"}} for side in ("source", "target")}
        named = {"name": "m", "checkpoint_roots": [str(roots[-1])]}
        return read_fleet(Migration.model_validate(body | named), no_progress, in_process=100).troubles

    return Steps(fleet, lambda: roots.append(scene.folder / "root" / "0"))


@walk("lab/cluster.py::Lab._ports", "End that process, or remove")
def taken_port(scene: Scene) -> Steps:
    other = socket.create_server(("127.0.0.1", 0))
    (controller_port,) = free_ports(1)
    before = Service(
        name="old",
        process=Process(pid=1, started="before"),
        port=other.getsockname()[1],
        controller_port=controller_port,
    )
    return Steps(lambda: Lab.at(scene.folder)._ports("old", before), other.close)
