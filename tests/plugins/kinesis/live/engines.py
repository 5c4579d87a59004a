"""Jobs that read a stream: an application of the KCL, a query of Spark with qubole's connector, a job of Flink."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from offsetwise.lab.java import find_java
from offsetwise.storage.dynamodb import Item
from tests.integration.flink_cluster import OPENED, Flink, wait_until
from tests.integration.flink_distribution import DISTRIBUTIONS
from tests.plugins.kinesis.live.jars import LEGACY, QUBOLE, jars
from tests.plugins.kinesis.live.servers import KEYS, REGION, Server, Stream

HERE: Final = Path(__file__).parent
LONG_AGO_S: Final = 3600
_SPARK_OPENED: Final = (*OPENED, "sun.nio.ch", "sun.security.action", "sun.util.calendar", "java.util.concurrent.locks")


class Read(NamedTuple):
    """One record as a job read it."""

    shard: str
    sequence: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """An application of the KCL, with its table."""

    version: str
    name: str
    dynamodb: Server
    folder: Path
    """For its logs."""

    @contextmanager
    def running(self, stream: Stream, count: int, *, worker: str = "worker-a") -> Iterator[list[Read]]:
        """Read so many records; give them while the worker lives on, and reads nothing more."""
        places = (stream.server.address, self.dynamodb.address)
        command = _java(jars(f"kcl-{self.version}"), "Consumer", self.name, stream.name, worker, *places, str(count))
        with _started(command, self.folder / f"{self.name}.log") as running:
            yield _reads(running, self.folder / f"{self.name}.log")

    def read(self, stream: Stream, count: int) -> list[Read]:
        """Read so many records, and end."""
        with self.running(stream, count) as found:
            return found

    @property
    def uri(self) -> str:
        """Its table, as `inspect` calls it."""
        return f"dynamodb://{self.name}?region={REGION}&endpoint={self.dynamodb.address}"

    def rows(self) -> dict[str, Item]:
        """Return its leases by their keys, whole."""
        found = self.dynamodb.client.scan(TableName=self.name, ConsistentRead=True)["Items"]
        leases = (each for each in found if each.get("entityType", {"S": "LEASE"}) == {"S": "LEASE"})
        return {each["leaseKey"]["S"]: each for each in leases}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query of Spark 3.0 with qubole's connector, with its checkpoint."""

    folder: Path
    """Of its checkpoint and its log."""

    @property
    def checkpoint(self) -> Path:
        """Where its positions are."""
        return self.folder / "checkpoint"

    def read(self, stream: Stream, count: int, *, begin: str = "TRIM_HORIZON") -> list[Read]:
        """Read so many records at least, and stop when their batch is committed; a while ago, by its files' times.

        The next batch may be planned already, and one that was planned lately is taken for that of a running query.
        """
        self.folder.mkdir(exist_ok=True)
        arguments = (stream.name, stream.server.address, str(self.checkpoint), begin, str(count))
        opened = (f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _SPARK_OPENED)
        with _started(_java(jars(QUBOLE), "Query", *arguments, options=tuple(opened)), self.folder / "log") as running:
            read = _reads(running, self.folder / "log")
        for file in self.checkpoint.rglob("*"):
            os.utime(file, (time.time() - LONG_AGO_S,) * 2)
        return read


FLINK: Final = replace(DISTRIBUTIONS[0], beside=LEGACY)
"""Flink 1.20 with the connector whose SQL source is the legacy consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of Flink with the legacy consumer, which prints what it reads."""

    flink: Flink
    stream: Stream

    def start(self, state: Path | None = None) -> str:
        """Start it, from a savepoint if there is one; give its id."""
        settings = {} if state is None else {"execution.state-recovery.path": str(state)}
        options = {
            "connector": "kinesis",
            "stream": self.stream.name,
            "aws.region": REGION,
            "aws.endpoint": self.stream.server.address,
            "aws.credentials.provider": "BASIC",
            "aws.credentials.basic.accesskeyid": "test",
            "aws.credentials.basic.secretkey": "test",
            "scan.stream.initpos": "TRIM_HORIZON",
            "format": "raw",
        }
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        return self.flink.submit(
            settings,
            f"CREATE TABLE arrived (n STRING) WITH ({listed})",
            "CREATE TABLE printed (n STRING) WITH ('connector' = 'print', 'print-identifier' = 'read')",
            "INSERT INTO printed SELECT n FROM arrived",
        )

    def read(self) -> list[int]:
        """Return what was ever printed."""
        log = (self.flink.folder / "taskmanager.log").read_text(encoding="utf-8", errors="replace")
        return [int(each) for each in re.findall(r"^read(?::\d+)?> \+I\[(\d+)\]$", log, re.MULTILINE)]

    def until(self, job: str, count: int) -> list[int]:
        """Wait until so many records were printed, and give them."""
        wait_until(lambda: len(self.read()) >= count, f"{count} records", refuse=lambda: self.flink.failure(job))
        return self.read()


def _java(folder: Path, main: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    """Return the command line of one source file, compiled once."""
    small = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
    return [find_java(), *small, *options, "-cp", f"{_compiled(folder, main)}:{folder}/*", main, *arguments]


@cache
def _compiled(folder: Path, main: str) -> str:
    """Compile one source file against a set of jars; return the folder of its classes, which this process removes."""
    classes = tempfile.mkdtemp(prefix=f"{main.lower()}-")
    atexit.register(shutil.rmtree, classes, ignore_errors=True)
    compiler = shutil.which("javac")
    assert compiler, "expected a JDK, found no javac on the PATH. Nothing was run."
    subprocess.run([compiler, "-nowarn", "-cp", f"{folder}/*", "-d", classes, str(HERE / f"{main}.java")], check=True)
    return classes


@contextmanager
def _started(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, **KEYS, "AWS_CBOR_DISABLE": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
    pipe = subprocess.PIPE
    with (
        log.open("a") as errors,
        subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=errors, env=environment) as running,
    ):
        try:
            yield running
            running.communicate(timeout=120)  # closes its input
        finally:
            running.kill()


def _reads(running: subprocess.Popen[str], log: Path) -> list[Read]:
    """Return what a job prints up to its END."""
    made: list[Read] = []
    assert running.stdout is not None
    for line in running.stdout:
        if line == "END\n":
            return made
        shard, sequence, number = line.split()
        made.append(Read(shard, sequence, int(number)))
    raise AssertionError(f"expected END, the process ended after {made}: {log.read_text(errors='replace')[-4000:]}")
