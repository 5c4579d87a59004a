"""Spark of the console: started when a migration with clusters is opened, and freed when nothing needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from offsetwise.config import SparkSettings
from offsetwise.console.reader import Reader
from offsetwise.console.warm_spark import IDLE_S, SparkNow, WarmSpark, Warmth
from offsetwise.errors import SparkError
from tests.console import builders
from tests.console.conftest import OpenPage
from tests.console.readers import ValueReader
from tests.with_cases import with_cases

WAIT_S = 60
SETTINGS = SparkSettings(master="local[1]")


class Session:
    """A session that starts when it is let, and counts."""

    def __init__(self) -> None:
        self.may_start, self.may_end, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.may_end.set()
        self.there = False
        self.starts: list[SparkSettings] = []
        self.fails: Exception | None = None

    def start(self, settings: SparkSettings) -> None:
        self.starts.append(settings)
        assert self.may_start.wait(WAIT_S)
        if self.fails is not None:
            raise self.fails
        self.there = True

    def end(self) -> None:
        assert self.may_end.wait(WAIT_S)
        self.there = False
        self.ended.set()

    def spark(self, idle_s: float = IDLE_S) -> WarmSpark:
        return WarmSpark(self.start, self.end, lambda: self.there, idle_s=idle_s)


@pytest.fixture
def session() -> Session:
    return Session()


def until(spark: WarmSpark, warmth: Warmth) -> SparkNow:
    """Wait until Spark does that, as the pages see it."""
    waited = threading.Event()
    for _ in range(WAIT_S * 100):
        now = spark.open(SETTINGS)
        if now.warmth is warmth:
            return now
        waited.wait(0.01)
    raise AssertionError(f"it is {now}")


def test_opening_a_migration_starts_spark_once_and_waits_for_nothing(session: Session) -> None:
    spark = session.spark()

    assert [spark.open(SETTINGS).warmth for _ in range(3)] == [Warmth.STARTING] * 3

    session.may_start.set()
    until(spark, Warmth.WARM)
    assert session.starts == [SETTINGS]


@with_cases(
    ("error", "why"),
    [(SparkError("Spark needs Java 17.", fix="Install it."), "Spark needs Java 17."), (ValueError("?"), "ValueError")],
    ids=["ours", "any"],
)
def test_a_start_that_fails_is_said_and_is_not_tried_at_every_look(
    session: Session, error: Exception, why: str
) -> None:
    session.fails = error
    session.may_start.set()
    spark = session.spark()

    assert until(spark, Warmth.FAILED).why == why
    assert len(session.starts) == 1


def test_a_session_that_a_reading_started_is_the_one(session: Session) -> None:
    spark = session.spark()
    with spark.in_use():
        session.there = True

    assert spark.open(SETTINGS).warmth is Warmth.WARM
    assert session.starts == []


def test_what_nobody_needs_is_freed_and_a_look_does_not_start_it_again(session: Session) -> None:
    spark = session.spark(idle_s=0)
    with spark.in_use():
        session.there = True
        assert spark.free_if_idle() is False

    assert session.ended.wait(WAIT_S)
    until(spark, Warmth.FREED)
    assert session.starts == []
    with spark.in_use():
        session.ended.clear()
        session.there = True
        assert spark.open(SETTINGS).warmth is Warmth.WARM
    assert session.ended.wait(WAIT_S), "what is needed again is freed again"


def test_what_was_needed_a_moment_ago_stays(session: Session) -> None:
    spark = session.spark(idle_s=3_600)
    with spark.in_use():
        session.there = True

    assert spark.free_if_idle() is False
    assert session.there


def test_a_reading_that_comes_while_it_is_freed_waits_and_a_page_does_not(session: Session) -> None:
    session.may_end.clear()
    spark = session.spark(idle_s=0)
    with spark.in_use():
        session.there = True
    came = threading.Event()

    def read() -> None:
        with spark.in_use():
            assert session.there is False, "it does not use what is being ended"
            came.set()

    waiting = wait_for(lambda: spark._freeing)
    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    assert waiting
    assert spark.open(SETTINGS).warmth is Warmth.WARM
    assert not came.is_set()
    session.may_end.set()

    assert came.wait(WAIT_S)


def wait_for(true: Callable[[], bool]) -> bool:
    pause = threading.Event()
    return any(true() or pause.wait(0.01) for _ in range(WAIT_S * 100))


def test_a_page_of_a_migration_with_clusters_starts_it_and_says_what_it_does(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison())
    reader.spark = SparkNow(warmth=Warmth.FAILED, why="Spark *needs* Java 17.")

    page = open_page(reader, "pages/explore/compare.py", migration="orders-to-new")

    assert reader.warmed == ["orders-to-new"]
    told = [each.value for each in page.markdown if "Spark" in each.value]
    assert told == [r":gray[Spark could not be started ahead: Spark \*needs\* Java 17\.]"]


def test_a_page_of_a_recorded_migration_starts_nothing(open_page: OpenPage) -> None:
    reader = ValueReader(live=builders.comparison())

    open_page(reader, "pages/explore/compare.py", migration="sample")

    assert reader.warmed == []
    assert Reader(()).warm_spark(next(one.name for one in Reader(()).offered())) is None
