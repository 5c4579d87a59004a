"""Narrow windows of many partitions in one Spark job, each of whose tasks reads its own by librdkafka."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pydantic import TypeAdapter
from pyspark.sql import SparkSession

from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.model import Cluster, IsolationLevel
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.spark_errors import spark_errors
from offsetwise.pipeline.windows import WINDOW_SCHEMA, Asked, answer_windows, row
from offsetwise.streams.kafka.client import consumer_configuration
from offsetwise.streams.kafka.ranges import Failure
from offsetwise.translation.worker import Answer, Log

OFFSETS_PER_TASK: Final = 4_000
"""A Spark task for each so many, up to the number of tasks that Spark runs: starting one costs about as much."""

READ_WINDOWS: Final = {
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 10,
    "fetch.message.max.bytes": 131_072,
    "topic.metadata.propagation.max.ms": 5_000,
}
"""A client of a task reads little of many partitions of topics that exist, and waits for nothing else."""

ANSWER: Final = TypeAdapter(Answer)
"""Reads what a worker wrote."""

_UNREAD: Final = {
    Failure.REFUSED: (
        ClusterAuthError,
        "A broker refused to give records to Spark's workers",
        "Check security.protocol, user, password, certificates and ACLs of this cluster in the migration file.",
    ),
    Failure.SILENT: (
        ClusterUnreachableError,
        "A broker did not give Spark's workers the records in time",
        "Check that the partition's leader is up, and that Spark's machines reach the brokers' advertised addresses.",
    ),
    Failure.GONE: (
        ClusterError,
        "Spark's workers were sent to a topic or partition that the cluster does not have",
        "Take a new snapshot: the topic may have been deleted or recreated.",
    ),
    Failure.CUT_BACK: (
        ClusterError,
        "The log moved away while Spark's workers read it",
        "Compare again: a recreated topic or a new leader removed records while they were read.",
    ),
}


def answer_by_clients(
    spark: SparkSession,
    clients: Mapping[Cluster, Mapping[str, str]],
    asked: Sequence[Sequence[Asked]],
    *,
    isolation: IsolationLevel,
    salt: bytes,
    watch: Callable[[], None],
) -> dict[int, Answer | ClusterError]:
    """Answer tasks by one client of each log in every Spark task.

    Args:
        spark: A session whose workers have librdkafka.
        clients: librdkafka's properties of both clusters, secrets resolved.
        asked: The tasks of each partition: one client reads them, so that windows that overlap are read once.
        isolation: What the job reads.
        salt: Keys the hashes.
        watch: Called several times a second; what it raises ends the job and is raised here.

    Returns:
        By number of the task, its answer or why the cluster does not give the records. What only Spark's own source
        can read is left out.

    Raises:
        SparkError: The job failed.
    """
    levels = {Log.OLD: isolation, Log.NEW: isolation}
    if isolation is IsolationLevel.READ_COMMITTED:
        levels[Log.ABORTED] = IsolationLevel.READ_UNCOMMITTED
    consumers = {
        log: consumer_configuration(clients[Cluster.NEW if log is Log.NEW else Cluster.OLD])
        | READ_WINDOWS
        | {"isolation.level": level.value}
        for log, level in levels.items()
    }
    offsets = sum(len(each.task.old) + len(each.task.new) for some in asked for each in some)
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    table = spark.createDataFrame(pa.table({"asked": pa.array([row(some) for some in asked], pa.string())}))
    answered = table.coalesce(max(1, min(most, offsets // OFFSETS_PER_TASK))).mapInArrow(
        partial(answer_windows, consumers, salt), WINDOW_SCHEMA
    )
    with spark_errors():
        given: list[dict[str, Any]] = interruptible(spark, answered.toArrow, watch).to_pylist()
    answers: dict[int, Answer | ClusterError] = {}
    for each in given:
        if each["failed"] is not None:
            kind, problem, fix = _UNREAD[Failure(each["failed"])]
            answers[each["task"]] = kind(f"{problem}: {each['told']}. No result was used.", fix=fix)
        elif each["answer"] is not None:
            answers[each["task"]] = ANSWER.validate_json(each["answer"])
    return answers
