"""B19: `offsetwise init` on two clusters of 10,000 partitions with 500 groups, and 1,000 checkpoints.

Cold: each round is a new process of the installed command. Target: 15 s. There is no peer: people write the file.

    python -m benchmarks.b19_init [--partitions 500 --checkpoints 20 --groups 10 --rounds 1]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.b3_snapshot import LIMIT_S, PARTITIONS_PER_TOPIC, fill
from benchmarks.checkpoints import write_checkpoint
from offsetwise.lab import Lab

TARGET_S = 15
PARTITIONS, BATCHES = 20, 10
"""Of each checkpoint."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000, help="per cluster")
    parser.add_argument("--checkpoints", type=int, default=1_000)
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    # The lab's brokers have little memory; this is the one setting that wins over their command line.
    os.environ["_JAVA_OPTIONS"] = "-Xmx1500m"
    with tempfile.TemporaryDirectory() as name, Lab.up(Path(name) / "lab").no_longer_than_this_process() as lab:
        del os.environ["_JAVA_OPTIONS"]
        return run(lab, Path(name), arguments)


def run(lab: Lab, folder: Path, arguments: argparse.Namespace) -> int:
    topics = max(1, arguments.partitions // PARTITIONS_PER_TOPIC)
    for number in range(arguments.checkpoints):
        job = folder / "checkpoints" / f"team-{number % 20}" / f"job-{number}"
        write_checkpoint(job, topics={f"topic-{number % topics}": PARTITIONS}, batches=BATCHES)
    fill(lab.old_bootstrap, arguments.partitions, [f"group-{number}" for number in range(arguments.groups)])
    fill(lab.new_bootstrap, arguments.partitions, [])
    command = [str(Path(sys.executable).with_name("offsetwise")), "init", "--json"]
    command += ["--old", lab.old_bootstrap, "--new", lab.new_bootstrap, "--checkpoints", str(folder / "checkpoints")]
    end = time.monotonic() + LIMIT_S
    while (told := survey(command, folder / "first.yaml"))["problems"] and time.monotonic() < end:
        (folder / "first.yaml").unlink()  # a cluster with so many new topics takes a while to lead them all
    took = []
    for number in range(arguments.rounds):
        begun = time.perf_counter()
        told = survey(command, folder / f"{number}.yaml")
        took.append(time.perf_counter() - begun)
        if told["problems"] or len(told["checkpoints"]) != arguments.checkpoints or told["old"]["topics"] != topics:
            raise SystemExit(f"the survey is not whole: {told['problems']}")
    median, size = statistics.median(took), (folder / "0.yaml").stat().st_size
    print(f"{arguments.partitions:,} partitions, {arguments.checkpoints:,} checkpoints, {arguments.groups} groups")
    print(f"init: median {median:.2f} s ({min(took):.2f} to {max(took):.2f} s), a file of {size:,} bytes")
    print("target met" if median <= TARGET_S else "TARGET MISSED")
    return 0 if median <= TARGET_S else 1


def survey(command: list[str], out: Path) -> dict[str, Any]:
    """Run the command, and give what it printed."""
    ran = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=False)
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


if __name__ == "__main__":
    sys.exit(main())
