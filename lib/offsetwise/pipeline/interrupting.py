from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import asdict
from threading import Event, Thread, get_ident
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator
from pyspark.sql import SparkSession

from offsetwise.errors import SparkError
from offsetwise.model.offsets import IN_FILES_FIRST
from offsetwise.pipeline.spark_errors import foreign_answer, spark_errors

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession as ConnectSession
    from pyspark.sql.connect.shell.progress import ProgressHandler, StageInfo
else:
    ProgressHandler = object

POLL_S: Final = 0.2
UNHEARD_S: Final = 30.0
"""How long a stop waits for a Connect server to say that the job runs; most say so every 2 s."""
STOP_LIMIT_S: Final = 60.0
"""How long somebody who stopped the jobs waits for their end."""

_T = TypeVar("_T")
_Result = TypeVar("_Result")


def over_connect(spark: object) -> TypeGuard[ConnectSession]:
    return not isinstance(spark, SparkSession)


def interruptible(spark: SparkSession, action: Callable[[], _T], watch: Callable[[], None]) -> _T:
    """Run Spark's jobs in a thread of their own, so that whoever watches can stop them.

    Args:
        spark: A session, classic or Connect.
        action: What runs the jobs.
        watch: Called several times a second; whatever it raises ends the jobs and is raised here.

    Raises:
        SparkError: The jobs were stopped, and did not end in time: they may run on.
    """
    tag = f"offsetwise-{uuid4().hex}"
    jobs: _Jobs = _ConnectJobs(spark) if over_connect(spark) else _ClassicJobs(spark)

    def run() -> _T:
        jobs.begin(tag)
        try:
            return action()
        finally:
            jobs.end(tag)

    running = _in_background(run)
    try:
        while not wait((running,), timeout=POLL_S).done:
            watch()
    except BaseException as stop:
        _in_background(lambda: _stop(jobs, tag, running))
        if not wait((running,), timeout=STOP_LIMIT_S).done:
            raise SparkError(
                f"Spark on {jobs.where}: expected the job to end when it was stopped, found it without an end after "
                f"{STOP_LIMIT_S:.0f} s. It may run on there; its result will not be used.",
                fix="Wait for its end before you start it again, or end it where Spark runs.",
            ) from stop
        raise
    return running.result()


def _in_background(work: Callable[[], _T]) -> Future[_T]:
    """Do something in a thread that nobody has to wait for, not even the end of the process."""
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - carried to whoever asks for the result
            outcome.set_exception(error)

    Thread(target=run, name="offsetwise-spark", daemon=True).start()
    return outcome


def _stop(jobs: _Jobs, tag: str, running: Future[_T]) -> None:
    heard_until = time.monotonic() + UNHEARD_S
    # Again and again: between two jobs there is none to stop.
    while not wait((running,), timeout=POLL_S).done:
        if jobs.known_to_run or time.monotonic() > heard_until:
            jobs.stop(tag)


class _Jobs(Protocol):
    @property
    def where(self) -> str:
        """The master or server."""

    @property
    def known_to_run(self) -> bool:
        """Whether a stop surely finds what it stops."""

    def begin(self, tag: str) -> None:
        """Mark what this thread starts from now on."""

    def end(self, tag: str) -> None:
        """Mark no more."""

    def stop(self, tag: str) -> object:
        """Stop what is so marked."""


class _ClassicJobs:
    """A classic session looks up its tags per thread: its `interruptTag`, asked by another one, stops nothing."""

    known_to_run = True

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self.where = str(context.master)
        self.begin, self.end, self.stop = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


class _ConnectJobs(ProgressHandler):
    """A Connect server obeys one stop of an operation, and forgets it where it comes too early.

    It interrupts the operation's thread once and does nothing at later stops (`ExecuteThreadRunner.interrupt`, Spark
    4.0.0). A thread that waits for its job then cancels the job. While the plan is still prepared, the interrupt may be
    swallowed, and the job runs to its end. So no stop is sent before the server reports tasks of the job at work.
    """

    def __init__(self, spark: ConnectSession) -> None:
        self.where: str = spark.client.host
        self.stop: Callable[[str], object] = spark.interruptTag
        self._spark = spark
        self._thread: int | None = None
        self._at_work = Event()

    @property
    def known_to_run(self) -> bool:
        return self._at_work.is_set()

    def begin(self, tag: str) -> None:
        self._thread = get_ident()
        self._spark.addTag(tag)
        self._spark.registerProgressHandler(self)

    def end(self, tag: str) -> None:
        self._spark.removeProgressHandler(self)
        self._spark.removeTag(tag)

    def __call__(
        self, stages: Iterable[StageInfo] | None, inflight_tasks: int, operation_id: str | None, done: bool
    ) -> None:
        """Take what the server says; a session tells every handler of all operations, each in its own thread."""
        del stages, operation_id
        if get_ident() == self._thread:
            (self._at_work.set if inflight_tasks and not done else self._at_work.clear)()


def work_on_spark(
    spark: SparkSession,
    work: Callable[[Sequence[_T]], Sequence[_Result]],
    tasks: Sequence[_T],
    *,
    kind: type[_Result],
    at_once: int,
    watch: Callable[[], None],
) -> list[_Result]:
    """Do tasks on Spark, in as many of its tasks as it takes.

    What `work` holds, such as credentials, goes to the workers with the function, and stands in no row, plan or text of
    a job.

    Args:
        spark: A session whose workers have the module of `work`.
        work: Does some tasks, and gives their results in the same order.
        tasks: All of them.
        kind: Of a result, a dataclass of what JSON has. A server may be a false one, so results come as JSON that is
            checked.
        at_once: How many `work` does at the same time.
        watch: Called several times a second; what it raises ends the job and is raised here.

    Returns:
        The results in the order of the tasks.

    Raises:
        SparkError: The job failed.
        WorkerError: The workers' rows are not those of these tasks.
    """
    count = -(-len(tasks) // at_once)
    tokens = [secrets.token_hex(8) for _ in tasks]

    def done(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - of the worker

        for batch in batches:
            for number in batch.column(0).to_pylist():
                results: list[Any] = [*work(tasks[number::count])]
                pairs = zip(tokens[number::count], [asdict(result) for result in results], strict=True)
                yield pa.RecordBatch.from_pylist([{"number": number, "results": json.dumps([*pairs])}])

    table = spark.range(0, count, numPartitions=count).mapInArrow(done, "number long, results string")
    with spark_errors():
        rows: list[dict[str, Any]] = interruptible(spark, table.toArrow, watch).to_pylist()
    return ordered_results(rows, tokens=tokens, shares=count, kind=kind)


def exact_reader(adapter: TypeAdapter[Any], *, int64: bool = False) -> SchemaValidator:
    """Return what reads the JSON of workers: every field that they write, each value as its own type, and nothing else.

    With `int64` every number fits 64 bits.
    """
    return SchemaValidator(_exactly(adapter.core_schema, int64=int64))


def _exactly(schema: Any, *, int64: bool) -> Any:
    if isinstance(schema, list):
        return [_exactly(subschema, int64=int64) for subschema in schema]
    if not isinstance(schema, dict):
        return schema
    if IN_FILES_FIRST in (schema.get("metadata") or {}):
        return schema["choices"][-1]  # workers, which have no pydantic, write numbers as numbers
    if schema.get("type") == "default":
        return _exactly(schema["schema"], int64=int64)  # they leave no field out
    results = {key: _exactly(subschema, int64=int64) for key, subschema in schema.items()}
    match results.get("type"):
        case "int":
            results |= {"strict": True} | ({"ge": -(2**63), "le": 2**63 - 1} if int64 else {})
        case "str" | "bool":
            results["strict"] = True
        case "dataclass-args":
            results["extra_behavior"] = "forbid"
    return results


def ordered_results(
    rows: Sequence[Mapping[str, Any]], *, tokens: Sequence[str], shares: int, kind: type[_Result]
) -> list[_Result]:
    """Check what Spark's workers answered, and put it into the order of the tasks.

    Args:
        rows: One of each share: its `number`, and its `results` as JSON, each behind the token of its task.
        tokens: Of the tasks; share n has every task whose number leaves n when divided by `shares`.
        shares: How many rows there must be.
        kind: Of a result.

    Raises:
        WorkerError: Rows are missing, repeated or damaged, or have too few or too many results, or those of others.
    """
    reader = exact_reader(TypeAdapter(list[tuple[str, kind]]))  # type: ignore[valid-type] # known at run time only
    by_share: dict[int, list[_Result]] = {}
    for row in rows:
        number = row.get("number")
        if type(number) is not int or not 0 <= number < shares or number in by_share:
            raise foreign_answer("rows that nobody asked for")
        try:
            results = reader.validate_json(row.get("results") or "")
        except ValidationError as error:
            raise foreign_answer(f"{error.error_count()} results of another shape") from error
        if [token for token, _ in results] != [*tokens[number::shares]]:
            raise foreign_answer("the results of other tasks, or another number of them")
        by_share[number] = [result for _, result in results]
    if len(by_share) != shares:
        raise foreign_answer(f"{len(by_share):,} of {shares} rows")
    return [by_share[task % shares][task // shares] for task in range(len(tokens))]
