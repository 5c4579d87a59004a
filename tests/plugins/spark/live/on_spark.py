"""A job that is moved by the release of Spark that this process imports; prints what became of it, as JSON.

`python -m tests.plugins.spark.live.on_spark OLD NEW TOPIC FOLDER` with the release's packages first in PYTHONPATH.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyspark
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException

from offsetwise import workflow
from offsetwise.config import SparkSettings, load_migration
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.plugins.spark.engine.offset_log import parse_offsets
from tests.integration.moving import GONE, Job, Move, counted, create, key_of, moved
from tests.integration.spark_pages import caught_up, event_log, history_server, pages
from tests.plugins.spark.folders import SAMPLES

START_MS: Final = 1_740_988_800_000
BEGUN, FIRST, SECOND = 200, 300, 80
"""How many records a partition has when the job begins, when it stops, and how many come then."""
CODECS: Final = {"4.0.0": "snappy", "4.1.1": "lz4", "4.2.0": "zstd"}
"""What a release compresses its event log with."""
NAMED: Final = (
    ("spark.sql.streaming.queryEvolution.enableSourceEvolution", "true"),
    ("spark.sql.streaming.offsetLog.formatVersion", "2"),
)
"""What gives a query of Spark 4.2 named sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """The clusters of a lab that another process has."""

    old_bootstrap: str
    new_bootstrap: str


def write(bootstrap: str, topic: str, first: int, end: int) -> None:
    """Write the records `first` to `end` to each partition; the same on both clusters, with the same times."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 2})
    for partition in GONE:
        for offset in range(first, end):
            serial = 2 * offset + partition
            time = START_MS + offset * 1_000
            producer.produce(topic, key=key_of(serial), value=str(serial), partition=partition, timestamp=time)
    assert producer.flush(30) == 0


def begin(clusters: Clusters, topic: str) -> None:
    """Make the topic on both clusters; the new one lacks the first records of each partition."""
    create(clusters.old_bootstrap, topic)
    create(clusters.new_bootstrap, topic)
    write(clusters.old_bootstrap, topic, 0, BEGUN)
    write(clusters.new_bootstrap, topic, min(GONE.values()), FIRST)


def refused_log(job: Job, clusters: Clusters, topic: str, folder: Path) -> str:
    """Start from a log that Spark 4.2 wrote; return what an older Spark says, empty where it starts."""
    copy = shutil.copytree(SAMPLES / "spark-4.2.0-offset-log-v2", folder)
    try:
        job.run(clusters.old_bootstrap, copy, topic=topic)
    except StreamingQueryException as error:
        return str(error)
    return ""


def move(clusters: Clusters, topic: str, folder: Path) -> dict[str, Any]:
    """Run a job on the old cluster, compare, count its state, move it, and go on with the copy on the new one."""
    begin(clusters, topic)
    checkpoint = folder / "job"
    given = folder / "work"
    given.mkdir()
    migrating = moved(clusters, _ran(clusters, topic, checkpoint), given)
    version, names = newest(checkpoint)
    write(clusters.old_bootstrap, topic, FIRST, FIRST + SECOND)
    write(clusters.new_bootstrap, topic, FIRST, FIRST + SECOND)
    compared = migrating.compare()
    rows = workflow.state_rows(load_migration(migrating.migration), "orders")
    migrating.draft("spark-checkpoint")
    migrating.sign()
    migrating.apply("--execute", "--output", str(migrating.copy))
    job = _job()
    asked = _asked_about(migrating, job, clusters, topic)
    truth = counted(2 * offset + partition for partition in GONE for offset in range(FIRST + SECOND))
    return {
        "spark": pyspark.__version__,
        "log": {"version": version, "sources": names},
        "copied": newest(migrating.copy)[1],
        "skipped": {row["partition"]: int(row["raw"]["skip"]) for row in compared["partitions"]},
        "rows": [store.total for store in rows.stores],
        "counts": job.counts,
        "truth": {key: truth[key] for key in job.counts},
        "asked": asked,
        "refused_log": refused_log(Job(spark=job.spark), clusters, topic, folder / "newer"),
    }


def _asked_about(migrating: Move, job: Job, clusters: Clusters, topic: str) -> dict[str, list[Any]]:
    """Go on with the copy, and ask the job what it began from: its pages, its event log, and a history server."""
    codec = CODECS[pyspark.__version__]
    with event_log(job.spark, migrating.folder / "log", codec) as log, pages(job.spark) as address:
        job.run(clusters.new_bootstrap, migrating.copy, topic=topic)
        caught_up(job.spark)
        answers = {"pages": migrating.asked(address)}
        if codec == "zstd":  # of the others, Spark keeps back the block that is not full
            answers["running event log"] = migrating.asked(str(log))
    answers["event log"] = migrating.asked(str(log))
    with history_server(log) as history:
        answers["history"] = migrating.asked(f"{history}/history/{job.spark.sparkContext.applicationId}")
    return {name: [code, origin, said["told"]] for name, (code, origin, said) in answers.items()}


def newest(checkpoint: Path) -> tuple[int, list[str]]:
    """Return the version of the newest file of the offset log, and its sources."""
    batches = sorted(int(path.name) for path in (checkpoint / "offsets").iterdir() if path.name.isdigit())
    head, lines = parse_offsets((checkpoint / "offsets" / str(batches[-1])).read_bytes())
    return head.version, [*lines]


def _job() -> Job:
    spark = open_session(SparkSettings(master="local[2]"), kafka=True)
    if pyspark.__version__ < "4.2":
        return Job(spark=spark)
    return Job(spark=spark, conf=NAMED, source_name="orders_in")


def _ran(clusters: Clusters, topic: str, checkpoint: Path) -> Path:
    """Run the job twice: in a log of version 2 Spark's reader of state needs what only a second start records."""
    _job().run(clusters.old_bootstrap, checkpoint, topic=topic)
    write(clusters.old_bootstrap, topic, BEGUN, FIRST)
    _job().run(clusters.old_bootstrap, checkpoint, topic=topic)
    return checkpoint


if __name__ == "__main__":
    old, new, name, work = sys.argv[1:]
    print(json.dumps(move(Clusters(old_bootstrap=old, new_bootstrap=new), name, Path(work))))
    close_session()
