"""The session in processes of its own: what it needs, what it says, and that there is only one."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from offsetwise.config import SparkSettings
from offsetwise.errors import (
    ClusterAuthError,
    ClusterError,
    ClusterUnreachableError,
    ConnectorError,
    OffsetwiseError,
    SparkError,
    WorkerError,
)
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.spark_errors import translate_spark_error
from tests.with_cases import with_cases

OPEN = """
import json, sys
from offsetwise.config import SparkSettings
from offsetwise.errors import OffsetwiseError
from offsetwise.pipeline.session import close_session, open_session

settings, kafka = json.loads(sys.argv[1])
try:
    spark = open_session(SparkSettings(**settings), kafka=kafka)
    print(spark.range(7).count(), spark.conf.get("spark.sql.session.timeZone"))
    close_session()
except OffsetwiseError as error:
    print(type(error).__name__, error)
"""

KILL_JAVA = """
from signal import SIGSTOP
from threading import Timer
from pyspark import SparkContext
from offsetwise.config import SparkSettings
from offsetwise.errors import SparkError
from offsetwise.pipeline.session import close_session, open_session
from offsetwise.pipeline.spark_errors import spark_errors

def total(rows, before=lambda java: None):
    spark = open_session(SparkSettings(master="local[1]"), kafka=False)
    before(SparkContext._gateway.proc)
    with spark_errors():
        return spark.range(rows).selectExpr("sum(id % 7)").collect()[0][0]

def kill_soon(java):
    Timer(1, java.kill).start()

def kill_before_it_listens(java):
    java.send_signal(SIGSTOP)
    kill_soon(java)

for kill in (kill_soon, kill_before_it_listens):
    try:
        total(10**15, before=kill)
    except SparkError as error:
        print(error)
print(total(7))
close_session()
"""

WITH_A_SECRET = """
from pathlib import Path
from pyspark import SparkContext
from offsetwise.config import SparkSettings
from offsetwise.pipeline.session import close_session, open_session

conf = {"spark.hadoop.fs.test.secret.key": "${SECRET_OF_SPARK}", "spark.hadoop.fs.test.region": "${REGION_OF_SPARK}"}
settings = SparkSettings(master="local[1]", conf=conf)
known = open_session(settings, kafka=False).sparkContext.getConf()
print(*(known.get(name) for name in conf))
print("canary" in Path(f"/proc/{SparkContext._gateway.proc.pid}/cmdline").read_text(), "canary" in repr(settings))
close_session()
"""


def opened(settings: str, *, kafka: bool, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OPEN, f"[{settings}, {str(kafka).lower()}]"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )


def test_a_local_session_opens_without_a_word_of_its_own() -> None:
    child = opened('{"master": "local[1]"}', kafka=False)

    assert child.stdout == "7 UTC\n"
    assert child.stderr == ""


def test_a_secret_of_spark_is_a_reference_that_the_session_knows_and_no_command_line_shows() -> None:
    child = subprocess.run(
        [sys.executable, "-c", WITH_A_SECRET],
        env={**os.environ, "SECRET_OF_SPARK": "canary", "REGION_OF_SPARK": "north"},
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )

    assert child.stdout == "canary north\nFalse False\n"


def test_many_threads_share_one_session() -> None:
    with ThreadPoolExecutor(8) as threads:
        sessions = list(threads.map(lambda _: open_session(SparkSettings(), kafka=False), range(16)))

    assert len({id(session) for session in sessions}) == 1


@pytest.mark.proof
def test_a_java_process_that_dies_is_said_in_words_and_the_next_work_gets_a_new_one() -> None:
    child = subprocess.run([sys.executable, "-c", KILL_JAVA], capture_output=True, text=True, timeout=300, check=True)

    *said, total = child.stdout.splitlines()
    ended = "Spark: expected an answer from its Java process, which has ended. No result was used."
    assert [line.startswith(ended) for line in said] == [True, True]
    assert total == "21"
    assert child.stderr == ""


@with_cases(
    ("settings", "environment", "error", "said"),
    [
        (
            '{"conf": {"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.0"}}',
            {},
            "ConnectorError",
            ["looked for org.apache.spark:spark-sql-kafka-0-10_2.13:0.0.0", "found it nowhere", "spark.jars"],
        ),
        (
            '{"conf": {"spark.jars": "/no/such/spark-sql-kafka-0-10_2.13.jar"}}',
            {},
            "ConnectorError",
            ["found none that loads", "spark.jars"],
        ),
        ('{"master": "nonsense"}', {}, "SparkError", ["Spark on nonsense", "Master must", "spark.master"]),
        ("{}", {"JAVA_HOME": "/no/such/java"}, "SparkError", ["Spark needs Java 17", "JAVA_HOME (/no/such/java)"]),
    ],
    ids=["no such version", "no such jar", "unusable master", "no Java"],
)
def test_what_keeps_spark_from_starting_is_said_without_a_traceback(
    settings: str, environment: dict[str, str], error: str, said: list[str]
) -> None:
    child = opened(settings, kafka=True, **environment)

    assert child.stdout.startswith(f"{error} ")
    assert [part for part in said if part not in child.stdout] == []
    assert child.stdout.count("\n") == 1
    assert child.stderr == ""


def test_java_on_the_path_that_is_missing_is_said(tmp_path: Path) -> None:
    child = opened("{}", kafka=False, JAVA_HOME="", PATH=str(tmp_path))

    assert child.stdout.startswith("SparkError Spark needs Java 17 or newer, and PATH has none.")


@with_cases(
    ("text", "error"),
    [
        (
            "An error occurred while calling o9.collectToPython.\n: org.apache.spark.SparkException: Job aborted\n"
            "\tat a.b(C.scala:1)\nCaused by: org.apache.kafka.common.errors.SaslAuthenticationException: "
            "Authentication failed\n\tat d.e(F.java:2)",
            ClusterAuthError,
        ),
        ("TimeoutException: Timed out waiting for a node assignment. Call: listNodes", ClusterUnreachableError),
        ("UnknownTopicOrPartitionException: This server does not host this topic-partition.", ClusterError),
        ("java.util.concurrent.TimeoutException: Cannot fetch record for offset 9 in 30000 milliseconds", ClusterError),
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka. Make sure", ConnectorError),
        ("Traceback\n  File\nModuleNotFoundError: No module named 'pyarrow'", WorkerError),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11",
            WorkerError,
        ),
        ("something\nnobody\nforesaw", SparkError),
        ("", SparkError),
    ],
    ids=["auth", "unreachable", "topic", "poll", "connector", "module", "python", "other", "empty"],
)
def test_spark_failures_become_one_line_of_ours(text: str, error: type[OffsetwiseError]) -> None:
    translated = translate_spark_error(Py4JError(text))

    assert type(translated) is error
    assert "\n" not in str(translated)
    assert "\tat " not in str(translated)
    assert translated.fix
