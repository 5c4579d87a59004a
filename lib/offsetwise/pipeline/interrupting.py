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
"""How long a stop waits for a Connect server to report that the job runs; most report every 2 s."""
STOP_LIMIT_S: Final = 60.0
"""How long to wait for the end of stopped jobs."""

_T = TypeVar("_T")
_Result = TypeVar("_Result")


def over_connect(spark: object) -> TypeGuard[ConnectSession]:
    return not isinstance(spark, SparkSession)


def interruptible(spark: SparkSession, action: Callable[[], _T], watch: Callable[[], None]) -> _T:
    """Run Spark jobs in a separate thread, so that the caller can stop them.

    Args:
        spark: A session, classic or Connect.
        action: Runs the jobs.
        watch: Called several times a second; its exception ends the jobs and is raised here.

    Raises:
        SparkError: The jobs were stopped, and did not end in time: they may still run.
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
    """Run a function in a daemon thread, which does not delay the end of the process."""
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by `Future.result`
            outcome.set_exception(error)

    Thread(target=run, name="offsetwise-spark", daemon=True).start()
    return outcome


def _stop(jobs: _Jobs, tag: str, running: Future[_T]) -> None:
    heard_until = time.monotonic() + UNHEARD_S
    # Repeatedly: between two jobs there is none to stop.
    while not wait((running,), timeout=POLL_S).done:
        if jobs.known_to_run or time.monotonic() > heard_until:
            jobs.stop(tag)


class _Jobs(Protocol):
    @property
    def where(self) -> str:
        """The master or server."""

    @property
    def known_to_run(self) -> bool:
        """Whether a stop certainly reaches a running job."""

    def begin(self, tag: str) -> None:
        """Tag the jobs that this thread starts from now on."""

    def end(self, tag: str) -> None:
        """Stop tagging."""

    def stop(self, tag: str) -> object:
        """Stop the tagged jobs."""


class _ClassicJobs:
    """A classic session looks up its tags per thread: `interruptTag` called from another thread stops nothing."""

    known_to_run = True

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self.where = str(context.master)
        self.begin, self.end, self.stop = context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


class _ConnectJobs(ProgressHandler):
    """A Connect server handles one stop of an operation, and loses it if it comes too early.

    It interrupts the operation's thread once and ignores later stops (`ExecuteThreadRunner.interrupt`, Spark 4.0.0). A
    thread that waits for its job then cancels the job. While the plan is still being prepared, the interrupt may be
    swallowed, and the job runs to its end. So no stop is sent before the server reports running tasks of the job.
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
        """Handle a progress report; a session calls every handler for all operations, each in its own thread."""
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
    """Process tasks on Spark, in as many Spark tasks as needed.

    Values that `work` holds, such as credentials, reach the workers with the function; they appear in no row, plan or
    job description.

    Args:
        spark: A session whose workers have the module of `work`.
        work: Processes some tasks and returns their results in the same order.
        tasks: All tasks.
        kind: The type of a result, a dataclass of JSON values. A server may be a false one, so results are transferred
            as JSON and validated.
        at_once: How many tasks `work` takes at a time.
        watch: Called several times a second; its exception ends the job and is raised here.

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
    """Return a validator for the JSON of workers: exactly the fields that they write, each with its own type.

    With `int64` every number must fit 64 bits.
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
    """Validate the answers of Spark's workers, and sort them by task.

    Args:
        rows: One for each share: its `number`, and its `results` as JSON, each after the token of its task.
        tokens: The tokens of the tasks; share n has every task whose number modulo `shares` is n.
        shares: The expected number of rows.
        kind: The type of a result.

    Raises:
        WorkerError: Rows are missing, repeated or damaged, or have too few, too many or foreign results.
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
