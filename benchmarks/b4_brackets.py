"""B4: brackets of 10,000 positions by 2,000,000 syncs, as `compare` asks for them, against other ways to find them.

These are a bisect loop and MirrorMaker's own answer.

Target: 0.5 s or less for a position in each partition of a large cluster, 10,000; on every row at least as precise as
MirrorMaker, and never ahead of the right place.

    python benchmarks/b4_brackets.py [--scale 0.05] [--partitions 1000]
"""

import argparse
import statistics
import sys
import time
from bisect import bisect_right

import numpy as np

from offsetwise.model import LogRange, OffsetSync, TopicPartition
from offsetwise.translation.mirror import Mm2Store, NoAnswer, SyncIndex, mirror_candidates

POSITIONS, SYNCS, ROUNDS, SEED = 10_000, 2_000_000, 7, 20
TARGET_S = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full size, for trial runs")
    parser.add_argument("--partitions", type=int, default=1_000)
    arguments = parser.parse_args()
    partitions = arguments.partitions
    random = np.random.default_rng(SEED)
    per_partition = max(2, int(SYNCS * arguments.scale) // partitions)
    count = int(POSITIONS * arguments.scale)

    # Every copy between two syncs has a place of its own: upstream gaps are at least as wide as downstream ones.
    down_steps = random.integers(1, 101, (per_partition, partitions))
    up_steps = down_steps + np.where(random.random(down_steps.shape) < 0.5, 0, random.integers(0, 50, down_steps.shape))
    upstream, downstream = np.cumsum(up_steps, axis=0), np.cumsum(down_steps, axis=0)
    ordinal = np.tile(np.arange(partitions), per_partition)
    ends = downstream[-1] + 1

    begun = time.perf_counter()
    names = [TopicPartition("orders", number) for number in range(partitions)]
    index = SyncIndex(names, ordinal, upstream.ravel(), downstream.ravel())
    built_s = time.perf_counter() - begun

    asked = random.integers(0, partitions, count)
    position = random.integers(0, upstream[-1].max() + 100, count)
    logs = [LogRange(log_start=0, lso=end, hw=end) for end in ends.tolist()]
    questions = list(zip(asked.tolist(), position.tolist(), strict=True))
    took = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        answers = [
            mirror_candidates(at, "orders", number, index, (), "orders", logs[number]) for number, at in questions
        ]
        took.append(time.perf_counter() - begun)
    ours_s = statistics.median(took)
    brackets = [next(each for each in candidates if not each.guess) for candidates in answers]
    lows = np.array([bracket.lo for bracket in brackets])

    begun = time.perf_counter()
    columns = [column.tolist() for column in upstream.T]
    loop = [bisect_right(columns[number], at) - 1 for number, at in zip(asked.tolist(), position.tolist(), strict=True)]
    loop_s = time.perf_counter() - begun
    floors = np.array(loop)

    theirs, theirs_s = mirrormaker(upstream, downstream, asked, position)
    known = theirs >= 0
    place = np.where(floors >= 0, downstream[np.maximum(floors, 0), asked], 0)
    after = upstream[np.maximum(floors, 0), asked] < position
    lowest_right = place + (after & (floors >= 0))
    worse = int(np.sum(known & (lows < theirs)))
    ahead = int(np.sum(lows > np.minimum(lowest_right, ends[asked])))
    better = int(np.sum(known & (lows > theirs)))

    print(f"{count:,} positions, {per_partition * partitions:,} syncs, {partitions:,} partitions, seed {SEED}")
    print(f"index built once            {built_s:8.3f} s")
    print(f"offsetwise, median of {ROUNDS}     {ours_s:8.3f} s   (best {min(took):.3f} s)")
    print(f"bisect loop                 {loop_s:8.3f} s   {loop_s / ours_s:6.1f}×")
    print(f"MirrorMaker's store         {theirs_s:8.3f} s   {theirs_s / ours_s:6.1f}×")
    print(f"rows less precise than MirrorMaker: {worse}; more precise: {better}; ahead of the right place: {ahead}")
    met = ours_s <= TARGET_S and not worse and not ahead
    print("target met" if met else "TARGET MISSED")
    return 0 if met else 1


def mirrormaker(
    upstream: np.ndarray, downstream: np.ndarray, asked: np.ndarray, position: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return MirrorMaker's answer per position, -1 for none, and the seconds of answering (not of loading)."""
    answers = np.full(len(position), -1, dtype=np.int64)
    spent = 0.0
    for number in range(upstream.shape[1]):
        store = Mm2Store()
        pairs = zip(upstream[:, number].tolist(), downstream[:, number].tolist(), strict=True)
        store.load(OffsetSync(topic="orders", partition=number, upstream=up, downstream=down) for up, down in pairs)
        rows = np.flatnonzero(asked == number)
        begun = time.perf_counter()
        for row, at in zip(rows.tolist(), position[rows].tolist(), strict=True):
            answer = store.translate(at)
            if not isinstance(answer, NoAnswer):
                answers[row] = answer
        spent += time.perf_counter() - begun
    return answers, spent


if __name__ == "__main__":
    sys.exit(main())
