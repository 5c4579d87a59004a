from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.error import URLError
from urllib.request import Request, urlopen

from offsetwise.errors import LabError
from offsetwise.lab.brokers import LOG_CONFIGURATION, free_ports
from offsetwise.lab.java import find_java

LEAST_VERSION: Final = (1, 20)
"""The oldest version that the product's tests run; earlier ones name some settings differently."""
TIMEOUT_S: Final = 600
"""A busy machine takes minutes to start a job."""
LOG_TAIL_LINES: Final = 5
POLL_S: Final = 0.2
_DIST: Final = re.compile(r"flink-dist-(\d+)\.(\d+)\..*\.jar")
_CONNECTOR: Final = re.compile(r"flink-(?:sql-)?connector-kafka-\d.*\.jar")
_CLIENTS: Final = re.compile(r"flink-sql-connector-kafka-\d.*\.jar|kafka-clients-\d.*\.jar")
_NEEDED: Final = {
    _DIST: "Flink itself (flink-dist-….jar)",
    _CONNECTOR: "its Kafka connector (flink-sql-connector-kafka-….jar)",
    _CLIENTS: "Kafka's client (in flink-sql-connector-kafka-….jar, or kafka-clients-….jar)",
}
_COMMAND: Final = "`offsetwise lab migration --flink FOLDER`, with --dir and the lab's folder"
_OPENED: Final = ("util", "lang", "lang.reflect", "net", "nio", "text", "time", "util.concurrent")


@dataclass(frozen=True, slots=True)
class FlinkFolder:
    path: Path

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the Flink of a folder.

        Raises:
            LabError: Its `lib` lacks Flink's jars or those of its Kafka connector, or it is older than Flink 1.20.
        """
        lib = path.resolve() / "lib"
        names = sorted(jar.name for jar in lib.glob("*.jar"))
        lacking = [what for name, what in _NEEDED.items() if not any(map(name.fullmatch, names))]
        if lacking:
            result = (
                f"{len(names):,} jar{'s' * (len(names) > 1)}"
                if names
                else "no jar"
                if lib.is_dir()
                else "no such folder"
            )
            raise LabError(
                f"The Flink in {path}: expected in {lib} {', and '.join(lacking)}; found {result}. Nothing was "
                "started.",
                fix="Unpack Flink 1.20 or later, put the flink-sql-connector-kafka jar of that version into its lib, "
                f"and name the folder: {_COMMAND}.",
            )
        versions = [(int(match[1]), int(match[2])) for match in map(_DIST.fullmatch, names) if match]
        if min(versions) < LEAST_VERSION:
            raise LabError(
                f"The Flink in {path}: expected version 1.20 or later, found {min(versions)[0]}.{min(versions)[1]}. "
                "Nothing was started.",
                fix=f"Unpack a later Flink with its Kafka connector, and name that folder: {_COMMAND}.",
            )
        return cls(path.resolve())

    @property
    def classpath(self) -> str:
        return str(self.path / "lib" / "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningJob:
    id: str
    rest: str
    """REST address of its cluster."""
    log: Path
    """Log of its JVM."""

    def checkpoint(self) -> None:
        before = self._checkpoint_count()
        self._ask("/checkpoints", {"checkpointType": "CONFIGURED"})
        self.wait_until(lambda: self._checkpoint_count() > before, "a checkpoint")

    def stop(self, folder: Path) -> Path:
        self._ask("/stop", {"targetDirectory": folder.as_uri(), "drain": False, "formatType": "CANONICAL"})
        self.wait_until(lambda: self._ask()["state"] == "FINISHED", "the job to end with a savepoint")
        return self._savepoint(folder)

    def savepoint(self, folder: Path) -> Path:
        """Take a canonical savepoint below `folder` while the job runs, which commits nothing; return its folder."""
        request = {"target-directory": folder.as_uri(), "cancel-job": False, "formatType": "CANONICAL"}
        path = f"/savepoints/{self._ask('/savepoints', request)['request-id']}"
        self.wait_until(lambda: self._ask(path)["status"]["id"] == "COMPLETED", "a savepoint")
        return self._savepoint(folder)

    def wait_until(self, done: Callable[[], bool], what: str) -> None:
        """Wait for a condition on the job.

        Raises:
            LabError: It is not met after `TIMEOUT_S`, or the job failed.
        """
        end = time.monotonic() + TIMEOUT_S
        while not done():
            if self._ask()["state"] == "FAILED":
                raise self.failed(what)
            if time.monotonic() > end:
                raise _unfinished(self.log, f"{what} within {TIMEOUT_S} s, which did not happen. {_tail(self.log)}")
            time.sleep(POLL_S)

    def failed(self, expected: str) -> LabError:
        history = self._ask("/exceptions")["exceptionHistory"]["entries"]
        return _unfinished(self.log, f"{expected}, but it failed: {_reason(history[0]['stacktrace'])}.")

    def _checkpoint_count(self) -> int:
        return int(self._ask("/checkpoints")["counts"]["completed"])

    def _savepoint(self, folder: Path) -> Path:
        (savepoint,) = folder.glob(f"savepoint-{self.id[:6]}-*")
        return savepoint

    def _ask(self, path: str = "", body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            return _ask(f"{self.rest}/jobs/{self.id}{path}", body)
        except URLError as error:
            raise _unfinished(self.log, f"an answer of it, found none: {error}. {_tail(self.log)}") from error


@contextmanager
def running_job(
    folder: Path, *, classpath: str, settings: Mapping[str, object], sql: str, log: Path
) -> Iterator[RunningJob]:
    """Run a SQL job in a JVM that is a small cluster of its own; it is killed at the end of the block.

    Args:
        folder: Folder of its configuration and its statements.
        classpath: Classpath of a Flink with its Kafka connector.
        settings: Flink's settings, without its REST address.
        sql: The statements, each with `;` at the end of its last line. The last one starts the job.
        log: Log of the JVM.

    Raises:
        LabError: The job has ended or failed, or does not run in time.
    """
    (port,) = free_ports(1)
    address = {"rest.bind-port": port, "rest.address": "127.0.0.1", "rest.bind-address": "127.0.0.1"}
    folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{key}: {value}\n" for key, value in (address | dict(settings)).items())
    (folder / "config.yaml").write_text("".join(lines), encoding="utf-8")
    (folder / "log4j2.properties").write_text(LOG_CONFIGURATION, encoding="utf-8")
    (folder / "job.sql").write_text(sql, encoding="utf-8")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as output:
        command = _command(folder, classpath)
        # It ends when its stdin does, so that it does not survive if this process is killed.
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output) as process:  # noqa: S603 - our own arguments
            try:
                yield _started(f"http://127.0.0.1:{port}", process, log)
            finally:
                process.kill()


def _command(folder: Path, classpath: str) -> list[str]:
    return [
        *(find_java(), "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"),
        *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED),
        *(f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", classpath),
        *(str(Path(__file__).with_name("FlinkJob.java")), str(folder)),
    ]


def _started(rest: str, process: subprocess.Popen[bytes], log: Path) -> RunningJob:
    end = time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < end:
        with suppress(URLError):  # it does not listen yet, or is about to
            for entry in _ask(f"{rest}/jobs")["jobs"]:
                job = RunningJob(id=entry["id"], rest=rest, log=log)
                details = _ask(f"{rest}/jobs/{job.id}")
                if details["state"] == "FAILED":
                    raise job.failed("all its tasks to run")
                if {task["status"] for task in details["vertices"]} == {"RUNNING"}:
                    return job
        time.sleep(POLL_S)
    raise _unfinished(log, f"it to run within {TIMEOUT_S} s, found that it does not. {_tail(log)}")


def _unfinished(log: Path, problem: str) -> LabError:
    return LabError(
        f"The Flink job of {log}: expected {problem} The job was ended; what it had written stays.",
        fix="Correct what the message or the log names, then run the same command again.",
    )


def _reason(stacktrace: str) -> str:
    causes = [line for line in stacktrace.splitlines() if line.startswith("Caused by: ")]
    return (causes or stacktrace.splitlines())[-1].removeprefix("Caused by: ").strip()


def _tail(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    said = [line for line in lines if line and not line.startswith("at ")][-LOG_TAIL_LINES:]
    return f"The log ends with: {' | '.join(said) or '(nothing)'}"


def _ask(address: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    request = Request(address, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310 - our own address
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        result: dict[str, Any] = json.load(answer)
        return result
