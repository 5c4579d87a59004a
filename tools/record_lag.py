"""Record the lag of the bundled sample migration anew: `make sample-lag`.

Uses the lab that `tools/record_sample.py` leaves running, or starts one. For about four minutes a producer writes to
`orders` on the old cluster and a group reads it there, while the job stays stopped; the mirror is stopped for a moment,
nobody samples for a moment, and in the end the mirror is stopped for good. The times are those of the recording.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from offsetwise import files
from offsetwise.config import load_migration
from offsetwise.lab import Lab
from offsetwise.lab.mirrors import Policy
from offsetwise.lab.sample import GROUP, GROUP_POSITIONS, MIRRORED, make_sample
from offsetwise.model import LagSample
from offsetwise.watch.reading import take_samples
from offsetwise.watch.sampler import subjects_of

RECORDED = Path(__file__).parent.parent / "lib" / "offsetwise" / "sample"
EVERY_S: Final = 4.0
RECORDS_PER_S: Final = 5
"""For each of the partitions of `orders`."""
MIRROR_RESTS_S: Final = (40, 70)
NOBODY_SAMPLES_S: Final = (116, 134)
MIRROR_ENDS_S: Final = 160
END_S: Final = 236


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".lab"), help="the lab's folder")
    lab = Lab.up(parser.parse_args().dir)
    record_lag(lab, make_sample(lab, said=say), RECORDED, group=GROUP, positions=GROUP_POSITIONS)


def record_lag(lab: Lab, path: Path, to: Path, *, group: str, positions: Sequence[int]) -> None:
    """Record the lag of a lab's migration.

    Args:
        lab: The lab, whose mirrors run.
        path: The migration file.
        to: The folder of the recording.
        group: The group that reads `orders` meanwhile.
        positions: Its start, by partition.
    """
    migration = load_migration(path)
    subjects = subjects_of(migration, [each.name for each in migration.checkpoints])
    taken: list[LagSample] = []
    began = time.monotonic()
    with _written(lab, group, positions), _mirror_stopped_twice(lab):
        for number in range(int(END_S / EVERY_S)):
            due = number * EVERY_S
            if NOBODY_SAMPLES_S[0] <= due < NOBODY_SAMPLES_S[1]:
                continue
            time.sleep(max(0.0, began + due - time.monotonic()))
            before = dict(zip(subjects, taken[-len(subjects) :], strict=False))
            samples = take_samples(
                migration, subjects, sampled_by="the recording", interval_ms=int(EVERY_S * 1000), before=before
            )
            taken.extend(samples)
            say(f"{time.monotonic() - began:5.1f} s: sample {number}")
    text = "".join(files.dump(sample, indent=None) for sample in taken)
    recorded = to / "lag.jsonl.gz"
    recorded.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    say(f"{len(taken)} samples, {recorded.stat().st_size:,} bytes")


@contextmanager
def _written(lab: Lab, group: str, positions: Sequence[int]) -> Iterator[None]:
    """Write to `orders` and let the group follow, until the end."""
    stop = threading.Event()
    thread = threading.Thread(target=_write_and_read, args=(lab, group, positions, stop))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _write_and_read(lab: Lab, group: str, positions: Sequence[int], stop: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": lab.old_bootstrap, "linger.ms": 5, "log_level": 2})
    consumer = Consumer({"bootstrap.servers": lab.old_bootstrap, "group.id": group, "enable.auto.commit": False})
    read, written = 0, 0
    while not stop.wait(1.0):
        for _ in range(RECORDS_PER_S):
            for partition in range(len(positions)):
                producer.produce("orders", key=f"k{written % 7}", value=f"order {written}", partition=partition)
            written += 1
        producer.flush(30)
        read += RECORDS_PER_S - 1
        places = [TopicPartition("orders", each, offset + read) for each, offset in enumerate(positions)]
        consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@contextmanager
def _mirror_stopped_twice(lab: Lab) -> Iterator[None]:
    policy = Policy.IDENTITY
    first, last = MIRROR_RESTS_S
    timers = [
        threading.Timer(first, lab.stop_mirror, [policy.value]),
        threading.Timer(last, lab.start_mirror, [policy], {"topics": MIRRORED[policy]}),
        threading.Timer(MIRROR_ENDS_S, lab.stop_mirror, [policy.value]),
        # Its heartbeats come from every mirror of the flow; the other one must not hide that this one is stopped.
        threading.Timer(MIRROR_ENDS_S, lab.stop_mirror, [Policy.DEFAULT.value]),
    ]
    for timer in timers:
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()


def say(step: str) -> None:
    print(step, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
