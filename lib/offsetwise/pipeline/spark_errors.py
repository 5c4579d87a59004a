"""Spark's failures in our words: the cause's first line, never a Java stack trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from offsetwise.client_properties.user_settings import SPARK_CONF
from offsetwise.errors import (
    ClusterAuthError,
    ClusterError,
    ClusterUnreachableError,
    ConnectorError,
    OffsetwiseError,
    SparkError,
    WorkerError,
)

CAUSE_CHARACTERS: Final = 300

_KNOWN: Final[tuple[tuple[re.Pattern[str], type[OffsetwiseError], str, str], ...]] = (
    (
        re.compile(r"DATA_SOURCE_NOT_FOUND|Failed to find (the )?data source: kafka"),
        ConnectorError,
        "Spark has no Kafka connector",
        "Add org.apache.spark:spark-sql-kafka-0-10 in Spark's own version to the session (spark.jars.packages, or "
        f"spark.jars offline, in the file that {SPARK_CONF} names); for Spark Connect it belongs on the server.",
    ),
    (
        re.compile(
            r"\w*(Authentication|Authorization)Exception|LoginException|IllegalSaslState|JAAS|Not authorized to access"
        ),
        ClusterAuthError,
        "A broker refused Spark's Kafka source",
        "Check security.protocol, user, password, certificates and ACLs of this cluster in the migration file.",
    ),
    (
        re.compile(r"No resolvable bootstrap urls|Timed out waiting for a node assignment|DisconnectException"),
        ClusterUnreachableError,
        "No broker answered Spark's Kafka source",
        "Check bootstrap.servers, and that Spark's machines reach the brokers' advertised addresses, and that both "
        "ends use TLS or neither does.",
    ),
    (
        re.compile(r"UnknownTopicOrPartition|This server does not host|offsets don't match what are assigned"),
        ClusterError,
        "Spark's Kafka source was sent to a topic or partition that the cluster does not have",
        "Take a new snapshot: the topic may have been deleted or recreated.",
    ),
    (
        re.compile(r"Cannot fetch record for offset \d+ in \d+ milliseconds"),
        ClusterError,
        "A broker did not give Spark's Kafka source a record in time",
        "Check that the partition's leader is up, and compare again: the log may have been cut back meanwhile.",
    ),
    (
        re.compile(r"OffsetOutOfRange|Cannot fetch offset|Some data may have been lost"),
        ClusterError,
        "Records were removed from the log while Spark's Kafka source read it",
        "Compare again: retention or a recreated topic removed records while they were read.",
    ),
    (
        re.compile(r"No module named '[\w.]+'|PYTHON_VERSION_MISMATCH|Cannot run program \"[^\"]*python"),
        WorkerError,
        "Spark's Python workers cannot run Offsetwise's functions",
        "Give the workers the driver's Python version with pyarrow and fsspec (spark.pyspark.python, in the "
        f"file that {SPARK_CONF} names, says which).",
    ),
    (
        re.compile(r"OutOfMemoryError"),
        SparkError,
        "Spark ran out of memory",
        "Give it more (spark.driver.memory for local masters, else spark.executor.memory).",
    ),
)

_NO_ANSWER: Final = re.compile(r"An error occurred while calling \S+")
"""The whole message of py4j when Java ends during a call; an exception of Java has a second line."""

_masked: Callable[[str], str] = str
"""Masks the secrets of the running session in a text. A Spark session is a global of the process."""


def hide(masked: Callable[[str], str]) -> None:
    global _masked  # noqa: PLW0603 - see above
    _masked = masked


def tellable(error: Exception) -> Exception | None:
    """Return an error as the cause of one of ours; None if its text has a secret, which a traceback would print."""
    return error if _masked(str(error)) == str(error) else None


def translate_spark_error(error: BaseException) -> OffsetwiseError:
    """Convert whatever PySpark raised in a Spark action.

    The result never has a stack trace or more than one line of Spark's text.
    """
    if isinstance(error, OffsetwiseError):
        return error
    result = _cause_of(error)
    return result.kind(f"{result.lead}{result.what}. No result was used.", fix=result.fix)


def cause_of(error: PySparkException | Py4JError) -> str:
    return first_line(_cause_of(error).what)


@dataclass(frozen=True, slots=True)
class _Cause:
    kind: type[OffsetwiseError]
    what: str
    """One clause."""
    fix: str
    lead: str = ""


def _cause_of(error: BaseException) -> _Cause:
    text = _masked(str(error))
    if isinstance(error, (ConnectionError, Py4JNetworkError)) or _NO_ANSWER.fullmatch(text):
        return _Cause(
            SparkError,
            "Spark: expected an answer from its Java process, which has ended",
            "Run it again: a new one is started. If it ends again, look for what ended it, often the system for want "
            "of memory (spark.driver.memory).",
        )
    for pattern, kind, problem, fix in _KNOWN:
        if match := pattern.search(text):
            return _Cause(kind, f"{problem}: {_line_of(text, match.start())}", fix)
    fix = "Run it again; if it stays, see Spark's log."
    return _Cause(SparkError, _cause(text), fix, lead="A Spark job failed: ")


@contextmanager
def spark_errors() -> Iterator[None]:
    """Convert exceptions of Spark inside the block.

    Raises:
        OffsetwiseError: See `translate_spark_error`.
    """
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise translate_spark_error(error) from tellable(error)


def foreign_answer(actual: str) -> WorkerError:
    """Return the error for an answer that Offsetwise's own function never gives on Spark's workers."""
    return WorkerError(
        f"Spark's workers: expected the answer of Offsetwise's own function to each question, found {actual}. Nothing "
        "was used from them.",
        fix="Find out who answers at spark.remote or spark.master of the migration file, and that nothing of another "
        "release of Offsetwise is on its workers.",
    )


def first_line(text: str) -> str:
    lines = text.strip().splitlines()
    line = re.sub(r"^(Caused by: |: )", "", lines[0].strip() if lines else "no message")
    line = re.sub(r"\b(?:[a-z_$][\w$]*\.)+([A-Z][\w$]*(?:Exception|Error)\b)", r"\1", line)
    return line[:CAUSE_CHARACTERS].rstrip(". ")


def _cause(text: str) -> str:
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    return first_line(causes[-1] if causes else _message(text))


def _message(text: str) -> str:
    """Return the first line with content, without py4j's own `An error occurred while calling o12.collect.` line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return lines[1].removeprefix(": ")
    return lines[0] if lines else "no message"


def _line_of(text: str, at: int) -> str:
    return first_line(text[text.rfind("\n", 0, at) + 1 :])
