"""B20: a positions file of 1,000,000 rows read, checked and joined with the snapshots of both clusters.

Two files, each round in a new process: 100 groups with a commit in each of 10,000 partitions, as `kafka-consumer-groups
--export` prints them, and one position in each of 1,000,000 partitions. The snapshots are what the clusters would say,
in memory before the clock starts; their part of the memory is printed beside the whole. The peer is a script around
`jq` and text of `kafka-get-offsets`: it joins the same numbers, checks nothing, and keeps one cluster's ends.

Target, of the first file: 10 s, 512 MB.

    python -m benchmarks.b20_positions [--rows 1000000] [--rounds 5]
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

from offsetwise.comparison import Scene
from offsetwise.config import load_migration
from offsetwise.garbage import collected_seldom
from offsetwise.model import Cluster, PartitionState, Snapshot, Subject, TopicState
from offsetwise.progress import no_progress
from offsetwise.workflow.scenes import WantedJob, stage

TARGET_S, TARGET_MB = 10, 512
GROUPS, TOPICS = 100, 100
END = 5_000
PEER = """
($ends | split("\\n") | map(select(. != "") | split(":") | {key: (.[0] + "-" + .[1]), value: .[2]}) | from_entries)
as $at
| [inputs | split(",") | [.[0], .[1], .[2], .[3], $at[.[1] + "-" + .[2]]]] | length
"""


def main() -> int:
    """Write the files, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--join", type=Path, help="a file to join in this process, as each round does")
    given = parser.parse_args()
    if given.join is not None:
        print(json.dumps(joined(given.join, given.rows)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        groups, partitions = write_files(Path(name), given.rows)
        missed = told("100 groups in 10,000 partitions", groups, given.rows, given.rounds)
        told("one position in each of 1,000,000 partitions", partitions, given.rows, given.rounds)
        peer(groups, given.rows, min(given.rounds, 3))
    print("target met" if not missed else "TARGET MISSED: " + ", ".join(missed))
    return len(missed)


def write_files(folder: Path, rows: int) -> tuple[Path, Path]:
    """Write both files."""
    groups, partitions = folder / "groups.csv", folder / "partitions.csv"
    width = shape(groups, rows)[1]
    with groups.open("w", encoding="utf-8") as out:
        for group in range(GROUPS):
            for topic in range(TOPICS):
                out.writelines(f"group-{group},topic-{topic},{each},{1_000 + each + group}\n" for each in range(width))
    topics, width = shape(partitions, rows)
    with partitions.open("w", encoding="utf-8") as out:
        for topic in range(topics):
            out.writelines(f"topic-{topic},{each},{1_000 + each}\n" for each in range(width))
    return groups, partitions


def shape(file: Path, rows: int) -> tuple[int, int]:
    """Return how many topics a cluster of a file has, and partitions each of them."""
    return (TOPICS, max(1, rows // GROUPS // TOPICS)) if file.stem == "groups" else (max(1, rows // 1_000), 1_000)


def joined(file: Path, rows: int) -> dict[str, Any]:
    """Read a file as `compare` does, and join it with two snapshots."""
    path = file.with_suffix(".yaml")
    sides = {
        key: {"name": name, "properties": {"bootstrap.servers": f"{name}:9092"}}
        for key, name in (("source", "old"), ("target", "new"))
    }
    named = {"name": "job", "file": str(file), "shape": "kafka-consumer-groups-csv"}
    path.write_text(yaml.safe_dump({"name": "b20", **sides, "topics": {"policy": "identity"}, "positions": [named]}))
    migration = load_migration(path)
    topics, width = shape(file, rows)
    before = memory_mb()
    snapshots = (snapshot(Cluster.OLD, topics, width), snapshot(Cluster.NEW, topics, width))
    of_snapshots = memory_mb() - before
    begun, used = time.perf_counter(), time.process_time()
    job = WantedJob.of(Subject.either(checkpoint="job", group=None))
    ((_, scene),) = stage(migration, [job], snapshots=snapshots, groups=(), progress=no_progress).items()
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    if not isinstance(scene, Scene):
        raise SystemExit(str(scene))
    both = sum(query.old is not None and query.new is not None for query in scene.queries)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "snapshots_mb": of_snapshots, "joined": both}


def snapshot(side: Cluster, topics: int, width: int) -> Snapshot:
    """Return what a cluster with so many topics of so many partitions says."""
    with collected_seldom():
        states = tuple(
            TopicState(
                name=f"topic-{topic}",
                partitions=tuple(
                    PartitionState(partition=each, leader=1, leader_epoch=0, log_start=0, hw=END + each, lso=END + each)
                    for each in range(width)
                ),
            )
            for topic in range(topics)
        )
    name = str(side)
    return Snapshot(
        cluster=side, name=name, alias=name, cluster_id=name, taken_at="2026-11-27T00:00:00Z", topics=states
    )


def told(what: str, file: Path, rows: int, rounds: int) -> list[str]:
    """Measure some rounds, print them, and return what misses the target."""
    command = [sys.executable, "-m", "benchmarks.b20_positions", "--join", str(file), "--rows", str(rows)]
    runs = []
    for _ in range(rounds):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stderr[-2_000:])
        runs.append(json.loads(ran.stdout))
    wall, cpu = (statistics.median(run[key] for run in runs) for key in ("wall_s", "cpu_s"))
    peak, walls = max(run["peak_mb"] for run in runs), [run["wall_s"] for run in runs]
    print(
        f"{what}: {runs[0]['joined']:,} rows on both clusters; median {wall:.1f} s ({min(walls):.1f} to "
        f"{max(walls):.1f} s), {cpu:.1f} s of processor time, {peak} MB at most, {runs[0]['snapshots_mb']} MB of it "
        f"the snapshots; a file of {file.stat().st_size:,} bytes; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return [f"{wall:.1f} s"] * (wall > TARGET_S) + [f"{peak} MB"] * (peak > TARGET_MB)


def peer(file: Path, rows: int, rounds: int) -> None:
    """Let `jq` join the file with what `kafka-get-offsets` prints of one cluster."""
    jq = shutil.which("jq")
    if jq is None:
        print("peer: jq is not installed")
        return
    topics, width = shape(file, rows)
    ends = "".join(f"topic-{topic}:{each}:{END + each}\n" for topic in range(topics) for each in range(width))
    program = file.with_name("peer.jq")
    program.write_text(PEER)
    (file.with_name("ends.txt")).write_text(ends)
    took = []
    for _ in range(rounds):
        begun = time.perf_counter()
        command = [jq, "-nR", "--rawfile", "ends", str(file.with_name("ends.txt")), "-f", str(program), str(file)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        took.append(time.perf_counter() - begun)
        if int(ran.stdout) != rows:
            raise SystemExit(f"the peer joined {ran.stdout}")
    print(f"peer, jq: median {statistics.median(took):.1f} s ({min(took):.1f} to {max(took):.1f} s)")


def memory_mb() -> int:
    """Return the memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 2**20


if __name__ == "__main__":
    sys.exit(main())
