"""Record the cutover of the bundled Spark sample anew: `make sample-cutover`.

Three Spark jobs and a consumer group read the old cluster of a lab of their own while producers write to it. They are
moved by the commands that a team uses, in two waves, while `offsetwise status --watch --json --logs` looks: its lines
are the recording. What goes wrong on the way is real: a topic is not mirrored at first, and a job is started again
after its plan was drafted. Takes a quarter of an hour.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import yaml
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab, Policy
from offsetwise.lab.sample import migration_of
from offsetwise.pipeline.session import open_session

SAMPLE: Final = Path(__file__).parent.parent / "lib" / "offsetwise" / "sample"
FILE: Final = "cutover.jsonl.gz"
COMMAND: Final = str(Path(sys.executable).with_name("offsetwise"))
TOPICS: Final = {"orders": 4, "payments": 2, "clicks": 2}
LOG_START: Final = 40
"""Records of each partition that are deleted before the mirror begins, so that offsets differ."""
GROUP: Final = "shipping"
WAVES: Final = [
    {"name": "pilot", "jobs": ["checkpoint:payments"], "window": "30m"},
    {"name": "core", "after": ["pilot"], "jobs": ["checkpoint:orders", "checkpoint:clicks", f"group:{GROUP}"]},
]
RECORDS_PER_S: Final = 8
"""Written to each partition."""
BACKLOG: Final = 4_000
"""Written to each partition of the new cluster before its job starts there."""
READ_AT_ONCE: Final = 240
BATCH_S: Final = 3
WAIT_S: Final = 600
LOOK_S: Final = 5


@dataclass(slots=True)
class Writers:
    """Producers that write to topics until they are stopped."""

    stops: dict[str, threading.Event] = field(default_factory=dict)
    written: int = 0

    def start(self, bootstrap: str, topic: str) -> None:
        """Write to every partition of a topic."""
        stop = self.stops[topic] = threading.Event()
        threading.Thread(target=self._write, args=(bootstrap, topic, stop), daemon=True).start()

    def stop(self, *topics: str) -> None:
        """Write to them no more."""
        for topic in topics:
            self.stops[topic].set()

    def burst(self, bootstrap: str, topic: str, count: int) -> None:
        """Write so many records to every partition of a topic, at once."""
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2})
        for number in range(count):
            self._produce(producer, topic, number)
        producer.flush(60)

    def _write(self, bootstrap: str, topic: str, stop: threading.Event) -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2})
        number = 0
        while not stop.wait(1 / RECORDS_PER_S):
            self._produce(producer, topic, number)
            producer.poll(0)
            number += 1
        producer.flush(60)

    def _produce(self, producer: Producer, topic: str, number: int) -> None:
        for partition in range(TOPICS[topic]):
            self.written += 1
            key, value = f"k{number % 7}", f"{topic} {self.written}"
            producer.produce(topic, key=key, value=value, partition=partition)


class Reading:
    """A member of the group, which reads and commits until it is stopped."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(bootstrap, topic), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Leave the group, with everything committed."""
        self._stop.set()
        self._thread.join(60)

    def _read(self, bootstrap: str, topic: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "group.id": GROUP, "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": False, "log_level": 2})
        consumer.subscribe([topic])
        while not self._stop.is_set():
            if consumer.consume(READ_AT_ONCE, timeout=2):
                consumer.commit(asynchronous=False)
        consumer.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A Spark query that reads one topic and goes on until it is stopped."""

    spark: SparkSession
    name: str
    """Of the job, and of its topic."""
    stateful: bool

    def start(self, bootstrap: str, checkpoint: Path) -> Any:
        """Start it."""
        records = (
            self.spark.readStream.format("kafka")
            .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": self.name, "startingOffsets": "earliest"})
            .option("maxOffsetsPerTrigger", READ_AT_ONCE)
            .load()
            .selectExpr("CAST(key AS STRING) key")
        )
        frame = records.groupBy("key").agg(F.count("*")) if self.stateful else records
        return (
            frame.writeStream.outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{BATCH_S} seconds")
            .foreachBatch(_count)
            .start()
        )


def _count(batch: DataFrame, _: int) -> None:
    batch.count()


class Watch:
    """`status --watch`, whose lines are kept."""

    def __init__(self, folder: Path, *more: str) -> None:
        flags = ("--watch", "--json", "--logs", "--keep-going", "--every", str(LOOK_S), *more)
        self.lines: list[str] = []
        with (folder / "status.log").open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                (COMMAND, "status", "-m", "migration.yaml", "--folder", "out", *flags),
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._thread = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._thread.start()

    def _read(self, lines: IO[str]) -> None:
        for line in lines:
            self.lines.append(line)
            states = self.states
            say(f"look {len(self.lines)}: {' '.join(f'{name}={state}' for name, state in states.items())}")

    @property
    def states(self) -> dict[str, str]:
        """The state of each job at the newest look."""
        looks = [line for line in self.lines if '"offsetwise/status"' in line]
        return {job["job"]: job["state"] for job in json.loads(looks[-1])["jobs"]} if looks else {}

    def wait(self, job: str, *states: str) -> None:
        """Wait until a job is in one of some states."""
        wait_until(lambda: self.states.get(job) in states, f"{job} to become {' or '.join(states)}")

    def end(self) -> None:
        """Wait until it ends: all have caught up."""
        self._process.wait(WAIT_S)
        self._thread.join()


def wait_until(done: Callable[[], bool], what: str) -> None:
    """Wait for something.

    Raises:
        SystemExit: It did not come in time.
    """
    end = time.monotonic() + WAIT_S
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"Waited {WAIT_S} s for {what}, in vain. Nothing was recorded.")
        time.sleep(0.5)


def command(folder: Path, *arguments: str) -> None:
    """Run a command as a team would, in the folder of the migration file."""
    say(f"$ offsetwise {' '.join(arguments)}")
    ran = subprocess.run(  # noqa: S603 - our own command
        (COMMAND, *arguments), cwd=folder, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise SystemExit(f"It ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}")


@contextmanager
def prepared(lab: Lab, folder: Path) -> Iterator[Writers]:
    """Create the topics with records of which the first are deleted, and write to them inside the block."""
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap, "log_level": 2})
    for created in admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()]).values():
        created.result(60)
    writers = Writers()
    for topic in TOPICS:
        writers.burst(lab.old_bootstrap, topic, 4 * LOG_START)
    gone = [TopicPartition(topic, each, LOG_START) for topic, count in TOPICS.items() for each in range(count)]
    for deleted in admin.delete_records(gone).values():
        deleted.result(60)
    jobs = {"stateful": False, "sink": "foreachBatch", "tolerates_replay": False}
    body = migration_of(lab) | {
        "name": "orders-to-new",
        "topics": {"policy": "identity"},
        "checkpoints": [
            {
                "name": topic,
                "uri": f"./checkpoints/{topic}",
                "belongs_to": "old",
                "job": jobs | {"stateful": topic == "orders"},
            }
            for topic in TOPICS
        ],
        "groups": [GROUP],
        "waves": WAVES,
    }
    for name in ("applied", "checkpoints", "out"):
        (folder / name).mkdir()
    (folder / "migration.yaml").write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    for topic in TOPICS:
        writers.start(lab.old_bootstrap, topic)
    try:
        yield writers
    finally:
        writers.stop(*TOPICS)


def main() -> None:
    """Move the jobs and record it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path(".lab-cutover"), help="the lab's folder, which must be new")
    directory: Path = parser.parse_args().dir
    if directory.exists():
        raise SystemExit(f"{directory}: expected no lab yet, found a folder. Nothing was recorded.")
    lab = Lab.up(directory)
    with lab.no_longer_than_this_process():
        folder = directory.resolve() / "move"
        folder.mkdir()
        with prepared(lab, folder) as writers:
            lines = record(lab, folder, writers)
    keep(lines, folder, SAMPLE / FILE)


def record(lab: Lab, folder: Path, writers: Writers) -> Sequence[str]:
    """Move every job while it is watched; return the lines of the watch."""
    old = lab.old_bootstrap
    lab.start_mirror(Policy.IDENTITY, topics=["orders", "payments"])
    spark = open_session(SparkSettings(master="local[2]"), kafka=True)
    jobs = {name: Job(spark=spark, name=name, stateful=name == "orders") for name in TOPICS}
    queries = {name: job.start(old, folder / "checkpoints" / name) for name, job in jobs.items()}
    member = Reading(old, "orders")
    command(folder, "keygen", "--out", "bob", "--as", "bob")
    wait_until(lambda: all(query.lastProgress is not None for query in queries.values()), "the first batches")
    watch = Watch(folder, "--trust", "bob.pub", "--still-for", "30s")
    watch.wait("checkpoint clicks", "BLOCKED")
    time.sleep(2 * LOOK_S)
    lab.start_mirror(Policy.IDENTITY, topics=[*TOPICS])
    watch.wait("checkpoint clicks", "RUNNING")
    time.sleep(2 * LOOK_S)
    queries["payments"].stop()
    move_pilot(lab, folder, writers, watch, jobs["payments"])
    for name in ("orders", "clicks"):
        queries[name].stop()
    member.stop()
    move_core(lab, folder, writers, watch, jobs)
    watch.end()
    return watch.lines


def move_pilot(lab: Lab, folder: Path, writers: Writers, watch: Watch, job: Job) -> None:
    """Move the job of the first wave, which is stopped."""
    say("the pilot wave")
    time.sleep(LOOK_S)
    writers.stop("payments")
    watch.wait("checkpoint payments", "STOPPED", "MIRRORED")
    lab.wait_until_mirrored(["payments"], mirror=Policy.IDENTITY.value)
    compare(folder, watch, "payments")
    draft(folder, "payments")
    watch.wait("checkpoint payments", "PLANNED")
    apply(folder, watch, "payments")
    go_on(lab, folder, writers, job)
    watch.wait("checkpoint payments", "CAUGHT_UP")


def move_core(lab: Lab, folder: Path, writers: Writers, watch: Watch, jobs: Mapping[str, Job]) -> None:
    """Move the jobs of the second wave, which are stopped, one of them twice."""
    say("the core wave")
    time.sleep(LOOK_S)
    writers.stop("orders", "clicks")
    lab.wait_until_mirrored([*TOPICS], mirror=Policy.IDENTITY.value)
    watch.wait("checkpoint orders", "MIRRORED")
    compare(folder, watch, "orders")
    for name in ("orders", "clicks"):
        draft(folder, name)
    draft(folder, GROUP, kind="group", target=f"consumer-group:{GROUP}")
    watch.wait("checkpoint clicks", "PLANNED")
    say("somebody starts clicks again")
    writers.burst(lab.old_bootstrap, "clicks", 60)
    query = jobs["clicks"].start(lab.old_bootstrap, folder / "checkpoints" / "clicks")
    query.processAllAvailable()
    query.stop()
    watch.wait("checkpoint clicks", "STALE")
    apply(folder, watch, "orders")
    go_on(lab, folder, writers, jobs["orders"])
    apply(folder, watch, GROUP, kind="group")
    Reading(lab.new_bootstrap, "orders")
    lab.wait_until_mirrored(["clicks"], mirror=Policy.IDENTITY.value)
    time.sleep(130)  # a batch of the last two minutes may be one of a query that runs
    command(folder, "compare", "-m", "migration.yaml", "--all", "--out", "out")
    draft(folder, "clicks", again="-2")
    watch.wait("checkpoint clicks", "PLANNED")
    apply(folder, watch, "clicks", again="-2")
    go_on(lab, folder, writers, jobs["clicks"])


def compare(folder: Path, watch: Watch, name: str) -> None:
    """Compare all jobs, and wait until that is seen."""
    command(folder, "compare", "-m", "migration.yaml", "--all", "--out", "out")
    watch.wait(f"checkpoint {name}", "COMPARED")


def draft(
    folder: Path, name: str, *, kind: str = "checkpoint", target: str = "spark-checkpoint", again: str = ""
) -> None:
    """Draft the plan of a job."""
    out = f"out/plan-{name}{again}.json"
    flags = (f"--{kind}", name, "--target", target, "--author", "ada", "--out", out)
    command(folder, "draft", "-m", "migration.yaml", *flags)


def apply(folder: Path, watch: Watch, name: str, *, kind: str = "checkpoint", again: str = "") -> None:
    """Approve the plan of a job, apply it, and wait until that is seen."""
    plan, approval = f"out/plan-{name}{again}.json", f"out/plan-{name}{again}.approval"
    command(folder, "sign", plan, "--key", "bob", "--as", "bob", "--out", approval)
    watch.wait(f"{kind} {name}", "APPROVED")
    output = () if kind == "group" else ("--output", str(folder / "applied" / name))
    trusted = ("--approval", approval, "--trust", "bob.pub")
    command(folder, "apply", plan, "-m", "migration.yaml", *trusted, *output, "--execute")
    watch.wait(f"{kind} {name}", "APPLIED")


def go_on(lab: Lab, folder: Path, writers: Writers, job: Job) -> None:
    """Let the producers of a job's topic go on with the new cluster, and then the job."""
    writers.burst(lab.new_bootstrap, job.name, BACKLOG // TOPICS[job.name])
    time.sleep(LOOK_S)
    job.start(lab.new_bootstrap, folder / "applied" / job.name)


def keep(lines: Sequence[str], folder: Path, to: Path) -> None:
    """Keep the lines of a watch as the recording of a sample, without the folder that it was made in."""
    text = "".join(lines).replace(f"{folder}/", "")
    to.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    say(f"{len(lines)} lines, {to.stat().st_size:,} bytes")


def say(step: str) -> None:
    """Print a step to stderr, with the time."""
    print(f"{time.strftime('%H:%M:%S')} {step}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    main()
