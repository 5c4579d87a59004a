from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from offsetwise.client_properties import ClientProperties
from offsetwise.config import Migration, spark_properties
from offsetwise.errors import ClusterError
from offsetwise.model import Cluster, Reconciliation, Snapshot
from offsetwise.pipeline.start import install_pyspark, start_spark
from offsetwise.ports.log_observations import disagreements, seen_log
from offsetwise.position import offset_of, offset_or_none
from offsetwise.progress import Progress, no_progress
from offsetwise.streams.reader import read_cluster, reader_of

if TYPE_CHECKING:
    from offsetwise.pipeline.reconcile import TopicLog


def reconcile(migration: Migration, topic: str, *, progress: Progress = no_progress) -> Reconciliation:
    """Count the records of a whole topic on both clusters, on Spark.

    Args:
        migration: The migration.
        topic: The topic's name on the old cluster.
        progress: Called with each step, and several times a second while Spark counts; its exception stops the count.

    Raises:
        ClusterError: A cluster or the topic cannot be read, or retention removed records meanwhile.
        ConfigError: Spark cannot read a cluster with the given properties; nothing has been read yet.
        SparkError: The job failed.
    """
    install_pyspark(progress)
    from offsetwise.pipeline import reconcile as counting  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.content import SALT_BYTES  # noqa: PLC0415 - as above
    from offsetwise.pipeline.interrupting import interruptible  # noqa: PLC0415 - as above

    properties = spark_properties(migration)
    names = {Cluster.OLD: topic, Cluster.NEW: migration.new_topic(topic)}
    logs: dict[Cluster, tuple[TopicLog, Snapshot]] = {}
    for side, name in names.items():
        progress(f"read the {side} cluster", 0, 1)
        logs[side] = _topic_log(migration, side, name, properties[side])
        progress(f"read the {side} cluster", 1, 1)
    session = start_spark(migration.spark, progress, records=True)
    progress("compare every record", 0, 1)
    count = partial(
        counting.reconcile,
        session,
        logs[Cluster.OLD][0],
        logs[Cluster.NEW][0],
        isolation=migration.isolation_level,
        salt=os.urandom(SALT_BYTES),
    )
    reconciliation = interruptible(session, count, partial(progress, "compare every record", 0, 1))
    for side, (log, snapshot) in logs.items():
        _check_not_passed(migration, side, log, snapshot)
    progress("compare every record", 1, 1)
    return reconciliation


def _topic_log(
    migration: Migration, side: Cluster, name: str, properties: ClientProperties
) -> tuple[TopicLog, Snapshot]:
    from offsetwise.pipeline.reconcile import TopicLog  # noqa: PLC0415 - PySpark takes half a second to import
    from offsetwise.pipeline.records import OffsetRange  # noqa: PLC0415 - as above

    config = migration.cluster(side)
    snapshot = read_cluster(migration, side, topics=(name,), groups=())
    ranges = []
    for at, partition in snapshot.partitions().items():
        end = partition.log.end(migration.isolation_level)
        if partition.log_start is None or end is None:
            raise ClusterError(
                f"{at} on {config.name!r}: expected its log start and end, but "
                f"{partition.error or 'the broker did not say'}. Nothing was compared.",
                fix="Check the broker that leads it, then try again.",
            )
        start = offset_of(partition.log_start)
        ranges.append(
            OffsetRange(topic=name, partition=partition.partition, start=start, end=max(offset_of(end), start))
        )
    if not ranges:
        why = next((state.error for state in snapshot.topics if state.error), "it does not exist")
        raise ClusterError(
            f"Topic {name!r} on {config.name!r}: expected its partitions, but {why}. Nothing was compared.",
            fix="Check the topic's name; `topics` in the migration file says what it is called on the new cluster.",
        )
    return TopicLog(properties=properties, topic=name, ranges=tuple(ranges)), snapshot


def _check_not_passed(migration: Migration, side: Cluster, log: TopicLog, snapshot: Snapshot) -> None:
    """Raise unless the logs that were read still exist, with all of the read ranges and the same topic ids.

    Raises:
        ClusterError: They do not, or the cluster does not answer.
    """
    config = migration.cluster(side)
    topics, there = {topic.name: topic for topic in snapshot.topics}, snapshot.partitions()
    ranges = reader_of(config).log_ranges(config, [offset_range.topic_partition for offset_range in log.ranges])
    for offset_range in log.ranges:
        current = ranges[offset_range.topic_partition]
        now, end = offset_or_none(current.log_start), offset_or_none(current.hw)
        first = seen_log(snapshot, topics.get(log.topic), there.get(offset_range.topic_partition))
        differs = next(disagreements(side, first, current), None)
        where = f"{offset_range.topic_partition} on {migration.cluster(side).name!r}"
        reason = None
        if now is None or end is None:
            reason = "but the broker did not say. Retention may have passed"
        elif differs is not None:
            reason = f"and two looks differ: {differs}. No log start goes back nor does a log become shorter"
        if now is None or reason is not None:
            raise ClusterError(
                f"{where}: expected its log start and end once more after the records were read, {reason}, so the "
                "counts cannot be relied on.",
                fix="Check the broker that leads it, then run it again.",
            )
        if now > offset_range.start:
            raise ClusterError(
                f"{where}: retention moved the log start from {offset_range.start:,} to {now:,} while the records "
                "were read, so the counts cannot be relied on.",
                fix="Run it again; extend the topic's retention until the migration is over.",
            )
