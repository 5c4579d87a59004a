"""What the recordings of cutovers share: topics with producers, a group, the watch, and the commands.

Three topics of the old cluster, whose first records were deleted by retention, are written to until their producers are
stopped. `offsetwise status --watch --json --logs` runs meanwhile: its lines are the recording.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import yaml
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from offsetwise.lab import Lab
from offsetwise.lab.sample import migration_of
from offsetwise.watch.recording import CUTOVER

LIBRARY: Final = Path(__file__).parent.parent / "lib" / "offsetwise"
COMMAND: Final = str(Path(sys.executable).with_name("offsetwise"))
TOPICS: Final = {"orders": 4, "payments": 2, "clicks": 2}
LOG_START: Final = 40
"""Records of each partition that are deleted before the mirror begins, so that offsets differ."""
GROUP: Final = "shipping"
RECORDS_PER_S: Final = 8
"""Written to each partition."""
READ_AT_ONCE: Final = 240
WAITING: Final = 50_000
"""Maximum records that wait in a producer; its own limit is twice as high."""
WAIT_S: Final = 600
LOOK_S: Final = 5


@dataclass(slots=True)
class Writers:
    """Producers that write to topics until they are stopped."""

    stops: dict[str, threading.Event] = field(default_factory=dict)
    written: int = 0

    def start(self, bootstrap: str, topic: str) -> None:
        stop = self.stops[topic] = threading.Event()
        threading.Thread(target=self._write, args=(bootstrap, topic, stop), daemon=True).start()

    def stop(self, *topics: str) -> None:
        for topic in topics:
            self.stops[topic].set()

    def burst(self, bootstrap: str, topic: str, count: int) -> None:
        """Write `count` records to every partition of a topic, at once."""
        producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2})
        for number in range(count):
            self._produce(producer, topic, number)
            while len(producer) > WAITING:
                producer.poll(0.1)
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


class Watch:
    """A running `status --watch`, whose lines are kept."""

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
        wait_until(lambda: self.states.get(job) in states, f"{job} to become {' or '.join(states)}")

    def end(self) -> None:
        """Wait until it ends: all jobs have caught up."""
        self._process.wait(WAIT_S)
        self._thread.join()


def wait_until(done: Callable[[], bool], what: str) -> None:
    """Wait for a condition.

    Raises:
        SystemExit: It was not met in time.
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


def record(move: Callable[[Lab, Path], Sequence[str]], sample: str, said: str | None) -> None:
    """Record a cutover in a lab of its own, as that of a sample.

    Args:
        move: Moves all jobs in the lab, with the migration in a folder; returns the lines of the watch.
        sample: The folder of the sample, below the library's.
        said: Description of the script.
    """
    parser = argparse.ArgumentParser(description=said, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path(".lab-cutover"), help="the lab's folder, which must be new")
    directory: Path = parser.parse_args().dir
    if directory.exists():
        raise SystemExit(f"{directory}: expected no lab yet, found a folder. Nothing was recorded.")
    lab = Lab.up(directory)
    with lab.no_longer_than_this_process():
        folder = directory.resolve() / "move"
        folder.mkdir()
        lines = move(lab, folder)
    text = "".join(lines).replace(f"{folder}/", "")
    to = LIBRARY / sample / CUTOVER
    to.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    say(f"{len(lines)} lines, {to.stat().st_size:,} bytes")


@contextmanager
def written_to(lab: Lab) -> Iterator[Writers]:
    """Create the topics with records, delete the first ones, and write to the topics inside the block."""
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap, "log_level": 2})
    for created in admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()]).values():
        created.result(60)
    writers = Writers()
    for topic in TOPICS:
        writers.burst(lab.old_bootstrap, topic, 4 * LOG_START)
    gone = [TopicPartition(topic, each, LOG_START) for topic, count in TOPICS.items() for each in range(count)]
    for deleted in admin.delete_records(gone).values():
        deleted.result(60)
    for topic in TOPICS:
        writers.start(lab.old_bootstrap, topic)
    try:
        yield writers
    finally:
        writers.stop(*TOPICS)


def write_migration(lab: Lab, folder: Path, **more: object) -> None:
    """Write the migration file, with its checkpoints and waves, and create the folders that commands use."""
    body = migration_of(lab) | {"topics": {"policy": "identity"}, "groups": [GROUP]} | more
    for name in ("applied", "checkpoints", "out"):
        (folder / name).mkdir(exist_ok=True)
    path = folder / "migration.yaml"
    beside = path.with_suffix(".new")
    beside.write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    beside.replace(path)


def compare(folder: Path, watch: Watch, name: str, *which: str) -> None:
    """Compare all jobs, or those chosen by options, and wait until the watch shows it for one of them."""
    command(folder, "compare", "-m", "migration.yaml", *(which or ("--all",)), "--out", "out")
    watch.wait(f"checkpoint {name}", "COMPARED")


def draft(folder: Path, name: str, target: str, *, kind: str = "checkpoint", again: str = "") -> None:
    out = f"out/plan-{name}{again}.json"
    flags = (f"--{kind}", name, "--target", target, "--author", "ada", "--out", out)
    command(folder, "draft", "-m", "migration.yaml", *flags)


def apply(folder: Path, watch: Watch, name: str, *, kind: str = "checkpoint", again: str = "") -> None:
    """Approve the plan of a job, apply it, and wait until the watch shows it."""
    plan, approval = f"out/plan-{name}{again}.json", f"out/plan-{name}{again}.approval"
    command(folder, "sign", plan, "--key", "bob", "--as", "bob", "--out", approval)
    watch.wait(f"{kind} {name}", "APPROVED")
    output = () if kind == "group" else ("--output", str(folder / "applied" / name))
    trusted = ("--approval", approval, "--trust", "bob.pub")
    command(folder, "apply", plan, "-m", "migration.yaml", *trusted, *output, "--execute")
    watch.wait(f"{kind} {name}", "APPLIED")


def say(step: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {step}", file=sys.stderr, flush=True)
