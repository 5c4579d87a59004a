"""Reads groups from a broker that is frozen during each reading and thawed as the reading's time runs out.

A process of its own, because what it looks for is an abort: `python -m tests.integration.thawing BOOTSTRAP PID`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from offsetwise.config import ClusterConfig
from offsetwise.errors import ClusterUnreachableError
from offsetwise.model import Cluster
from offsetwise.plugins.kafka.stream.snapshot import read_whole

ROUNDS, GROUPS, TIMEOUT_S = 10, 300, 1.0


def main(bootstrap: str, pid: int) -> None:
    config = ClusterConfig(name="old", properties={"bootstrap.servers": bootstrap})
    groups = tuple(f"group-{number}" for number in range(GROUPS))
    for number in range(ROUNDS):
        freeze = threading.Timer(0.005 * (number + 1), os.kill, (pid, signal.SIGSTOP))
        thaw = threading.Timer(TIMEOUT_S + 0.01 * number, os.kill, (pid, signal.SIGCONT))
        freeze.start()
        thaw.start()
        try:
            read_whole(Cluster.OLD, config, topics=None, groups=groups, timeout_s=TIMEOUT_S)
        except ClusterUnreachableError:
            pass
        finally:
            freeze.join()
            thaw.join()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
