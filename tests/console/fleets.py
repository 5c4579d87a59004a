"""Fleets made from values and from folders, and a reader that gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from offsetwise.config import load_migration
from offsetwise.engines.rows import FailedCheckpoint
from offsetwise.engines.spark.details import SparkDetails, StateStore
from offsetwise.fleets import Fleet, assemble
from offsetwise.model import (
    Batch,
    BatchSource,
    Checkpoint,
    CheckpointSource,
    Problem,
    SourcePosition,
    TopicOffsets,
)
from offsetwise.progress import Progress
from offsetwise.workflow import fleet
from tests.console import builders
from tests.console.readers import ValueReader

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
DAMAGED = Problem(code="CHECKPOINT_DAMAGED", message="offsets/6 is garbled.", fix="Restore it from a copy.")
PENDING = Problem(code="PENDING_BATCH", message="Batch 7 is planned and not committed.", fix="Let it commit.")
GAP = Problem(code="GAP", message="Batches 2 to 5 are in neither offsets/ nor commits/.", fix="Check the option.")
MIGRATION = """
name: {name}
source: {{name: prod-a, properties: {{bootstrap.servers: "127.0.0.1:1"}}}}
target: {{name: prod-b, properties: {{bootstrap.servers: "127.0.0.1:2"}}}}
checkpoint_roots: {roots}
checkpoints: {checkpoints}
spark: {{master: "local[2]"}}
"""


def checkpoint(
    uri: str = "/data/orders",
    *,
    job_id: str | None = "d188985a-ef29-47bf-937e-53c1c76305fe",
    age_ms: int | None = HOUR_MS,
    pending: bool = False,
    problems: tuple[Problem, ...] = (),
    topics: Mapping[str, int] | None = None,
    state_bytes: int = 0,
) -> Checkpoint:
    """Make a checkpoint whose batch 6 is committed and, if `pending`, batch 7 is planned."""
    counts = {"orders": 2} if topics is None else topics
    columns = tuple(
        TopicOffsets(topic=topic, partitions=tuple(range(count)), offsets=(1050,) * count)
        for topic, count in counts.items()
    )
    planned_at = None if age_ms is None else NOW_MS - age_ms
    earlier = None if planned_at is None else planned_at - 60_000
    batches = [Batch(id=6, committed=True, sources=(BatchSource(id="0", offsets=columns),), timestamp_ms=planned_at)]
    if pending:
        batches = [
            Batch(id=6, committed=True, sources=(BatchSource(id="0", offsets=columns),), timestamp_ms=earlier),
            Batch(id=7, committed=False, sources=(BatchSource(id="0", offsets=columns),), timestamp_ms=planned_at),
        ]
    positions = tuple(
        SourcePosition(topic=topic, partition=number, offset=1050, planned_offset=1100 if pending else None)
        for topic, count in counts.items()
        for number in range(count)
    )
    return Checkpoint(
        uri=uri,
        engine="spark",
        job_id=job_id,
        restart="Batch 7 runs again." if pending else "Batch 6 is committed: batch 7 starts at orders-0 at 1,050.",
        sources=(CheckpointSource(index=0, id="0", kind="kafka", positions=positions),),
        problems=(*((PENDING,) if pending else ()), *problems),
        details=SparkDetails(
            last_planned_batch=7 if pending else 6,
            last_committed_batch=6,
            reruns_batch=7 if pending else None,
            batches=tuple(batches),
            state=(StateStore(operator=0, partitions=2, files=8, size_bytes=state_bytes),) if state_bytes else (),
        ),
    )


def failed(uri: str, error: str = "NotACheckpointError") -> FailedCheckpoint:
    return FailedCheckpoint(
        uri=uri, error=error, problem=f"{uri}: expected a checkpoint, found a Delta table.", fix="Give another path."
    )


def a_thousand(count: int = 1_000) -> Fleet:
    """Make a fleet: 3 unreadable, 7 damaged, 40 pending, the others restartable; 4 of them copies of each other."""
    made: list[Checkpoint | FailedCheckpoint] = []
    for number in range(count):
        uri, job_id = f"/data/team-{number % 10}/job-{number:03}", f"query-{number:03}"
        if number < 3:
            made.append(failed(uri))
        elif number < 10:
            made.append(checkpoint(uri, job_id=job_id, problems=(DAMAGED,), age_ms=number * DAY_MS))
        elif number < 50:
            made.append(checkpoint(uri, job_id=job_id, pending=True, age_ms=number * HOUR_MS))
        else:
            job_id = "query-copied" if number < 54 else job_id
            topics = {"payments": 20} if number % 2 else {"orders": 20, "audit": 1}
            made.append(checkpoint(uri, job_id=job_id, age_ms=number * 1_000, topics=topics, state_bytes=number))
    return assemble(made, {"/data/team-0/job-010": ("orders",)}, roots=("/data",))


def two() -> Fleet:
    """Make a fleet of two checkpoints, of which the second has a pending batch."""
    return assemble([checkpoint(), checkpoint("/data/payments", job_id="another", pending=True)], {}, roots=("/data",))


def hostile() -> Fleet:
    """Make a fleet whose folders, topics and query ids have hostile names."""
    return assemble(
        [
            checkpoint(f"/data/{name}", job_id=name, topics={name: 1}, problems=(Problem(code=name, message=name),))
            for name in builders.HOSTILE
        ]
        + [failed(f"/data/{name}/x") for name in builders.HOSTILE]
        + [checkpoint("/data/not-\udcff-utf8")],
        {f"/data/{name}": (name,) for name in builders.HOSTILE},
        roots=("/data",),
    )


class FleetReader(ValueReader):
    """Returns a fleet, of the sample and of one live migration; an error instead if that is what it is given."""

    def __init__(self, given: Fleet | Exception) -> None:
        super().__init__(live=builders.comparison())
        self.given = given

    def fleet(self, migration: str, progress: Progress) -> Fleet:
        self.calls[f"fleet of {migration}"] += 1
        progress("read them", 250, 1_000)
        if isinstance(self.given, Exception):
            raise self.given
        return self.given


def write_migration(folder: Path, *, roots: Sequence[str], checkpoints: Mapping[str, str], name: str = "mine") -> Path:
    """Write a migration file over folders, and give its path."""
    listed = [{"name": one, "uri": uri} for one, uri in checkpoints.items()]
    made = folder / f"{name}.yaml"
    made.write_text(MIGRATION.format(name=name, roots=list(roots), checkpoints=listed))
    return made


def read(folder: Path, *, roots: Sequence[str], checkpoints: Mapping[str, str] | None = None) -> Fleet:
    """Read the fleet of a migration over folders."""
    return fleet(load_migration(write_migration(folder, roots=roots, checkpoints=checkpoints or {})))
