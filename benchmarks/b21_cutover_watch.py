"""B21: `cutover --watch` over 10,000 partitions of real brokers, look by look.

A lab of two brokers; the old one stands behind a proxy that counts requests by their kind, while a producer writes to
one partition. Each look asks for the ends of all partitions; what is printed is the time from one look to the next
without the pause between them, the processor time of the whole command, and the requests of a look to the old broker.

Peer: `kafka-consumer-groups --describe` once per look, for a group with a commit in each partition: lag only, neither
producers nor transactions nor what the mirror has.

Target: 3 requests about ends and producers to a broker and look, whatever the number of partitions; those that connect
and learn who leads what are counted beside.

    python -m benchmarks.b21_cutover_watch [--partitions 10000] [--looks 12] [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Final

from kafka import TopicPartition

import offsetwise as ow
from offsetwise.lab import Lab
from offsetwise.lab.brokers import jvm
from offsetwise.model import Cutover
from tests.commands import COMMAND
from tests.integration.groups import commit
from tests.integration.relay import Request, relayed
from tests.integration.test_cutover_live import DESCRIBE_PRODUCERS, LIST_OFFSETS, migration, writing
from tests.integration.topics import create_divided
from tests.plugins.positions.live.test_positions_live import TOOL

PER_TOPIC, GROUP, TARGET_REQUESTS = 100, "described", 3
EVERY_S: Final = 1.0


def main() -> int:
    """Make the topics, watch them, let the peer describe them, print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--looks", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    # A broker opens up to three files of each partition.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    topics = [f"wide-{number:03}" for number in range(given.partitions // PER_TOPIC)]
    asked: Counter[int] = Counter()

    def forwards(request: Request) -> bool:
        asked[request.api] += 1
        return True

    with tempfile.TemporaryDirectory() as name, Lab.up(Path(name) / "lab").no_longer_than_this_process() as lab:
        for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
            for topic in topics:
                create_divided(bootstrap, topic, PER_TOPIC)
        with relayed([int(lab.old_bootstrap.rpartition(":")[2])], forwards=forwards) as address:
            path = migration(Path(name), address, lab.new_bootstrap)
            while missing := len(topics) * PER_TOPIC - len(looked(path, topics).partitions):
                print(f"B21 {missing:,} partitions are not there yet", flush=True)
                time.sleep(2)  # leaders of as many partitions take a moment
            asked.clear()
            with writing(lab.old_bootstrap, topics[0], given.looks * EVERY_S * 4):
                most = watched(path, topics, given.looks, asked)
            commit(lab.old_bootstrap, GROUP, {TopicPartition(t, n): 0 for t in topics for n in range(PER_TOPIC)})
            described(Path(name), address, given.rounds, asked)
    verdict = "met" if most <= TARGET_REQUESTS else "MISSED"
    print(f"B21 target: {TARGET_REQUESTS} requests about ends and producers to a broker and look: {verdict}")
    return int(most > TARGET_REQUESTS)


def looked(path: Path, topics: list[str]) -> Cutover:
    """Look once."""
    return ow.Migration.load(path).cutover(topics=topics, still_for_s=1, every_s=0.5, records=False)


def watched(path: Path, topics: list[str], looks: int, asked: Counter[int]) -> int:
    """Run the command until it has printed so many looks; return the most requests about ends and producers of one."""
    options = ["--watch", "--json", "--no-content", "--still-for", "1h", "--every", str(EVERY_S)]
    named = [part for topic in topics for part in ("--topic", topic)]
    requests: list[Counter[int]] = []
    at: list[float] = []

    def watch() -> None:
        command = [COMMAND, "cutover", "-m", str(path), *options, *named]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                assert len(json.loads(line)["partitions"]) == len(topics) * PER_TOPIC
                at.append(time.perf_counter())
                requests.append(asked.copy())
                asked.clear()
                if len(at) > looks:
                    break
            running.send_signal(signal.SIGINT)

    _, cpu = timed(watch)
    about = [each[LIST_OFFSETS] + each[DESCRIBE_PRODUCERS] for each in requests[1:]]
    others = [sum(each.values()) for each in requests[1:]]
    between = statistics.median(later - earlier for earlier, later in pairwise(at))
    print(
        f"B21 a look at {len(topics) * PER_TOPIC:,} partitions: median {between - EVERY_S:.2f} s and the pause; a run "
        f"with {len(at)} looks: {cpu:.1f} s of processor time; at most {max(about)} requests about ends and producers "
        f"in a look, {max(others)} with those that connect"
    )
    return max(about)


def described(folder: Path, address: str, rounds: int, asked: Counter[int]) -> None:
    """Let Kafka's own tool describe the group as often, and print what that took."""
    command = jvm(folder, TOOL, "--bootstrap-server", address, "--describe", "--group", GROUP, heap="1g")
    took = [timed(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(rounds)]
    print(
        f"B21 kafka-consumer-groups --describe: median {statistics.median(wall for wall, _ in took):.2f} s, "
        f"{statistics.median(cpu for _, cpu in took):.2f} s of processor time, "
        f"{sum(asked.values()) / rounds:.0f} requests"
    )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds by the clock, and those of the processor in processes that ended meanwhile."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begun, cpu


if __name__ == "__main__":
    raise SystemExit(main())
