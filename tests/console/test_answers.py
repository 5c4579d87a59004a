"""What is read, how often, and what is kept."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from offsetwise.console import answers as kept
from offsetwise.console.answers import Answers, Question, Reading
from offsetwise.console.reader import Reader
from offsetwise.errors import ClusterUnreachableError, StoppedError
from offsetwise.lab.brokers import free_ports
from offsetwise.store.address import STORE_VARIABLE
from tests.console import builders
from tests.console.readers import ORDERS, ValueReader

SAMPLE = Question.of(Reader.comparison, "sample", ORDERS)
LIVE = Question.of(Reader.comparison, "orders-to-new", ORDERS)
COUNT = Question.of(Reader.reconciliation, "orders-to-new", "orders")
DOWN = ClusterUnreachableError("Cluster 'new': expected an answer, none came.", fix="Start it.")


def test_a_recorded_comparison_is_read_once() -> None:
    reader = ValueReader()
    answers = Answers(reader)
    first = answers.cached(SAMPLE)
    assert first is not None
    assert answers.cached(SAMPLE) is first
    assert reader.calls["recorded"] == 1


def test_a_live_comparison_is_not_read_by_looking_for_it() -> None:
    reader = ValueReader(live=builders.comparison())
    assert Answers(reader).cached(LIVE) is None
    assert reader.calls["compare"] == 0


def test_a_name_that_is_not_offered_reads_nothing() -> None:
    reader = ValueReader()
    assert Answers(reader).cached(Question.of(Reader.comparison, "nobody", ORDERS)) is None
    assert reader.calls["recorded"] == 0


def test_two_askers_share_one_reading() -> None:
    gate = threading.Event()
    reader = ValueReader(live=builders.comparison(), gate=gate)
    answers = Answers(reader)
    first, second = answers.read(LIVE), answers.read(LIVE)
    assert first is second
    gate.set()
    first.outcome.result(timeout=10)
    assert reader.calls["compare"] == 1
    assert first.steps == {"checkpoint": (1, 1), "old cluster": (40, 40)}
    held = answers.cached(LIVE)
    assert held is not None
    assert held.value == builders.comparison()


def test_a_step_says_how_long_it_will_go_on_once_its_pace_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    reading: Reading[None] = Reading(outcome=Future(), began_s=now_s)
    now_s += 5
    reading.report("windows", 0, 16)
    reading.report("Spark", 1, 1)
    now_s += kept.PACE_S / 2
    reading.report("windows", 8, 16)
    assert reading.remaining_s("windows") is None
    now_s += 9
    reading.report("windows", 4, 16)
    assert reading.remaining_s("windows") == 30.0
    assert reading.remaining_s("Spark") is None
    assert reading.elapsed_s() == 15.0
    reading.report("windows", 16, 16)
    assert reading.remaining_s("windows") is None


def test_a_reading_knows_how_long_the_one_before_took() -> None:
    gate = threading.Event()
    answers = Answers(ValueReader(live=builders.comparison(), gate=gate))
    first = answers.read(LIVE)
    assert first.took_before_s is None
    gate.set()
    first.outcome.result(timeout=10)
    held = answers.cached(LIVE)
    assert held is not None
    again = answers.read(LIVE)
    again.outcome.result(timeout=10)
    assert again.took_before_s == held.took_s
    assert held.took_s is not None


def test_a_failed_reading_keeps_its_error_and_what_was_read_before() -> None:
    reader = ValueReader(live=builders.comparison())
    answers = Answers(reader)
    answers.read(LIVE).outcome.result(timeout=10)
    before = answers.cached(LIVE)
    reader.answer_with(DOWN)
    assert answers.read(LIVE).outcome.exception(timeout=10) is DOWN
    assert answers.cached(LIVE) is before
    reading = answers.reading(LIVE)
    assert reading is not None
    assert reading.outcome.exception() is DOWN


def test_reading_again_replaces_what_is_held() -> None:
    answers = Answers(ValueReader(live=builders.comparison()))
    ids = []
    for _ in range(2):
        answers.read(LIVE).outcome.result(timeout=10)
        held = answers.cached(LIVE)
        assert held is not None
        ids.append(held.id)
    assert ids[0] != ids[1]
    assert answers.reading(LIVE) is None


def test_only_a_bounded_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "HELD_ANSWERS", 2)
    reader = ValueReader({name: builders.comparison(name=name) for name in ("a", "b", "c")})
    answers = Answers(reader)
    for subject in (*answers.offered[0].subjects, answers.offered[0].subjects[0]):
        assert answers.cached(Question.of(Reader.comparison, "sample", subject)) is not None
    assert reader.calls["recorded"] == 4


def test_at_the_end_of_the_process_what_is_being_read_is_stopped() -> None:
    answers = Answers(ValueReader(live=builders.comparison(), count_gate=threading.Event()))
    reading = answers.read(COUNT)
    answers.end()
    assert isinstance(reading.outcome.exception(timeout=10), StoppedError)


def test_a_console_that_is_told_to_end_waits_for_no_reading(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.console.reading", str(free_ports(1)[0])],
        env={**os.environ, "STREAMLIT_SERVER_HEADLESS": "true", STORE_VARIABLE: f"sqlite:///{tmp_path / 'store'}"},
        stdout=subprocess.PIPE,
        text=True,
    ) as console:
        assert console.stdout is not None
        try:
            assert console.stdout.readline() == "reading\n"
            console.terminate()
            assert console.wait(timeout=60) == 0
        finally:
            console.kill()


def test_whoever_asks_after_a_reading_was_stopped_gets_one_of_their_own() -> None:
    gate = threading.Event()
    answers = Answers(ValueReader(live=builders.comparison(), count_gate=gate))
    first = answers.read(COUNT)
    answers.stop(COUNT)
    again = answers.read(COUNT)

    assert isinstance(first.outcome.exception(timeout=10), StoppedError)
    assert answers.reading(COUNT) is again
    gate.set()
    assert again.outcome.result(timeout=10) is not None
    assert answers.cached(COUNT) is not None
