"""Remedies of Spark, followed on real sessions: of what keeps it from starting, and of what its workers lack."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.metadata import distribution
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pyspark
import yaml

from offsetwise import workflow
from offsetwise.client_properties.user_settings import SPARK_CONF, SPARK_SERVERS
from offsetwise.config import SparkSettings, load_migration
from offsetwise.errors import StoppedError
from offsetwise.lab.brokers import free_ports
from offsetwise.pipeline import interrupting, session, start
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.launching import CONNECTOR, connector_jars
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.pipeline.shipping import ship
from offsetwise.pipeline.start import install_pyspark, start_spark
from offsetwise.progress import no_progress
from tests.pipeline.connect_servers import connect_server
from tests.remedies.walk import Remembered, Scene, Steps, walk
from tests.remedies.walks_commands import run, sample
from tests.test_jars import NO_NETWORK

SESSION = "pipeline/session.py::"
STATE = "plugins/spark/state/state.py::_listed"
LOCAL = "local[1]"
MAIN = "org/apache/spark/launcher/Main.class"
"""What Spark's script runs first."""


# Spark that does not start.
def starting(scene: Scene, *, kafka: bool = False, **settings: object) -> Callable[[], object]:
    """Return the start of Spark by the settings of a migration file and of the user's own file."""
    scene.request.addfinalizer(close_session)
    stating(scene, **settings)
    return lambda: open_session(load_migration(scene.folder / "migration.yaml").spark, kafka=kafka) and None


def stating(scene: Scene, **settings: object) -> None:
    clusters = {side: {"properties": {"bootstrap.servers": f"{side}:1"}} for side in ("source", "target")}
    scene.write("migration.yaml", yaml.safe_dump({"name": "m", **clusters, "spark": settings}))


def own_properties(scene: Scene, properties: Mapping[str, str]) -> None:
    """State properties of Spark in the user's own file."""
    lines = (f"{name} {value}\n" for name, value in properties.items())
    scene.patch.setenv(SPARK_CONF, str(scene.write("spark.conf", "".join(lines))))


@walk(SESSION + "_launch", "Try again", proof=True)
def start_that_nobody_waits_for(scene: Scene) -> Steps:
    scene.request.addfinalizer(close_session)
    close_session()
    given_up = Event()
    given_up.set()
    settings = SparkSettings(master=LOCAL)
    return Steps(lambda: start_spark(settings, no_progress, given_up=given_up) and None, given_up.clear)


@walk(SESSION + "_launch_error", "or, offline, put the connector's jars", proof=True)
def connector_without_a_network(scene: Scene) -> Steps:
    jars = connector_jars(session._java)
    start = starting(scene, kafka=True, master=LOCAL)
    scene.patch.setenv(
        "JAVA_TOOL_OPTIONS", f"{NO_NETWORK} -Dmaven.repo.local={scene.folder} -Duser.home={scene.folder}"
    )
    named = {"spark.jars.packages": f"{CONNECTOR}:{pyspark.__version__}", "spark.jars.ivy": str(scene.folder / "ivy")}
    own_properties(scene, named)
    return Steps(start, lambda: own_properties(scene, {"spark.jars": ",".join(jars)}))


@walk(SESSION + "_launch_error", "Install a newer Java runtime", proof=True)
def java_that_is_too_old(scene: Scene) -> Steps:
    """Spark's first class is one of a later Java than any, which a real JVM refuses as an older one refuses Spark's."""
    java = Path(os.path.realpath(shutil.which("java") or ""))
    (jar,) = Path(pyspark.__file__).parent.glob("jars/spark-launcher_*.jar")
    with ZipFile(jar) as archive:
        compiled = archive.read(MAIN)
    scene.write(f"later/{MAIN}", compiled[:6] + (999).to_bytes(2, "big") + compiled[8:])
    script = f'#!/bin/sh\nexec {java} -Xbootclasspath/a:{scene.folder / "later"} "$@"\n'
    scene.write("old/bin/java", script).chmod(0o755)
    start = starting(scene, master=LOCAL)
    close_session()
    scene.patch.setenv("JAVA_HOME", str(scene.folder / "old"))
    return Steps(start, lambda: scene.patch.setenv("JAVA_HOME", str(java.parents[1])))


@walk(SESSION + "_launch_error", "Correct spark.master and spark.conf", proof=True)
def master_that_is_none(scene: Scene) -> Steps:
    scene.patch.setenv(SPARK_SERVERS, "nonsense")
    return Steps(starting(scene, master="nonsense"), lambda: stating(scene, master=LOCAL))


@walk(SESSION + "_check_connector", "Add", name="connector_that_does_not_load", proof=True)
def _(scene: Scene) -> Steps:
    jars = connector_jars(session._java)
    start = starting(scene, kafka=True, master=LOCAL)
    own_properties(scene, {"spark.jars": "/no/such/spark-sql-kafka-0-10_2.13.jar"})
    return Steps(start, lambda: own_properties(scene, {"spark.jars": ",".join(jars)}))


# A Spark Connect server.
class Server:
    """A server at one address, for as long as the walk."""

    def __init__(self, scene: Scene) -> None:
        scene.request.addfinalizer(self.stop)
        self._scene = scene
        self._running = ExitStack()
        (self._port,) = free_ports(1)
        self.address = f"sc://127.0.0.1:{self._port}"
        scene.patch.setenv(SPARK_SERVERS, self.address)

    def start(self, *options: str) -> None:
        """Start the server, in place of the one before."""
        self.stop()
        python = Path(sys.executable)
        self._running.enter_context(connect_server(self._scene.folder, python, *options, port=self._port))

    def stop(self) -> None:
        close_session()
        self._running.close()


@walk(SESSION + "_connect", "Start the server", proof=True)
def server_that_is_not_there(scene: Scene) -> Steps:
    server = Server(scene)
    return Steps(starting(scene, remote=server.address), server.start)


@walk(SESSION + "_connect", "and take it out of spark.conf", proof=True)
def property_of_the_server(scene: Scene) -> Steps:
    server, name, value = Server(scene), "spark.sql.warehouse.dir", str(scene.folder / "warehouse")
    server.start()
    start = starting(scene, remote=server.address)
    own_properties(scene, {name: value})

    def move() -> None:
        server.start("--conf", f"{name}={value}")
        own_properties(scene, {})

    return Steps(start, move)


@walk(SESSION + "_check_connector", "Start the server with --packages", proof=True)
def server_without_the_connector(scene: Scene) -> Steps:
    server = Server(scene)
    server.start()
    start = Remembered(starting(scene, kafka=True, remote=server.address))

    def with_packages() -> None:
        (options,) = re.findall(r"(--packages \S+);", start.remedy)
        server.start(*shlex.split(options))

    return Steps(start, with_packages)


# Jobs.
@walk("pipeline/interrupting.py::interruptible", "Wait for its end before you start it again", proof=True)
def job_that_ends_late(scene: Scene) -> Steps:
    """A worker that sleeps is ended two seconds after the stop, which nobody waits for here."""
    scene.patch.setattr(interrupting, "STOP_LIMIT_S", 0.2)
    scene.request.addfinalizer(close_session)
    spark = open_session(SparkSettings(master=LOCAL), kafka=False)
    jobs = spark.sparkContext.statusTracker()
    stopped = [False]

    def sleep(rows: Iterator[Any]) -> Iterator[Any]:
        time.sleep(1)
        yield from rows

    def stop_once() -> None:
        if not stopped[0] and jobs.getActiveJobsIds():
            stopped[0] = True
            raise StoppedError("stopped", fix="again")

    def wait() -> None:
        while jobs.getActiveJobsIds():
            time.sleep(0.1)

    table = spark.range(1).mapInArrow(sleep, "id long")
    return Steps(lambda: interruptible(spark, table.toArrow, stop_once) and None, wait)


@walk("pipeline/start.py::install_pyspark", "Run: make --directory")
def pyspark_not_installed(scene: Scene) -> Steps:
    checkout, module = scene.folder / "a checkout", "module_of_this_walk"
    for name in (".venv/.console", "locks/spark.txt"):
        scene.write(f"a checkout/{name}", "")
    scene.write("a checkout/Makefile", f".venv/.pyspark:\n\ttest -e network\n\ttouch .venv/{module}.py $@\n")
    scene.patch.setattr(sys, "prefix", str(checkout / ".venv"))
    scene.patch.syspath_prepend(str(checkout / ".venv"))
    scene.patch.setattr(start, "PYSPARK", module)
    command = Remembered(lambda: install_pyspark(no_progress))

    def install() -> None:
        (checkout / "network").touch()
        subprocess.run(shlex.split(command.remedy.removeprefix("Run: ")), check=True, capture_output=True)

    return Steps(command, install)


@walk("pipeline/shipping.py::_lacking", "-m pip install", proof=True)
def worker_without_a_package(scene: Scene) -> Steps:
    python = scene.folder / "worker" / "bin" / "python"
    venv.create(python.parents[1], with_pip=True)
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    for path in Path(pa.__file__).parents[1].glob("pyarrow*"):
        (packages / path.name).symlink_to(path)
    scene.patch.setenv("PIP_NO_INDEX", "1")
    scene.patch.setenv("PIP_FIND_LINKS", str(wheel("fsspec", scene.folder).parent))
    scene.request.addfinalizer(close_session)
    settings = SparkSettings(master=LOCAL, conf={"spark.pyspark.python": str(python)})
    command = Remembered(lambda: ship(open_session(settings, kafka=False), uris=["file:///checkpoints"]))

    def install() -> None:
        subprocess.run(shlex.split(command.remedy.removeprefix("Run there: ")), check=True, capture_output=True)

    return Steps(command, install)


def wheel(name: str, folder: Path) -> Path:
    """Pack an installed package of Python alone as the wheel that it came from."""
    installed = distribution(name)
    path = folder / f"{name}-{installed.version}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for file in installed.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and file.name not in ("INSTALLER", "REQUESTED"):
                archive.write(file.locate(), str(file))
    return path


# The state of a checkpoint.
def orders(scene: Scene) -> tuple[Callable[[], object], Path]:
    """Return the count of rows of a copy of the bundled sample, and its checkpoint."""
    scene.request.addfinalizer(close_session)
    path = sample(scene)
    return lambda: workflow.state_rows(load_migration(path), "orders"), path.with_name("checkpoints") / "orders"


@walk(STATE, "Go on without the number of rows, which no plan needs. To have it", proof=True)
def logs_of_a_later_spark(scene: Scene) -> Steps:
    count, checkpoint = orders(scene)
    newest = max(
        (path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()), key=lambda p: int(p.name)
    )
    newest.write_text(newest.read_text().replace("v1", "v9"))
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    return Steps(count, lambda: None, run("inspect", checkpoint))


@walk(STATE, "Restore the folder state", proof=True)
def names_of_state_stores_that_are_lost(scene: Scene) -> Steps:
    count, checkpoint = orders(scene)
    copy = shutil.copytree(checkpoint, scene.folder / "copy")
    shutil.rmtree(checkpoint / "state" / "0" / "_metadata")

    def restore() -> None:
        shutil.rmtree(checkpoint / "state")
        shutil.copytree(copy / "state", checkpoint / "state")

    return Steps(count, restore)
