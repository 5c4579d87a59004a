"""B9: a plan of 10,000 partitions drafted, written and digested, then read again.

Target: drafted, written and digested in 2 s or less; time per partition does not grow with their number.

    python benchmarks/b9_draft.py [--partitions 10000]
"""

import argparse
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

import offsetwise
from offsetwise import files, workflow
from offsetwise.model import Snapshot, Target
from offsetwise.model.digest import digest
from offsetwise.plan.draft import draft
from offsetwise.plan.reading import read_plan
from offsetwise.plan.request import DraftRequest
from tests.subjects import checkpoint

ROUNDS, TARGET_S = 5, 2.0
SAMPLE = Path(offsetwise.__file__).parent / "sample"
REQUEST = DraftRequest(targets=(Target(kind="spark-checkpoint"),), author="benchmark", subject=checkpoint("payments"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=10_000)
    full = parser.parse_args().partitions
    taken = {count: statistics.median(once(count) for _ in range(ROUNDS)) for count in (full // 4, full)}
    growth = (taken[full] / full) / (taken[full // 4] / (full // 4))
    for count, seconds in taken.items():
        print(f"{count:>7,} partitions: drafted, written and digested in {seconds:.2f} s of processor time")
    print(f"time per partition grows by a factor of {growth:.2f} over four times the partitions")
    return 0 if taken[full] <= TARGET_S and growth < 2 else 1


def once(count: int) -> float:
    seen = workflow.load_comparison(SAMPLE / "comparison-payments.json", SAMPLE / "old.json", SAMPLE / "new.json")
    row = seen.partitions[0]
    rows = tuple(replace(row, partition=number) for number in range(count))
    old, new = seen.snapshots
    comparison = replace(seen, partitions=rows, read_from=(wide(old, count), wide(new, count)))
    migration = workflow.sample()
    begun = time.process_time()
    plan = draft(comparison, migration, REQUEST, drafted_at="2026-11-21T00:00:00Z")
    data = files.dump(plan).encode()
    digest(data)
    taken = time.process_time() - begun
    assert read_plan(data, subject="the plan") == plan
    return taken


def wide(snapshot: Snapshot, count: int) -> Snapshot:
    topics = tuple(
        replace(topic, partitions=tuple(replace(topic.partitions[0], partition=number) for number in range(count)))
        for topic in snapshot.topics
        if topic.name == "payments"
    )
    return replace(snapshot, topics=topics)


if __name__ == "__main__":
    sys.exit(main())
