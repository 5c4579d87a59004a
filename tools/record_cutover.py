"""Record the cutover of the bundled Spark sample anew: `make sample-cutover`.

Three Spark jobs and a consumer group read the old cluster of a separate lab while producers write to it. They are moved
by the commands that a team uses, in two waves, while `offsetwise status --watch --json --logs` runs: its lines are the
recording. The problems on the way are real: a topic is not mirrored at first, and a job is started again after its plan
was drafted. Takes a quarter of an hour.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cutovers import (
    GROUP,
    LOOK_S,
    READ_AT_ONCE,
    TOPICS,
    Reading,
    Watch,
    Writers,
    apply,
    command,
    compare,
    draft,
    record,
    say,
    wait_until,
    write_migration,
    written_to,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.config import SparkSettings
from offsetwise.lab import Lab, Policy
from offsetwise.pipeline.session import open_session

WAVES: Final = [
    {"name": "pilot", "jobs": ["checkpoint:payments"], "window": "30m"},
    {"name": "core", "after": ["pilot"], "jobs": ["checkpoint:orders", "checkpoint:clicks", f"group:{GROUP}"]},
]
BACKLOG: Final = 4_000
"""Records that are written to the topic of a job on the new cluster before it starts there."""
BATCH_S: Final = 3
TARGET: Final = "spark-checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A Spark query that reads one topic and runs until it is stopped."""

    spark: SparkSession
    name: str
    """Name of the job, and of its topic."""
    stateful: bool

    def start(self, bootstrap: str, checkpoint: Path) -> Any:
        records = (
            self.spark.readStream.format("kafka")
            .options(**{"kafka.bootstrap.servers": bootstrap, "subscribe": self.name, "startingOffsets": "earliest"})
            .option("maxOffsetsPerTrigger", READ_AT_ONCE)
            .load()
            .selectExpr("CAST(key AS STRING) key")
        )
        frame = records.groupBy("key").agg(F.count("*")) if self.stateful else records
        return (
            frame.writeStream.outputMode("update")
            .option("checkpointLocation", str(checkpoint))
            .trigger(processingTime=f"{BATCH_S} seconds")
            .foreachBatch(_count)
            .start()
        )


def _count(batch: DataFrame, _: int) -> None:
    batch.count()


def move(lab: Lab, folder: Path) -> Sequence[str]:
    """Move every job while it is watched; return the lines of the watch."""
    jobs = {"stateful": False, "sink": "foreachBatch", "tolerates_replay": False}
    checkpoints = [
        {
            "name": topic,
            "uri": f"./checkpoints/{topic}",
            "belongs_to": "old",
            "job": jobs | {"stateful": topic == "orders"},
        }
        for topic in TOPICS
    ]
    write_migration(lab, folder, name="orders-to-new", checkpoints=checkpoints, waves=WAVES)
    with written_to(lab) as writers:
        return move_all(lab, folder, writers)


def move_all(lab: Lab, folder: Path, writers: Writers) -> Sequence[str]:
    """Move every job while it is watched, and producers write; return the lines of the watch."""
    old = lab.old_bootstrap
    lab.start_mirror(Policy.IDENTITY, topics=["orders", "payments"])
    spark = open_session(SparkSettings(master="local[2]"), kafka=True)
    jobs = {name: Job(spark=spark, name=name, stateful=name == "orders") for name in TOPICS}
    queries = {name: job.start(old, folder / "checkpoints" / name) for name, job in jobs.items()}
    member = Reading(old, "orders")
    command(folder, "keygen", "--out", "bob", "--as", "bob")
    wait_until(lambda: all(query.lastProgress is not None for query in queries.values()), "the first batches")
    watch = Watch(folder, "--trust", "bob.pub", "--still-for", "30s")
    watch.wait("checkpoint clicks", "BLOCKED")
    time.sleep(2 * LOOK_S)
    lab.start_mirror(Policy.IDENTITY, topics=[*TOPICS])
    watch.wait("checkpoint clicks", "RUNNING")
    time.sleep(2 * LOOK_S)
    queries["payments"].stop()
    move_pilot(lab, folder, writers, watch, jobs["payments"])
    for name in ("orders", "clicks"):
        queries[name].stop()
    member.stop()
    move_core(lab, folder, writers, watch, jobs)
    watch.end()
    return watch.lines


def move_pilot(lab: Lab, folder: Path, writers: Writers, watch: Watch, job: Job) -> None:
    """Move the job of the first wave, which is stopped."""
    say("the pilot wave")
    time.sleep(LOOK_S)
    writers.stop("payments")
    watch.wait("checkpoint payments", "STOPPED", "MIRRORED")
    lab.wait_until_mirrored(["payments"], mirror=Policy.IDENTITY.value)
    compare(folder, watch, "payments")
    draft(folder, "payments", TARGET)
    watch.wait("checkpoint payments", "PLANNED")
    apply(folder, watch, "payments")
    go_on(lab, folder, writers, job)
    watch.wait("checkpoint payments", "CAUGHT_UP")


def move_core(lab: Lab, folder: Path, writers: Writers, watch: Watch, jobs: Mapping[str, Job]) -> None:
    """Move the jobs of the second wave, which are stopped, one of them twice."""
    say("the core wave")
    time.sleep(LOOK_S)
    writers.stop("orders", "clicks")
    lab.wait_until_mirrored([*TOPICS], mirror=Policy.IDENTITY.value)
    watch.wait("checkpoint orders", "MIRRORED")
    compare(folder, watch, "orders")
    for name in ("orders", "clicks"):
        draft(folder, name, TARGET)
    draft(folder, GROUP, f"consumer-group:{GROUP}", kind="group")
    watch.wait("checkpoint clicks", "PLANNED")
    say("somebody starts clicks again")
    writers.burst(lab.old_bootstrap, "clicks", 60)
    query = jobs["clicks"].start(lab.old_bootstrap, folder / "checkpoints" / "clicks")
    query.processAllAvailable()
    query.stop()
    watch.wait("checkpoint clicks", "STALE")
    apply(folder, watch, "orders")
    go_on(lab, folder, writers, jobs["orders"])
    apply(folder, watch, GROUP, kind="group")
    Reading(lab.new_bootstrap, "orders")
    lab.wait_until_mirrored(["clicks"], mirror=Policy.IDENTITY.value)
    time.sleep(130)  # a batch of the last two minutes may be of a running query
    command(folder, "compare", "-m", "migration.yaml", "--all", "--out", "out")
    draft(folder, "clicks", TARGET, again="-2")
    watch.wait("checkpoint clicks", "PLANNED")
    apply(folder, watch, "clicks", again="-2")
    go_on(lab, folder, writers, jobs["clicks"])


def go_on(lab: Lab, folder: Path, writers: Writers, job: Job) -> None:
    """Let the producers of a job's topic continue on the new cluster, and then the job."""
    writers.burst(lab.new_bootstrap, job.name, BACKLOG // TOPICS[job.name])
    time.sleep(LOOK_S)
    job.start(lab.new_bootstrap, folder / "applied" / job.name)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    record(move, "sample", __doc__)
