"""One round of reading on Spark: tasks about windows of both logs, and their answers.

The records are hashed where they are read, and tasks are answered on the workers (`translation/worker.py`); only the
answers reach the driver.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from offsetwise.errors import ClusterError, ClusterUnreachableError
from offsetwise.model import Cluster, IsolationLevel, TopicPartition
from offsetwise.pipeline.client_windows import answer_by_clients, once, read_answer, rows_of
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.records import OffsetRange, read_records
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors
from offsetwise.pipeline.windows import LocatedTask
from offsetwise.ports.log_observations import SeenLog
from offsetwise.progress import Progress
from offsetwise.translation.explain import ReadingWay
from offsetwise.translation.search import SearchTarget
from offsetwise.translation.worker import ANSWER_SCHEMA, RECORD_COLUMNS, Answer, LogSide, Task, answer_group

LARGE_OFFSETS = 20_000
"""Larger windows are read by separate jobs, split into tasks of about this many records."""


Place: TypeAlias = tuple[TopicPartition, int]
"""A partition of the old cluster, and an offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    partition: TopicPartition
    new_topic: str
    target: SearchTarget
    natives_excluded: bool = False
    preserving: bool = False
    """Whether the link is stated to keep offsets: a few probes come first."""
    logs: tuple[SeenLog, SeenLog] = field(default=(SeenLog(), SeenLog()), compare=False)
    """Both logs at the first observation; unknown values are not compared."""

    @property
    def old_position(self) -> Place:
        return self.partition, self.target.position

    @property
    def new_partition(self) -> TopicPartition:
        return TopicPartition(self.new_topic, self.partition.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowReader:
    spark: SparkSession
    properties: Mapping[Cluster, Mapping[str, str]]
    """The Java client's properties of both clusters."""
    clients: Mapping[Cluster, Mapping[str, str]] | None
    """librdkafka's properties; None if the workers lack it, so that Spark's own source reads everything."""
    isolation: IsolationLevel
    progress: Progress
    salt: bytes
    """Keys the hashes. One for each run, so that identities of one run can be compared."""
    unread: dict[Ask, ClusterError] = field(default_factory=dict)
    """Positions whose records a cluster did not return, each with the first reason."""
    ways: dict[Place, frozenset[ReadingWay]] = field(default_factory=dict)
    """How the records of each answered position were read."""

    def answers(self, tasks: Mapping[Ask, Task], step: str) -> dict[Ask, Answer]:
        """Answer tasks: narrow ones in one job, in which each task reads its own windows; wide ones in another.

        Spark's source reads wide windows, because it splits them among tasks, and those that librdkafka cannot read.

        Args:
            tasks: The tasks.
            step: The name of the step in progress reports.

        Returns:
            The answers; `unread` has the reasons for missing ones.

        Raises:
            SparkError: A job failed.
        """
        done: dict[Ask, Answer] = {}

        def report() -> None:
            self.progress(step, len(done), len(tasks))

        report()
        narrow = {ask: task for ask, task in tasks.items() if len(task.old) + len(task.new) <= LARGE_OFFSETS}
        if narrow and self.clients is not None:
            done.update(self._by_clients(narrow, self.clients, report))
            self._note(done, ReadingWay.CLIENT)
        for wide, per_task in ((False, None), (True, LARGE_OFFSETS)):
            remaining = {ask: task for ask, task in tasks.items() if ask not in done and ask not in self.unread}
            part = {ask: task for ask, task in remaining.items() if (ask not in narrow) is wide}
            if part:
                report()
                read = self._by_source(part, per_task, report)
                self._note(read, ReadingWay.SOURCE)
                done.update(read)
        report()
        return done

    def _note(self, answered: Iterable[Ask], way: ReadingWay) -> None:
        for ask in answered:
            self.ways[ask.old_position] = self.ways.get(ask.old_position, frozenset()) | {way}

    def _by_clients(
        self, tasks: Mapping[Ask, Task], clients: Mapping[Cluster, Mapping[str, str]], watch: Callable[[], None]
    ) -> dict[Ask, Answer]:
        asks = sorted(tasks, key=lambda ask: (ask.partition, ask.target.position))
        numbered = [
            LocatedTask(
                number=number,
                old_topic=ask.partition.topic,
                new_topic=ask.new_topic,
                partition=ask.partition.partition,
                task=tasks[ask],
                token=secrets.token_hex(8),
            )
            for number, ask in enumerate(asks)
        ]
        rows = [[*some] for _, some in groupby(numbered, key=lambda task: (task.old_topic, task.partition))]
        given = answer_by_clients(self.spark, clients, rows, isolation=self.isolation, salt=self.salt, watch=watch)
        self.unread.update({asks[n]: answer for n, answer in given.items() if isinstance(answer, ClusterError)})
        return {asks[n]: answer for n, answer in given.items() if not isinstance(answer, ClusterError)}

    def _by_source(
        self, tasks: Mapping[Ask, Task], max_records_per_task: int | None, watch: Callable[[], None]
    ) -> dict[Ask, Answer]:
        """Read by Spark's own source; if that fails, topic by topic, because Spark does not name the failing one."""
        topics = {ask.partition.topic for ask in tasks}
        try:
            return self._job(tasks, max_records_per_task, watch)
        except ClusterError as error:
            if len(topics) == 1 or isinstance(error, ClusterUnreachableError):
                self.unread.update(dict.fromkeys(tasks, error))
                return {}
        results: dict[Ask, Answer] = {}
        for topic in sorted(topics):
            of_topic = {ask: task for ask, task in tasks.items() if ask.partition.topic == topic}
            results.update(self._by_source(of_topic, max_records_per_task, watch))
        return results

    def _job(
        self, tasks: Mapping[Ask, Task], max_records_per_task: int | None, watch: Callable[[], None]
    ) -> dict[Ask, Answer]:
        numbered = dict(enumerate(tasks.items()))
        logs = [LogSide.OLD, LogSide.NEW]
        if self.isolation is IsolationLevel.READ_COMMITTED:
            logs.append(LogSide.ABORTED)
        parts = [self._records(log, numbered, max_records_per_task) for log in logs]
        records = parts[0]
        # A question whose spans hold no record is answered too, so that no answer can get lost.
        questions = self.spark.createDataFrame([(number,) for number in numbered], "task long")
        for part in (*parts[1:], questions):
            records = records.unionByName(part, allowMissingColumns=True)
        by_number = {number: (secrets.token_hex(8), task) for number, (_, task) in numbered.items()}
        # Spark 4.2 inspects the types of the function over Connect, and raises UnboundLocalError for a partial.
        grouped = records.groupBy("task").applyInArrow(lambda group: answer_group(by_number, group), ANSWER_SCHEMA)
        with spark_errors():
            table = interruptible(self.spark, grouped.toArrow, watch)
        rows = rows_of(table, {"task": int, "answer": str})
        once(row["task"] for row in rows)
        answered = {row["task"] for row in rows}
        if answered != by_number.keys():
            raise foreign_answer(f"{len(answered & by_number.keys()):,} of {len(by_number):,} questions answered")
        given = {row["task"]: read_answer(row["answer"], *by_number[row["task"]]) for row in rows}
        return {ask: given[number] for number, (ask, _) in numbered.items()}

    def _records(
        self, log: LogSide, numbered: Mapping[int, tuple[Ask, Task]], max_records_per_task: int | None
    ) -> DataFrame:
        is_new = log is LogSide.NEW
        requests = [
            (
                number,
                ask.new_topic if is_new else ask.partition.topic,
                ask.partition.partition,
                (task.new if is_new else task.old).start,
                (task.new if is_new else task.old).end,
            )
            for number, (ask, task) in numbered.items()
        ]
        ranges = [OffsetRange(topic=t, partition=p, start=start, end=end) for _, t, p, start, end in requests]
        records = read_records(
            self.spark,
            self.properties[Cluster.NEW if is_new else Cluster.OLD],
            ranges,
            isolation=IsolationLevel.READ_UNCOMMITTED if log is LogSide.ABORTED else self.isolation,
            salt=self.salt,
            max_records_per_task=max_records_per_task,
        )
        tasks = self.spark.createDataFrame(
            requests, "task long, wanted_topic string, wanted_partition int, from_offset long, to_offset long"
        )
        inside = (
            (F.col("topic") == F.col("wanted_topic"))
            & (F.col("partition") == F.col("wanted_partition"))
            & (F.col("offset") >= F.col("from_offset"))
            & (F.col("offset") < F.col("to_offset"))
        )
        return records.join(F.broadcast(tasks), on=inside, how="inner").select(
            "task",
            F.lit(log.value).alias("log"),
            *RECORD_COLUMNS,
            "origin",
            "size",
        )
