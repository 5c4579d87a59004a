"""B12: one job of 8 partitions compared, from a cold command and again in a warm process; B13: 200 jobs at once.

Then the status of these 200 jobs, from the clusters, the checkpoints and the folder of the comparison.

Two real clusters; the old one has lost the first 100 records of each partition, the new one never had them. The peer of
B12 is a new process with a plain consumer of each cluster that reads the same windows, and does nothing with them. That
of B13 is this build's comparison of one job in a warm process, ten of them, multiplied.

Targets: cold 8 s, warm 2 s; 200 jobs of 20 partitions over 50 shared topics 60 s. Wall time says how busy the machine
is, so processor time and load stand beside it.

    python -m benchmarks.b12_compare [--jobs 200] [--records 5000] [--rounds 5]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import offsetwise
from benchmarks.checkpoints import write_checkpoint
from benchmarks.processor import cpu_s
from offsetwise import Migration
from offsetwise.lab import Lab
from offsetwise.lab.java import find_java
from offsetwise.pipeline import window_reader
from offsetwise.pipeline.class_archive import archive_for

COLD_S, WARM_S, ALL_S, STATUS_S = 8, 2, 60, 2
PARTITIONS, LOST, BATCH = 8, 100, 60
JOBS, JOB_PARTITIONS, TOPICS, SHARED_PARTITIONS = 200, 20, 50, 10
ONE_BY_ONE = 10
STATUS_ROUNDS = 5
STARTED_MS = 1_790_000_000_000

PEER = """
import json, sys
from confluent_kafka import Consumer, TopicPartition
from offsetwise.streams.ranges import consumer_configuration

read = 0
for bootstrap, windows in json.load(sys.stdin):
    consumer = Consumer(consumer_configuration({"bootstrap.servers": bootstrap}))
    left = {(topic, partition): end for topic, partition, start, end in windows}
    consumer.assign([TopicPartition(topic, partition, start) for topic, partition, start, end in windows])
    while left:
        for message in consumer.consume(1_000, timeout=0.1):
            key = message.topic(), message.partition()
            if key in left and not message.error():
                read += message.offset() < left[key]
            if key in left and (message.error() or message.offset() >= left[key] - 1):
                del left[key]
    consumer.close()
print(read)
"""


KEEP = [sys.executable, "-m", "offsetwise.pipeline.class_archive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run took."""

    wall_s: float
    cpu_s: float


def main() -> int:
    """Fill two clusters, compare, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=JOBS, help="of B13; 0 for B12 alone")
    parser.add_argument("--records", type=int, default=5_000, help="of each partition on the new cluster")
    parser.add_argument("--rounds", type=int, default=5, help="of B12; 0 for B13 alone")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Lab.up(Path(name) / "lab").no_longer_than_this_process() as lab:
        missed = one(lab, Path(name), given.records, given.rounds) if given.rounds else []
        if given.jobs:
            missed += many(lab, Path(name), given.jobs, given.records)
    print("targets met" if not missed else "TARGET MISSED: " + ", ".join(missed))
    return len(missed)


def one(lab: Lab, folder: Path, records: int, rounds: int) -> list[str]:
    """B12."""
    topics = {"b12": PARTITIONS}
    fill(lab, topics, records)
    path = write_migration(lab, folder / "one", {"job": topics}, records)
    command = [str(Path(sys.executable).with_name("offsetwise")), "compare", "-m", str(path)]
    command += ["--checkpoint", "job", "--json"]
    archive = archive_for(find_java())
    archive.unlink(missing_ok=True)
    without = [run(command, SPARK_SUBMIT_OPTS="-Xshare:auto") for _ in range(rounds)]
    kept = [timed(lambda: subprocess.run([*KEEP, str(archive)], check=True))]
    cold = [run(command) for _ in range(rounds)]
    job = Migration.load(path).checkpoint("job")
    steps: list[str] = []
    first = [timed(lambda: steps.append(profile(job)))]
    windows: list[Any] = []
    keep_windows(windows)
    job.compare()
    counted = len(windows), sum(len(each) for each in windows)
    asked = [each for some in windows for each in some]
    warm = [timed(job.compare) for _ in range(rounds)]
    steps.append(profile(job))
    spans = [
        (bootstrap, spans_of(asked, side))
        for bootstrap, side in ((lab.old_bootstrap, "old"), (lab.new_bootstrap, "new"))
    ]
    peer = [run([sys.executable, "-c", PEER], json.dumps(spans)) for _ in range(rounds)]
    told("B12 cold command without kept classes", without)
    told("B12 keeping them, once, after the first", kept)
    told("B12 cold command", cold)
    told("B12 first in this process, its JVM counted", first)
    told("B12 warm", warm)
    told("B12 peer, a plain consumer", peer)
    print(f"one comparison: {counted[0]} Spark jobs, {counted[1]} windows of both logs")
    print(f"by step, first in a process: {steps[0]}\nby step, warm: {steps[1]}", flush=True)
    return [
        f"{name} {median(runs):.1f} s"
        for name, runs, aim in (("cold", cold, COLD_S), ("warm", warm, WARM_S))
        if median(runs) > aim
    ]


def many(lab: Lab, folder: Path, jobs: int, records: int) -> list[str]:
    """B13."""
    topics = {f"b13-{number}": SHARED_PARTITIONS for number in range(TOPICS)}
    fill(lab, topics, records)
    width = JOB_PARTITIONS // SHARED_PARTITIONS
    of_jobs = {
        f"job-{number}": {f"b13-{(number * width + each) % TOPICS}": SHARED_PARTITIONS for each in range(width)}
        for number in range(jobs)
    }
    path = write_migration(lab, folder / "many", of_jobs, records)
    migration = Migration.load(path)
    migration.checkpoint("job-0").compare()
    alone = [timed(migration.checkpoint(f"job-{number}").compare) for number in range(min(ONE_BY_ONE, jobs))]
    windows: list[Any] = []
    keep_windows(windows)
    every: list[offsetwise.Compared] = []
    taken = timed(lambda: every.extend(migration.compare_all()))
    right = sum(
        row.target_offset == (row.source_offset or 0) - LOST
        for each in every
        if each.comparison is not None
        for row in each.comparison.partitions
    )
    told("B13 one by one", alone)
    told(f"B13 {jobs} jobs at once", [taken])
    print(
        f"{len(every)} jobs, {right:,} positions right of {jobs * JOB_PARTITIONS:,}; {len(windows)} Spark jobs, "
        f"{sum(map(len, windows)):,} windows; {median(alone) * jobs / taken.wall_s:.0f} times as fast as one by one",
        flush=True,
    )
    compared = folder / "compared"
    migration.compare_all(out=compared, records=False)
    looks = [timed(lambda: migration.status(folder=compared)) for _ in range(STATUS_ROUNDS)]
    told(f"status of {jobs} jobs", looks)
    return [
        *[f"all {taken.wall_s:.1f} s"] * (taken.wall_s > ALL_S),
        *[f"status {median(looks):.1f} s"] * (median(looks) > STATUS_S),
    ]


def fill(lab: Lab, topics: dict[str, int], records: int) -> None:
    """Write the same records to both clusters, without the first ones on the new one, and trim those on the old one."""
    for bootstrap, first in ((lab.old_bootstrap, 0), (lab.new_bootstrap, LOST)):
        admin = AdminClient({"bootstrap.servers": bootstrap})
        made = admin.create_topics([NewTopic(topic, width, 1) for topic, width in topics.items()])
        for each in made.values():
            each.result(120)
        producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 500_000})
        for topic, width in topics.items():
            for partition in range(width):
                for number in range(first, records + LOST):
                    key = str(number).encode()
                    value = f"{topic}-{partition}-{number}".encode()
                    producer.produce(topic, value, key, partition, timestamp=STARTED_MS + number)
                producer.poll(0)
            producer.flush(120)
        if first == 0:
            moved = [Place(topic, partition, LOST) for topic, width in topics.items() for partition in range(width)]
            for deleted in admin.delete_records(moved).values():
                deleted.result(120)


def write_migration(lab: Lab, folder: Path, jobs: dict[str, dict[str, int]], records: int) -> Path:
    """Write a migration file, and for each job a checkpoint near the logs' end whose last batch is planned."""
    for number, (name, topics) in enumerate(jobs.items()):
        last = records + LOST - 200 - number % 7
        write_checkpoint(folder / name, batches=2, topics=topics, first=last - 2 * BATCH, step=BATCH)
    path = folder / "migration.yaml"
    body = {
        "name": "b12",
        "source": {"name": "old", "properties": {"bootstrap.servers": lab.old_bootstrap}},
        "target": {"name": "new", "properties": {"bootstrap.servers": lab.new_bootstrap}},
        "topics": {"policy": "identity"},
        "checkpoint_roots": [str(folder)],
        "checkpoints": [{"name": name, "uri": str(folder / name)} for name in jobs],
        "spark": {"master": "local[2]"},
    }
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return path


def keep_windows(kept: list[Any]) -> None:
    """Note what every Spark job that reads windows is asked for."""
    original: Any = window_reader.answer_by_clients  # type: ignore[attr-defined] # as this module calls it
    while hasattr(original, "noted"):
        original = original.noted

    def noted(spark: Any, clients: Any, task_lists: Any, **how: Any) -> Any:
        kept.append([each for tasks in task_lists for each in tasks])
        return original(spark, clients, task_lists, **how)

    noted.noted = original  # type: ignore[attr-defined] # so that the next one replaces it
    window_reader.answer_by_clients = noted  # type: ignore[attr-defined] # as above


def spans_of(asked: Sequence[Any], side: str) -> list[tuple[str, int, int, int]]:
    """Return what was read of each partition of one cluster, as one span."""
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for each in asked:
        span = getattr(each.task, side)
        key = getattr(each, f"{side}_topic"), each.partition
        low, high = found.get(key, (span.start, span.end))
        found[key] = min(low, span.start), max(high, span.end)
    return [(topic, partition, low, high) for (topic, partition), (low, high) in sorted(found.items())]


def profile(job: Any) -> str:
    """Compare once, and say what each step took."""
    begun = last = time.perf_counter()
    steps: list[tuple[str, float]] = []
    at = "begin"

    def heard(step: str, _done: int, _total: int) -> None:
        nonlocal last, at
        now = time.perf_counter()
        if step != at:
            steps.append((at, now - last))
            last, at = now, step

    job.compare(progress=heard)
    heard("", 0, 0)
    parts = "; ".join(f"{step} {took:.2f}" for step, took in steps)
    return f"{parts}; together {time.perf_counter() - begun:.2f} s"


def timed(work: Any) -> Run:
    """Do something here, and count the processor time of this process and of all below it."""
    begun, before = time.perf_counter(), cpu_s(os.getpid())
    work()
    return Run(wall_s=time.perf_counter() - begun, cpu_s=cpu_s(os.getpid()) - before)


def run(command: list[str], given: str = "", **environment: str) -> Run:
    """Run a command to its end. What it leaves behind is not counted."""
    begun, before = time.perf_counter(), os.times()
    env = {**os.environ, **environment}
    ran = subprocess.run(command, input=given, env=env, capture_output=True, text=True, check=False)
    took = time.perf_counter() - begun
    if ran.returncode:
        raise SystemExit(f"{command[0]} ended with {ran.returncode}: {ran.stderr[-2_000:]}")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(wall_s=took, cpu_s=used)


def median(runs: Sequence[Run]) -> float:
    """Return the median of the wall times."""
    return statistics.median(each.wall_s for each in runs)


def told(what: str, runs: Sequence[Run]) -> None:
    """Print a line about some runs."""
    walls = [each.wall_s for each in runs]
    used = statistics.median(each.cpu_s for each in runs)
    print(
        f"{what}: median {median(runs):.2f} s ({min(walls):.2f} to {max(walls):.2f} s), "
        f"{used:.1f} s of processor time, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
