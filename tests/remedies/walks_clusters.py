"""Remedies of clusters whose brokers answer what the client library cannot take."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterError
from offsetwise.streams import client_process
from offsetwise.streams.client_process import in_a_process
from tests.remedies.walk import Scene, Steps, walk

CONFIG = ClusterConfig(name="old", properties={"bootstrap.servers": "broker:9092"})
ROOT = Path(__file__).parents[2]


def answers(_config: ClusterConfig, changed: Path) -> str:
    """Read a cluster between which and here something changes what it answers, while there is a file."""
    if changed.exists():
        os.kill(os.getpid(), signal.SIGSEGV)
    return "read"


def asked(scene: Scene, *, changes: bool = False) -> object:
    scene.patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    client_process._end_all()
    try:
        return in_a_process(answers, changes=changes)(CONFIG, scene.folder / "proxy")
    finally:
        client_process._end_all()


@walk("streams/client_process.py::wrong_answer", "nothing between changes what they say")
def an_answer_that_the_library_cannot_take(scene: Scene) -> Steps:
    proxy = scene.write("proxy", "")
    return Steps(lambda: asked(scene), proxy.unlink)


@walk("streams/client_process.py::_Question.unanswered", "it looks first, and continues from there")
def a_change_whose_answer_the_library_cannot_take(scene: Scene) -> Steps:
    proxy = scene.write("proxy", "")
    return Steps(lambda: asked(scene, changes=True), proxy.unlink)


@walk("streams/client_process.py::_Process.error", "See that this works")
def a_process_that_cannot_import_us(scene: Scene) -> Steps:
    serve = client_process._SERVE
    scene.patch.setattr(client_process, "_SERVE", "import no_module_of_this_name")

    def follow() -> None:
        try:
            asked(scene)
        except ClusterError as error:
            said = shlex.split(error.fix.partition(": ")[2].partition(";")[0])
        assert said[0] == sys.executable
        subprocess.run(said, check=True)
        scene.patch.setattr(client_process, "_SERVE", serve)

    return Steps(lambda: asked(scene), follow)
