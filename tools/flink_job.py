"""The Flink jobs of the bundled sample, from Kafka to Kafka, exactly once: counts by time, and a copy of every order.

Each runs in one JVM, a small cluster of its own, which is asked over REST.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from offsetwise.lab.cluster import Lab
from offsetwise.lab.java import find_java

PARALLELISM: Final = 2
TRANSACTION_TIMEOUT_MS: Final = 900_000
"""The longest that brokers allow unless told otherwise."""
REST_PORT: Final = 28081
TIMEOUT_S: Final = 600
"""A busy machine takes minutes to start the job."""
_OPENED: Final = ("util", "lang", "lang.reflect", "net", "nio", "text", "time", "util.concurrent")

_SQL: Final = """
CREATE TABLE events (
  serial STRING,
  topic STRING METADATA VIRTUAL,
  written TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  WATERMARK FOR written AS written - INTERVAL '10' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{topics}', 'properties.bootstrap.servers' = '{old}',
  'properties.group.id' = '{name}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE {table} ({columns}) WITH (
  'connector' = 'kafka', 'topic' = '{name}', 'properties.bootstrap.servers' = '{old}', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{name}',
  'properties.transaction.timeout.ms' = '{timeout}'
);
INSERT INTO {table} {query};
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a job reads and writes."""

    name: str
    """Of itself, its consumer group, its sink's topic and the prefix of its transactional ids."""
    id: str
    """The same in every recording, so that its folder is."""
    topics: tuple[str, ...]
    table: str
    columns: str
    """Of what it writes."""
    query: str


COUNTS: Final = Job(
    name="order-counts",
    id="0ff5e70f11e00000000000000000beef",
    topics=("orders", "payments", "clicks"),
    table="counts",
    columns="topic STRING, until_time TIMESTAMP(3), records BIGINT",
    query="SELECT topic, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(written), INTERVAL '5' "
    "MINUTES)) GROUP BY topic, window_start, window_end",
)
AUDIT: Final = Job(
    name="order-audit",
    id="a0d17f11e0000000000000000000feed",
    topics=("orders",),
    table="audit",
    columns="serial STRING",
    query="SELECT serial FROM events",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlinkJob:
    """The running job."""

    id: str
    checkpoints: Path
    """Flink keeps its checkpoints in a folder below, named by the job."""

    def checkpoint(self) -> None:
        """Let it take a checkpoint, and wait until it stands."""
        before = _taken(self.id)
        _rest("POST", f"/jobs/{self.id}/checkpoints", {"checkpointType": "CONFIGURED"})
        _wait("a checkpoint", lambda: _taken(self.id) > before)

    def stop(self, folder: Path) -> Path:
        """Stop it with a canonical savepoint below `folder`, and give the savepoint's."""
        wanted = {"targetDirectory": folder.as_uri(), "drain": False, "formatType": "CANONICAL"}
        _rest("POST", f"/jobs/{self.id}/stop", wanted)
        _wait("the job to end", lambda: _rest("GET", f"/jobs/{self.id}")["state"] == "FINISHED")
        return self._savepoint(folder)

    def savepoint(self, folder: Path) -> Path:
        """Take a canonical savepoint below `folder` beside the running job, which commits nothing, and give its."""
        wanted = {"target-directory": folder.as_uri(), "cancel-job": False, "formatType": "CANONICAL"}
        trigger = _rest("POST", f"/jobs/{self.id}/savepoints", wanted)["request-id"]
        path = f"/jobs/{self.id}/savepoints/{trigger}"
        _wait("a savepoint", lambda: _rest("GET", path)["status"]["id"] == "COMPLETED")
        return self._savepoint(folder)

    def _savepoint(self, folder: Path) -> Path:
        (savepoint,) = folder.glob(f"savepoint-{self.id[:6]}-*")
        return savepoint


@contextmanager
def flink_job(lab: Lab, job: Job, *, classpath: str) -> Iterator[FlinkJob]:
    """Run a job on the old cluster of a lab; it is killed in the end.

    Args:
        lab: The lab.
        job: The job.
        classpath: Of a Flink with its Kafka connector.
    """
    folder = lab.directory / f"flink-{job.name}"
    checkpoints = folder / "checkpoints"
    checkpoints.mkdir(parents=True)
    settings = {
        "rest.bind-port": REST_PORT,
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "parallelism.default": PARALLELISM,
        "pipeline.name": job.name,
        "$internal.pipeline.job-id": job.id,
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.dir": checkpoints.as_uri(),
        "execution.checkpointing.num-retained": 3,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "taskmanager.numberOfTaskSlots": PARALLELISM,
    }
    (folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    (folder / "job.sql").write_text(
        _SQL.format(
            topics=";".join(job.topics),
            old=lab.old_bootstrap,
            name=job.name,
            table=job.table,
            columns=job.columns,
            query=job.query,
            timeout=TRANSACTION_TIMEOUT_MS,
        ),
        encoding="utf-8",
    )
    command = [find_java(), "-Xmx1g", *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED)]
    command += ["-cp", classpath, str(Path(__file__).with_name("FlinkJob.java")), str(folder)]
    with lab.log(f"flink-{job.name}").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - our own arguments
        try:
            yield FlinkJob(id=_started(), checkpoints=checkpoints)
        finally:
            process.kill()
            process.wait()


def _started() -> str:
    """Return the job's id once all its tasks run."""
    running: list[str] = []

    def runs() -> bool:
        try:
            found = [_rest("GET", f"/jobs/{each['id']}") for each in _rest("GET", "/jobs")["jobs"]]
        except URLError:
            return False  # it does not listen yet, or is about to
        running[:] = [job["jid"] for job in found if {each["status"] for each in job["vertices"]} == {"RUNNING"}]
        return bool(running)

    _wait("the job to run", runs)
    return running[0]


def _taken(job: str) -> int:
    return int(_rest("GET", f"/jobs/{job}/checkpoints")["counts"]["completed"])


def _wait(what: str, done: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"Flink: waited {TIMEOUT_S} s for {what}, in vain. See the lab's logs.")
        time.sleep(0.3)


def _rest(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"http://127.0.0.1:{REST_PORT}{path}", data, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
        found: dict[str, Any] = json.load(answer)
        return found
