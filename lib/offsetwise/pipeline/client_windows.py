"""Read narrow windows of many partitions in one Spark job, whose tasks use librdkafka."""

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
from offsetwise.model import Cluster, Exactness, IsolationLevel
from offsetwise.pipeline.interrupting import exact_reader, interruptible
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors
from offsetwise.pipeline.windows import WINDOW_SCHEMA, LocatedTask, answer_windows, row
from offsetwise.streams.ranges import RangeFailure, consumer_configuration
from offsetwise.translation.search import Span
from offsetwise.translation.windows import Cut, Reason
from offsetwise.translation.worker import RUN, Answer, LogSide, RecordQuestion, Task

OFFSETS_PER_TASK: Final = 4_000
"""The number of offsets for which another Spark task is started, up to Spark's parallelism: its overhead is about as
large."""

READ_WINDOWS: Final = {
    "fetch.wait.max.ms": 10,
    "fetch.queue.backoff.ms": 10,
    "fetch.message.max.bytes": 131_072,
    "topic.metadata.propagation.max.ms": 5_000,
}
"""The client of a task reads little data of many partitions of existing topics, so nothing is worth waiting for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written(Answer):
    token: str


_WRITTEN: Final = exact_reader(TypeAdapter(_Written), int64=True)


def read_answer(text: object, token: str, task: Task) -> Answer:
    """Parse and check the answer of a worker.

    Args:
        text: The answer.
        token: The token of the question.
        task: The question.

    Raises:
        WorkerError: It is no answer, that of another question, or about offsets that were not read.
    """
    try:
        read = _WRITTEN.validate_json(text if isinstance(text, str) else "")
    except ValidationError as error:
        raise foreign_answer(f"no answer of this release: {error.error_count()} of its values do not fit") from error
    if read.token != token:
        raise foreign_answer("the answer to another question")
    parts = {RecordQuestion.CUT: read.cut, RecordQuestion.PROBE: read.probe, RecordQuestion.SAME: read.same}
    if parts[task.question] is None or sum(part is not None for part in parts.values()) != 1:
        raise foreign_answer(f"no answer to whether the records are the same, or where: {task.question}")
    if any(not span.start <= offset <= span.end for span, offset in _offsets(read, task)):
        raise foreign_answer("an answer about offsets that were not to be read")
    if (impossible := next(_contradictions(read, task), None)) is not None:
        raise foreign_answer(f"an answer that contradicts itself: {impossible}")
    return Answer(**{field.name: getattr(read, field.name) for field in fields(Answer)})


def _offsets(read: Answer, task: Task) -> Iterator[tuple[Span, int]]:
    cut, batch = read.cut, read.batch
    if cut is not None:
        ends = (cut.offset, cut.lo, cut.hi, cut.new_from)
        yield from ((task.new_whole, offset) for offset in ends if offset is not None)
    for neighbour in (*read.kept, *(() if cut is None else (*cut.neighbours, *cut.at_raw))):
        for span, offset in ((task.old, neighbour.old_offset), (task.new, neighbour.new_offset)):
            if offset is not None:
                yield span, offset
                yield span, offset + 1  # a record lies below the end
    if batch is not None:
        yield task.new, batch.start
        yield task.new, batch.end


def _contradictions(read: Answer, task: Task) -> Iterator[str]:
    most = len(task.old), len(task.new)
    counts: list[int | None] = [read.record_bytes, read.times.back_ms, read.times.new_ahead]
    if read.cut is not None:
        yield from _in_cut(read.cut, task)
        counts += _counts(read.cut)
    if read.probe is not None:
        probe_counts = (read.probe.agree, read.probe.alike, read.probe.differ)
        counts += probe_counts
        if sum(probe_counts) > min(most):
            yield "more probed than was read"
    if any(count is not None and count < 0 for count in counts):
        yield "a negative number of records"
    if len(read.times.before) > RUN or read.times.new_ahead > most[1]:
        yield "more times than records"
    if read.batch is not None and (task.until is None or read.batch.start > read.batch.end):
        yield "a batch that ends before it begins, or that nobody asked about"


def _counts(cut: Cut) -> Iterator[int | None]:
    yield from (cut.skip, cut.replay, cut.foreign_below, cut.missing, cut.aborted_visible, cut.raw_skip, cut.raw_replay)
    yield from (cut.anchors_before, cut.anchors_after, cut.old_records, cut.new_records)
    yield from (cut.ahead.missing, cut.ahead.duplicated, cut.ahead.foreign)


def _in_cut(cut: Cut, task: Task) -> Iterator[str]:
    proven, bounded = cut.exactness in _PROVEN, cut.exactness is Exactness.BOUNDED
    if cut.exactness not in (*_PROVEN, Exactness.BOUNDED, Exactness.UNKNOWN, None):
        yield f"{cut.exactness} from records"
    if cut.exactness is None and task.last:
        yield "larger windows, where there are none"
    if cut.looks or cut.reason in _OF_DRIVER:
        yield f"{cut.reason}, which no records show"
    if (proven or bounded) is (cut.offset is None):
        yield "a position without proof or bounds, or the other way round"
    if proven and not cut.lo == cut.hi == cut.offset:
        yield "a proven position with other bounds"
    if bounded and (cut.lo != cut.offset or (cut.hi is not None and cut.lo is not None and cut.hi < cut.lo)):
        yield "bounds that do not enclose their position"
    if cut.old_records > len(task.old) or cut.new_records > len(task.new):
        yield "more records than offsets"


_PROVEN: Final = (Exactness.EXACT, Exactness.POSITION_EXACT)
_OF_DRIVER: Final = (Reason.LOG_MOVED, Reason.LOOKS_DIFFER, Reason.EMPTY_PARTITION)
"""Reasons that only the driver, which sees whole logs, can state."""

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
        "Records were removed from the log while Spark's workers read it",
        "Compare again: a recreated topic or a new leader removed records while they were read.",
    ),
}


def answer_by_clients(
    spark: SparkSession,
    clients: Mapping[Cluster, Mapping[str, str]],
    task_lists: Sequence[Sequence[LocatedTask]],
    *,
    isolation: IsolationLevel,
    salt: bytes,
    watch: Callable[[], None],
) -> dict[int, Answer | ClusterError]:
    """Answer tasks by one client of each log in every Spark task.

    Args:
        spark: A session whose workers have librdkafka.
        clients: librdkafka's properties of both clusters, secrets resolved.
        task_lists: The tasks of each partition: one client reads them, so that overlapping windows are read once.
        isolation: The isolation level of the job.
        salt: Keys the hashes.
        watch: Called several times a second; its exception ends the job and is raised here.

    Returns:
        By the number of the task, its answer or why the cluster does not return the records. Tasks that only Spark's
            own source can read are missing.

    Raises:
        SparkError: The job failed.
    """
    consumers = _consumers(clients, isolation)
    offsets = sum(len(task.task.old) + len(task.task.new) for some in task_lists for task in some)
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    table = spark.createDataFrame(pa.table({"asked": pa.array([row(some) for some in task_lists], pa.string())}))
    answered = table.coalesce(max(1, min(most, offsets // OFFSETS_PER_TASK))).mapInArrow(
        partial(answer_windows, consumers, salt), WINDOW_SCHEMA
    )
    with spark_errors():
        given = interruptible(spark, answered.toArrow, watch)
    rows = rows_of(given, {"task": int, "answer": str, "failed": str, "told": str})
    return _read_answers(rows, {task.number: task for tasks in task_lists for task in tasks})


def _consumers(
    clients: Mapping[Cluster, Mapping[str, str]], isolation: IsolationLevel
) -> dict[LogSide, dict[str, Any]]:
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
    once(answer_row["task"] for answer_row in given)
    answers: dict[int, Answer | ClusterError] = {}
    for answer_row in given:
        question = questions.get(answer_row["task"])
        if question is None:
            raise foreign_answer(f"one to a question {answer_row['task']!r} that was not asked")
        if answer_row["failed"] is not None and answer_row["answer"] is not None:
            raise foreign_answer(f"an answer and a failure to question {question.number}")
        if answer_row["failed"] is not None:
            if answer_row["failed"] not in _UNREAD:
                raise foreign_answer(f"a failure {str(answer_row['failed'])[:60]!r} that it does not know")
            kind, problem, fix = _UNREAD[RangeFailure(answer_row["failed"])]
            answers[question.number] = kind(f"{problem}: {answer_row['told']}. No result was used.", fix=fix)
        elif answer_row["answer"] is not None:
            answers[question.number] = read_answer(answer_row["answer"], question.token, question.task)
    return answers


def rows_of(table: pa.Table, columns: Mapping[str, type]) -> list[dict[str, Any]]:
    """Return the rows of a table that workers returned.

    Args:
        table: The table.
        columns: The type of every column; all but the first may be null.

    Raises:
        WorkerError: It has other columns, or values of another type.
    """
    if table.column_names != [*columns]:
        raise foreign_answer(f"the columns {', '.join(table.column_names)[:200]}")
    answered: list[dict[str, Any]] = table.to_pylist()
    first = next(iter(columns))
    for values in answered:
        for name, kind in columns.items():
            value = values[name]
            if type(value) is not kind and (name == first or value is not None):
                raise foreign_answer(f"a {type(value).__name__} in the column {name}")
    return answered


def once(numbers: Iterable[object]) -> None:
    """Raise unless each question was answered once.

    Raises:
        WorkerError: A number is repeated.
    """
    twice = next((number for number, count in Counter(numbers).items() if count > 1), None)
    if twice is not None:
        raise foreign_answer(f"two answers to question {twice!r}")
