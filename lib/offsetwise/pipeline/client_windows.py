"""Narrow windows of many partitions in one Spark job, each of whose tasks reads its own by librdkafka."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError
from pyspark.sql import SparkSession

from offsetwise.errors import ClusterAuthError, ClusterError, ClusterUnreachableError
from offsetwise.model import Cluster, IsolationLevel
from offsetwise.pipeline.interrupting import interruptible
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors
from offsetwise.pipeline.windows import WINDOW_SCHEMA, LocatedTask, answer_windows, row
from offsetwise.streams.kafka.client import consumer_configuration
from offsetwise.streams.kafka.ranges import RangeFailure
from offsetwise.translation.search import Span
from offsetwise.translation.worker import Answer, LogSide, RecordQuestion, Task

OFFSETS_PER_TASK: Final = 4_000
"""A Spark task for each so many, up to the number of tasks that Spark runs: starting one costs about as much."""

READ_WINDOWS: Final = {
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 10,
    "fetch.message.max.bytes": 131_072,
    "topic.metadata.propagation.max.ms": 5_000,
}
"""A client of a task reads little of many partitions of topics that exist, and waits for nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written(Answer):
    token: str


_WRITTEN: Final = TypeAdapter(_Written)


def read_answer(text: object, token: str, task: Task) -> Answer:
    """Read what a worker answered, and hold it against its question.

    Args:
        text: What came in the place of the answer.
        token: That of the question.
        task: The question.

    Raises:
        WorkerError: It is no answer, that of another question, or of offsets that were not read.
    """
    try:
        read = _WRITTEN.validate_json(text if isinstance(text, str) else "")
    except ValidationError as error:
        raise foreign_answer(f"no answer of this release: {error.error_count()} of its values do not fit") from error
    if read.token != token:
        raise foreign_answer("the answer to another question")
    asked = {RecordQuestion.CUT: read.cut, RecordQuestion.PROBE: read.probe, RecordQuestion.SAME: read.same}
    if asked[task.question] is None or sum(part is not None for part in asked.values()) != 1:
        raise foreign_answer(f"no answer to whether the records are the same, or where: {task.question}")
    if any(not span.start <= offset <= span.end for span, offset in _offsets(read, task)):
        raise foreign_answer("an answer about offsets that were not to be read")
    return Answer(**{each.name: getattr(read, each.name) for each in fields(Answer)})


def _offsets(read: Answer, task: Task) -> Iterator[tuple[Span, int]]:
    """Give every offset that an answer names, with the span that it has to lie in."""
    cut, batch = read.cut, read.batch
    if cut is not None:
        ends = (cut.offset, cut.lo, cut.hi, cut.new_from)
        yield from ((task.new_whole, offset) for offset in ends if offset is not None)
    for neighbour in (*read.kept, *(() if cut is None else cut.neighbours)):
        for span, offset in ((task.old, neighbour.old_offset), (task.new, neighbour.new_offset)):
            if offset is not None:
                yield span, offset
    if batch is not None:
        yield task.new, batch.start
        yield task.new, batch.end


_UNREAD: Final = {
    RangeFailure.REFUSED: (
        ClusterAuthError,
        "A broker refused to give records to Spark's workers",
        "Check security.protocol, user, password, certificates and ACLs of this cluster in the migration file.",
    ),
    RangeFailure.SILENT: (
        ClusterUnreachableError,
        "A broker did not give Spark's workers the records in time",
        "Check that the partition's leader is up, and that Spark's machines reach the brokers' advertised addresses.",
    ),
    RangeFailure.GONE: (
        ClusterError,
        "Spark's workers were sent to a topic or partition that the cluster does not have",
        "Take a new snapshot: the topic may have been deleted or recreated.",
    ),
    RangeFailure.CUT_BACK: (
        ClusterError,
        "The log moved away while Spark's workers read it",
        "Compare again: a recreated topic or a new leader removed records while they were read.",
    ),
}


def answer_by_clients(
    spark: SparkSession,
    clients: Mapping[Cluster, Mapping[str, str]],
    asked: Sequence[Sequence[LocatedTask]],
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
    consumers = _consumers(clients, isolation)
    offsets = sum(len(each.task.old) + len(each.task.new) for some in asked for each in some)
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    table = spark.createDataFrame(pa.table({"asked": pa.array([row(some) for some in asked], pa.string())}))
    answered = table.coalesce(max(1, min(most, offsets // OFFSETS_PER_TASK))).mapInArrow(
        partial(answer_windows, consumers, salt), WINDOW_SCHEMA
    )
    with spark_errors():
        given: list[dict[str, Any]] = interruptible(spark, answered.toArrow, watch).to_pylist()
    return _read_answers(given, {task.number: task for tasks in asked for task in tasks})


def _consumers(
    clients: Mapping[Cluster, Mapping[str, str]], isolation: IsolationLevel
) -> dict[LogSide, dict[str, Any]]:
    """Return the consumer's configuration for each log that is read."""
    levels = {LogSide.OLD: isolation, LogSide.NEW: isolation}
    if isolation is IsolationLevel.READ_COMMITTED:
        levels[LogSide.ABORTED] = IsolationLevel.READ_UNCOMMITTED
    return {
        log: consumer_configuration(clients[Cluster.NEW if log is LogSide.NEW else Cluster.OLD])
        | READ_WINDOWS
        | {"isolation.level": level.value}
        for log, level in levels.items()
    }


def _read_answers(
    given: Sequence[Mapping[str, Any]], questions: Mapping[int, LocatedTask]
) -> dict[int, Answer | ClusterError]:
    """Return the workers' answers by number of the task, checked: each is to a question that was asked, once."""
    once(each["task"] for each in given)
    answers: dict[int, Answer | ClusterError] = {}
    for each in given:
        question = questions.get(each["task"])
        if question is None:
            raise foreign_answer(f"one to a question {each['task']!r} that was not asked")
        if each["failed"] is not None:
            if each["failed"] not in _UNREAD:
                raise foreign_answer(f"a failure {str(each['failed'])[:60]!r} that it does not know")
            kind, problem, fix = _UNREAD[RangeFailure(each["failed"])]
            answers[question.number] = kind(f"{problem}: {each['told']}. No result was used.", fix=fix)
        elif each["answer"] is not None:
            answers[question.number] = read_answer(each["answer"], question.token, question.task)
    return answers


def once(numbers: Iterable[object]) -> None:
    """Go on where each question was answered once.

    Raises:
        WorkerError: One was answered again.
    """
    twice = next((number for number, count in Counter(numbers).items() if count > 1), None)
    if twice is not None:
        raise foreign_answer(f"two answers to question {twice!r}")
