"""Reads groups again and again while a cluster has no coordinator for them yet, and until it has one.

A process of its own, because what it looks for is a crash: `python -m tests.integration.unready BOOTSTRAP`.
"""

from __future__ import annotations

import sys
import time

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterUnreachableError
from offsetwise.model import Cluster
from offsetwise.plugins.kafka.stream.snapshot import read_whole

GROUPS = tuple(f"group-{number}" for number in range(40))
LIMIT_S, ANSWERS = 120, 5


def main(bootstrap: str) -> None:
    config = ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap})
    answered, end = 0, time.monotonic() + LIMIT_S
    for number in range(10_000):
        if answered >= ANSWERS or time.monotonic() > end:
            break
        timeout_s = 0.1 * (1 + number % 20)
        try:
            read = read_whole(Cluster.OLD, config, topics=(), groups=GROUPS, mirror=False, timeout_s=timeout_s)
        except ClusterUnreachableError:
            continue
        answered += all(group.error is None for group in read.groups)
    print(answered)


if __name__ == "__main__":
    main(sys.argv[1])
