"""The reference migration: six topics, a stateful job stopped inside a batch, a group, and two mirrors."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import yaml
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic

from offsetwise.errors import LabError
from offsetwise.lab import making, progress, records
from offsetwise.lab.cluster import Lab
from offsetwise.lab.making import TIMEOUT_S
from offsetwise.lab.mirrors import Policy
from offsetwise.lab.plan_of_jobs import MIGRATION

WAIT_S: Final = 90
STEPS: Final = (400, 500, 600, 700, 800, 900, 1050)
"""End of `orders-0` when each committed batch was planned."""
PLANNED: Final = 1100
"""End of `orders-0` for the batch that was planned and never committed."""
LOG_END: Final = 1200
LOG_START: Final = 100
"""Difference of the offsets: the mirrors start after older records were deleted."""
TICKS_PER_FLUSH: Final = 40
"""One minute of record time: batches stay small, so that `profiles` gets segments that can be compacted."""
GROUP: Final = "orders-etl"
GROUP_POSITIONS: Final = (1000, 975)

TOPICS: Final[dict[str, tuple[int, dict[str, str]]]] = {
    "orders": (records.ORDERS_PARTITIONS, {}),
    "payments": (records.PAYMENTS_PARTITIONS, {}),
    "profiles": (
        1,
        {"cleanup.policy": "compact", "segment.ms": "30000", "min.cleanable.dirty.ratio": "0.01"},
    ),
    "clicks": (1, {}),
    "audit": (1, {}),
    "beats": (1, {}),
}
RENAMED: Final = ("clicks",)
MIRRORED: Final = {
    Policy.IDENTITY: tuple(topic for topic in TOPICS if topic not in RENAMED),
    Policy.DEFAULT: RENAMED,
}


def make_sample(lab: Lab, *, said: Callable[[str], None] = lambda _: None) -> Path:
    """Create the reference migration, unless it exists, and return its `migration.yaml`.

    Args:
        lab: A running lab.
        said: Called with a description, including the duration, after each step.

    Raises:
        LabError: The brokers do not run, an earlier run was interrupted, or a step fails.
    """
    path = lab.directory / "migration.yaml"
    if path.is_file() and yaml.safe_load(path.read_text(encoding="utf-8")).get("name") != MIGRATION:
        start_mirrors(lab, only_ended=True)
        return path
    step = _Stopwatch(said)
    create_topics(lab)
    with _job(lab) as run:
        produce(lab, 0, STEPS[0])
        move_log_start(lab)
        _wait_until_compacted(lab)
        step("produced the first records")
        run("count")
        for before, end in pairwise(STEPS):
            produce(lab, before, end)
            run("count")
        step(f"ran {len(STEPS):,} batches of the job")
        produce(lab, STEPS[-1], PLANNED)
        run("fail")
        step("stopped it inside the next one")
        produce(lab, PLANNED, LOG_END)
        _commit_group(lab)
        start_mirrors(lab)
        run("copy")
        step("ran the second job")
    for policy, topics in MIRRORED.items():
        lab.wait_until_mirrored(topics, mirror=policy)
    _wait_for_group(lab)
    step("mirrored everything")
    _write(path, lab)
    return path


class _Stopwatch:
    def __init__(self, said: Callable[[str], None]) -> None:
        self._said, self._last = said, time.monotonic()

    def __call__(self, what: str) -> None:
        now = time.monotonic()
        self._said(f"{what} ({now - self._last:.1f} s)")
        self._last = now


def create_topics(lab: Lab) -> None:
    """Create the sample's topics on the old cluster, and on the new one those that are not mirrored unchanged.

    Raises:
        LabError: A topic exists already.
    """
    topics = [NewTopic(name, count, 1, config=config) for name, (count, config) in TOPICS.items()]
    stamped = NewTopic("audit", 1, 1, config={"message.timestamp.type": "LogAppendTime"})
    there = making.create_topics({lab.old_bootstrap: topics, lab.new_bootstrap: [stamped]})
    if there is not None:
        raise LabError(
            f"The lab in {lab.directory}: expected no topic {there!r} before the sample is made, found one, probably "
            "since an earlier run was interrupted. Nothing was added.",
            fix=f"To begin again, {_from_the_start(lab)}",
        )


def produce(lab: Lab, first: int, end: int) -> None:
    """Write the records of the ticks from `first` to `end`, exclusive, to the old cluster."""
    shared = {"bootstrap.servers": lab.old_bootstrap, "linger.ms": 5, "log_level": 2}
    producer = Producer(shared | {"enable.idempotence": True})
    for start in range(first, end, TICKS_PER_FLUSH):
        making.send(producer, records.plain(start, min(end, start + TICKS_PER_FLUSH)))
    paying = Producer(shared | {"transactional.id": "payments"})
    paying.init_transactions(TIMEOUT_S)
    for transaction in records.transactions(first, end):
        making.send_transaction(paying, transaction.records, aborted=transaction.aborted)


def move_log_start(lab: Lab) -> None:
    """Delete the first records of `orders`, so that its offsets differ on the new cluster."""
    moved = [TopicPartition("orders", partition, LOG_START) for partition in range(records.ORDERS_PARTITIONS)]
    making.delete_before(lab.old_bootstrap, moved)


def _wait_until_compacted(lab: Lab) -> None:
    wait_until(lab, "the old cluster to compact 'profiles'", lambda: _records_of(lab, "profiles") < STEPS[0])


def _records_of(lab: Lab, topic: str) -> int:
    return sum(1 for _ in progress.read_to_end(topic, bootstrap=lab.old_bootstrap))


def _commit_group(lab: Lab) -> None:
    consumer = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": GROUP, "enable.auto.commit": False})
    positions = [TopicPartition("orders", partition, offset) for partition, offset in enumerate(GROUP_POSITIONS)]
    consumer.commit(offsets=positions, asynchronous=False)
    consumer.close()


def _wait_for_group(lab: Lab) -> None:
    def arrived() -> bool:
        written = progress.read_to_end("old.checkpoints.internal", bootstrap=lab.new_bootstrap)
        return len({key for key, _ in written if GROUP.encode() in (key or b"")}) == len(GROUP_POSITIONS)

    wait_until(lab, f"MirrorMaker's checkpoints of the group {GROUP!r}", arrived)


def wait_until(lab: Lab, what: str, done: Callable[[], bool]) -> None:
    """Wait for a condition; `what` names it in the error.

    Raises:
        LabError: It was not met in time.
    """
    end = time.monotonic() + WAIT_S
    while not done():
        if time.monotonic() > end:
            raise LabError(
                f"The lab in {lab.directory}: waited {WAIT_S} s for {what}, in vain. The sample is not complete.",
                fix=f"Correct what the logs in {lab.directory / 'logs'} name, if anything, then {_from_the_start(lab)}",
            )
        time.sleep(0.2)


def _from_the_start(lab: Lab) -> str:
    folder = lab.directory
    return (
        f"run `offsetwise lab down --dir {folder}`, remove the folder, and run `offsetwise lab sample --dir {folder}`."
    )


def start_mirrors(lab: Lab, *, only_ended: bool = False) -> None:
    making.start_mirrors(lab, MIRRORED, only_ended=only_ended)


@contextmanager
def _job(lab: Lab) -> Iterator[Callable[[str], None]]:
    from offsetwise.lab import job  # noqa: PLC0415 - it needs PySpark

    command = [sys.executable, "-P", "-m", job.__name__, "--bootstrap", lab.old_bootstrap]
    command += ["--topics", ",".join(TOPICS), "--copied-topic", "payments", "--folder", str(lab.directory)]
    with (
        lab.log("job").open("w", encoding="utf-8") as log,
        subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        ) as process,
    ):

        def run(name: str) -> None:
            _tell(process.stdin, name)
            if not (process.stdout and process.stdout.readline()):
                said = lab.log("job").read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise LabError(
                    f"The lab in {lab.directory}: the sample job ended in {name!r}. The sample is not complete. "
                    f"{lab.log('job')} ends with: {' | '.join(said[-3:])}",
                    fix=f"Correct what the log names, then {_from_the_start(lab)}",
                )

        try:
            yield run
        finally:
            with suppress(BrokenPipeError):  # it has ended with unsent input
                if process.stdin:
                    process.stdin.close()


def _tell(stdin: IO[str] | None, line: str) -> None:
    try:
        if stdin:
            stdin.write(f"{line}\n")
            stdin.flush()
    except BrokenPipeError:
        return  # it has ended, which the missing answer shows


def migration_of(lab: Lab) -> dict[str, Any]:
    return {
        "name": "orders-to-new",
        "source": {"name": "old", "alias": "old", "properties": {"bootstrap.servers": lab.old_bootstrap}},
        "target": {"name": "new", "alias": "new", "properties": {"bootstrap.servers": lab.new_bootstrap}},
        "link": "mirrormaker",
        "isolation_level": "read_uncommitted",
        "topics": {"policy": "identity", "map": {topic: f"old.{topic}" for topic in RENAMED}},
        "checkpoint_roots": ["./checkpoints"],
        "checkpoints": [],
        "writers": "mirror-only",
        "write_roots": ["./applied"],
        "groups": [],
        "spark": {"master": "local[2]"},
    }


def _write(path: Path, lab: Lab) -> None:
    body = migration_of(lab) | {
        "checkpoints": [
            {
                "name": "orders",
                "uri": "./checkpoints/orders",
                "job": {"stateful": True, "watermark_ms": 600_000, "sink": "file", "tolerates_replay": False},
            },
            {"name": "payments", "uri": "./checkpoints/payments", "job": {"stateful": False, "sink": "file"}},
        ],
        "groups": [GROUP],
    }
    making.write_migration(path, body)
