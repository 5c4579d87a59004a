"""A real Flink on loopback ports: one JobManager, one TaskManager, and the SQL gateway that takes jobs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from offsetwise.lab.brokers import LOG_CONFIGURATION, free_ports
from offsetwise.lab.java import find_java
from offsetwise.lab.processes import Process, is_alive, start, stop
from tests.integration.flink_distribution import Distribution

LIMIT_S: Final = 600
"""For anything that is waited for: a busy machine takes its time, and a quiet one never comes near it."""
PARALLELISM: Final = 2
SLOTS: Final = 2 * PARALLELISM
OPENED: Final = (
    *("java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util"),
    *("java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"),
)
"""What Flink's own configuration opens of Java 17."""
MAINS: Final = {
    "jobmanager": ("org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", "{folder}"),
    "taskmanager": ("org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "--configDir", "{folder}"),
    "gateway": (
        "org.apache.flink.table.gateway.SqlGateway",
        "-Dsql-gateway.endpoint.rest.address=127.0.0.1",
        "-Dsql-gateway.endpoint.rest.port={port}",
    ),
}
"""The main class of each process, and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flink:
    """A running Flink."""

    distribution: Distribution
    folder: Path
    rest: str
    gateway: str
    processes: dict[str, Process] = field(default_factory=dict)
    """By what each does."""

    def submit(self, settings: Mapping[str, str], *statements: str) -> str:
        """Run statements in a session of their own; give the id of the job that the last one starts."""
        session = _ask(f"{self.gateway}/v1/sessions", {"properties": dict(settings)})["sessionHandle"]
        row: list[Any] = []
        for statement in statements:
            asked = _ask(f"{self.gateway}/v1/sessions/{session}/statements", {"statement": statement})
            operation = f"{self.gateway}/v1/sessions/{session}/operations/{asked['operationHandle']}"
            wait_until(lambda at=operation: _ask(f"{at}/status")["status"] not in {"PENDING", "RUNNING"}, statement)  # type: ignore[misc] # a lambda has no types
            # What went wrong is told with the result.
            rows = _ask(f"{operation}/result/0")["results"]["data"]
            row = rows[0]["fields"] if rows else []
        return str(row[0])

    def state(self, job: str) -> str:
        """Return the state of a job, as Flink calls it."""
        return str(_ask(f"{self.rest}/jobs/{job}")["state"])

    def stop(self, job: str, savepoints: Path) -> Path:
        """Stop a job with a savepoint by Flink's own command line; give the savepoint's folder."""
        arguments = ("stop", "--type", "canonical", "--savepointPath", str(savepoints), job)
        command = jvm(self.distribution, self.folder, "org.apache.flink.client.cli.CliFrontend", *arguments)
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        _, found, path = ran.stdout.partition("Savepoint completed. Path: file:")
        assert found, ran.stdout + ran.stderr + self.failure(job)
        return Path(path.split()[0])

    def checkpoint(self, job: str) -> Path:
        """Let a job take a checkpoint, which then commits what its sink had open; give its folder."""

        def completed() -> dict[str, Any]:
            return _ask(f"{self.rest}/jobs/{job}/checkpoints")

        before = completed()["counts"]["completed"]
        _ask(f"{self.rest}/jobs/{job}/checkpoints", {"checkpointType": "CONFIGURED"})
        wait_until(
            lambda: completed()["counts"]["completed"] > before,
            f"a checkpoint of job {job}",
            refuse=lambda: self.failure(job),
        )
        return Path(completed()["latest"]["completed"]["external_path"].removeprefix("file:"))

    def savepoint(self, job: str, savepoints: Path) -> Path:
        """Take a savepoint of a job that goes on, which commits none of its sink's transactions; give its folder."""
        body = {"target-directory": str(savepoints), "cancel-job": False, "formatType": "CANONICAL"}
        trigger = _ask(f"{self.rest}/jobs/{job}/savepoints", body)["request-id"]
        asked: dict[str, Any] = {}

        def ended() -> bool:
            asked.update(_ask(f"{self.rest}/jobs/{job}/savepoints/{trigger}"))
            return bool(asked["status"]["id"] == "COMPLETED")

        wait_until(ended, f"a savepoint of job {job}", refuse=lambda: self.failure(job))
        return Path(asked["operation"]["location"].removeprefix("file:"))

    def kill(self, job: str) -> None:
        """End the process that runs a job, at once; what the job's sink has open stays open. Then start another one."""
        before = self._workers()
        os.kill(self.processes["taskmanager"].pid, signal.SIGKILL)
        self.failed(job)
        self.start("taskmanager")
        wait_until(lambda: self.is_up() and before.isdisjoint(self._workers()), "another TaskManager has its place")

    def start(self, name: str) -> None:
        """Start one of the processes."""
        main, *arguments = MAINS[name]
        given = [each.format(folder=self.folder, port=self.gateway.rpartition(":")[2]) for each in arguments]
        command = jvm(self.distribution, self.folder, main, *given)
        self.processes[name] = start(command, log=self.folder / f"{name}.log")

    def is_up(self) -> bool:
        """Return whether jobs can have all its slots."""
        return bool(_ask(f"{self.rest}/overview")["slots-available"] == SLOTS)

    def _workers(self) -> set[str]:
        return {each["id"] for each in _ask(f"{self.rest}/taskmanagers")["taskmanagers"]}

    def failed(self, job: str) -> str:
        """Wait until a job has failed, and say why."""
        wait_until(lambda: self.state(job) == "FAILED", f"job {job} fails")
        return self.failure(job)

    def failure(self, job: str) -> str:
        """Explain why a job fails; empty if it does not."""
        told = _ask(f"{self.rest}/jobs/{job}/exceptions")
        history = told.get("exceptionHistory", {}).get("entries", [])
        return str(history[0]["stacktrace"]) if history else ""


@contextmanager
def running(distribution: Distribution, folder: Path) -> Iterator[Flink]:
    """Run a Flink in a folder, for as long as the block."""
    rest, rpc, gateway = free_ports(3)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(_configuration(folder, rest=rest, rpc=rpc), encoding="utf-8")
    (folder / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
    flink = Flink(
        distribution=distribution,
        folder=folder,
        rest=f"http://127.0.0.1:{rest}",
        gateway=f"http://127.0.0.1:{gateway}",
    )
    try:
        for name in MAINS:
            flink.start(name)

        def ended() -> str:
            return "".join(
                f"{name} ended: {(folder / f'{name}.log').read_text(encoding='utf-8')[-2000:]}"
                for name, process in flink.processes.items()
                if not is_alive(process)
            )

        wait_until(flink.is_up, "Flink is up", refuse=ended)
        wait_until(lambda: bool(_ask(f"{flink.gateway}/v1/info")), "its SQL gateway is up", refuse=ended)
        yield flink
    finally:
        for process in flink.processes.values():
            stop(process, grace_s=10)


def jvm(distribution: Distribution, folder: Path, main: str, *arguments: str) -> list[str]:
    """Return the command line of one of Flink's main classes, in little memory."""
    return [
        # The gateway and the command line find their configuration by this variable only.
        *(str(shutil.which("env")), f"FLINK_CONF_DIR={folder}", find_java()),
        *("-Xmx384m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        f"-Dlog4j.configurationFile={folder / 'log4j2.properties'}",
        *("-cp", distribution.classpath(), main, *arguments),
    ]


def wait_until(holds: Callable[[], bool], what: str, *, refuse: Callable[[], str] = lambda: "") -> None:
    """Wait until something holds; fail when it does not in time, or when there is a reason that it never will."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            if holds():
                return
        except (URLError, ConnectionError, TimeoutError) as error:
            if isinstance(error, HTTPError) and error.code < 500:
                raise
        why = refuse()
        assert not why, f"Not so: {what}. {why}"
        assert time.monotonic() < end, f"Not so after {LIMIT_S} s: {what}"
        time.sleep(0.2)


def _ask(address: str, body: Mapping[str, Any] | None = None, *, method: str | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(
            Request(address, data=data, headers={"Content-Type": "application/json"}, method=method), timeout=60
        ) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except HTTPError as error:
        if error.code < 500 or "/operations/" in address:
            raise AssertionError(f"{address}: {error.code}: {error.read().decode()[-3000:]}") from error
        raise


def _configuration(folder: Path, *, rest: int, rpc: int) -> str:
    """Return the `config.yaml` of all processes. The memory is written out, as Flink's own scripts would compute it."""
    settings = {
        "jobmanager.rpc.address": "127.0.0.1",
        "jobmanager.rpc.port": rpc,
        "jobmanager.bind-host": "127.0.0.1",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.port": rest,
        "web.submit.enable": "false",
        "taskmanager.host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "taskmanager.numberOfTaskSlots": SLOTS,
        "taskmanager.cpu.cores": 1,
        "taskmanager.memory.framework.heap.size": "128m",
        "taskmanager.memory.framework.off-heap.size": "128m",
        "taskmanager.memory.task.heap.size": "256m",
        "taskmanager.memory.task.off-heap.size": "0m",
        "taskmanager.memory.network.min": "64m",
        "taskmanager.memory.network.max": "64m",
        "taskmanager.memory.managed.size": "16m",
        "taskmanager.memory.jvm-metaspace.size": "256m",
        "taskmanager.memory.jvm-overhead.min": "192m",
        "taskmanager.memory.jvm-overhead.max": "192m",
        "parallelism.default": PARALLELISM,
        "execution.target": "remote",
        "io.tmp.dirs": folder / "tmp",
        "restart-strategy.type": "none",
        "heartbeat.interval": "2 s",  # a process that was killed is missed at its next heartbeats
    }
    (folder / "tmp").mkdir()
    return "".join(f"{name}: {value}\n" for name, value in settings.items())
