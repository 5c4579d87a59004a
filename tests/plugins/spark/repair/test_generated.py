"""Repairs of generated checkpoints: where the copy goes on, and that nothing else of it differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType
from uuid import UUID

from offsetwise.engines.checkpoint import read_checkpoint
from offsetwise.model import Checkpoint
from offsetwise.plugins.spark.engine.restart import WHOLE
from offsetwise.workflow.repairing import fitting_repairs, repaired_checkpoint
from tests.gates import PART
from tests.plugins.spark.folders import checkpoint, write
from tests.with_cases import with_cases

Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition, as Spark writes them."""
CASES = 160 // PART
COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'


@dataclass(frozen=True, kw_only=True)
class Query:
    """A query whose every batch is committed."""

    first: int
    ends: tuple[Offsets, ...]
    """By batch, from the first one that is kept on."""
    version: int

    @property
    def last(self) -> int:
        return self.first + len(self.ends) - 1

    def files(self, planned: Mapping[int, Offsets] = MappingProxyType({})) -> dict[str, bytes]:
        """Return its checkpoint, with batches that are planned besides."""
        at = dict(enumerate(self.ends, start=self.first)) | dict(planned)
        name = "0:" if self.version > 1 else ""
        lines = {batch: name + json.dumps(ends, separators=(",", ":")) for batch, ends in at.items()}
        return checkpoint(lines, tuple(range(self.first, self.last + 1)), version=self.version)


def after(random: Random, ends: Offsets) -> Offsets:
    """Return where the next batch ends."""
    return {topic: {at: end + random.randint(1, 90) for at, end in of.items()} for topic, of in ends.items()}


def query(random: Random) -> Query:
    topics = {
        topic: {str(number): random.randint(5, 1_000) for number in range(random.randint(1, 4))}
        for topic in random.sample(["orders", "legacy", "clicks", "a.b", "x-1"], random.randint(2, 4))
    }
    ends: list[Offsets] = [topics]
    for _ in range(random.randint(2, WHOLE + 5)):
        ends.append(after(random, ends[-1]))
    return Query(first=random.choice([0, 1, 17, 10**6]), ends=tuple(ends), version=random.choice([1, 2]))


def positions(read: Checkpoint) -> dict[tuple[str, int], object]:
    return {(at.topic, at.partition): at.offset for source in read.sources for at in source.positions}


def others(read: Checkpoint) -> list[str]:
    """Return the codes of problems that do not state the log's version, which half of the queries have."""
    return [problem.code for problem in read.problems if problem.code != "OFFSET_LOG_V2"]


def planned_ends(read: Checkpoint) -> dict[tuple[str, int], object]:
    return {(at.topic, at.partition): at.planned_offset for source in read.sources for at in source.positions}


def flat(ends: Offsets) -> dict[tuple[str, int], int]:
    return {(topic, int(at)): end for topic, of in ends.items() for at, end in of.items()}


def copied(files: dict[str, bytes], folder: Path, kind: str, **values: str) -> Checkpoint:
    """Write a checkpoint, repair it, and read the copy. Nothing else differs, and the repair is one that is offered."""
    source = write(files, folder / "source")
    assert kind in {each.kind for each in fitting_repairs(str(source))}
    _, made = repaired_checkpoint(str(source), kind, values, roots=None)
    kept = {path: data for path, data in files.items() if path not in made.dropped} | dict(made.replaced)
    assert made.costs
    return read_checkpoint(str(write(kept, folder / "copy")))


@with_cases("seed", range(CASES))
def test_a_pending_batch_is_dropped_and_the_copy_is_where_the_one_before_ended(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    made = query(random)
    pending = {made.last + 1: after(random, made.ends[-1])}

    read = copied(made.files(pending), tmp_path, "drop-pending-batch")

    assert positions(read) == flat(made.ends[-1])
    assert read.details.progress.again is None
    assert others(read) == []


@with_cases("seed", range(CASES))
def test_a_commit_cut_anywhere_is_removed_and_its_batch_runs_again(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    made = query(random)
    # Of a version alone Spark makes a commit without metadata.
    cut = COMMIT[: random.choice([0, 1, *range(len("v1\n{"), len(COMMIT))])]

    read = copied(made.files() | {f"commits/{made.last}": cut}, tmp_path, "remove-damaged-commit")

    assert positions(read) == flat(made.ends[-2])
    assert read.details.progress.again == made.last
    assert planned_ends(read) == flat(made.ends[-1])
    assert others(read) == ["PENDING_BATCH"]


@with_cases("seed", range(CASES))
def test_what_lies_behind_a_hole_is_dropped_and_the_copy_is_where_the_last_batch_before_it_ended(
    seed: int, tmp_path: Path
) -> None:
    random = Random(seed)
    made = query(random)
    lost = 1 if len(made.ends) < WHOLE else random.randint(1, 3)
    behind = {made.last + 1 + lost: after(random, made.ends[-1])}

    read = copied(made.files(behind), tmp_path, "drop-batch-after-gap")

    assert positions(read) == flat(made.ends[-1])
    assert read.details.progress.again is None
    assert others(read) == []


@with_cases("seed", range(CASES))
def test_a_topic_that_left_is_put_back_where_the_batch_before_ended(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    made = query(random)
    gone = random.choice(sorted(made.ends[-1]))
    planned = {topic: of for topic, of in after(random, made.ends[-1]).items() if topic != gone}

    read = copied(made.files({made.last + 1: planned}), tmp_path, "restore-topic", topic=gone)

    assert positions(read) == flat(made.ends[-1])
    assert read.details.progress.again == made.last + 1
    assert planned_ends(read) == flat({**planned, gone: made.ends[-1][gone]})


@with_cases("seed", range(CASES))
def test_lost_or_damaged_metadata_is_written_anew_with_the_id_that_a_person_gives(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    made = query(random)
    files, id_ = made.files(), str(UUID(int=random.getrandbits(128), version=4))
    whole = files.pop("metadata")
    cut = random.choice([None, b"", whole[: random.randrange(len(whole))]])

    read = copied(files | ({} if cut is None else {"metadata": cut}), tmp_path, "restore-metadata", query_id=id_)

    assert read.job_id == id_
    assert positions(read) == flat(made.ends[-1])
    assert others(read) == []


@with_cases("seed", range(CASES))
def test_ends_of_shards_that_were_lost_are_written_anew_where_the_batch_began(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    shards = [f"shardId-{number:012}" for number in range(random.randint(1, 5))]
    first, count = random.choice([0, 3, 500]), random.randint(2, 6)
    begun = [
        {"iteratorType": "AFTER_SEQUENCE_NUMBER", "iteratorPosition": str(10**50 + 9 * batch)}
        for batch in range(count + 1)
    ]
    lines = {
        first + batch: json.dumps(
            {"metadata": {"streamName": "s", "batchId": str(first + batch)}, **dict.fromkeys(shards, begun[batch])}
        )
        for batch in range(count)
    }
    files = checkpoint(lines, tuple(lines), initial={})
    for batch in lines:
        for shard in shards:
            end = {"shardId": shard, **begun[batch - first + 1]}
            files[f"sources/0/shard-commit/{batch}/{shard}"] = json.dumps(end).encode()
    last = max(lines)
    lost = set(random.sample(shards, random.randint(1, len(shards))))
    for shard in lost:
        del files[f"sources/0/shard-commit/{last}/{shard}"]

    read = copied(files, tmp_path, "rebuild-shard-commit")

    found = {each.shard: str(each.position) for source in read.sources for each in source.shards}
    ends = {shard: begun[-2 if shard in lost else -1] for shard in shards}
    assert found == {shard: f"seq:{end['iteratorPosition']}" for shard, end in ends.items()}
