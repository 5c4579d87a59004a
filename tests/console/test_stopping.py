"""Stop, pressed while Spark works for a page: the job ends, whichever page it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from offsetwise.config import SparkSettings
from offsetwise.console.answers import Answers, Question
from offsetwise.console.reader import Reader
from offsetwise.errors import StoppedError
from offsetwise.lab import Lab
from offsetwise.model import Subject, SubjectKind
from offsetwise.pipeline.session import open_session
from offsetwise.pipeline.shipping import SHIPPED_KEY, ship
from tests.integration.topics import copies, create, produce
from tests.pipeline.test_interrupting import running
from tests.plugins.spark.folders import checkpoint, write

TOPIC = "stopped"
CHECKPOINTS = 4
"""One more than are read without Spark."""
SETTINGS = SparkSettings(master="local[2]")
LIMIT_S = 300
C0 = Subject(kind=SubjectKind.CHECKPOINT, name="c0")


@pytest.fixture(scope="module")
def answers(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """A answers over one migration of a topic with a hundred records and a few checkpoints."""
    for bootstrap in (lab.old_bootstrap, lab.new_bootstrap):
        create(bootstrap, TOPIC)
        produce(bootstrap, {TOPIC: copies(0, 100)})
    folder = tmp_path_factory.mktemp("stopping")
    for number in range(CHECKPOINTS):
        write(checkpoint({0: f'{{"{TOPIC}":{{"0":50}}}}'}, (0,)), folder / "checkpoints" / f"c{number}")
    (folder / "m.yaml").write_text(
        "name: stopping\n"
        f'source: {{name: old, properties: {{bootstrap.servers: "{lab.old_bootstrap}"}}}}\n'
        f'target: {{name: new, properties: {{bootstrap.servers: "{lab.new_bootstrap}"}}}}\n'
        "checkpoint_roots: [./checkpoints]\n"
        "checkpoints: [{name: c0, uri: ./checkpoints/c0}]\n"
        f'spark: {{master: "{SETTINGS.master}"}}\n'
    )
    return Answers(Reader((folder / "m.yaml",)))


@contextmanager
def occupied(spark: SparkSession, let_go: Path) -> Iterator[None]:
    """Keep Spark so busy that every job waits for a free core, to the end of the block."""
    cores = spark.sparkContext.defaultParallelism

    def occupy(rows: Iterator[Any]) -> Iterator[Any]:
        limit = time.monotonic() + LIMIT_S
        while not let_go.exists() and time.monotonic() < limit:
            time.sleep(0.1)
        yield from rows

    thread = threading.Thread(target=spark.range(0, cores, 1, cores).mapInArrow(occupy, "id long").toArrow, daemon=True)
    thread.start()
    try:
        until(lambda: running(spark) != [])
        yield
    finally:
        let_go.touch()
        thread.join(LIMIT_S)


def until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("question", "shipped_for"),
    [
        pytest.param(Question.of(Reader.comparison, "stopping", C0), (), id="Compare"),
        pytest.param(Question.of(Reader.reconciliation, "stopping", TOPIC), (), id="every record of a topic"),
        pytest.param(Question.of(Reader.fleet, "stopping"), ("file:///checkpoints",), id="Fleet"),
        pytest.param(
            Question.of(Reader.fleet, "stopping"), None, id="Fleet, while Spark's workers are asked what they have"
        ),
    ],
)
def test_stop_ends_the_job_that_runs_for_a_page(
    answers: Answers, tmp_path: Path, question: Question[Any], shipped_for: tuple[str, ...] | None
) -> None:
    spark = open_session(SETTINGS, kafka=True)
    if shipped_for is None:
        spark.conf.unset(SHIPPED_KEY)
    else:
        ship(spark, uris=shipped_for)
    with occupied(spark, tmp_path / "let-go"):
        others = running(spark)
        reading = answers.read(question)
        until(lambda: reading.outcome.done() or running(spark) != others)
        answers.stop(question)
        with pytest.raises(StoppedError):
            reading.outcome.result(LIMIT_S)
        until(lambda: running(spark) == others)
