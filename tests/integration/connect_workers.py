"""Workers of Kafka Connect in distributed mode, from Maven Central's jars, with a connector that writes files.

`python -m tests.integration.connect_workers` fetches them, as `make proof` does, so that no test needs a network.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from offsetwise.errors import OffsetwiseError
from offsetwise.jars import locked_jars
from offsetwise.lab.brokers import LOG_CONFIGURATION, free_ports, jvm
from offsetwise.lab.jars import KAFKA_VERSION
from offsetwise.lab.java import find_java
from offsetwise.lab.processes import start, stop

JARS: Final = f"connect-{KAFKA_VERSION}"
"""The set in the lock."""
WANTED: Final = tuple(
    f"org.apache.kafka:{name}:{KAFKA_VERSION}" for name in ("connect-basic-auth-extension", "connect-file")
)
"""What the lab's jars lack; what these two need is among them."""
USER, PASSWORD = "ada", "a secret of the tests"
_EXTENSION: Final = "org.apache.kafka.connect.rest.basic.auth.extension"
_UP_S: Final = 90


@dataclass(frozen=True)
class Workers:
    """A Connect cluster of one worker."""

    url: str
    folder: Path
    headers: Mapping[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json", **self.headers},
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read() or b"null")

    def create(self, name: str, topic: str, *, state: str = "RUNNING", **config: str) -> Path:
        """Create a connector that writes each record as a line of a file."""
        out = self.folder / f"{name}.txt"
        out.touch()
        told = {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "tasks.max": "1",
            "topics": topic,
            "file": str(out),
        }
        self.ask("POST", "/connectors", {"name": name, "config": told | config, "initial_state": state})
        self.wait(name, state)
        return out

    def change(self, name: str, state: str) -> None:
        """Stop or resume a connector."""
        self.ask("PUT", f"/connectors/{name}/{'stop' if state == 'STOPPED' else 'resume'}")
        self.wait(name, state)

    def wait(self, name: str, state: str) -> None:
        status: Any = None
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                status = self.ask("GET", f"/connectors/{name}/status")
            except urllib.error.HTTPError:
                status = {"connector": {"state": "none"}, "tasks": []}
            tasks = [task["state"] for task in status["tasks"]]
            if status["connector"]["state"] == state and tasks == (["RUNNING"] if state == "RUNNING" else []):
                return
            time.sleep(0.1)
        raise AssertionError(f"{name} is {status} and not {state}")

    def write(self, name: str, topic: str, offset: int) -> str:
        """Change the offset of partition 0, and return what the worker says."""
        entry = {"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": offset}}
        return str(self.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": [entry]})["message"])

    def reset(self, name: str) -> None:
        """Take all offsets away."""
        self.ask("DELETE", f"/connectors/{name}/offsets")

    def offsets(self, name: str) -> dict[int, int]:
        told = self.ask("GET", f"/connectors/{name}/offsets")["offsets"]
        return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in told}


@contextmanager
def workers(folder: Path, old: str, new: str) -> Iterator[tuple[Workers, Workers]]:
    """Run a worker on each of two Kafka clusters; the second one asks who it is."""
    with ExitStack() as stack:
        made = []
        for name, bootstrap in (("workers-old", old), ("workers-new", new)):
            there = folder / name
            there.mkdir()
            (port,) = free_ports(1)
            process = start(_command(there, bootstrap, port, signed_on=bootstrap == new), log=there / "worker.log")
            stack.callback(stop, process, grace_s=10)
            pair = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            headers = {"Authorization": f"Basic {pair}"} if bootstrap == new else {}
            made.append(Workers(f"http://127.0.0.1:{port}", there, headers))
        for each in made:
            _until_up(each)
        yield made[0], made[1]


def _command(folder: Path, bootstrap: str, port: int, *, signed_on: bool) -> list[str]:
    """Write the configuration of a worker, and return its command."""
    told = {
        f"{kind}.storage.{key}": value
        for kind in ("offset", "config", "status")
        for key, value in (("topic", f"{folder.name}-{kind}s"), ("replication.factor", "1"))
    } | {
        "bootstrap.servers": bootstrap,
        "group.id": folder.name,
        "listeners": f"http://127.0.0.1:{port}",
        "plugin.discovery": "service_load",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }
    options = []
    if signed_on:
        told["rest.extension.classes"] = f"{_EXTENSION}.BasicAuthSecurityRestExtension"
        (folder / "users.properties").write_text(f"{USER}={PASSWORD}\n")
        module = f'{_EXTENSION}.PropertyFileLoginModule required file="{folder / "users.properties"}";'
        (folder / "jaas.conf").write_text(f"KafkaConnect {{ {module} }};\n")
        options = [f"-Djava.security.auth.login.config={folder / 'jaas.conf'}"]
    (folder / "connect.properties").write_text("".join(f"{key}={value}\n" for key, value in told.items()))
    (folder / "log4j2.properties").write_text(LOG_CONFIGURATION)
    main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
    java, *rest = jvm(folder, main_class, str(folder / "connect.properties"), heap="256m")
    rest[rest.index("-cp") + 1] += f":{jars() / '*'}"
    return [java, *options, *rest]


def _until_up(worker: Workers) -> None:
    end = time.monotonic() + _UP_S
    while True:
        try:
            worker.ask("GET", "/connectors")
        except OSError:
            if time.monotonic() > end:
                raise AssertionError((worker.folder / "worker.log").read_text()[-4_000:]) from None
            time.sleep(0.2)
        else:
            return


def jars() -> Path:
    """Return the folder of what the lab's jars lack."""
    return locked_jars(JARS, java=find_java)


def main() -> None:
    """Fetch the jars."""
    try:
        jars()
    except OffsetwiseError as error:
        sys.exit(f"What the tests of Kafka Connect run could not be fetched. No test was run. {error}")


if __name__ == "__main__":
    main()
