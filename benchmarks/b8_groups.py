"""B8: 500 groups of 20 partitions committed and read back, under the journal, against a loop over Kafka's own command.

Ours: every group is read and compared with what was reviewed, its line is synced to the journal, its offsets are
committed, and it is read back. Peer: `kafka-consumer-groups --reset-offsets --from-file` (Java), once per group, which
journals nothing; measured on a sample of the groups, and multiplied up to all of them.

Target: 10 s or less, 25 times as fast as the loop.

    python -m benchmarks.b8_groups [--groups 20]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from benchmarks.b3_snapshot import COMMAND, PARTITIONS_PER_GROUP, fill
from benchmarks.processor import cpu_s
from offsetwise.apply.disk import Disk
from offsetwise.apply.journal import Journal
from offsetwise.apply.writing import Context
from offsetwise.config import ClusterConfig
from offsetwise.lab import Lab
from offsetwise.lab.jars import kafka_jars
from offsetwise.lab.java import find_java
from offsetwise.model import GroupBefore, Plan, ReceiptStep, Target
from offsetwise.plugins.kafka.targets.group.kafka import KafkaGroups
from offsetwise.plugins.kafka.targets.group.writer import GroupWriter
from offsetwise.streams import client_process
from tests.apply.plans import POLLUTED, drafted
from tests.plugins.spark.folders import SAMPLES

TOPIC = "topic-0"
RECORDS = 20
"""Per partition: Kafka's command moves an offset that lies outside of the log."""
TARGET_S, TARGET = 10.0, 25


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sample", type=int, default=10, help="groups of the peer's loop")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Lab.up(Path(folder)).no_longer_than_this_process() as lab:
        names = [f"group-{number}" for number in range(given.groups)]
        return run(lab.new_bootstrap, Path(folder), names, given)


def run(bootstrap: str, folder: Path, names: list[str], given: argparse.Namespace) -> int:
    groups, rounds = len(names), given.rounds
    fill(bootstrap, PARTITIONS_PER_GROUP, names)
    _produce(bootstrap)
    taken, used = [], []
    for number in range(rounds):
        before = _used_s()
        taken.append(ours(bootstrap, folder, names, before=number, offset=number + 1))
        used.append(_used_s() - before)
    median = statistics.median(taken)
    print(f"{groups} groups × {PARTITIONS_PER_GROUP} partitions, {rounds} rounds, all read again by another client")
    print(f"read, journalled, committed, read back: median {median:.2f} s, {min(taken):.2f} to {max(taken):.2f} s")
    print(f"of the processor, reading again included: median {statistics.median(used):.2f} s")
    loop = [theirs(bootstrap, folder, name, rounds + 1) for name in names[: given.sample]]
    whole = statistics.median(loop) * groups
    print(f"the loop: median {statistics.median(loop):.2f} s for one group, measured on {len(loop)}")
    print(f"multiplied up to {groups} groups: {whole:.0f} s, {whole / median:.0f} times as long")
    _must_stand(bootstrap, names[: given.sample], rounds + 1)
    return 0 if median <= TARGET_S and whole / median >= TARGET else 1


def ours(bootstrap: str, folder: Path, names: list[str], *, before: int, offset: int) -> float:
    """Apply a plan with every group as a target; give the seconds from its first request to its last line."""
    plan = _plan(names, before=before, offset=offset, cluster_id=_cluster_id(bootstrap))
    begun = time.perf_counter()
    port = KafkaGroups(ClusterConfig(name="new", properties={"bootstrap.servers": bootstrap}))
    path = str(folder / f"{offset}.journal")
    with Journal.open(path, digest="00" * 32, begun_at="2026-01-01T00:00:00Z") as journal:
        steps = [(target, _context(journal, number)) for number, target in enumerate(plan.targets)]
        came = GroupWriter(port).write_all(plan, steps)
    seconds = time.perf_counter() - begun
    wrong = [one for one in came.values() if not isinstance(one, ReceiptStep)]
    if wrong or len(came) != len(names):
        raise SystemExit(f"not all were written: {len(came)} of {len(names)}; {wrong[:1]}")
    _must_stand(bootstrap, names, offset)
    return seconds


def _used_s() -> float:
    """Return the processor time of this process and of those in which it asks the cluster."""
    return time.process_time() + sum(cpu_s(process._process.pid) for process in client_process._waiting)


def _plan(names: list[str], *, before: int, offset: int, cluster_id: str) -> Plan:
    made = drafted(str(SAMPLES / POLLUTED))
    partitions = range(PARTITIONS_PER_GROUP)
    held = tuple((TOPIC, partition, before) for partition in partitions)
    one = replace(made.positions[0], topic=TOPIC, new_topic=TOPIC, new_offset=offset)
    return replace(
        made,
        targets=tuple(Target(kind="consumer-group", group=name) for name in names),
        positions=tuple(replace(one, partition=partition) for partition in partitions),
        requirements=replace(
            made.requirements,
            new=replace(made.requirements.new, cluster_id=cluster_id),
            groups=tuple(GroupBefore(group=name, state="Empty", offsets=held) for name in names),
        ),
    )


def _context(journal: Journal, step: int) -> Context:
    return Context(
        digest=journal.digest, output=None, write_roots=(), read_roots=None, step=step, journal=journal, disk=Disk()
    )


def theirs(bootstrap: str, folder: Path, group: str, offset: int) -> float:
    wanted = folder / "wanted.csv"
    wanted.write_text("".join(f"{TOPIC},{partition},{offset}\n" for partition in range(PARTITIONS_PER_GROUP)))
    command = [find_java(), "-cp", f"{kafka_jars()}/*", COMMAND, "--bootstrap-server", bootstrap]
    command += ["--group", group, "--reset-offsets", "--from-file", str(wanted), "--execute"]
    begun = time.perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if ran.returncode != 0 or "Error" in ran.stdout:
        raise SystemExit(f"kafka-consumer-groups failed: {(ran.stdout + ran.stderr)[-500:]}")
    return seconds


def _produce(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for partition in range(PARTITIONS_PER_GROUP):
        for _ in range(RECORDS):
            producer.produce(TOPIC, b"x", partition=partition)
    if producer.flush(30):
        raise SystemExit("not every record was delivered")


def _cluster_id(bootstrap: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    return str(admin.list_topics(timeout=30).cluster_id)


def _must_stand(bootstrap: str, names: list[str], offset: int) -> None:
    """Hold what a client of its own reads against what was to be written."""
    port = KafkaGroups(ClusterConfig(name="new", properties={"bootstrap.servers": bootstrap}))
    for group in port.read(names, cluster_id=_cluster_id(bootstrap)).values():
        if [one.offset for one in group.offsets] != [offset] * PARTITIONS_PER_GROUP:
            raise SystemExit(f"{group.name} is not at {offset}: {group}")


if __name__ == "__main__":
    sys.exit(main())
