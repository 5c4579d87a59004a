"""The Flink jobs of the bundled sample, from Kafka to Kafka, exactly once: counts by time, and a copy of every order.

Each runs in one JVM, a small cluster of its own, which is controlled by REST.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from offsetwise.lab.cluster import Lab
from offsetwise.lab.flink import RunningJob, running_job

PARALLELISM: Final = 2
TRANSACTION_TIMEOUT_MS: Final = 900_000
"""The maximum that brokers allow by default."""

_SQL: Final = """
CREATE TABLE events (
  serial STRING,
  topic STRING METADATA VIRTUAL,
  written TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  WATERMARK FOR written AS written - INTERVAL '10' SECOND
) WITH (
  'connector' = 'kafka', 'topic' = '{topics}', 'properties.bootstrap.servers' = '{old}',
  'properties.group.id' = '{name}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE {table} ({columns}) WITH (
  'connector' = 'kafka', 'topic' = '{name}', 'properties.bootstrap.servers' = '{old}', 'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{name}',
  'properties.transaction.timeout.ms' = '{timeout}'
);
INSERT INTO {table} {query};
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a job reads and writes."""

    name: str
    """Name of the job, its consumer group, its sink's topic and the prefix of its transactional ids."""
    id: str
    """The same in every recording, so that its folder is the same."""
    topics: tuple[str, ...]
    table: str
    columns: str
    """Columns of its output."""
    query: str


COUNTS: Final = Job(
    name="order-counts",
    id="0ff5e70f11e00000000000000000beef",
    topics=("orders", "payments", "clicks"),
    table="counts",
    columns="topic STRING, until_time TIMESTAMP(3), records BIGINT",
    query="SELECT topic, window_end, COUNT(*) FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(written), INTERVAL '5' "
    "MINUTES)) GROUP BY topic, window_start, window_end",
)
AUDIT: Final = Job(
    name="order-audit",
    id="a0d17f11e0000000000000000000feed",
    topics=("orders",),
    table="audit",
    columns="serial STRING",
    query="SELECT serial FROM events",
)


def checkpoints_of(lab: Lab, job: Job) -> Path:
    """Return the folder below which Flink writes the checkpoints of a job, in a folder named by the job's id."""
    return lab.directory / f"flink-{job.name}" / "checkpoints"


@contextmanager
def flink_job(lab: Lab, job: Job, *, classpath: str) -> Iterator[RunningJob]:
    """Run a job on the old cluster of a lab; it is killed in the end.

    Args:
        lab: The lab.
        job: The job.
        classpath: Classpath of a Flink with its Kafka connector.
    """
    checkpoints = checkpoints_of(lab, job)
    checkpoints.mkdir(parents=True)
    settings = {
        "parallelism.default": PARALLELISM,
        "pipeline.name": job.name,
        "$internal.pipeline.job-id": job.id,
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.dir": checkpoints.as_uri(),
        "execution.checkpointing.num-retained": 3,
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "taskmanager.numberOfTaskSlots": PARALLELISM,
    }
    sql = _SQL.format(
        topics=";".join(job.topics),
        old=lab.old_bootstrap,
        name=job.name,
        table=job.table,
        columns=job.columns,
        query=job.query,
        timeout=TRANSACTION_TIMEOUT_MS,
    )
    log = lab.log(f"flink-{job.name}")
    with running_job(checkpoints.parent, classpath=classpath, settings=settings, sql=sql, log=log) as running:
        yield running
