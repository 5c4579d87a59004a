"""Record the bundled Flink sample anew: `make sample-flink`.

A real Flink SQL job reads the old cluster of a separate lab, takes checkpoints as the topics grow, and is stopped with
a savepoint when `orders-0` ends at 1,050. A second job takes a savepoint there and continues while the topics grow;
then it is killed, so that its sink has the open transactions of the savepoint, and later ones. Both mirrors copy the
topics, and the results of the library are written to lib/offsetwise/sample_flink: the checkpoints before the stop, the
savepoints, the transactions on the sinks' cluster, snapshots of both clusters, the comparisons with their evidence,
every topic counted, and the lag over some minutes.

The version of Flink is the newest one that the end-to-end tests run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import struct
import time
from itertools import pairwise
from pathlib import Path
from typing import Final

import yaml
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from flink_job import AUDIT, COUNTS, TRANSACTION_TIMEOUT_MS, checkpoints_of, flink_job
from record_lag import record_lag, say
from record_sample import ADDRESSES, record

from offsetwise import files, workflow
from offsetwise.config import load_migration
from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.lab import Lab
from offsetwise.lab.flink import TIMEOUT_S
from offsetwise.lab.records import SECOND_PARTITION_LESS
from offsetwise.lab.sample import (
    LOG_END,
    MIRRORED,
    STEPS,
    create_topics,
    migration_of,
    move_log_start,
    produce,
    start_mirrors,
)
from tests.integration.flink_distribution import DISTRIBUTIONS

SAMPLE: Final = Path(__file__).parent.parent / "lib" / "offsetwise" / "sample_flink"
READ_S: Final = 5.0
"""Time for the job before each checkpoint, so that it has read what was produced."""
LABEL: Final = b"file:/lab"
"""Prefix of the names of state, instead of the lab's folder."""
JOB: Final = {
    "stateful": True,
    "watermark_ms": 10_000,
    "sink": "kafka",
    "tolerates_replay": False,
    "sql": True,
    "commits_to": COUNTS.name,
    "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
    "sink_cluster": "old",
    "sink_servers": ADDRESSES["source"],
}
AUDIT_JOB: Final = {
    "stateful": False,
    "sink": "kafka",
    "tolerates_replay": False,
    "sql": True,
    "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
    "sink_cluster": "old",
    "new_sink_cluster": "new",
    "sink_servers": ADDRESSES["source"],
}
SINK_SNAPSHOT: Final = "sink.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, default=Path(".lab-flink"), help="the lab's folder, which must be new")
    options = parser.parse_args()
    if options.dir.exists():
        raise SystemExit(f"{options.dir}: expected no lab yet, found a folder. Nothing was recorded.")
    lab = Lab.up(options.dir)
    path = _made(lab)
    record(path, lab, SAMPLE)
    shutil.copy(path.with_name(SINK_SNAPSHOT), SAMPLE)
    record_lag(lab, path, SAMPLE, group=COUNTS.name, positions=_committed(lab))


def _made(lab: Lab) -> Path:
    create_topics(lab)
    admin = AdminClient({"bootstrap.servers": lab.old_bootstrap})
    for made in admin.create_topics([NewTopic(COUNTS.name, 1, 1), NewTopic(AUDIT.name, 2, 1)]).values():
        made.result(60)
    produce(lab, 0, STEPS[0])
    move_log_start(lab)
    kept = lab.directory / "checkpoints"
    kept.mkdir()
    classpath = DISTRIBUTIONS[-1].classpath()
    with flink_job(lab, COUNTS, classpath=classpath) as job:
        say(f"Flink runs {job.id}")
        retained = checkpoints_of(lab, COUNTS) / job.id
        for before, end in pairwise(STEPS):
            produce(lab, before, end)
            while _orders(_newest(retained)) != (end, end - SECOND_PARTITION_LESS):
                time.sleep(READ_S)
                job.checkpoint()
            say(f"a checkpoint at {end}")
        # A clean stop removes them; these are what a crash right before it would have left.
        shutil.copytree(retained, kept / job.id)
        savepoint = job.stop(kept)
        say(f"stopped with {savepoint.name}")
    with flink_job(lab, AUDIT, classpath=classpath) as audit:
        _wait_until_written(lab)
        pending = audit.savepoint(kept)
        produce(lab, STEPS[-1], LOG_END)
        _wait_until_written(lab)
    say(f"killed after {pending.name}")
    for metadata in kept.rglob("_metadata"):
        _shorten_names(metadata, lab.directory.resolve())
    newest = _newest(kept / job.id)
    body = migration_of(lab) | {
        "name": "order-counts-to-new",
        "checkpoints": [
            {"name": "order-counts", "uri": f"./checkpoints/{savepoint.name}", "job": dict(JOB)},
            {
                "name": "order-counts-retained",
                "uri": f"./checkpoints/{job.id}/{newest.name}",
                "job": dict(JOB),
            },
            {
                "name": AUDIT.name,
                "uri": f"./checkpoints/{pending.name}",
                "belongs_to": "old",  # its positions are within both clusters' logs
                "job": AUDIT_JOB,
            },
        ],
        "groups": [COUNTS.name],
    }
    path = lab.directory / "migration.yaml"
    path.write_text(yaml.safe_dump(body, sort_keys=False), encoding="utf-8")
    migration = load_migration(path)
    taken = workflow.sink_snapshot(migration, [each.name for each in migration.checkpoints])
    path.with_name(SINK_SNAPSHOT).write_text(files.dump(taken), encoding="utf-8")
    say(f"{len(taken.records)} open transactions counted")
    start_mirrors(lab)
    for policy, topics in MIRRORED.items():
        lab.wait_until_mirrored(topics, mirror=policy)
    return path


def _wait_until_written(lab: Lab) -> None:
    """Wait until the second job has written every order, committed or not."""
    end = time.monotonic() + TIMEOUT_S
    while _records(lab, AUDIT.name) != _records(lab, "orders"):
        if time.monotonic() > end:
            raise SystemExit(f"{AUDIT.name}: waited {TIMEOUT_S} s for every order in it, in vain.")
        time.sleep(1)


def _records(lab: Lab, topic: str) -> int:
    """Count the records of a topic of two partitions that has no markers yet."""
    settings = {"bootstrap.servers": lab.old_bootstrap, "group.id": "count", "isolation.level": "read_uncommitted"}
    consumer = Consumer(settings)
    ends = [consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=30) for each in range(2)]
    consumer.close()
    return sum(high - low for low, high in ends)


def _shorten_names(metadata: Path, directory: Path) -> None:
    """Remove the lab's folder from the names of state inside the file itself: labels, which nobody opens."""
    written = metadata.stat()
    prefix = f"file:{directory}".encode()
    name = re.compile(b"(..)" + re.escape(prefix), re.DOTALL)

    def shorter(found: re.Match[bytes]) -> bytes:
        (length,) = struct.unpack(">H", found[1])
        return struct.pack(">H", length - len(prefix) + len(LABEL)) + LABEL

    metadata.write_bytes(name.sub(shorter, metadata.read_bytes()))
    os.utime(metadata, ns=(written.st_atime_ns, written.st_mtime_ns))


def _newest(folder: Path) -> Path:
    return max(folder.glob("chk-*"), key=lambda each: int(each.name.removeprefix("chk-")), default=folder)


def _orders(checkpoint: Path) -> tuple[int, ...]:
    """Return where a checkpoint resumes in `orders`; empty if there is no checkpoint yet."""
    if not (checkpoint / "_metadata").is_file():
        return ()
    (source,) = read_checkpoint(str(checkpoint)).sources
    found = sorted((at.partition, at.offset) for at in source.positions if at.topic == "orders")
    return tuple(offset for _, offset in found)


def _committed(lab: Lab) -> tuple[int, ...]:
    """Return the offsets of `orders` that the job's group has committed."""
    consumer = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": COUNTS.name, "enable.auto.commit": False})
    wanted = [TopicPartition("orders", partition) for partition in range(2)]
    found = consumer.committed(wanted, timeout=30)
    consumer.close()
    return tuple(each.offset for each in found)


if __name__ == "__main__":
    main()
